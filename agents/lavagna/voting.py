"""Voting: an agent's function says what it thinks of a proposal, and its ballot is cast."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Literal, TypeAlias

from lavagna.checks import checked_text, checked_type
from lavagna.entries import ChangeType, Kind
from lavagna.errors import Invalid, PollClosed
from lavagna.proposals import Choice
from lavagna.registration import Function, checked_function
from lavagna.triggers import Source
from lavagna.work import Work

ChoiceWord: TypeAlias = Choice | Literal["accept", "reject", "abstain"]
"""A choice, or the word for it."""

Said: TypeAlias = ChoiceWord | tuple[ChoiceWord, float | None, str]
"""A choice; or with it how sure the voter is, from 0 to 1 or None, and why."""

VotingFunction: TypeAlias = Callable[[Work], Awaitable[Said | None]]
"""What looks at `work.proposal` and says what it thinks of it; None casts no ballot."""

_NUMBER = "{proposal}"
"""The last segment of a proposal's key, by the name that it is bound to."""

_PARTS = 3

_log = logging.getLogger(__name__)


def proposed(pattern: str) -> Source:
    """Open proposals about the entries that match.

    Raises:
        Invalid: The pattern is no text, or names the proposal itself.
    """
    if _NUMBER in checked_text(pattern, field="patterns").split("/"):
        raise Invalid.field("patterns", f"name the entries that would change, without {_NUMBER}")
    is_open_ended = pattern in {"", "**"} or pattern.endswith("/**")
    below = pattern if is_open_ended else f"{pattern}/{_NUMBER}"
    return Source(below, kinds=[Kind.PROPOSAL], changes=[ChangeType.PROPOSED])


def voting(function: VotingFunction, agent: str) -> Function:
    """The function that casts the agent's ballot by what `function` says.

    A proposal on which the agent has no vote, or has cast it, and one that is decided meanwhile, are
    passed over: the work is completed without a ballot.

    Raises:
        TypeError: It is no coroutine function.
    """
    # Told apart here, where the function that the user wrote is known.
    checked_function(function)

    @wraps(function)
    async def vote(work: Work) -> None:
        proposal = await work.board.proposals.get(work.activation.key)
        if not proposal.awaits(agent):
            return
        work.proposal = proposal
        said = await function(work)
        if said is None or work.settled:
            return
        choice, confidence, reason = _parts(said)
        try:
            await work.board.vote(proposal, choice, confidence=confidence, reason=reason)
        except PollClosed as closed:
            _log.info("%s: the ballot comes too late: %s", work.activation.id, closed)

    return vote


def _parts(said: Said) -> tuple[Choice, float | None, str]:
    if not isinstance(said, tuple):
        return _choice(said), None, ""
    if len(said) != _PARTS:
        raise Invalid.field("ballot", "expected a choice, or (choice, confidence, reason)")
    choice, confidence, reason = said
    return _choice(choice), confidence, reason


def _choice(word: ChoiceWord) -> Choice:
    checked_type(word, str, field="ballot", expected="a choice, or (choice, confidence, reason)")
    try:
        return Choice(word)
    except ValueError:
        words = ", ".join(each for each in Choice if each is not Choice.UNKNOWN)
        raise Invalid.field("ballot", f"expected one of {words}, not {word!r}") from None
