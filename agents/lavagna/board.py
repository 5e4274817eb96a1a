"""Board: what an agent sees of a board, and how it changes it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, overload

from lavagna.activations import Activations
from lavagna.boards import Boards
from lavagna.changes import Change
from lavagna.channel import Tls
from lavagna.conditions import Condition
from lavagna.entries import Committed, Difference, Entry, Written
from lavagna.exports import Exported
from lavagna.members import Members
from lavagna.regions import Regions
from lavagna.retry import Retry
from lavagna.times import Seconds
from lavagna.triggers import Evaluation, Triggers
from lavagna.values import Value
from lavagna.watch import Commit, State, Target, Watch


class Board:
    """One agent's view of one space of a board."""

    name: str
    agent_name: str
    space: str
    triggers: Triggers
    activations: Activations
    agents: Members
    regions: Regions
    boards: Boards

    @property
    def private(self) -> Board:
        """The caller's private space of the same board."""
        raise NotImplementedError

    def as_agent(self, name: str, *, token: str | None = None) -> Board:
        """The same board as another agent sees it, over the same connection."""
        raise NotImplementedError

    async def get(self, key: str, *, at: int | None = None) -> Entry:
        """The entry, now or as of a revision.

        Raises:
            NotFound: There is none that the caller may read.
        """
        raise NotImplementedError

    async def find(self, key: str, *, at: int | None = None) -> Entry | None:
        """The entry, or None when there is none."""
        raise NotImplementedError

    async def batch_get(self, keys: Sequence[str], *, at: int | None = None) -> dict[str, Entry]:
        """The entries that exist, by the keys asked for, all of one revision."""
        raise NotImplementedError

    def entries(
        self,
        pattern: str = "",
        *,
        tags: Sequence[str] = (),
        at: int | None = None,
        keys_only: bool = False,
    ) -> AsyncIterator[Entry]:
        """The entries that match, in key order, all of one revision."""
        raise NotImplementedError

    def history(self, key: str) -> AsyncIterator[Entry]:
        """The versions of an entry, newest first, deletions included."""
        raise NotImplementedError

    async def diff(
        self, pattern: str, from_revision: int, to_revision: int = 0
    ) -> tuple[Difference, ...]:
        """How the entries that match differ between two revisions; 0 is the newest."""
        raise NotImplementedError

    def export(self, after: int = 0) -> AsyncIterator[Exported]:
        """The commits of this space, from the oldest on or after a revision."""
        raise NotImplementedError

    async def put(  # noqa: PLR0913 - options, each with a default
        self,
        key: str,
        value: Value,
        *,
        expected_version: int | None = None,
        overwrite: bool = False,
        tags: Sequence[str] = (),
        confidence: float | None = None,
        sources: Sequence[str] = (),
        ttl: Seconds | None = None,
    ) -> Written:
        """Stores a value.

        Raises:
            Conflict: The entry is not at the expected version.
            Refused: The entry exists, and neither a version nor `overwrite` was given.
        """
        raise NotImplementedError

    async def patch(  # noqa: PLR0913 - options, each with a default
        self,
        key: str,
        merge: Value,
        *,
        expected_version: int | None = None,
        overwrite: bool = False,
        tags: Sequence[str] = (),
        confidence: float | None = None,
        sources: Sequence[str] = (),
        ttl: Seconds | None = None,
    ) -> Written:
        """Merges a JSON merge patch (RFC 7396) into the entry."""
        raise NotImplementedError

    async def append(  # noqa: PLR0913 - options, each with a default
        self,
        prefix: str,
        value: Value,
        *,
        tags: Sequence[str] = (),
        confidence: float | None = None,
        sources: Sequence[str] = (),
        ttl: Seconds | None = None,
    ) -> Written:
        """Stores a value under a new key below the prefix, which never conflicts."""
        raise NotImplementedError

    async def delete(
        self, key: str, *, expected_version: int | None = None, overwrite: bool = False
    ) -> Written:
        """Deletes the entry."""
        raise NotImplementedError

    async def update(
        self, key: str, change: Callable[[Value | None], Value], *, attempts: int = 40
    ) -> Written:
        """Reads the entry, changes its value and writes it back, again when somebody was faster."""
        raise NotImplementedError

    async def commit(
        self,
        *changes: Change,
        conditions: Sequence[Condition] = (),
        otherwise: Sequence[Change] = (),
    ) -> Committed:
        """Makes all of the changes at one revision, or none.

        Raises:
            Conflict: A condition or an expected version does not hold, and no otherwise-changes
                were given.
        """
        raise NotImplementedError

    async def revert(
        self,
        key: str,
        version: int,
        *,
        expected_version: int | None = None,
        overwrite: bool = False,
    ) -> Written:
        """Writes an older version of the entry again, as a new version."""
        raise NotImplementedError

    async def compact(self, revision: int = 0) -> int:
        """Gives up the history before a revision (0: the newest); returns the oldest that stays."""
        raise NotImplementedError

    @overload
    def watch(
        self,
        *targets: str | Target,
        token: str | None = None,
        after: int | None = None,
        initial_state: Literal[False] = False,
    ) -> Watch[Commit]: ...

    @overload
    def watch(
        self,
        *targets: str | Target,
        token: str | None = None,
        after: int | None = None,
        initial_state: bool,
    ) -> Watch[Commit | State]: ...

    def watch(
        self,
        *targets: str | Target,
        token: str | None = None,
        after: int | None = None,
        initial_state: bool = False,
    ) -> Watch[Commit] | Watch[Commit | State]:
        """The commits that match from now on, after a revision, or after a token.

        With `initial_state` the state comes first, as `State` items.
        """
        raise NotImplementedError

    async def wait(
        self,
        when: str,
        *,
        on: str = "**",
        reads: Sequence[str] = (),
        timeout: Seconds | None = None,  # noqa: ASYNC109 - the exact name that shells and people say
    ) -> Evaluation:
        """Waits until the condition (CEL) holds for an entry that matches `on`.

        Raises:
            TimeoutError: It did not hold in time.
        """
        raise NotImplementedError


def connect(  # noqa: PLR0913 - options, each with a default
    target: str | None = None,
    *,
    agent: str | None = None,
    board: str | None = None,
    token: str | None = None,
    tls: Tls | None = None,
    session: str | None = None,
    retry: Retry | None = None,
) -> AbstractAsyncContextManager[Board]:
    """A board, for as long as the `async with` block lasts.

    Without arguments: `$LAVAGNA_TARGET` or localhost:7443, the board `$LAVAGNA_BOARD` or main, as
    `$LAVAGNA_AGENT` or the user's name, with the token `$LAVAGNA_TOKEN` if there is one.
    """
    raise NotImplementedError
