"""How errors travel: one table of statuses, details that programs can act on, and trailers that peers accept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message
from google.rpc import error_details_pb2
from google.rpc.status_pb2 import Status

from lavagna.v1 import errors_pb2
from lavagna_server.domain import errors
from lavagna_server.domain.entries import ChangeType, Entry, Kind
from lavagna_server.domain.errors import FailedCondition
from lavagna_server.domain.values import Form, Value
from lavagna_server.rpc.errors import STATUS_OF, fault, reason_of, refusal, status_of

TRAILER_BYTES_MAX = 8_192
LONG = "ключ/" * 90  # a key of 512 bytes is at most this long, and every letter takes two


def entry(content: str, *, key: str = "plan", tags: tuple[str, ...] = ()) -> Entry:
    """An entry that alice wrote twice."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    value = Value(Form.TEXT, content)
    return Entry(Kind.NOTE, key, 2, 7, ChangeType.UPDATED, value, "alice", at, tags)


def failure(content: str, *, key: str = "plan", tags: tuple[str, ...] = ()) -> FailedCondition:
    """A condition that failed because of what alice wrote."""
    return FailedCondition(key, entry(content, key=key, tags=tags), f"{key} is at version 2")


SPECIMENS: Sequence[errors.BoardError] = (
    errors.NotFound("plan"),
    errors.ConditionFailed([failure("draft")]),
    errors.StaleVersion([failure("draft")]),
    errors.StaleRecord("boards/main", expected=1, current=2),
    errors.AlreadyExists("boards/main"),
    errors.VersionRequired("plan", current=entry("draft")),
    errors.LeaseLost("7", "nobody holds it"),
    errors.WrongState("7", state="waiting", needs="held"),
    errors.NotVoted("plan", policy="guarded"),
    errors.NotMerged("plan", policy="guarded"),
    errors.QuorumImpossible("plan", needs="3", has="2"),
    errors.ContentMismatch("plan/1-0", content_hash="abc", base_version=2),
    errors.PollClosed("plan/1-0", outcome="accepted", why="2 of 3 accept"),
    errors.NotAVoter("plan/1-0", agent="bob"),
    errors.EpochChanged(expected="a", current="b"),
    errors.FilterMismatch(),
    errors.PermissionDenied("bob may not do that"),
    errors.NotAWriter("plan", region="plan", agent="bob"),
    errors.RoleRequired(agent="bob", role="observer", needs="agent"),
    errors.Unauthenticated("say who you are"),
    errors.Invalid("changes[0].key", "must not be empty"),
    errors.RequestReused("r1"),
    errors.Compacted(revision=3, oldest=5),
    errors.FutureRevision(revision=9, newest=5),
    errors.Exhausted("watches_per_agent_max", maximum=3, subject="bob", retry_seconds=1.5),
    errors.SlowConsumer(stall_seconds=10, token="t0k3n"),
    errors.ShuttingDown(),
    errors.StorageFailed("the disk is full"),
    errors.StartRefused("the folder is in use"),
)
FAMILIES = {
    errors.Conflict,
    errors.Refused,
    errors.OutOfRange,
    errors.Unavailable,
}
"""What is caught and never raised itself."""


def subclasses(cls: type[errors.BoardError]) -> Iterator[type[errors.BoardError]]:
    """Every class below `cls`."""
    for child in cls.__subclasses__():
        yield child
        yield from subclasses(child)


def status(error: errors.BoardError) -> Any:
    """What the trailer of an error says."""
    ((_, raw),) = refusal(error).trailers
    return Status.FromString(raw)


def detail(error: errors.BoardError, kind: type[Message]) -> Any:
    """The detail of that kind, or None."""
    for packed in status(error).details:
        if packed.Is(kind.DESCRIPTOR):
            found = kind()
            packed.Unpack(found)
            return found
    return None


def test_every_error_has_a_specimen_here() -> None:
    raised = {
        cls for cls in set(subclasses(errors.BoardError)) if cls.__module__ == errors.__name__
    }

    assert raised - FAMILIES == {type(error) for error in SPECIMENS}


@pytest.mark.parametrize("error", SPECIMENS, ids=reason_of)
def test_every_error_has_a_status_and_a_reason_of_its_own(error: errors.BoardError) -> None:
    info = detail(error, error_details_pb2.ErrorInfo)

    assert status_of(error) not in {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN}
    assert info.domain == "lavagna"
    assert info.reason == type(error).reason != ""
    assert status(error).code == status_of(error).value[0]
    assert status(error).message == str(error) == refusal(error).message


def test_no_two_errors_share_a_reason() -> None:
    reasons = [reason_of(error) for error in SPECIMENS]

    assert len(set(reasons)) == len(reasons)


def test_every_family_has_one_row_in_the_table() -> None:
    roots = set(errors.BoardError.__subclasses__())

    assert roots <= set(STATUS_OF)


