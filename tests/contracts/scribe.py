"""Writes to one space as the engine would: revisions and versions are counted, commits are sealed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from lavagna_server.domain.agenda import Activation
from lavagna_server.domain.chain import sealed
from lavagna_server.domain.entries import (
    Cause,
    ChangeType,
    Commit,
    Entry,
    EntryId,
    Kind,
    Occasion,
    Space,
    SpaceName,
    advanced,
)
from lavagna_server.domain.values import Form, Value
from lavagna_server.ports.store import Changes, Store, Subtree

START = datetime(2030, 1, 1, tzinfo=UTC)
"""When the first commit of every test is made; each further one is a second later."""


def note(key: str) -> EntryId:
    """The name of a note."""
    return EntryId(Kind.NOTE, key)


def text(content: str) -> Value:
    """A value that is text."""
    return Value(Form.TEXT, content)


@dataclass(frozen=True, slots=True)
class Draft:
    """What a commit does to one entry."""

    key: str
    value: Value | None
    """None deletes the entry."""
    tags: tuple[str, ...] = ()
    confidence: float | None = None
    sources: tuple[str, ...] = ()
    expires_at: datetime | None = None
    change: ChangeType | None = None


def put(key: str, content: str = "", *, expires_at: datetime | None = None) -> Draft:
    """Writes text; the key itself when no content is given."""
    return Draft(key, text(content or key), expires_at=expires_at)


def gone(key: str, *, change: ChangeType = ChangeType.DELETED) -> Draft:
    """Ends an entry."""
    return Draft(key, None, change=change)


class Scribe:
    """The only writer of a space."""

    def __init__(self, store: Store, board: str = "atelier", owner: str = "") -> None:
        self._store = store
        self._pending: list[Commit] = []
        self._newest: dict[EntryId, Entry] = {}
        self.space = Space(SpaceName(board, owner), epoch="first")

    @property
    def name(self) -> SpaceName:
        """The space that it writes to."""
        return self.space.name

    def newest(self, key: str) -> Entry:
        """The newest version that was written."""
        return self._newest[note(key)]

    def commit(self, *drafts: Draft, at: datetime | None = None) -> Commit:
        """Makes a commit and stores it."""
        made = self.stage(*drafts, at=at)
        self.flush()
        return made

    def stage(
        self,
        *drafts: Draft,
        at: datetime | None = None,
        author: str = "ada",
        cause: Cause | None = None,
        request_id: str = "",
        occasion: Occasion = Occasion.WRITE,
        compacted: tuple[Subtree, int] = (Subtree(), 0),
    ) -> Commit:
        """Makes a commit, to be stored with others as one group."""
        revision = self.space.head + 1
        moment = at or START + timedelta(seconds=revision - 1)
        entries = tuple(self._entry(draft, revision, moment, author, cause) for draft in drafts)
        made = Commit(
            self.name,
            revision,
            moment,
            author,
            occasion,
            entries,
            cause,
            request_id,
            compacted[1],
            compacted[0].path,
        )
        made = sealed(made, self.space.digest)
        self.space = advanced(self.space, made)
        self._newest.update((entry.id, entry) for entry in entries)
        self._pending.append(made)
        return made

    def changes(self) -> Changes:
        """What is not stored yet; from now on taken as stored."""
        pending, self._pending = self._pending, []
        return Changes(spaces=[self.space], commits=pending)

    def flush(self) -> None:
        """Stores what was staged, in one transaction."""
        changes = self.changes()
        with self._store.transaction() as transaction:
            transaction.write(changes)

    def fire(self, *activations: Activation) -> None:
        """Stores activations as they are."""
        top = max((each.id.number for each in activations), default=0)
        self.space = replace(self.space, activations=max(self.space.activations, top))
        with self._store.transaction() as transaction:
            transaction.write(Changes(spaces=[self.space], activations=list(activations)))

    def _entry(
        self, draft: Draft, revision: int, moment: datetime, author: str, cause: Cause | None
    ) -> Entry:
        before = self._newest.get(note(draft.key))
        if draft.value is None:
            assert before is not None
            change = draft.change or ChangeType.DELETED
            return before.ended(change, revision=revision, author=author, at=moment, cause=cause)
        return Entry(
            Kind.NOTE,
            draft.key,
            before.version + 1 if before else 1,
            revision,
            draft.change
            or (ChangeType.UPDATED if before and before.exists else ChangeType.CREATED),
            draft.value,
            author,
            moment,
            draft.tags,
            draft.confidence,
            draft.sources,
            draft.expires_at,
            cause,
        )


def keys(entries: Sequence[Entry]) -> list[str]:
    """The keys of entries, in their order."""
    return [entry.key for entry in entries]
