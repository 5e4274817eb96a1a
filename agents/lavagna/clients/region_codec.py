"""Regions between Python and the wire."""

from __future__ import annotations

import json
from collections.abc import Mapping

from lavagna.checks import (
    INT32_MAX,
    checked_choice,
    checked_count,
    checked_flag,
    checked_number,
    checked_several,
    checked_text,
    checked_texts,
    checked_type,
)
from lavagna.errors import Invalid
from lavagna.regions import Electorate, Merging, Policy, Region, Retention, Voters
from lavagna.times import duration, seconds_of
from lavagna.v1 import boards_pb2 as wire
from lavagna.values import json_text

_POLICIES = {
    Policy.GUARDED: wire.POLICY_GUARDED,
    Policy.LATEST: wire.POLICY_LATEST,
    Policy.OWNER: wire.POLICY_OWNER,
    Policy.QUORUM: wire.POLICY_QUORUM,
    Policy.WEIGHTED: wire.POLICY_WEIGHTED,
}
_POLICY_OF = {number: policy for policy, number in _POLICIES.items()} | {
    wire.POLICY_UNSPECIFIED: Policy.GUARDED
}
_RULES = ("number", "category", "collection", "record", "text")


def region_message(region: Region) -> wire.Region:
    """The region as the wire has it, without what the server fills in.

    Raises:
        Invalid: A part of it is not what it has to be, or out of its range.
    """
    checked_type(region, Region, field="region")
    message = wire.Region(
        path=checked_text(region.path, field="region.path"),
        owner=checked_text(region.owner, field="region.owner"),
        readers=checked_texts(region.readers, field="region.readers"),
        writers=checked_texts(region.writers, field="region.writers"),
        policy=checked_choice(region.policy, _POLICIES, field="region.policy"),
        version=checked_count(region.version, field="region.version"),
    )
    if region.schema is not None:
        message.schema_json = json_text(region.schema, field="region.schema")
    if region.retention is not None:
        message.retention.CopyFrom(_retention_message(region.retention))
    if region.electorate is not None:
        message.electorate.CopyFrom(_electorate_message(region.electorate))
    if region.merging is not None:
        message.merging.CopyFrom(_merging_message(region.merging))
    return message


def _retention_message(retention: Retention) -> wire.Retention:
    checked_type(retention, Retention, field="region.retention")
    message = wire.Retention(
        versions_max=checked_count(
            retention.versions_max, field="region.retention.versions_max", most=INT32_MAX
        )
    )
    if retention.age_seconds is not None:
        age = duration(retention.age_seconds, field="region.retention.age_seconds")
        message.age.CopyFrom(age)
    return message


def _electorate_message(electorate: Electorate) -> wire.Electorate:
    field = "region.electorate"
    checked_type(electorate, Electorate, field=field)
    voters = checked_several(
        electorate.voters, field=f"{field}.voters", expected="a list of voters"
    )
    message = wire.Electorate(
        voters=[_voters_message(each, f"{field}.voters[{at}]") for at, each in enumerate(voters)],
        approvals=checked_number(electorate.approvals, field=f"{field}.approvals"),
        share=checked_number(electorate.share, field=f"{field}.share"),
        groups_min=checked_count(
            electorate.groups_min, field=f"{field}.groups_min", most=INT32_MAX
        ),
        group_cap=checked_number(electorate.group_cap, field=f"{field}.group_cap"),
    )
    if electorate.deadline_seconds is not None:
        deadline = duration(electorate.deadline_seconds, field=f"{field}.deadline_seconds")
        message.deadline.CopyFrom(deadline)
    return message


def _voters_message(voters: str | Voters, field: str) -> wire.Voters:
    checked_type(voters, (str, Voters), field=field)
    if isinstance(voters, str):
        return wire.Voters(name=checked_text(voters, field=field))
    weight = checked_number(voters.weight, field=f"{field}.weight")
    if not weight:
        # On the wire, 0 means 1.
        raise Invalid.field(f"{field}.weight", "0 is no weight; leave out who shall not count")
    return wire.Voters(
        name=checked_text(voters.name, field=f"{field}.name"),
        weight=weight,
        veto=checked_flag(voters.veto, field=f"{field}.veto"),
    )


def _merging_message(merging: Merging) -> wire.Merging:
    field = "region.merging"
    checked_type(merging, Merging, field=field)
    checked_type(merging.fields, Mapping, field=f"{field}.fields", expected="a dict of rules")
    message = wire.Merging(
        group_cap=checked_number(merging.group_cap, field=f"{field}.group_cap"),
        reconcilers=checked_texts(merging.reconcilers, field=f"{field}.reconcilers"),
    )
    for name in _RULES:
        setattr(message, name, checked_text(getattr(merging, name), field=f"{field}.{name}"))
    for path, rule in merging.fields.items():
        checked_text(path, field=f"{field}.fields")
        message.fields[path] = checked_text(rule, field=f"{field}.fields[{path}]")
    if merging.threshold is not None:
        message.threshold = checked_number(merging.threshold, field=f"{field}.threshold")
    return message


def policy_of(number: wire.Policy.ValueType) -> Policy:
    """The policy that the wire names."""
    return _POLICY_OF.get(number, Policy.UNKNOWN)


def region_of(message: wire.Region) -> Region:
    """The region that the wire holds."""
    return Region(
        path=message.path,
        owner=message.owner,
        readers=tuple(message.readers),
        writers=tuple(message.writers),
        policy=policy_of(message.policy),
        schema=json.loads(message.schema_json) if message.schema_json else None,
        retention=_retention_of(message.retention) if message.HasField("retention") else None,
        electorate=_electorate_of(message.electorate) if message.HasField("electorate") else None,
        merging=_merging_of(message.merging) if message.HasField("merging") else None,
        version=message.version,
        oldest_revision=message.oldest_revision,
    )


def _retention_of(message: wire.Retention) -> Retention:
    return Retention(
        age_seconds=seconds_of(message.age) if message.HasField("age") else None,
        versions_max=message.versions_max,
    )


def _electorate_of(message: wire.Electorate) -> Electorate:
    return Electorate(
        voters=tuple(Voters(each.name, each.weight, each.veto) for each in message.voters),
        approvals=message.approvals,
        share=message.share,
        deadline_seconds=seconds_of(message.deadline) if message.HasField("deadline") else None,
        groups_min=message.groups_min,
        group_cap=message.group_cap,
    )


def _merging_of(message: wire.Merging) -> Merging:
    return Merging(
        number=message.number,
        category=message.category,
        collection=message.collection,
        record=message.record,
        text=message.text,
        fields=dict(message.fields),
        threshold=message.threshold if message.HasField("threshold") else None,
        group_cap=message.group_cap,
        reconcilers=tuple(message.reconcilers),
    )
