"""The engine: every use case of the server, over ports. Which adapters stand behind the ports is `assembly`'s choice."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from lavagna_server.domain.boards import Board
from lavagna_server.domain.limits import Limits
from lavagna_server.engine.activations import Activations
from lavagna_server.engine.agents import Agents
from lavagna_server.engine.bell import Bell
from lavagna_server.engine.boards import Boards, RegionRules
from lavagna_server.engine.catalog import Catalog
from lavagna_server.engine.claims import Claims
from lavagna_server.engine.commits import Commits, Log
from lavagna_server.engine.consensus import Consensus
from lavagna_server.engine.controller import Controller
from lavagna_server.engine.evaluation import Evaluator
from lavagna_server.engine.explanations import Explanations
from lavagna_server.engine.feed import Feed
from lavagna_server.engine.grants import Grants
from lavagna_server.engine.ground import Ground
from lavagna_server.engine.identity import Identity
from lavagna_server.engine.quotas import Quotas
from lavagna_server.engine.reading import Readers
from lavagna_server.engine.reads import Reads
from lavagna_server.engine.triggers import Triggers
from lavagna_server.engine.upkeep import Upkeep
from lavagna_server.engine.watches import Watches
from lavagna_server.engine.writer import Aftermath, Writer
from lavagna_server.ports.clock import Clock
from lavagna_server.ports.faults import Faults, NoFaults
from lavagna_server.ports.languages import Conditions, Schemas
from lavagna_server.ports.store import Store


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How an engine behaves, besides its limits."""

    trust_names: bool = True
    """Whether callers are believed who they say they are: on loopback without tokens."""
    secret: bytes = b""
    """Derives tokens, so that a retried registration gets the same one; kept outside the store."""
    bookmark_seconds: float = 5.0
    """How often an idle watch says that it lives."""
    stall_seconds: float = 10.0
    """How long a watcher may take to accept a message."""
    requests_kept: timedelta = timedelta(hours=24)
    """How long a request's effect is remembered (S6)."""
    limits: Limits = field(default_factory=Limits)


class Engine:
    """All use cases, wired."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        conditions: Conditions,
        schemas: Schemas,
        options: EngineOptions,
        *,
        faults: Faults | None = None,
    ) -> None:
        limits = options.limits
        self.options, self.limits, self.clock = options, limits, clock
        self._store = store
        self._is_up = False
        self._bell, self._feed = Bell(), Feed()
        self.catalog, self.readers = Catalog(), Readers(store)
        self.identity = Identity(
            self.catalog, clock, trust_names=options.trust_names, secret=options.secret
        )
        self.quotas = Quotas(limits)
        evaluator = Evaluator(conditions, limits)
        controller = Controller(evaluator, limits)
        log = Log(controller, schemas, limits)
        self.writer = Writer(
            store,
            clock,
            faults=faults or NoFaults(),
            settle=controller.settle,
            publish=self._publish,
        )
        ground = Ground(self.writer, self.readers, self.catalog, clock, limits)
        self.commits = Commits(self.writer, log)
        self.reads = Reads(ground)
        self.watches = Watches(ground, self._feed, bookmark_seconds=options.bookmark_seconds)
        self.triggers = Triggers(ground, controller, evaluator)
        self.activations = Activations(ground, log, Grants(controller, limits), self._bell)
        self.consensus = Consensus(ground, log, self._bell)
        self.claims = Claims(ground, log, self.reads)
        self.explanations = Explanations(ground)
        self.boards, self.regions = Boards(ground), RegionRules(ground, schemas)
        self.agents = Agents(ground, self.identity)
        self.upkeep = Upkeep(ground, log, controller, requests_kept=options.requests_kept)

    async def start(self) -> None:
        """Loads the configuration and begins to work."""
        with self._store.snapshot() as snapshot:
            self.catalog.load(snapshot)
        self.writer.start()
        await self.upkeep.start()
        self._is_up = True

    async def settled(self) -> None:
        """Returns when everything that is due by the clock has been carried out; for clocks that are moved by hand."""
        if self._is_up:
            await self.upkeep.settled()

    async def stop(self) -> None:
        """Finishes what was begun and lets go of the store. Streams must have ended before."""
        self._is_up = False
        self.watches.stop()
        await self.upkeep.stop()
        await self.writer.stop()
        self.readers.close()
        self._store.close()

    def _publish(self, aftermath: Aftermath) -> None:
        """Lets the rest of the server know of a durable group, before its callers do."""
        for record, removed in aftermath.records:
            self.catalog.put(record, remove=removed)
            if removed and isinstance(record, Board):
                self._feed.forget(record.name)
                self.watches.ring_all()
        self._feed.announce(aftermath.commits)
        for waiter in aftermath.woken:
            self._bell.ring(waiter)
        if aftermath.deadline is not None:
            self.upkeep.notice(aftermath.deadline)
