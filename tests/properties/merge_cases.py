"""Every rule of merging, with claims that it is for, and the claims that a law speaks of."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, settings
from hypothesis import strategies as st

from lavagna_server.domain.merging import Merged, MergeRules, Testimony, merged
from lavagna_server.domain.merging.voices import canonical
from lavagna_server.domain.values import Form, Value

LAW = settings(deadline=None, max_examples=25)
AGENTS: tuple[str, ...] = ("ann", "bob", "cy", "dee", "eve", "flo", "gus")
BASE = "one\ntwo\n\nthree\n\nfour\n"
WEIGHTS = st.one_of(
    st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 1.0, 1.0, 1.0, 2.5, 1e-300, 1e300]),
    st.floats(min_value=0, max_value=10),
)
CONFIDENCES = st.one_of(st.sampled_from([0.0, 1.0, 0.5, 0.9]), st.floats(min_value=0, max_value=1))

INTEGERS = st.one_of(
    st.integers(-3, 3),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(2**60, 2**60 + 300),
)
NUMBERS: st.SearchStrategy[Any] = st.one_of(
    INTEGERS,
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(min_value=2.0**60, max_value=2.0**60 + 600),
    st.sampled_from([0, 0.0, -0.0, 1, 1.0, 0.1, 0.2, 0.3, 5e-324, 1.7976931348623157e308]),
)
DELTAS: st.SearchStrategy[Any] = st.one_of(st.integers(-99, 99), st.floats(-99, 99))
PROBABILITIES: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([0, 1, 0.0, 1.0, 1e-9, 0.5]), st.floats(min_value=0, max_value=1)
)
CATEGORIES: st.SearchStrategy[Any] = st.sampled_from(["x", "y", "é", "x y", True, False, None])
ELEMENTS: st.SearchStrategy[Any] = st.sampled_from([1, 1.0, 10, 9, "a", "b", None, [1], {"k": 2}])
SETS: st.SearchStrategy[Any] = st.lists(ELEMENTS, max_size=5)
RECORDS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "effort": DELTAS,
        "risk": CATEGORIES,
        "tags": SETS,
        "plan": st.fixed_dictionaries({}, optional={"effort": DELTAS, "to/do": CATEGORIES}),
        "any": st.one_of(DELTAS, CATEGORIES),
    },
)
TEXTS: st.SearchStrategy[Any] = st.one_of(
    st.lists(st.sampled_from(["one", "two", "", "four", "new"]), max_size=7).map("\n".join),
    st.sampled_from([BASE, BASE + "five", BASE.replace("two", "2"), "<<<<<<< x\n" + BASE]),
)
DATA: st.SearchStrategy[Any] = st.sampled_from([b"", b"\x00\xff", b"one\n"])


@dataclass(frozen=True)
class Case:
    """A rule, and claims that it is for."""

    rules: MergeRules
    values: st.SearchStrategy[Any] = field(repr=False)
    form: Form = Form.JSON
    is_sum: bool = False

    def value(self, content: Any) -> Value:
        """A claimed value."""
        return Value(self.form, canonical(content) if self.form is Form.JSON else content)

    def spaced(self, content: Any) -> Value:
        """The same value, written in another way if it can be."""
        return Value(self.form, json.dumps(content) if self.form is Form.JSON else content)

    def claims(self, *, min_size: int = 1) -> st.SearchStrategy[list[Testimony]]:
        """Claims of different agents."""
        values = st.one_of(self.values.map(self.value), self.values.map(self.spaced))
        made = st.tuples(values, WEIGHTS, CONFIDENCES)
        return st.lists(made, min_size=min_size, max_size=len(AGENTS)).map(
            lambda all_made: [
                Testimony(agent, *each) for agent, each in zip(AGENTS, all_made, strict=False)
            ]
        )

    def merge(self, claims: Sequence[Testimony]) -> Merged:
        """What the claims come to."""
        result = merged(claims, self.rules, base=BASE)
        assert result is not None
        return result


NUMBER_CASES = {
    "mean": Case(MergeRules(number="mean"), NUMBERS),
    "mean of integers": Case(MergeRules(number="mean"), INTEGERS),
    "median": Case(MergeRules(number="median"), NUMBERS),
    "min": Case(MergeRules(number="min"), NUMBERS),
    "max": Case(MergeRules(number="max"), NUMBERS),
    "linear pool": Case(MergeRules(number="linear-pool"), PROBABILITIES),
    "log pool": Case(MergeRules(number="log-pool"), PROBABILITIES),
}
VOTING_CASES = {
    "plurality": Case(MergeRules(category="plurality"), CATEGORIES),
    "weighted plurality": Case(MergeRules(), CATEGORIES),
    "confidence buckets": Case(MergeRules(category="confidence-buckets"), CATEGORIES),
    "select number": Case(MergeRules(number="select"), NUMBERS),
    "select set": Case(MergeRules(collection="select"), SETS),
    "select record": Case(MergeRules(record="select"), RECORDS),
    "select text": Case(MergeRules(), TEXTS, Form.TEXT),
    "select data": Case(MergeRules(), DATA, Form.DATA),
    "reconcile text": Case(MergeRules(text="reconcile"), TEXTS, Form.TEXT),
    "lines of data": Case(MergeRules(text="lines"), DATA, Form.DATA),
}
SET_CASES = {
    "union": Case(MergeRules(collection="union"), SETS),
    "threshold": Case(MergeRules(), SETS),
    "low threshold": Case(MergeRules(threshold=0.1), SETS),
    "threshold of none": Case(MergeRules(threshold=0), SETS),
}
RECORD_RULES = MergeRules(fields={"effort": "mean", "plan/effort": "max", "tags": "union"})
RECORD_CASES = {
    "record": Case(MergeRules(), RECORDS),
    "record with overrides": Case(RECORD_RULES, RECORDS),
}
LINES = Case(MergeRules(text="lines"), TEXTS, Form.TEXT)
MIXED = Case(
    MergeRules(), st.one_of(NUMBERS, CATEGORIES, SETS, RECORDS, st.sampled_from(["1", "[]"]))
)
SUM = Case(MergeRules(number="sum"), DELTAS, is_sum=True)
CASES = {
    **NUMBER_CASES,
    **VOTING_CASES,
    **SET_CASES,
    **RECORD_CASES,
    "lines": LINES,
    "mixed": MIXED,
    "sum": SUM,
}
JSON_CASES = {name: case for name, case in CASES.items() if case.form is Form.JSON}
IDEMPOTENT_CASES = {name: case for name, case in CASES.items() if not case.is_sum}

FACTORS = st.sampled_from([1.5, 2.0, 10.0, 1e6])
PLACES = st.integers(0, len(AGENTS) - 1)


def each(cases: Mapping[str, Case]) -> pytest.MarkDecorator:
    """Runs a test once for each case."""
    return pytest.mark.parametrize("case", cases.values(), ids=cases.keys())


def heard(claims: Sequence[Testimony]) -> list[Testimony]:
    """Those that have a say."""
    return [claim for claim in claims if claim.weight] or list(claims)


def heavier(claims: Sequence[Testimony], index: int, factor: float) -> list[Testimony]:
    """The same claims, one of which weighs more; it has a say before."""
    assume(claims[index].weight and math.isfinite(claims[index].weight * factor))
    changed = list(claims)
    changed[index] = replace(claims[index], weight=claims[index].weight * factor)
    return changed


def number(value: Value) -> Fraction:
    """A number as the decimal that JSON writes."""
    decoded = value.decoded()
    return Fraction(decoded) if isinstance(decoded, int) else Fraction(repr(decoded))


def elements(value: Value) -> set[str]:
    """A set as what stands in it, in canonical JSON."""
    return {canonical(element) for element in value.decoded()}
