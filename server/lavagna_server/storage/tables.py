"""The tables in which a board is kept, alike in every SQL database.

Times are microseconds since 1970 in UTC, durations microseconds. What is only carried and never searched is JSON text. Values are bytes,
as their author wrote them. Keys compare by code point.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, MetaData, Table, text
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

SCHEMA_VERSION = 2
"""Rises whenever a table changes."""

_ROWS = (
    registry()
)  # of our own, so that a program with other tables can run a server in its process


class _Row(SQLModel, registry=_ROWS):
    """A row of one of the tables below."""


def _partial(name: str, *columns: str, where: str, sqlite_where: str = "") -> Index:
    return Index(
        name, *columns, sqlite_where=text(sqlite_where or where), postgresql_where=text(where)
    )


class Boards(_Row, table=True):
    """Boards and their settings."""

    name: str = Field(primary_key=True)
    epoch: str
    display_name: str
    cascade_max: int = Field(sa_type=BigInteger)
    rating_min: int = Field(sa_type=BigInteger)
    version: int = Field(sa_type=BigInteger)
    created_at: int | None = Field(sa_type=BigInteger)


class Spaces(_Row, table=True):
    """Where each log stands; gives it the number that stands for it in other tables."""

    __table_args__ = (Index("spaces_by_name", "board", "owner", unique=True),)

    id: int | None = Field(default=None, primary_key=True)
    board: str
    owner: str
    epoch: str
    head: int = Field(sa_type=BigInteger)
    oldest: int = Field(sa_type=BigInteger)
    activations: int = Field(sa_type=BigInteger)
    committed_at: int | None = Field(sa_type=BigInteger)
    digest: bytes


class Commits(_Row, table=True):
    """The log: one row per revision."""

    __table_args__ = {"sqlite_with_rowid": False}

    space: int = Field(primary_key=True)
    revision: int = Field(primary_key=True, sa_type=BigInteger)
    committed_at: int = Field(sa_type=BigInteger)
    author: str
    occasion: str
    cause: str | None
    request_id: str
    compacted_to: int = Field(sa_type=BigInteger)
    compacted_path: str
    changes: int
    """How many entries the commit changed; there may be fewer versions of it left."""
    digest: bytes
    content_digest: bytes


class Versions(_Row, table=True):
    """The log's content: one row per changed entry, the only place that holds values."""

    __table_args__ = (
        # Revision and version rise together, so one index serves both; it covers the search for a version.
        Index("versions_by_entry", "space", "kind", "key", "revision", "version", unique=True),
    )

    space: int = Field(primary_key=True)
    revision: int = Field(primary_key=True, sa_type=BigInteger)
    ordinal: int = Field(primary_key=True)
    """The place within the commit."""
    kind: str
    key: str
    version: int = Field(sa_type=BigInteger)
    change: str
    author: str
    committed_at: int = Field(sa_type=BigInteger)
    cause: str | None
    tags: str | None
    confidence: float | None
    sources: str | None
    expires_at: int | None = Field(sa_type=BigInteger)
    form: str | None
    basis: str | None
    weight_bytes: int
    """What the version takes in a message, so that pages can be cut without reading what is on them."""
    content: bytes | None
    """Last, so that reading the others never touches the pages of a large value."""


class Heads(_Row, table=True):
    """The newest version of each entry, as a pointer into the log; ends are kept, so that versions never restart."""

    __table_args__ = (
        _partial("heads_expiring", "expires_at", where="expires_at IS NOT NULL"),
        {"sqlite_with_rowid": False},
    )

    space: int = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    key: str = Field(primary_key=True)
    version: int = Field(sa_type=BigInteger)
    revision: int = Field(sa_type=BigInteger)
    ordinal: int
    expires_at: int | None = Field(sa_type=BigInteger)
    ended: bool


class Alive(_Row, table=True):
    """The entries that exist: what a list walks along, however many have ended.

    A table and not an index of `heads`, because most writes are updates, and those leave it alone.
    """

    __table_args__ = {"sqlite_with_rowid": False}

    space: int = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    key: str = Field(primary_key=True)


class Regions(_Row, table=True):
    """Regions and their rules."""

    board: str = Field(primary_key=True)
    path: str = Field(primary_key=True)
    owner: str
    readers: str
    writers: str
    policy: str
    value_schema: str
    retention_age: int | None = Field(sa_type=BigInteger)
    versions_max: int = Field(sa_type=BigInteger)
    version: int = Field(sa_type=BigInteger)
    oldest: int = Field(sa_type=BigInteger)
    electorate: str
    merging: str


class Agents(_Row, table=True):
    """Agents as registered."""

    board: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    role: int
    teams: str
    token_hash: bytes
    revoked: bool
    created_at: int | None = Field(sa_type=BigInteger)
    version: int = Field(sa_type=BigInteger)


