"""The configuration of all boards in memory: boards, regions, agents and triggers, found by what they are asked for.

There are two: the writer's draft, with what the present group changes, and the one that everybody else reads, which the event loop brings up to date
once a group is durable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from lavagna_server.domain.agents import SERVER_WIDE, Agent, Caller, Role
from lavagna_server.domain.boards import Board
from lavagna_server.domain.entries import SpaceName
from lavagna_server.domain.errors import NotFound
from lavagna_server.domain.keys import Pattern
from lavagna_server.domain.regions import EVERYONE, ROLE_PREFIX, TEAM_PREFIX, Region, Regions
from lavagna_server.domain.standings import Standing, Standings
from lavagna_server.domain.trie import PatternTrie
from lavagna_server.domain.triggers import Trigger, TriggerId
from lavagna_server.ports.store import Record, Snapshot

NO_REGIONS = Regions()


class Interest(NamedTuple):
    """Why a trigger is concerned by a key: as what it is about, or as what its condition reads."""

    trigger: TriggerId
    reads: bool
    place: int
    """Which of its patterns."""


class BoardCatalog:
    """What is configured on one board."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.agents: dict[str, Agent] = {}
        self.triggers: dict[TriggerId, Trigger] = {}
        self.due: dict[TriggerId, Trigger] = {}
        """The triggers that have a next slot."""
        self.working_spaces: Counter[SpaceName] = Counter()
        """How many triggers look at each space; others have no agenda."""
        self.triggers_set: Counter[str] = Counter()
        """How many triggers each agent has set."""
        self._regions: dict[str, Region] = {}
        self._shared_regions = NO_REGIONS
        self._interests: dict[SpaceName, PatternTrie[Interest]] = {}
        self._standings: dict[str, Standing] = {}

    @property
    def standings(self) -> Standings:
        """How much whose word weighs here."""
        return Standings(self.board.name, self._standings, self.members)

    def members(self, name: str) -> list[str]:
        """The agents that may vote as `*`, as a `team:`, as a `role:` or by name; observers and those whose access ended may not.

        Where names are trusted, whoever is named need not be registered.
        """
        if name != EVERYONE and ":" not in name and name not in self.agents:
            return [name]
        return [
            agent.name
            for agent in self.agents.values()
            if agent.role >= Role.AGENT and not agent.revoked and _is_meant(agent, name)
        ]

    def put_standing(self, standing: Standing, *, remove: bool = False) -> None:
        """Takes a standing in, or out."""
        if remove:
            self._standings.pop(standing.agent, None)
        else:
            self._standings[standing.agent] = standing

    def regions_of(self, space: SpaceName) -> Regions:
        """The regions that rule a space; a private one has none."""
        return NO_REGIONS if space.owner else self._shared_regions

    def interests_in(self, space: SpaceName) -> PatternTrie[Interest] | None:
        """Which triggers are concerned by which keys."""
        return self._interests.get(space)

    def teams_of(self, agent: str) -> frozenset[str]:
        """The teams that an agent works in."""
        registered = self.agents.get(agent)
        return frozenset(registered.teams) if registered else frozenset()

    def reader(self, agent: str) -> Caller:
        """An agent as the reader in whose name a trigger looks at the board."""
        return Caller(self.board.name, agent, Role.AGENT, self.teams_of(agent))

    def put_region(self, region: Region, *, remove: bool = False) -> None:
        """Takes a region in, or out."""
        if remove:
            self._regions.pop(region.path, None)
        else:
            self._regions[region.path] = region
        self._shared_regions = Regions(self._regions.values())

    def put_trigger(self, trigger: Trigger, *, remove: bool = False) -> None:
        """Takes a trigger in, or out; its patterns are indexed anew only when they changed."""
        if trigger.next_due_at is not None and not trigger.suspended and not remove:
            self.due[trigger.id] = trigger
        else:
            self.due.pop(trigger.id, None)
        known = self.triggers.get(trigger.id)
        if (
            known is not None
            and not remove
            and (known.on, known.reads, known.agent) == (trigger.on, trigger.reads, trigger.agent)
        ):
            self.triggers[trigger.id] = trigger
            return
        self._count_trigger(known, -1)
        self._count_trigger(None if remove else trigger, 1)
        index = self._interests.setdefault(trigger.space, PatternTrie())
        if known is not None:
            for interest, pattern in _interests(known):
                index.remove(pattern, interest)
            del self.triggers[trigger.id]
        if not remove:
            for interest, pattern in _interests(trigger):
                index.add(pattern, interest)
            self.triggers[trigger.id] = trigger

    def _count_trigger(self, trigger: Trigger | None, change: int) -> None:
        if trigger is not None:
            self.working_spaces[trigger.space] += change
            self.triggers_set[trigger.agent] += change


