"""Who decides in a region and how claims are merged, as a command line says it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

import typer

from lavagna import Electorate, Merging, Policy, Voters
from lavagna_cli.durations import duration

_VOTES = "Votes, with --policy quorum"
_CLAIMS = "Claims, with --policy weighted"

VoterNames = Annotated[
    list[str] | None,
    typer.Option(
        "--voter",
        help="Who votes: AGENT, team:TEAM, role:agent, role:admin or *, how much each vote weighs, and whether each"
        " can reject alone; may be given again.",
        metavar="WHO[:WEIGHT][:veto]",
        rich_help_panel=_VOTES,
    ),
]
Approvals = Annotated[
    float | None,
    typer.Option(
        help="The weight that must accept: the k of k of n.",
        metavar="WEIGHT",
        min=0,
        rich_help_panel=_VOTES,
    ),
]
Share = Annotated[
    float | None,
    typer.Option(
        help="Or the share of all weight: at least this, and more than it up to one half."
        " Unset, more than one half.",
        metavar="SHARE",
        min=0,
        max=1,
        rich_help_panel=_VOTES,
    ),
]
Deadline = Annotated[
    timedelta | None,
    typer.Option(
        help="A proposal ends undecided after this long; a day if left out.",
        metavar="DURATION",
        parser=duration,
        rich_help_panel=_VOTES,
    ),
]
GroupsMin = Annotated[
    int | None,
    typer.Option(
        help="From how many voter groups acceptance must come.",
        metavar="COUNT",
        min=0,
        rich_help_panel=_VOTES,
    ),
]
GroupCap = Annotated[
    float | None,
    typer.Option(
        help="How many times its strongest member a voter group may count, of votes and of claims.",
        metavar="TIMES",
        min=1,
        rich_help_panel=_VOTES,
    ),
]
MergeRules = Annotated[
    list[str] | None,
    typer.Option(
        "--merge",
        help="How claims are merged, by the type of value: number, category, collection,"
        " record, text; field:PATH for a field of objects; may be given again. "
        "[dim]number: median, mean, min, max, sum, linear-pool, log-pool, select; category:"
        " weighted-plurality, plurality, confidence-buckets; collection: threshold, union, select;"
        " record: fields, select; text: select, lines, reconcile[/]",
        metavar="TYPE=RULE",
        rich_help_panel=_CLAIMS,
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        help="Sets keep what more than this share of the weight claims; half if left out.",
        metavar="SHARE",
        min=0,
        max=1,
        rich_help_panel=_CLAIMS,
    ),
]
Reconcilers = Annotated[
    list[str] | None,
    typer.Option(
        "--reconciler",
        help="Whose claim ends a `reconcile`: AGENT, team:TEAM or *; the owner if left"
        " out; may be given again.",
        metavar="WHO",
        rich_help_panel=_CLAIMS,
    ),
]

VETO = "veto"
"""The word after a voter who can reject alone."""
_TEAM = "team"
_ROLE = "role"
FIELD = "field:"
"""What stands before the path of a field with a rule of its own."""
TYPES = ("number", "category", "collection", "record", "text")
"""The types of values that have a rule each."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the options of `regions set` say about deciding and merging; unset is None."""

    voter: list[str] | None = None
    approvals: float | None = None
    share: float | None = None
    deadline: timedelta | None = None
    groups_min: int | None = None
    group_cap: float | None = None
    merge: list[str] | None = None
    threshold: float | None = None
    reconciler: list[str] | None = None

    def electorate(self, policy: Policy) -> Electorate | None:
        """Who decides; None where nobody votes.

        Raises:
            typer.BadParameter: An option means nothing to the policy, or a voter is none.
        """
        if policy is not Policy.QUORUM:
            names = ("voter", "approvals", "share", "deadline", "groups_min")
            self._refuse(names, "quorum")
            return None
        if self.approvals and self.share:
            raise typer.BadParameter("Pass only one of --approvals and --share.")
        return Electorate(
            voters=[_voters(each) for each in self.voter or ()],
            approvals=self.approvals or 0.0,
            share=self.share or 0.0,
            deadline_seconds=None if self.deadline is None else self.deadline.total_seconds(),
            groups_min=self.groups_min or 0,
            group_cap=self.group_cap or 0.0,
        )

    def merging(self, policy: Policy) -> Merging | None:
        """How claims are merged; None where they are not.

        Raises:
            typer.BadParameter: An option means nothing to the policy, or a rule names no type.
        """
        if policy is not Policy.WEIGHTED:
            self._refuse(("merge", "threshold", "reconciler"), "weighted")
            if policy is not Policy.QUORUM:
                self._refuse(("group_cap",), "quorum or weighted")
            return None
        rules, of_fields = _rules(self.merge or [])
        return Merging(
            **rules,
            fields=of_fields,
            threshold=self.threshold,
            group_cap=self.group_cap or 0.0,
            reconcilers=self.reconciler or (),
        )

    def _refuse(self, names: tuple[str, ...], policy: str) -> None:
        for name in names:
            if getattr(self, name) is not None:
                option = name.replace("_", "-")
                raise typer.BadParameter(f"--{option} goes with --policy {policy}.")


def _voters(text: str) -> Voters:
    """The voters that `NAME[:WEIGHT][:veto]` says; a team's and a role's have a colon of their own."""
    name, *rest = text.split(":")
    if name in {_TEAM, _ROLE} and rest and rest[0]:
        name = f"{name}:{rest.pop(0)}"
    veto = bool(rest) and rest[-1] == VETO
    weights = rest[:-1] if veto else rest
    if not name or len(weights) > 1:
        raise typer.BadParameter(f"{text!r} is not WHO[:WEIGHT][:veto], such as cto:2:veto.")
    return Voters(name, _weight(text, weights[0]) if weights else 1.0, veto)


def _weight(text: str, weight: str) -> float:
    try:
        number = float(weight)
    except ValueError:
        number = 0.0
    if not number > 0:  # NaN neither
        raise typer.BadParameter(f"{text!r} has no weight above 0 after the name, such as cto:2.")
    return number


def _rules(pairs: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The rules by type and by field."""
    rules: dict[str, str] = {}
    of_fields: dict[str, str] = {}
    for pair in pairs:
        name, _, rule = pair.rpartition("=")
        if name in TYPES and rule:
            rules[name] = rule
        elif name.startswith(FIELD) and name != FIELD and rule:
            of_fields[name.removeprefix(FIELD)] = rule
        else:
            types = ", ".join(TYPES)
            raise typer.BadParameter(
                f"{pair!r} is not TYPE=RULE with a TYPE of {types}, or field:PATH."
            )
    return rules, of_fields