class Standings(_Row, table=True):
    """How much an agent's word weighs on a board, whether or not the agent is registered."""

    board: str = Field(primary_key=True)
    agent: str = Field(primary_key=True)
    trust: float
    voter_group: str
    version: int = Field(sa_type=BigInteger)
    calibrations: str


class Triggers(_Row, table=True):
    """Triggers as set, and what became of their activations."""

    board: str = Field(primary_key=True)
    owner: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    agent: str
    team: str
    sources: str
    reads: str
    condition: str
    rating: str
    mode: str
    schedule: str | None
    limits: str
    own_writes: bool
    suspended: bool
    version: int = Field(sa_type=BigInteger)
    statistics: str
    next_due_at: int | None = Field(sa_type=BigInteger)


class Activations(_Row, table=True):
    """Every firing of a trigger. The indexes of open ones stay small however many have ended.

    They hold their own condition as a column too, so that a planner without statistics prefers them.
    """

    __table_args__ = (
        Index("activations_by_root", "space", "root"),
        Index("activations_by_binding", "space", "trigger", "binding", "number"),
        Index("activations_by_firing", "space", "trigger", "binding", "fired_at"),
        _partial(
            "activations_agenda",
            "space",
            "is_open",
            "state",
            "worker",
            "descent",
            "number",
            where="is_open",
            sqlite_where="is_open = 1",
        ),
        _partial(
            "activations_open",
            "space",
            "is_open",
            "trigger",
            "binding",
            "number",
            "state",
            where="is_open",
            sqlite_where="is_open = 1",
        ),
        _partial(
            "activations_ended",
            "space",
            "state",
            "number",
            where="not is_open",
            sqlite_where="is_open = 0",
        ),
        _partial("activations_leased", "lease_expires_at", where="lease_expires_at IS NOT NULL"),
        _partial("activations_due", "due_by", where="due_by IS NOT NULL"),
        _partial("activations_waiting", "not_before", where="not_before IS NOT NULL"),
    )

    space: int = Field(primary_key=True)
    number: int = Field(primary_key=True, sa_type=BigInteger)
    trigger: str
    worker: str
    state: str
    is_open: bool
    kind: str | None
    key: str
    version: int = Field(sa_type=BigInteger)
    bind: str
    binding: str
    rating: int = Field(sa_type=BigInteger)
    descent: int = Field(sa_type=BigInteger)
    """Sorts like the agenda: the complement of the rating, which never overflows as its negative might."""
    fired_revision: int = Field(sa_type=BigInteger)
    fired_at: int = Field(sa_type=BigInteger)
    depth: int
    root: int = Field(sa_type=BigInteger)
    limits: str
    parent: int = Field(sa_type=BigInteger)
    slot_at: int | None = Field(sa_type=BigInteger)
    late: bool
    not_before: int | None = Field(sa_type=BigInteger)
    start_by: int | None = Field(sa_type=BigInteger)
    due_by: int | None = Field(sa_type=BigInteger)
    """`start_by` of those that wait to be started, so that an index finds the ones that come too late."""
    attempt: int
    fence: int = Field(sa_type=BigInteger)
    lease_holder: str | None
    lease_nonce: str | None
    lease_expires_at: int | None = Field(sa_type=BigInteger)
    lease_duration: int | None = Field(sa_type=BigInteger)
    lease_ends_at: int | None = Field(sa_type=BigInteger)
    reason: str
    finished_at: int | None = Field(sa_type=BigInteger)
    completed_revision: int = Field(sa_type=BigInteger)
    holder: str


class Edges(_Row, table=True):
    """The subjects for which an edge trigger's condition holds; triggers come first, boards before them."""

    __table_args__ = {"sqlite_with_rowid": False}

    board: str = Field(primary_key=True)
    owner: str = Field(primary_key=True)
    trigger: str = Field(primary_key=True)
    binding: str = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    key: str = Field(primary_key=True)


class Requests(_Row, table=True):
    """What requests came to, so that a retry gets the same answer."""

    __table_args__ = (Index("requests_by_time", "at"),)

    board: str = Field(primary_key=True)
    agent: str = Field(primary_key=True)
    request_id: str = Field(primary_key=True)
    fingerprint: bytes
    response: bytes
    at: int = Field(sa_type=BigInteger)


METADATA: MetaData = _ROWS.metadata


def table(row: type[_Row]) -> Table:
    """The Core table of a row class."""
    return METADATA.tables[row.__name__.lower()]


boards = table(Boards)
spaces = table(Spaces)
commits = table(Commits)
versions = table(Versions)
heads = table(Heads)
alive = table(Alive)
regions = table(Regions)
agents = table(Agents)
standings = table(Standings)
triggers = table(Triggers)
activations = table(Activations)
edges = table(Edges)
requests = table(Requests)
