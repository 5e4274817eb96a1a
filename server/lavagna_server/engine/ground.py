"""The ground that use cases stand on."""

from __future__ import annotations

from dataclasses import dataclass

from lavagna_server.domain.limits import Limits
from lavagna_server.engine.catalog import Catalog
from lavagna_server.engine.reading import Readers
from lavagna_server.engine.writer import Writer
from lavagna_server.ports.clock import Clock


@dataclass(frozen=True, slots=True)
class Ground:
    """What most use cases need: a way to write, a way to read, the configuration, the time and the limits."""

    writer: Writer
    readers: Readers
    catalog: Catalog
    clock: Clock
    limits: Limits
