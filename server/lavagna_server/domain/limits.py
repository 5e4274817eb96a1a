"""Every limit that a request can hit, by the name that its error gives."""

from __future__ import annotations

from dataclasses import dataclass

MAXIMUM_INTEGER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a server; each is a setting of the same name."""

    key_bytes_max: int = 512
    """UTF-8 bytes of a key in its normal form."""
    value_bytes_max: int = 1 << 20
    """Bytes of one value."""
    value_depth_max: int = 64
    """How deep arrays and objects may nest in a JSON value."""
    commit_changes_max: int = 128
    """Changes in one commit, and conditions as well."""
    commit_bytes_max: int = 4 << 20
    """Bytes of all keys, values, tags and sources of one commit together, and of a response that has no pages."""
    page_entries_max: int = 1_000
    """Entries in one page of any list."""
    page_bytes_max: int = 1 << 20
    """Bytes in one page of a list and in one message of a watch or an export; a single larger entry makes one of its own."""
    pattern_segments_max: int = 16
    """Segments of one pattern."""
    condition_bytes_max: int = 2_048
    """UTF-8 bytes of the source of a condition or rating."""
    targets_max: int = 64
    """Targets of one watch."""
    tags_max: int = 32
    """Tags of one version."""
    tag_bytes_max: int = 128
    """UTF-8 bytes of one tag."""
    sources_max: int = 64
    """Sources of one version."""
    source_bytes_max: int = 512
    """UTF-8 bytes of one source."""
    request_id_characters_max: int = 128
    """Characters of a request id, and of a session."""
    trigger_patterns_max: int = 16
    """Patterns in a trigger's `on`, and in its `reads`."""
    reads_entries_max: int = 1_000
    """Entries that one evaluation of a condition may look at, and subjects that one commit may touch."""
    reads_bytes_max: int = 2 << 20
    """Bytes of the values that one evaluation of a condition may look at."""
    reason_bytes_max: int = 4_096
    """UTF-8 bytes of a reason: of a failure, of a ballot, of a withdrawal."""
    schema_bytes_max: int = 64 << 10
    """UTF-8 bytes of a region's JSON Schema."""
    regions_max: int = 1_000
    """Regions of one board."""
    agents_max: int = 10_000
    """Agents of one board."""
    triggers_per_agent_max: int = 1_000
    """Triggers that one agent may have set on a board, unless its quota says otherwise."""
    proposals_per_key_max: int = 100
    """Proposals of one agent about one key that wait for votes at once."""
    electors_max: int = 500
    """Agents that may vote on one proposal, all of whom it names; with each one's reason and a value it must fit into one message."""
    claims_per_key_max: int = 1_000
    """Claims about one key, all of which are merged anew with each that changes."""
    claims_bytes_max: int = 4 << 20
    """Bytes of all claims about one key that are merged together, and of all that one commit merges."""
    claims_parts_max: int = 4_000
    """JSON values at any depth, and lines of texts that are merged by line (for each text those of what it was changed from as well), of all
    claims about one key, and of all that one commit merges. What is selected whole has no parts."""
    base_bytes_max: int = 256 << 10
    """Bytes, as JSON, of a text that a claim is changed from and keeps, to be merged by line."""
    unread_claims_max: int = 8
    """Claims of one commit about what its author may not read."""
    watches_per_agent_max: int = 1_000
    """Streams that one agent may hold open on a server."""
    commits_per_second_max: int = 20_000
    """Mutations that one agent may make per second, averaged over a burst of as many."""
    bytes_per_second_max: int = 64 << 20
    """Bytes of values that one agent may write per second, averaged over a burst of as many."""
    ttl_seconds_max: int = 10 * 365 * 86_400
    """The longest time to live of an entry."""
