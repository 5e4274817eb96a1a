"""The queries that read a log, as statements prepared once.

Every one finds its rows through an index; a test asks the database's planner.
"""

from __future__ import annotations

from sqlalchemy import (
    ColumnElement,
    Select,
    Table,
    and_,
    bindparam,
    exists,
    func,
    not_,
    or_,
    select,
    true,
)

from lavagna_server.domain.entries import FRAME_BYTES, ChangeType, Kind
from lavagna_server.ports.store import Subtree
from lavagna_server.storage.tables import (
    activations,
    alive,
    commits,
    edges,
    heads,
    requests,
    spaces,
    versions,
)

_NAMED = and_(spaces.c.board == bindparam("board"), spaces.c.owner == bindparam("owner"))
SPACE_ID = select(spaces.c.id).where(_NAMED)
SPACE = select(*list(spaces.c)[1:]).where(_NAMED)
SPACES = (
    select(*list(spaces.c)[1:]).where(spaces.c.board == bindparam("board")).order_by(spaces.c.owner)
)

_IS_HEAD = and_(
    versions.c.space == heads.c.space,
    versions.c.revision == heads.c.revision,
    versions.c.ordinal == heads.c.ordinal,
)

_HEAD = and_(
    heads.c.space == bindparam("space"),
    heads.c.kind == bindparam("kind"),
    heads.c.key == bindparam("key"),
)
NEWEST = select(versions).select_from(heads.join(versions, _IS_HEAD)).where(_HEAD)

LASTS = or_(*(versions.c.change == each.value for each in ChangeType if each.leaves_entry))
"""Whether the entry exists after a version."""
_OF_ENTRY = and_(
    versions.c.space == bindparam("space"),
    versions.c.kind == bindparam("kind"),
    versions.c.key == bindparam("key"),
)
AS_OF = (
    select(versions)
    .where(_OF_ENTRY, versions.c.revision <= bindparam("revision"))
    .order_by(versions.c.revision.desc())
    .limit(1)
)
VERSION = select(versions).where(_OF_ENTRY, versions.c.version == bindparam("version"))
VERSIONS_BELOW = (
    select(versions)
    .where(_OF_ENTRY, versions.c.version < bindparam("below"))
    .order_by(versions.c.revision.desc())
    .limit(bindparam("limit"))
)


def _between(of: Table) -> ColumnElement[bool]:
    return and_(
        of.c.space == bindparam("space"),
        of.c.kind == bindparam("kind"),
        of.c.key > bindparam("beyond"),
        of.c.key < bindparam("last"),
    )


# Joined with an empty text, a key can be looked up but not derived: else SQLite, which carries a range of one key over to an
# equal one, walks along the wrong table, or along a whole range for each key.
SCAN = (
    select(versions)
    .select_from(
        alive.join(
            heads,
            and_(
                heads.c.space == alive.c.space,
                heads.c.kind == alive.c.kind,
                heads.c.key == alive.c.key.concat(""),
            ),
        ).join(versions, _IS_HEAD)
    )
    .where(_between(alive))
    .order_by(alive.c.space, alive.c.kind, alive.c.key)
    .limit(bindparam("limit"))
)
_earlier = versions.alias("earlier")
_LAST_REVISION = (
    select(func.max(_earlier.c.revision))
    .where(
        _earlier.c.space == heads.c.space,
        _earlier.c.kind == heads.c.kind,
        _earlier.c.key == heads.c.key,
        _earlier.c.revision <= bindparam("revision"),
    )
    .correlate(heads)
    .scalar_subquery()
)
_WAS_HEAD = and_(
    versions.c.space == heads.c.space,
    versions.c.kind == heads.c.kind,
    versions.c.key == heads.c.key.concat(""),
    versions.c.revision == _LAST_REVISION,
)
SCAN_AS_OF = (
    select(versions)
    .select_from(heads.join(versions, _WAS_HEAD))
    .where(
        _between(heads),
        LASTS,
    )
    .order_by(heads.c.space, heads.c.kind, heads.c.key)
    .limit(bindparam("limit"))
)
_CHANGED_BETWEEN = and_(
    versions.c.revision > bindparam("since"), versions.c.revision <= bindparam("revision")
)
CHANGED = (
    select(heads.c.key)
    .where(
        _between(heads),
        heads.c.revision > bindparam("since"),
        exists().where(
            versions.c.space == heads.c.space,
            versions.c.kind == heads.c.kind,
            versions.c.key == heads.c.key.concat(""),
            _CHANGED_BETWEEN,
        ),
    )
    .order_by(heads.c.space, heads.c.kind, heads.c.key)
    .limit(bindparam("limit"))
)
HAS_CHANGED = select(versions.c.key).where(_OF_ENTRY, _CHANGED_BETWEEN).limit(1)

