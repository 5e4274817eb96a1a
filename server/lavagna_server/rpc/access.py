"""Who may call what: one table, one row per method; a method without a row keeps the server from starting.

The table says what a role may do at most. Whether this caller may do it to this thing (an owner's region, somebody's trigger) is the
engine's to decide, inside the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from lavagna_server.domain.agents import SERVER_WIDE, Caller, Role
from lavagna_server.domain.errors import RoleRequired
from lavagna_server.domain.names import board_of, parse_board


class Work(Enum):
    """What a method does to the server; each class has a bound of its own on calls at once."""

    READ = "reads"
    WRITE = "writes"
    WAIT = "waits"
    STREAM = "streams"


class Home(Enum):
    """Where a call is about, when no field names a board."""

    SERVER = "server"
    """The whole server."""
    CALLER = "caller"
    """Wherever the caller belongs."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What a method needs of its caller."""

    role: Role
    board: str | Home
    """The path of the field that names the board, on its own or as the first part of a resource name."""
    work: Work
    server_wide: bool = False
    """Whether that field may say `boards/-`."""

    def board_reader(self) -> Callable[[Any], str]:
        """What finds the board in a request of the method; raises `Invalid` when the field is malformed."""
        if isinstance(self.board, Home):
            return lambda _request: SERVER_WIDE
        field, server_wide, get = self.board, self.server_wide, attrgetter(self.board)
        parse = parse_board if field == "board" else board_of
        return lambda request: parse(get(request), field=field, server_wide=server_wide)


class Unruled(Exception):
    """A method of the contract has no row in the table."""


_ALL = {
    "Boards": {
        "CreateBoard": Rule(Role.ADMIN, Home.SERVER, Work.WRITE),
        "GetBoard": Rule(Role.OBSERVER, "name", Work.READ),
        "ListBoards": Rule(Role.OBSERVER, Home.CALLER, Work.READ),
        "UpdateBoard": Rule(Role.ADMIN, "board.name", Work.WRITE),
        "DeleteBoard": Rule(Role.ADMIN, "name", Work.WRITE),
        "Compact": Rule(Role.AGENT, "board", Work.WRITE),
        "Export": Rule(Role.OBSERVER, "board", Work.STREAM),
        "SetRegion": Rule(Role.AGENT, "board", Work.WRITE),
        "GetRegion": Rule(Role.OBSERVER, "name", Work.READ),
        "ListRegions": Rule(Role.OBSERVER, "board", Work.READ),
        "DeleteRegion": Rule(Role.AGENT, "name", Work.WRITE),
    },
    "Agents": {
        "RegisterAgent": Rule(Role.ADMIN, "board", Work.WRITE, server_wide=True),
        "GetAgent": Rule(Role.OBSERVER, "name", Work.READ, server_wide=True),
        "ListAgents": Rule(Role.OBSERVER, "board", Work.READ, server_wide=True),
        "RotateToken": Rule(Role.OBSERVER, "name", Work.WRITE, server_wide=True),
        "RevokeAgent": Rule(Role.ADMIN, "name", Work.WRITE, server_wide=True),
        "SetStanding": Rule(Role.ADMIN, "standing.name", Work.WRITE),
        "GetStanding": Rule(Role.OBSERVER, "name", Work.READ),
        "Hello": Rule(Role.OBSERVER, "board", Work.READ),
    },
    "Entries": {
        "Commit": Rule(Role.AGENT, "board", Work.WRITE),
        "Get": Rule(Role.OBSERVER, "board", Work.READ),
        "BatchGet": Rule(Role.OBSERVER, "board", Work.READ),
        "List": Rule(Role.OBSERVER, "board", Work.READ),
        "History": Rule(Role.OBSERVER, "board", Work.READ),
        "Diff": Rule(Role.OBSERVER, "board", Work.READ),
        "Revert": Rule(Role.AGENT, "board", Work.WRITE),
    },
    "Watch": {
        "Watch": Rule(Role.OBSERVER, "board", Work.STREAM),
        "Pull": Rule(Role.OBSERVER, "board", Work.WAIT),
    },
    "Consensus": {
        "Propose": Rule(Role.AGENT, "board", Work.WRITE),
        "Vote": Rule(Role.AGENT, "board", Work.WRITE),
        "Withdraw": Rule(Role.AGENT, "board", Work.WRITE),
        "GetProposal": Rule(Role.OBSERVER, "board", Work.READ),
        "ListProposals": Rule(Role.OBSERVER, "board", Work.READ),
        "WaitProposal": Rule(Role.OBSERVER, "board", Work.WAIT),
        "Claim": Rule(Role.AGENT, "board", Work.WRITE),
        "ListClaims": Rule(Role.OBSERVER, "board", Work.READ),
        "Resolve": Rule(Role.AGENT, "board", Work.WRITE),
        "Explain": Rule(Role.OBSERVER, "board", Work.READ),
    },
    "Triggers": {
        "SetTrigger": Rule(Role.AGENT, "board", Work.WRITE),
        "GetTrigger": Rule(Role.OBSERVER, "name", Work.READ),
        "ListTriggers": Rule(Role.OBSERVER, "board", Work.READ),
        "SuspendTrigger": Rule(Role.AGENT, "name", Work.WRITE),
        "ResumeTrigger": Rule(Role.AGENT, "name", Work.WRITE),
        "DeleteTrigger": Rule(Role.AGENT, "name", Work.WRITE),
        "TryTrigger": Rule(Role.OBSERVER, "board", Work.READ),
    },
    "Activations": {
        "Acquire": Rule(Role.AGENT, "board", Work.WAIT),
        "Heartbeat": Rule(Role.AGENT, "board", Work.WRITE),
        "Complete": Rule(Role.AGENT, "board", Work.WRITE),
        "Fail": Rule(Role.AGENT, "board", Work.WRITE),
        "Release": Rule(Role.AGENT, "board", Work.WRITE),
        "Hold": Rule(Role.AGENT, "name", Work.WRITE),
        "Cancel": Rule(Role.AGENT, "name", Work.WRITE),
        "GetActivation": Rule(Role.OBSERVER, "name", Work.READ),
        "ListActivations": Rule(Role.OBSERVER, "board", Work.READ),
        "Replay": Rule(Role.AGENT, "name", Work.WRITE),
    },
}

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        f"/lavagna.v1.{service}/{method}": rule
        for service, methods in _ALL.items()
        for method, rule in methods.items()
    }
)
"""Every method by its full name."""


def rule_of(method: str) -> Rule:
    """The row of a method. Raises `Unruled`."""
    rule = RULES.get(method)
    if rule is None:
        raise Unruled(f"{method} has no row in the table of access: say which role it needs")
    return rule


def check_role(rule: Rule, caller: Caller) -> None:
    """Refuses a caller whose role is below the rule's."""
    if caller.role < rule.role:
        raise RoleRequired(
            agent=caller.agent, role=caller.role.name.lower(), needs=rule.role.name.lower()
        )


def methods_for(role: Role) -> Iterable[str]:
    """The methods that a role may call, by name."""
    return sorted(method for method, rule in RULES.items() if rule.role <= role)
