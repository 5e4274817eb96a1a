"""What an entry of any kind says, on one line for people: a value, a vote, a claim, a decision."""

from typing import Any, cast

from lavagna import Entry, Kind, Proposal
from lavagna_cli import values


def said(entry: Entry) -> str:
    """What the entry says: its value and, where its kind has more to it, that as well."""
    match entry.kind:
        case Kind.PROPOSAL:
            return _proposal(entry)
        case Kind.BALLOT:
            return _ballot(entry)
        case Kind.CLAIM:
            return _claim(entry)
        case _:
            return values.shown(entry)


def ground(entry: Entry) -> str:
    """What a version rests on besides its author's word; empty for a plain write."""
    basis = entry.basis
    if "decision" in basis:
        return f"accepted as {basis['decision']['proposal']}"
    if "merge" in basis:
        return _merge(basis["merge"])
    if "resolution" in basis:
        return "resolved"
    return ""


def proposed(proposal: Proposal) -> str:
    """What the proposal would have the entry say."""
    if proposal.deletes:
        return deletion(proposal.target)
    return values.shown_value(proposal.value)


def deletion(target: str) -> str:
    """What a proposal to delete an entry says."""
    return f"delete {values.printable(target)}"


def share(number: float | None) -> str:
    """A share, trust or weight with as many places as people read; empty for none."""
    return "" if number is None else f"{number:.4g}"


def _proposal(entry: Entry) -> str:
    poll: dict[str, Any] = entry.basis.get("poll", {})
    if not entry.exists:
        return values.printable(f"{poll.get('outcome', '')}: {poll.get('reason', '')}".strip(": "))
    if poll.get("operation") == "delete":
        return deletion(poll["target"])
    return values.shown(entry)


def _ballot(entry: Entry) -> str:
    said: object = entry.value
    if not isinstance(said, dict):
        return values.shown(entry)
    ballot = cast("dict[str, Any]", said)
    reason = f": {ballot['reason']}" if ballot.get("reason") else ""
    return values.printable(f"{ballot.get('choice', '')}{_sure(entry)}{reason}")


def _claim(entry: Entry) -> str:
    if not entry.exists:
        verdict = entry.basis.get("claim", {}).get("right")
        return "" if verdict is None else f"was {'right' if verdict else 'wrong'}"
    return f"{values.shown(entry)}{_sure(entry)}"


def _sure(entry: Entry) -> str:
    return "" if entry.confidence is None else f" ({share(entry.confidence)})"


def _merge(merge: dict[str, Any]) -> str:
    count, dissent = len(merge["claims"]), merge["dissent"]
    of = f"merged of {count} claim{'s' * (count != 1)} by {merge['rule']}"
    against = f", against {', '.join(dissent)}" if dissent else ""
    return values.printable(f"{of}{against}{', still open' if merge['open'] else ''}")
