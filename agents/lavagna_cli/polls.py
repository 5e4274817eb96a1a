"""Proposals as people see them: in lists, one by one, and with every voter's weight as a bar."""

import math
from collections.abc import Sequence

from rich.text import Text

from lavagna import Ballot, Board, Choice, Elector, LavagnaError, Outcome, Proposal
from lavagna_cli import bars, contents, moments, values
from lavagna_cli.layout import Cells, Column
from lavagna_cli.listing import Listing
from lavagna_cli.screen import Rows, Screen

OUTCOME_STYLES = {
    Outcome.OPEN: "cyan",
    Outcome.ACCEPTED: "green",
    Outcome.REJECTED: "red",
    Outcome.UNDECIDED: "yellow",
    Outcome.SUPERSEDED: "yellow",
    Outcome.WITHDRAWN: "yellow",
    Outcome.UNKNOWN: "",
}
_CHOICE_STYLES = {
    Choice.ACCEPT: "green",
    Choice.REJECT: "red",
    Choice.ABSTAIN: "yellow",
    Choice.UNKNOWN: "",
}
_NAMED_MAX = 3
"""So many proposals are named to somebody who named none."""


def outcome(proposal: Proposal) -> Text:
    """How the proposal stands, in its colour."""
    return Text(proposal.outcome, OUTCOME_STYLES[proposal.outcome])


def stand(proposal: Proposal) -> str:
    """How the proposal stands and why, in a sentence without its end."""
    return values.printable(f"{proposal.outcome}: {proposal.reason}")


def effect(proposal: Proposal) -> str:
    """What accepting the proposal would do to the entry."""
    target = values.printable(proposal.target)
    if proposal.deletes:
        return f"delete {target}, now at version {proposal.base_version}"
    if proposal.base_version:
        return f"change {target}, now at version {proposal.base_version}"
    return f"create {target}"


def properties(proposal: Proposal) -> dict[str, str | Text]:
    """All that is known of a proposal but its voters."""
    return {
        "proposal": values.printable(proposal.key),
        "outcome": outcome(proposal),
        "because": values.printable(proposal.reason),
        "would" if proposal.is_open else "was to": effect(proposal),
        "value": "" if proposal.deletes else contents.proposed(proposal),
        "author": values.printable(proposal.author),
        "proposed": moments.shown(proposal.proposed_at),
        "deadline": moments.shown(proposal.deadline_at) if proposal.is_open else "",
        "decided by": values.printable(proposal.decided_by),
        "at revision": str(proposal.decided_revision or ""),
        "hash": proposal.content_hash,
    }


def show_electors(screen: Screen, proposal: Proposal) -> None:
    """Prints a line for each voter: its weight as a bar, its vote, and why."""
    has_groups = any(each.group not in {"", each.agent} for each in proposal.electors)
    has_vetoes = any(each.veto for each in proposal.electors)
    columns = [
        Column("VOTER", "bold", folds=True),
        *[Column("GROUP")] * has_groups,
        *[Column("VETO")] * has_vetoes,
        Column("WEIGHT", right=True),
        bars.COLUMN,
        Column("CHOICE"),
        Column("SURE", right=True),
        Column("REASON", wraps=True),
    ]
    most = max((each.weight for each in proposal.electors), default=0.0)

    def row(elector: Elector) -> Cells:
        ballot = proposal.ballot(elector.agent)
        return [
            values.printable(elector.agent),
            *[values.printable(elector.group)] * has_groups,
            *["yes" if elector.veto else ""] * has_vetoes,
            contents.share(elector.weight),
            bars.bar(elector.weight, most),
            _choice(proposal, ballot),
            contents.share(ballot.confidence) if ballot else "",
            values.printable(ballot.reason) if ballot else "",
        ]

    screen.table(Rows(columns, [row(each) for each in _by_choice(proposal)]))


def _by_choice(proposal: Proposal) -> Sequence[Elector]:
    """Those for it, those against it, those who abstain, those who have not voted; the heavy first."""
    order = [Choice.ACCEPT, Choice.REJECT, Choice.ABSTAIN, Choice.UNKNOWN]

    def place(elector: Elector) -> tuple[int, float, str]:
        ballot = proposal.ballot(elector.agent)
        at = order.index(ballot.choice) if ballot else len(order)
        return at, -elector.weight, elector.agent

    return sorted(proposal.electors, key=place)


def _choice(proposal: Proposal, ballot: Ballot | None) -> Text:
    if ballot is None:
        return Text("not yet" if proposal.is_open else "silent", "dim")
    return Text(ballot.choice, _CHOICE_STYLES[ballot.choice])


def _accepted(proposal: Proposal) -> float:
    weights = {each.agent: each.weight for each in proposal.electors}
    return math.fsum(
        weights.get(each.agent, 0.0) for each in proposal.ballots if each.choice is Choice.ACCEPT
    )


def _row(proposal: Proposal) -> Cells:
    return (
        values.printable(proposal.key),
        values.printable(proposal.author),
        outcome(proposal),
        contents.share(_accepted(proposal)),
        f"{'>' * proposal.strict}{contents.share(proposal.threshold)}",
        moments.to_the_minute(proposal.deadline_at) if proposal.is_open else "",
        contents.proposed(proposal),
    )


LISTING = Listing(
    "proposals",
    (
        Column("PROPOSAL", "bold", folds=True),
        Column("AUTHOR", "magenta"),
        Column("OUTCOME"),
        Column("FOR", right=True),
        Column("NEEDS", right=True),
        Column("UNTIL", "dim"),
        Column("VALUE", fills=True),
    ),
    _row,
    nothing="No proposal matches.",
)


async def name_open(board: Board, key: str, error: LavagnaError) -> None:
    """Adds to an error about a key which open proposals about that entry could be meant."""
    try:
        found = [each.key async for each in board.proposals.list(key, outcomes=[Outcome.OPEN])]
    except LavagnaError:  # a key that is no pattern; what went wrong first is what to tell
        return
    if found:
        more = " and others" if len(found) > _NAMED_MAX else ""
        error.add_note(f"Open there: {', '.join(found[:_NAMED_MAX])}{more}.")
