"""The rules that a region's owner chooses: what is known, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.merging import MergeRules
from lavagna_server.domain.merging.rules import KNOWN, field_path
from lavagna_server.domain.merging.voices import ValueType


def chosen(name: str, rule: str) -> MergeRules:
    change: dict[str, Any] = {name: rule}
    return replace(MergeRules(), **change)


def test_the_rules_that_nobody_chose_are_fine() -> None:
    MergeRules().check("region.merge")


@pytest.mark.parametrize("name", ["number", "category", "collection", "record", "text"])
def test_every_known_rule_is_taken_and_every_other_refused_with_those_known(name: str) -> None:
    known = KNOWN[ValueType(name)]
    for rule in known:
        chosen(name, rule).check("merge")

    for unknown in ("average", "", known[0].upper()):
        with pytest.raises(Invalid) as refusal:
            chosen(name, unknown).check("merge")
        assert refusal.value.field == f"merge.{name}"
        assert refusal.value.rule == (
            f"there is no rule {unknown!r} here: use one of {', '.join(known)}"
        )


def test_a_rule_of_another_type_is_refused() -> None:
    with pytest.raises(Invalid, match=r"merge\.category: there is no rule 'median' here"):
        MergeRules(category="median").check("merge")


def test_fields_take_the_rules_of_every_type_and_no_others() -> None:
    MergeRules(fields={"effort": "median", "plan/tags": "union"}).check("merge")

    with pytest.raises(Invalid, match="there is no rule 'average' here") as refusal:
        MergeRules(fields={"plan/effort": "average"}).check("merge")
    assert refusal.value.field == "merge.fields[plan/effort]"


@pytest.mark.parametrize("path", ["", "/effort", "effort/"])
def test_a_path_is_written_without_slashes_around_it(path: str) -> None:
    with pytest.raises(Invalid, match="not a path") as refusal:
        MergeRules(fields={path: "median"}).check("merge")
    assert refusal.value.field == "merge.fields"


@pytest.mark.parametrize("threshold", [-0.1, 1, 1.5, math.nan, math.inf])
def test_a_threshold_that_nothing_or_everything_passes_is_refused(threshold: float) -> None:
    with pytest.raises(Invalid) as refusal:
        MergeRules(threshold=threshold).check("merge")
    assert refusal.value.field == "merge.threshold"


def test_names_with_slashes_are_escaped_in_paths() -> None:
    assert field_path(None, "effort") == "effort"
    assert field_path("plan", "a/b~c") == "plan/a~1b~0c"


def test_an_override_is_for_its_path_alone() -> None:
    rules = MergeRules(number="min", fields={"effort": "mean", "plan/effort": "max"})

    assert rules.chosen(ValueType.NUMBER, None) == "min"
    assert rules.chosen(ValueType.NUMBER, "effort") == "mean"
    assert rules.chosen(ValueType.NUMBER, "plan/effort") == "max"
    assert rules.chosen(ValueType.NUMBER, "plan") == "min"
    assert rules.chosen(ValueType.CATEGORY, "effort") == "weighted-plurality"
