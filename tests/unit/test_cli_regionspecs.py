"""Regions on the command line: voters and rules as people say them, and as they are shown."""

from datetime import timedelta
from typing import Any

import pytest
import typer

from lavagna import Electorate, Merging, Policy, Region, Voters
from lavagna_cli import regionwords
from lavagna_cli.regionspecs import Terms


@pytest.mark.parametrize(
    ("said", "voters"),
    [
        ("ada", Voters("ada")),
        ("ada:2", Voters("ada", 2.0)),
        ("ada:veto", Voters("ada", 1.0, True)),
        ("ada:0.5:veto", Voters("ada", 0.5, True)),
        ("team:leads", Voters("team:leads")),
        ("team:leads:3:veto", Voters("team:leads", 3.0, True)),
        ("role:admin:veto", Voters("role:admin", 1.0, True)),
        ("*", Voters("*")),
    ],
)
def test_a_voter_is_a_name_with_a_weight_and_a_veto(said: str, voters: Voters) -> None:
    electorate = Terms(voter=[said]).electorate(Policy.QUORUM)

    assert electorate is not None
    assert list(electorate.voters) == [voters]


@pytest.mark.parametrize(
    "said", ["", ":2", "ada:two", "ada:0", "ada:-1", "ada:nan", "ada:2:3", "ada:veto:2", "team:"]
)
def test_what_is_no_voter_is_refused(said: str) -> None:
    with pytest.raises(typer.BadParameter):
        Terms(voter=[said]).electorate(Policy.QUORUM)


def test_an_electorate_has_what_the_options_say() -> None:
    terms = Terms(
        voter=["ada"],
        approvals=2.0,
        deadline=timedelta(minutes=5),
        groups_min=2,
        group_cap=1.5,
    )

    assert terms.electorate(Policy.QUORUM) == Electorate(
        voters=[Voters("ada")],
        approvals=2.0,
        deadline_seconds=300.0,
        groups_min=2,
        group_cap=1.5,
    )


def test_rules_are_by_type_and_by_field() -> None:
    terms = Terms(
        merge=["number=mean", "text=lines", "field:plan/effort=max"],
        threshold=0.4,
        group_cap=2.0,
        reconciler=["ada"],
    )

    assert terms.merging(Policy.WEIGHTED) == Merging(
        number="mean",
        text="lines",
        fields={"plan/effort": "max"},
        threshold=0.4,
        group_cap=2.0,
        reconcilers=["ada"],
    )


@pytest.mark.parametrize("said", ["mean", "number=", "numbers=mean", "field:=max", "=mean", ""])
def test_what_is_no_rule_is_refused(said: str) -> None:
    with pytest.raises(typer.BadParameter, match="is not TYPE=RULE"):
        Terms(merge=[said]).merging(Policy.WEIGHTED)


def _terms_for(said: Terms, policy: Policy) -> tuple[Electorate | None, Merging | None]:
    """What the options come to."""
    return said.electorate(policy), said.merging(policy)


@pytest.mark.parametrize(
    ("policy", "terms", "fault"),
    [
        (Policy.GUARDED, {"voter": ["ada"]}, "--voter goes with --policy quorum"),
        (Policy.OWNER, {"groups_min": 2}, "--groups-min goes with --policy quorum"),
        (Policy.WEIGHTED, {"share": 0.5}, "--share goes with --policy quorum"),
        (Policy.QUORUM, {"merge": ["number=mean"]}, "--merge goes with --policy weighted"),
        (Policy.LATEST, {"group_cap": 1.0}, "--group-cap goes with --policy quorum or weighted"),
        (Policy.QUORUM, {"approvals": 1.0, "share": 0.5}, "only one of --approvals and --share"),
    ],
)
def test_an_option_that_means_nothing_to_the_policy_is_refused(
    policy: Policy, terms: dict[str, Any], fault: str
) -> None:
    said = Terms(**terms)
    with pytest.raises(typer.BadParameter, match=fault):
        _terms_for(said, policy)


@pytest.mark.parametrize(
    ("region", "words"),
    [
        (Region("a"), ""),
        (Region("a", owner="ceo", policy=Policy.OWNER), "ceo decides"),
        (
            Region(
                "a",
                policy=Policy.QUORUM,
                electorate=Electorate([Voters("ada", 2.0, veto=True), "bob"], approvals=2.0),
            ),
            "2 of ada:2:veto, bob",
        ),
        (
            Region("a", policy=Policy.QUORUM, electorate=Electorate(["*"])),
            "more than 0.5 of the weight of *",
        ),
        (
            Region("a", policy=Policy.QUORUM, electorate=Electorate(["*"], share=0.75)),
            "0.75 of the weight of *",
        ),
        (Region("a", policy=Policy.WEIGHTED), "usual rules"),
        (
            Region(
                "a",
                policy=Policy.WEIGHTED,
                merging=Merging(number="mean", text="select", fields={"days": "max"}),
            ),
            "number=mean field:days=max",
        ),
    ],
)
def test_a_region_says_shortly_how_it_decides(region: Region, words: str) -> None:
    assert regionwords.shortly(region) == words