def _is_meant(agent: Agent, name: str) -> bool:
    if name.startswith(ROLE_PREFIX):
        return agent.role.name.lower() == name.removeprefix(ROLE_PREFIX)
    if name.startswith(TEAM_PREFIX):
        return name.removeprefix(TEAM_PREFIX) in agent.teams
    return name in (EVERYONE, agent.name)


def _interests(trigger: Trigger) -> Iterable[tuple[Interest, Pattern]]:
    for index, source in enumerate(trigger.on):
        yield Interest(trigger.id, reads=False, place=index), source.pattern
    for index, pattern in enumerate(trigger.reads):
        yield Interest(trigger.id, reads=True, place=index), pattern


class Catalog:
    """All boards, and all agents by their token."""

    def __init__(self) -> None:
        self.boards: dict[str, BoardCatalog] = {}
        self.server_agents: dict[str, Agent] = {}
        self._by_token: dict[bytes, Agent] = {}

    def load(self, snapshot: Snapshot) -> None:
        """Replaces everything with what is stored."""
        records: list[Record] = [*snapshot.records(Board), *snapshot.records(Region)]
        records += [*snapshot.records(Agent), *snapshot.records(Standing)]
        records += [*snapshot.records(Trigger)]
        fresh = Catalog()
        for record in records:
            fresh.put(record)
        self.boards, self.server_agents = fresh.boards, fresh.server_agents
        self._by_token = fresh._by_token

    def board(self, name: str) -> BoardCatalog:
        """A board's configuration.

        Raises:
            NotFound: There is no such board.
        """
        found = self.boards.get(name)
        if found is None:
            raise NotFound(f"boards/{name}")
        return found

    def agents_of(self, board: str) -> dict[str, Agent]:
        """The agents registered on a board, or server-wide.

        Raises:
            NotFound: There is no such board.
        """
        return self.server_agents if board == SERVER_WIDE else self.board(board).agents

    def agent_with(self, token_hash: bytes) -> Agent | None:
        """The agent whose token has this hash."""
        return self._by_token.get(token_hash)

    def put(self, record: Record, *, remove: bool = False) -> None:
        """Takes a record in, or out."""
        match record:
            case Board():
                self._put_board(record, remove=remove)
            case Agent():
                self._put_agent(record, remove=remove)
            case Region():
                self.board(record.board).put_region(record, remove=remove)
            case Standing():
                self.board(record.board).put_standing(record, remove=remove)
            case Trigger():
                self.board(record.space.board).put_trigger(record, remove=remove)

    def _put_board(self, board: Board, *, remove: bool) -> None:
        known = self.boards.get(board.name)
        if remove:
            for agent in list(known.agents.values()) if known else ():
                self._put_agent(agent, remove=True)
            self.boards.pop(board.name, None)
        elif known is None:
            self.boards[board.name] = BoardCatalog(board)
        else:
            known.board = board

    def _put_agent(self, agent: Agent, *, remove: bool) -> None:
        agents = self.agents_of(agent.board)
        known = agents.get(agent.name)
        if known is not None and known.token_hash:
            self._by_token.pop(known.token_hash, None)
        if remove:
            agents.pop(agent.name, None)
            return
        agents[agent.name] = agent
        if agent.token_hash and not agent.revoked:
            self._by_token[agent.token_hash] = agent