@pytest.mark.parametrize("error", SPECIMENS, ids=reason_of)
def test_every_number_of_the_message_is_in_the_metadata(error: errors.BoardError) -> None:
    told = detail(error, error_details_pb2.ErrorInfo).metadata

    assert error.numbers.items() <= dict(told).items()


@pytest.mark.parametrize("error", SPECIMENS, ids=reason_of)
def test_a_client_reads_the_details_with_the_contract_alone(error: errors.BoardError) -> None:
    ((_, raw),) = refusal(error).trailers
    read = errors_pb2.ErrorStatus.FromString(raw)
    first = read.details[0]
    info = errors_pb2.ErrorInfo.FromString(first.value)

    assert first.type_url == "type.googleapis.com/google.rpc.ErrorInfo"
    assert (read.message, info.reason) == (str(error), reason_of(error))


def test_a_malformed_field_is_named_in_a_bad_request() -> None:
    bad = detail(
        errors.Invalid("changes[3].key", "must not be empty"), error_details_pb2.BadRequest
    )

    (violation,) = bad.field_violations
    assert (violation.field, violation.description) == ("changes[3].key", "must not be empty")


def test_a_refusal_names_the_precondition() -> None:
    refused = detail(
        errors.LeaseLost("7", "nobody holds it"), error_details_pb2.PreconditionFailure
    )

    (violation,) = refused.violations
    assert (violation.type, violation.subject) == ("LEASE_LOST", "7")


def test_an_exhausted_quota_says_whose_and_when_to_try_again() -> None:
    error = errors.Exhausted("commits_per_second_max", maximum=3, subject="bob", retry_seconds=1.5)

    (violation,) = detail(error, error_details_pb2.QuotaFailure).violations
    assert (violation.subject, violation.description) == ("bob", "commits_per_second_max: 3")
    assert detail(error, error_details_pb2.RetryInfo).retry_delay.ToMilliseconds() == 1_500


def test_a_slow_consumer_is_told_where_to_take_up_its_stream() -> None:
    error = errors.SlowConsumer(stall_seconds=10, token="t0k3n")

    assert detail(error, errors_pb2.ResumeDetail).token == "t0k3n"


@pytest.mark.guarantee("S1")
def test_the_loser_of_a_conflict_is_told_what_is_there_now() -> None:
    conflict = detail(errors.StaleVersion([failure("draft")]), errors_pb2.ConflictDetail)

    (failed,) = conflict.failed_conditions
    assert failed.current.value.text == "draft"
    assert (failed.current.version, failed.current.author) == (2, "alice")


def test_a_large_current_value_is_left_out_and_that_is_said() -> None:
    conflict = detail(errors.StaleVersion([failure("x" * 100_000)]), errors_pb2.ConflictDetail)

    (failed,) = conflict.failed_conditions
    assert not failed.current.HasField("value")
    assert (failed.current.version, failed.current.author) == (2, "alice")
    assert "100000 bytes is left out" in failed.message


@pytest.mark.parametrize(
    "error",
    [
        errors.StaleVersion([failure("y" * 900, key=f"k/{n}") for n in range(128)]),
        errors.ConditionFailed([failure("y" * 90_000, key=LONG + str(n)) for n in range(128)]),
        errors.ConditionFailed([failure("y", key=LONG, tags=("ü" * 64,) * 32)]),
        errors.VersionRequired(LONG, current=entry("z" * (1 << 20), key=LONG)),
        errors.NotAWriter(LONG, region=LONG, agent="a" * 63),
        errors.Invalid(LONG, "規則" * 4_000),
        errors.Invalid("when", "\ud800" * 4_000),
        errors.SlowConsumer(stall_seconds=10, token="t" * 1_000),
    ],
    ids=reason_of,
)
def test_trailers_stay_small_enough_for_every_peer(error: errors.BoardError) -> None:
    ending = refusal(error)
    percent_encoded = sum(3 if byte > 126 or byte < 32 else 1 for byte in ending.message.encode())
    base64_encoded = sum(len(key) + len(value) * 4 // 3 + 32 for key, value in ending.trailers)

    assert percent_encoded + base64_encoded < TRAILER_BYTES_MAX


def test_even_the_longest_conflict_names_version_and_author() -> None:
    error = errors.StaleVersion([failure("y" * 90_000, key=LONG) for _ in range(128)])

    info = detail(error, error_details_pb2.ErrorInfo)
    assert (info.metadata["version"], info.metadata["author"]) == ("2", "alice")
    assert info.metadata["failed_conditions"] == "128"
    assert len(detail(error, errors_pb2.ConflictDetail).failed_conditions) >= 1


def test_a_fault_of_the_server_tells_nothing_but_where_to_look() -> None:
    ending = fault("r-17")
    ((_, raw),) = ending.trailers
    info = errors_pb2.ErrorInfo.FromString(errors_pb2.ErrorStatus.FromString(raw).details[0].value)

    assert ending.code is grpc.StatusCode.INTERNAL
    assert (info.reason, dict(info.metadata)) == ("INTERNAL", {"request": "r-17"})
