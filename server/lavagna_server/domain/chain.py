"""The hash chain of a log: each commit's hash covers its content and its predecessor's hash.

A truncated or altered log is thereby told apart from a whole one, however it was altered. The content has a hash of its own, so
that the chain can be verified even where compaction has taken superseded versions away.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace

from lavagna_server.domain.entries import Commit, Entry

DIGEST_BYTES = 16
"""128 bits: against accident, and against anyone who cannot search 2^64 logs."""


def sealed(commit: Commit, previous_digest: bytes) -> Commit:
    """The commit with both of its hashes."""
    content = content_digest(commit.entries)
    return replace(
        commit, content_digest=content, digest=chain_digest(commit, content, previous_digest)
    )


def content_digest(entries: Iterable[Entry]) -> bytes:
    """The hash of what the entries say."""
    hasher = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for entry in entries:
        value = entry.value
        head = [
            entry.kind.value,
            entry.key,
            entry.version,
            entry.change.value,
            entry.tags,
            entry.confidence,
            entry.sources,
            entry.expires_at and entry.expires_at.isoformat(),
            value and value.form.value,
        ]
        if entry.basis:
            head.append(entry.basis)
        content = value.content if value else b""
        raw = content if isinstance(content, bytes) else content.encode()
        hasher.update(f"{json.dumps(head)}\n{len(raw)}\n".encode())
        hasher.update(raw)
    return hasher.digest()


def chain_digest(commit: Commit, content: bytes, previous_digest: bytes) -> bytes:
    """The hash of the commit's own fields, its content's hash and its predecessor's hash."""
    cause = commit.cause
    head = [
        commit.space,
        commit.revision,
        commit.committed_at.isoformat(),
        commit.author,
        commit.occasion.value,
        cause and [cause.activation, cause.trigger, cause.fired_revision, cause.depth, cause.root],
        commit.request_id,
        commit.compacted_to,
        commit.compacted_path,
    ]
    hasher = hashlib.blake2b(json.dumps(head).encode(), digest_size=DIGEST_BYTES)
    hasher.update(content)
    hasher.update(previous_digest)
    return hasher.digest()
