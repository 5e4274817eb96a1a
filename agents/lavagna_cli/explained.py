"""Explanations as people see them: every claim or ballot with its weight as a bar, and the arithmetic."""

from collections.abc import Iterable, Sequence

from rich.text import Text

from lavagna import Contribution, Explanation, Judgement, Proposal
from lavagna_cli import bars, contents, polls, values
from lavagna_cli.layout import Cells, Column
from lavagna_cli.screen import Rows, Screen

_INDENT = 2


def show(screen: Screen, explanation: Explanation) -> None:
    """Prints the whole explanation for people."""
    _show_headline(screen, explanation)
    if explanation.contributions:
        screen.gap()
        _show_contributions(screen, explanation.contributions)
    proposal = explanation.proposal
    if proposal is None:
        # The first line says what the headline does.
        _show_lines(screen, explanation.lines[1:])
    else:
        _show_poll(screen, proposal)
        _show_reliability(screen, explanation.judgements)


def _show_headline(screen: Screen, explanation: Explanation) -> None:
    entry = explanation.entry
    if entry is None:
        return
    value = values.shown(entry) if entry.exists else f"no more: it was {entry.change}"
    screen.paragraph(Text(f"{values.printable(entry.key)} is {value}", "bold"))
    author = values.printable(entry.author) or "the server"
    ground = contents.ground(entry) or "a plain write, decided by nobody else"
    screen.paragraph(
        f"version {entry.version}, {entry.change} by {author} at revision {entry.revision}: {ground}"
    )


def _show_contributions(screen: Screen, contributions: Sequence[Contribution]) -> None:
    """A line for each claim: what it says, where its weight comes from, and how it fared."""
    has_groups = any(each.group not in {"", each.agent} for each in contributions)
    is_partial = any(0 < each.agreement < 1 for each in contributions)
    columns = [
        Column("AGENT", "bold", folds=True),
        *[Column("GROUP")] * has_groups,
        Column("CLAIM", fills=True),
        Column("STATED", right=True),
        Column("CALIBRATED", right=True),
        Column("TRUST", right=True),
        Column("WEIGHT", right=True),
        bars.COLUMN,
        *[Column("AGREES", right=True)] * is_partial,
        Column("STANDS"),
    ]
    most = max(each.weight for each in contributions)

    def row(each: Contribution) -> Cells:
        return [
            values.printable(each.agent),
            *[values.printable(each.group)] * has_groups,
            "(given up)" if each.claim is None else values.shown(each.claim),
            contents.share(each.confidence),
            contents.share(each.calibrated),
            contents.share(each.trust),
            contents.share(each.weight),
            bars.bar(each.weight, most),
            *[f"{each.agreement:.0%}"] * is_partial,
            Text("for", "green") if each.supports else Text("against", "red"),
        ]

    losers_last = sorted(contributions, key=lambda each: (not each.supports, -each.weight))
    screen.table(Rows(columns, [row(each) for each in losers_last]))


def _show_lines(screen: Screen, lines: Iterable[str]) -> None:
    """The arithmetic, as the server words it."""
    whole = [values.printable(line) for line in lines]
    if whole:
        screen.gap()
    for line in whole:
        screen.paragraph(line, indent=_INDENT)


def _show_poll(screen: Screen, proposal: Proposal) -> None:
    author = values.printable(proposal.author)
    subject = (
        f"{values.printable(proposal.key)}, by {author}, {_was(proposal)}{polls.effect(proposal)}"
    )
    screen.paragraph(subject if proposal.deletes else f"{subject}: {contents.proposed(proposal)}")
    screen.gap()
    polls.show_electors(screen, proposal)
    screen.gap()
    screen.paragraph(Text(polls.stand(proposal), polls.OUTCOME_STYLES[proposal.outcome]))
    if proposal.decided_by:
        screen.paragraph(
            f"decided by {values.printable(proposal.decided_by)}"
            f" at revision {proposal.decided_revision}"
        )


def _was(proposal: Proposal) -> str:
    return "would " if proposal.is_open else "was to "


def _show_reliability(screen: Screen, judgements: Iterable[Judgement]) -> None:
    """How often each voter is right, as far as the region's decided proposals show it."""
    known = [each for each in judgements if each.reliability is not None]
    if not known:
        return
    columns = [
        Column("VOTER", "bold", folds=True),
        Column("POLLS", right=True),
        Column("RELIABILITY", right=True),
        bars.COLUMN,
    ]
    screen.gap()
    screen.table(Rows(columns, [_reliability(each) for each in known]))


def _reliability(judgement: Judgement) -> Cells:
    reliability = judgement.reliability or 0.0
    return (
        values.printable(judgement.agent),
        str(judgement.polls),
        contents.share(reliability),
        bars.bar(reliability, 1.0),
    )
