"""propose, vote, withdraw: writes that wait for votes, and the votes."""

from dataclasses import replace
from shlex import quote
from typing import Annotated

import typer

from lavagna import Board, Choice, LavagnaError, NotFound, Proposal
from lavagna_cli import completion, contents, documents, polls, values
from lavagna_cli.arguments import (
    AsData,
    AsJson,
    AsText,
    Confidence,
    Expect,
    Key,
    ProposalKey,
    SourceNames,
    Tags,
    Ttl,
)
from lavagna_cli.choices import argument_of
from lavagna_cli.command import CONSENSUS, Scope, command
from lavagna_cli.invocation import Invocation
from lavagna_cli.screen import Screen

app = typer.Typer()

_SHOWN_LENGTH_MAX = 2_000
"""So much of what is voted on is shown; all of it is in `lavagna proposals get`."""


@command(
    app,
    scope=Scope.BOARD,
    panel=CONSENSUS,
    example="""
    lavagna propose design '{"style": "log"}' --confidence 0.8
    lavagna propose design @design.md --text --expect 3
    lavagna propose design --delete
    """,
)
async def propose(
    invocation: Invocation,
    key: Key,
    value: Annotated[
        str | None,
        typer.Argument(
            metavar="VALUE",
            help="The value; - reads standard input, @FILE a file, @@TEXT a text that begins with @.",
        ),
    ] = None,
    *,
    delete: Annotated[bool, typer.Option("--delete", help="Propose to delete it.")] = False,
    as_json: AsJson = False,
    as_text: AsText = False,
    as_data: AsData = False,
    expect: Expect = None,
    tag: Tags = None,
    confidence: Confidence = None,
    source: SourceNames = None,
    ttl: Ttl = None,
) -> None:
    """Propose a value for an entry where that waits for votes, and print the proposal's key.

    Any write there proposes; this one refuses where nobody is asked. Your own vote is the first,
    when you have one. The value is read as by `lavagna put`.
    """
    form = values.form_said(as_json=as_json, as_text=as_text, as_data=as_data)
    if (value is None) != delete:
        raise typer.BadParameter("Pass either a VALUE or --delete.")
    described = (form, tag, confidence, source, ttl)
    if delete and any(each is not None for each in described):
        raise typer.BadParameter("A deletion has nothing but --expect.")
    content = b"" if value is None else values.read(value, form)
    async with invocation.board() as board:
        if delete:
            proposal = await board.propose_delete(key, expected_version=expect)
        else:
            proposal = await board.propose(
                key,
                content,
                expected_version=expect,
                tags=tag or (),
                confidence=confidence,
                sources=source or (),
                ttl=ttl,
            )
    _show(invocation.screen, proposal, f"Proposed as {values.printable(proposal.key)}")
    if proposal.is_open:
        invocation.screen.remark(f"Others vote: lavagna vote {quote(proposal.key)} accept")
    values.warn_of_text(invocation.screen.remark, content, form)


@command(
    app,
    scope=Scope.BOARD,
    panel=CONSENSUS,
    example="""
    lavagna vote design/000000000007-000 accept
    lavagna vote design/000000000007-000 reject --reason "no rollback" --confidence 0.9
    """,
)
async def vote(
    invocation: Invocation,
    key: ProposalKey,
    choice: Annotated[
        str,
        argument_of(Choice, explained="What you say; who abstains is won by neither side."),
    ],
    *,
    reason: Annotated[
        str, typer.Option(help="Why, in your words; it is kept and shown.", metavar="TEXT")
    ] = "",
    confidence: Confidence = None,
    content_hash: Annotated[
        str,
        typer.Option(
            "--hash",
            help="Only if this is still what is voted on: the hash of what you looked at before.",
            metavar="HASH",
        ),
    ] = "",
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Do not show what is voted on.")
    ] = False,
) -> None:
    """Vote on a proposal; a later vote takes the place of an earlier one while it is open.

    Shows what is voted on, and votes on exactly that.
    """
    async with invocation.board() as board:
        proposal = await _proposal(board, key)
        if content_hash:
            proposal = replace(proposal, content_hash=content_hash)
        elif not quiet:
            _show_subject(invocation.screen, proposal)
        voted = await board.vote(proposal, Choice(choice), confidence=confidence, reason=reason)
    _show(invocation.screen, voted, f"You {choice} {values.printable(voted.key)}")


@command(
    app,
    scope=Scope.BOARD,
    panel=CONSENSUS,
    example="""
    lavagna withdraw design/000000000007-000 --reason "a better one follows"
    lavagna withdraw effort
    """,
)
async def withdraw(
    invocation: Invocation,
    subject: Annotated[
        str,
        typer.Argument(
            metavar="PROPOSAL|KEY",
            help="A proposal's key; or the key that your claim is about.",
            autocompletion=completion.open_proposals,
        ),
    ],
    *,
    reason: Annotated[str, typer.Option(help="Why; for a proposal alone.", metavar="TEXT")] = "",
) -> None:
    """Take back a proposal, or your own claim about a key; the answer says which it was."""
    async with invocation.board() as board:
        try:
            proposal = await board.proposals.get(subject)
        except NotFound:
            await _withdraw_claim(invocation.screen, board, subject, reason)
            return
        ended = await board.withdraw(proposal, reason=reason)
    invocation.screen.done(
        {"withdrawn": "proposal", "proposal": documents.of(ended), "merged": None},
        bare=values.printable(ended.key),
        remark=f"Withdrew the proposal {values.printable(ended.key)}",
    )


async def _withdraw_claim(screen: Screen, board: Board, subject: str, reason: str) -> None:
    if reason:
        raise typer.BadParameter(
            f"{subject} is no proposal, and a claim is withdrawn without --reason."
        )
    key = subject.removesuffix(f"/@{board.agent_name}")
    try:
        merged = await board.withdraw(key)
    except NotFound as error:
        error.add_note(f"You have no claim about it; see `lavagna claims {quote(key)}`.")
        raise
    except LavagnaError as error:
        await polls.name_open(board, subject, error)
        raise
    left = f"the others come to {contents.said(merged)}" if merged else "no claim is left"
    screen.done(
        {"withdrawn": "claim", "proposal": None, "merged": documents.of(merged)},
        bare=values.printable(key),
        remark=f"Withdrew your claim about {values.printable(key)}; {left}",
    )


async def _proposal(board: Board, key: str) -> Proposal:
    try:
        return await board.proposals.get(key)
    except NotFound as error:
        await polls.name_open(board, key, error)
        raise


def _show_subject(screen: Screen, proposal: Proposal) -> None:
    """Tells a voter what the vote is about, on standard error."""
    author = values.printable(proposal.author)
    screen.remark(
        f"{values.printable(proposal.key)}: {author} proposes to {polls.effect(proposal)}"
    )
    if not proposal.deletes:
        screen.remark(f"  {values.shortened(contents.proposed(proposal), _SHOWN_LENGTH_MAX)}")


def _show(screen: Screen, proposal: Proposal, done: str) -> None:
    """What became of the proposal; bare text is its key."""
    screen.done(
        documents.of(proposal),
        bare=values.printable(proposal.key),
        remark=f"{done}; {polls.stand(proposal)}",
    )
