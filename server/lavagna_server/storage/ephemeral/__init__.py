"""A store in memory: the simple model that the others are compared with, and what users test on."""

from lavagna_server.storage.ephemeral.store import EphemeralStore

__all__ = ["EphemeralStore"]
