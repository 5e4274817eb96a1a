"""Regions as resources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from lavagna.v1 import boards_pb2
from lavagna_server.domain.agents import Role, check_name
from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.keys import normal_key
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.merging.rules import MergeRules
from lavagna_server.domain.names import region_name
from lavagna_server.domain.regions import (
    EVERYONE,
    ROLE_PREFIX,
    TEAM_PREFIX,
    Electorate,
    Merging,
    Region,
    Retention,
    Voters,
)
from lavagna_server.rpc.codec.checks import check_bytes, check_count, not_negative, required
from lavagna_server.rpc.codec.enums import POLICIES
from lavagna_server.rpc.codec.times import optional_span, span_from_wire

MEMBERS_MAX = 1_000
"""Names in `readers`, in `writers`, and in an electorate."""
WEIGHT_MIN = 1e-3
WEIGHT_MAX = 1e6
"""Of one vote: so far apart that sums of a thousand are still told apart exactly."""
FIELDS_MAX = 100
"""Fields of objects with a rule of their own."""
DEADLINE_MAX = timedelta(days=30)
"""Of a proposal."""


def region_to_wire(region: Region) -> boards_pb2.Region:
    """The region as a message."""
    return boards_pb2.Region(
        name=region_name(region.board, region.path),
        path=region.path,
        owner=region.owner,
        readers=region.readers,
        writers=region.writers,
        policy=POLICIES.to_wire(region.policy),
        schema_json=region.schema_json,
        retention=_retention_to_wire(region.retention),
        version=region.version,
        oldest_revision=region.oldest,
        electorate=_electorate_to_wire(region.electorate),
        merging=_merging_to_wire(region.merging),
    )


def region_from_wire(request: boards_pb2.SetRegionRequest, board: str, *, limits: Limits) -> Region:
    """The region that a caller wants; its version is the one that the caller saw, 0 when it does not say.

    Raises:
        Invalid: Naming the field.
    """
    required(request.HasField("region"), field="region")
    message = request.region
    check_bytes(
        message.schema_json,
        limits.schema_bytes_max,
        field="region.schema_json",
        limit="schema_bytes_max",
    )
    return Region(
        board,
        normal_key(message.path, field="region.path", limits=limits),
        _holder(message.owner, "region.owner") if message.owner else "",
        _members(message.readers, "region.readers"),
        _members(message.writers, "region.writers"),
        POLICIES.from_wire(message.policy, field="region.policy"),
        message.schema_json,
        _retention_from_wire(message.retention),
        not_negative(message.version, field="region.version"),
        electorate=_electorate_from_wire(message.electorate),
        merging=_merging_from_wire(message.merging),
    )


def regions_response(regions: Sequence[Region]) -> boards_pb2.ListRegionsResponse:
    """All regions that the caller may read."""
    return boards_pb2.ListRegionsResponse(regions=[region_to_wire(region) for region in regions])


def set_response(region: Region) -> boards_pb2.SetRegionResponse:
    """The region as it now is."""
    return boards_pb2.SetRegionResponse(region=region_to_wire(region))


def delete_response(_: None) -> boards_pb2.DeleteRegionResponse:
    """The region is gone."""
    return boards_pb2.DeleteRegionResponse()


def _members(names: Sequence[str], field: str) -> tuple[str, ...]:
    check_count(names, MEMBERS_MAX, field=field, limit="members_max")
    return tuple(_distinct(_member(name, f"{field}[{index}]") for index, name in enumerate(names)))


def _member(name: str, field: str) -> str:
    """An agent, a `team:` or everyone, as given."""
    return name if name == EVERYONE else _holder(name, field)


def _voter(name: str, field: str) -> str:
    """An agent, a `team:`, a `role:` or everyone, as given."""
    if not name.startswith(ROLE_PREFIX):
        return _member(name, field)
    roles = [role.name.lower() for role in (Role.AGENT, Role.ADMIN)]
    if name.removeprefix(ROLE_PREFIX) not in roles:
        raise Invalid(field, f"only {' and '.join(ROLE_PREFIX + role for role in roles)} vote")
    return name


def _holder(name: str, field: str) -> str:
    """An agent or a `team:`, as given."""
    check_name(name.removeprefix(TEAM_PREFIX), field=field)
    return name


def _distinct(names: Iterable[str]) -> Iterable[str]:
    return dict.fromkeys(names)


def _retention_to_wire(retention: Retention) -> boards_pb2.Retention | None:
    if retention == Retention():
        return None
    return boards_pb2.Retention(
        age=optional_span(retention.age), versions_max=retention.versions_max
    )


def _retention_from_wire(message: boards_pb2.Retention) -> Retention:
    age = None
    if message.HasField("age"):
        age = span_from_wire(message.age, field="region.retention.age", least=timedelta(seconds=1))
    return Retention(age, not_negative(message.versions_max, field="region.retention.versions_max"))


def _electorate_to_wire(electorate: Electorate) -> boards_pb2.Electorate | None:
    if electorate == Electorate():
        return None
    return boards_pb2.Electorate(
        voters=[
            boards_pb2.Voters(name=each.name, weight=each.weight, veto=each.veto)
            for each in electorate.voters
        ],
        approvals=electorate.approvals,
        share=electorate.share,
        deadline=optional_span(electorate.deadline),
        groups_min=electorate.groups_min,
        group_cap=electorate.group_cap,
    )


def _electorate_from_wire(message: boards_pb2.Electorate) -> Electorate:
    field = "region.electorate"
    check_count(message.voters, MEMBERS_MAX, field=f"{field}.voters", limit="members_max")
    if message.approvals and message.share:
        raise Invalid(f"{field}.share", "give either approvals or share, not both")
    deadline = Electorate().deadline
    if message.HasField("deadline"):
        least = timedelta(seconds=1)
        deadline = span_from_wire(
            message.deadline, field=f"{field}.deadline", least=least, most=DEADLINE_MAX
        )
    return Electorate(
        tuple(
            Voters(
                _voter(each.name, f"{field}.voters[{index}].name"),
                _weight(each.weight or 1.0, f"{field}.voters[{index}].weight", least=WEIGHT_MIN),
                each.veto,
            )
            for index, each in enumerate(message.voters)
        ),
        _weight(message.approvals, f"{field}.approvals"),
        _weight(message.share, f"{field}.share", most=1.0),
        deadline,
        not_negative(message.groups_min, field=f"{field}.groups_min"),
        _weight(message.group_cap, f"{field}.group_cap"),
    )


def _merging_to_wire(merging: Merging) -> boards_pb2.Merging | None:
    if merging == Merging():
        return None
    rules = merging.rules
    return boards_pb2.Merging(
        number=rules.number,
        category=rules.category,
        collection=rules.collection,
        record=rules.record,
        text=rules.text,
        fields=rules.fields,
        threshold=rules.threshold,
        group_cap=merging.group_cap,
        reconcilers=merging.reconcilers,
    )


def _merging_from_wire(message: boards_pb2.Merging) -> Merging:
    field, usual = "region.merging", MergeRules()
    check_count(message.fields, FIELDS_MAX, field=f"{field}.fields", limit="fields_max")
    rules = MergeRules(
        message.number or usual.number,
        message.category or usual.category,
        message.collection or usual.collection,
        message.record or usual.record,
        message.text or usual.text,
        dict(sorted(message.fields.items())),
        message.threshold if message.HasField("threshold") else usual.threshold,
    )
    cap = _weight(message.group_cap, f"{field}.group_cap")
    return Merging(rules, cap, _members(message.reconcilers, f"{field}.reconcilers"))


def _weight(number: float, field: str, *, least: float = 0.0, most: float = WEIGHT_MAX) -> float:
    if not least <= number <= most:  # also false for NaN
        raise Invalid(field, f"must be from {least:g} to {most:g}, not {number}")
    return number
