"""Who may call what: the table has a row for every method, and a server without one does not start."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import pytest
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass

from lavagna_server.domain.agents import Caller, Role
from lavagna_server.domain.errors import Invalid, RoleRequired
from lavagna_server.engine.identity import Session
from lavagna_server.rpc.access import RULES, Home, Unruled, check_role, methods_for, rule_of
from lavagna_server.rpc.activations import Activations
from lavagna_server.rpc.agents import Agents
from lavagna_server.rpc.boards import Boards
from lavagna_server.rpc.consensus import Consensus
from lavagna_server.rpc.contract import full_name, services
from lavagna_server.rpc.entries import Entries
from lavagna_server.rpc.triggers import Triggers
from lavagna_server.rpc.watch import Watch

SERVICERS: dict[str, type] = {
    "Boards": Boards,
    "Agents": Agents,
    "Entries": Entries,
    "Watch": Watch,
    "Consensus": Consensus,
    "Triggers": Triggers,
    "Activations": Activations,
}


def methods() -> Iterator[MethodDescriptor]:
    """Every method of the contract."""
    for service in services():
        yield from service.methods


METHODS = list(methods())


def test_the_table_has_exactly_the_methods_of_the_contract() -> None:
    assert set(RULES) == {full_name(method) for method in METHODS}


def test_a_method_without_a_row_is_refused_by_name() -> None:
    with pytest.raises(Unruled, match=r"/lavagna\.v1\.Entries/Burn has no row"):
        rule_of("/lavagna.v1.Entries/Burn")


@pytest.mark.parametrize("method", METHODS, ids=full_name)
def test_every_rule_finds_the_board_in_its_request(method: MethodDescriptor) -> None:
    rule = rule_of(full_name(method))
    request: Any = GetMessageClass(method.input_type)()
    find = rule.board_reader()

    if isinstance(rule.board, Home):
        assert find(request) == "-"
        return
    with pytest.raises(Invalid) as caught:
        find(request)
    assert caught.value.field == rule.board
    holder, _, field = rule.board.rpartition(".")
    setattr(getattr(request, holder) if holder else request, field, "boards/atelier")
    assert find(request) == "atelier"


@pytest.mark.parametrize("method", METHODS, ids=full_name)
def test_only_keeping_agents_may_name_the_whole_server(method: MethodDescriptor) -> None:
    rule = rule_of(full_name(method))

    on_a_board = {"Hello", "SetStanding", "GetStanding"}
    is_of_agents = method.containing_service.name == "Agents" and method.name not in on_a_board
    assert rule.server_wide == is_of_agents


@pytest.mark.parametrize("method", METHODS, ids=full_name)
def test_every_servicer_takes_and_gives_what_the_contract_says(method: MethodDescriptor) -> None:
    behaviour = getattr(SERVICERS[method.containing_service.name], method.name)
    hints = get_type_hints(behaviour)
    returned = hints["return"]

    assert hints["request"] is GetMessageClass(method.input_type)
    assert hints["session"] is Session
    assert inspect.isasyncgenfunction(behaviour) == method.server_streaming
    given = get_args(returned)[0] if method.server_streaming else returned
    assert given is GetMessageClass(method.output_type)


def test_a_method_that_changes_something_needs_more_than_an_observer() -> None:
    changing = {
        full_name(method)
        for method in METHODS
        if "request_id" in method.input_type.fields_by_name and method.name != "RotateToken"
    }

    assert all(rule_of(method).role > Role.OBSERVER for method in changing)
    assert len(changing) == 27


@pytest.mark.parametrize(
    ("role", "may"), [(Role.OBSERVER, False), (Role.AGENT, True), (Role.ADMIN, True)]
)
def test_a_role_includes_those_below_it(role: Role, may: bool) -> None:
    rule = rule_of("/lavagna.v1.Entries/Commit")
    caller = Caller("main", "alice", role)

    if may:
        check_role(rule, caller)
        return
    with pytest.raises(RoleRequired) as caught:
        check_role(rule, caller)
    assert caught.value.numbers == {"agent": "alice", "role": "observer", "needs": "agent"}


def test_each_role_is_told_the_methods_that_it_may_call() -> None:
    observer, agent, admin = (set(methods_for(role)) for role in Role)

    assert observer < agent < admin == set(RULES)
    assert "/lavagna.v1.Entries/Get" in observer
    assert "/lavagna.v1.Entries/Commit" in agent - observer
    assert "/lavagna.v1.Agents/RegisterAgent" in admin - agent