_AFTER = and_(commits.c.space == bindparam("space"), commits.c.revision > bindparam("after"))
COMMIT_WEIGHTS = (
    select(commits.c.revision, func.coalesce(func.sum(versions.c.weight_bytes), 0) + FRAME_BYTES)
    .select_from(
        commits.outerjoin(
            versions,
            and_(versions.c.space == commits.c.space, versions.c.revision == commits.c.revision),
        )
    )
    .where(_AFTER)
    .group_by(commits.c.revision)
    .order_by(commits.c.revision)
    .limit(bindparam("limit"))
)
COMMITS_BETWEEN = (
    select(commits)
    .where(_AFTER, commits.c.revision <= bindparam("through"))
    .order_by(commits.c.revision)
)
VERSIONS_BETWEEN = (
    select(versions)
    .where(
        versions.c.space == bindparam("space"),
        versions.c.revision > bindparam("after"),
        versions.c.revision <= bindparam("through"),
    )
    .order_by(versions.c.revision, versions.c.ordinal)
)
OLDEST_COMMIT = select(func.min(commits.c.revision)).where(commits.c.space == bindparam("space"))
COMMITTED_AT = select(commits.c.committed_at).where(
    commits.c.space == bindparam("space"), commits.c.revision == bindparam("revision")
)

EFFECT = select(requests).where(
    requests.c.board == bindparam("board"),
    requests.c.agent == bindparam("agent"),
    requests.c.request_id == bindparam("request_id"),
)
EDGES_OF_TRIGGER = select(edges.c.binding, edges.c.kind, edges.c.key).where(
    edges.c.board == bindparam("board"),
    edges.c.owner == bindparam("owner"),
    edges.c.trigger == bindparam("trigger"),
)
EDGES = select(edges.c.kind, edges.c.key).where(
    edges.c.board == bindparam("board"),
    edges.c.owner == bindparam("owner"),
    edges.c.trigger == bindparam("trigger"),
    edges.c.binding == bindparam("binding"),
)
ACTIVATION = select(activations).where(
    activations.c.space == bindparam("space"), activations.c.number == bindparam("number")
)
EXPIRING = (
    select(spaces.c.board, spaces.c.owner, *versions.c)
    .select_from(heads.join(versions, _IS_HEAD).join(spaces, spaces.c.id == heads.c.space))
    .where(heads.c.expires_at <= bindparam("by"))
    .order_by(heads.c.expires_at)
    .limit(bindparam("limit"))
)


def _earliest(
    column: ColumnElement[int | None], *conditions: ColumnElement[bool]
) -> ColumnElement[int | None]:
    return select(func.min(column)).where(column.is_not(None), *conditions).scalar_subquery()


_is_open = activations.c.is_open == true()
DEADLINES = select(
    _earliest(heads.c.expires_at),
    _earliest(activations.c.lease_expires_at, _is_open),
    _earliest(activations.c.due_by, _is_open),
    _earliest(activations.c.not_before, _is_open, activations.c.not_before > bindparam("after")),
)


def _within(subtree: Subtree, of: Table) -> ColumnElement[bool]:
    """The rows of `of` that lie in a part of a space, by whole segments."""
    return and_(
        of.c.space == bindparam("space"),
        of.c.kind.in_([kind.value for kind in Kind]),  # all, so that the index by key can be used
        *([_covered(subtree.path, of.c.key)] if subtree.path else []),
        *(not_(_covered(path, of.c.key)) for path in subtree.without),
    )


def _covered(path: str, key: ColumnElement[str]) -> ColumnElement[bool]:
    # Ranges and no LIKE: LIKE folds case, reads wildcards, and finds no index. "0" follows "/".
    return and_(key >= path, key < path + "0", or_(key == path, key > path + "/"))


def surplus(subtree: Subtree) -> Select[int | None]:
    """The highest of the revisions at which an entry's last kept version began, of entries with more than are kept."""
    stored = (
        select(versions.c.revision)
        .where(
            versions.c.space == heads.c.space,
            versions.c.kind == heads.c.kind,
            versions.c.key == heads.c.key,
        )
        .order_by(versions.c.revision.desc())
        .limit(1)
        .correlate(heads)
    )
    last_kept = stored.offset(bindparam("kept_before_last")).scalar_subquery()
    first_surplus = stored.offset(bindparam("kept")).scalar_subquery()
    return select(func.max(last_kept)).where(
        _within(subtree, heads), heads.c.version > bindparam("kept"), first_surplus.is_not(None)
    )


def superseded(subtree: Subtree) -> ColumnElement[bool]:
    """The versions in a part of a space that are superseded at a horizon."""
    later = versions.alias("later")
    return and_(
        _within(subtree, versions),
        versions.c.revision < bindparam("horizon"),
        exists().where(
            later.c.space == versions.c.space,
            later.c.kind == versions.c.kind,
            later.c.key == versions.c.key,
            later.c.revision > versions.c.revision,
            later.c.revision <= bindparam("horizon"),
        ),
    )
