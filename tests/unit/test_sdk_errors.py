"""Errors: a status with its details becomes the SDK's own error, with everything in it."""

from __future__ import annotations

import grpc
import grpc.aio
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

import lavagna
from lavagna import LavagnaError
from lavagna.statuses import error_of
from lavagna.unreachable import telling
from lavagna.v1 import entries_pb2, errors_pb2


def report(
    code: grpc.StatusCode, *details: Message, message: str = "what went wrong"
) -> grpc.aio.AioRpcError:
    """What gRPC reports of a call that ended so, its details packed as servers pack them."""
    trailers = grpc.aio.Metadata(("other", "x"))
    if details:
        status = status_pb2.Status(code=code.value[0], message=message)
        for detail in details:
            status.details.add().Pack(detail)
        trailers.add("grpc-status-details-bin", status.SerializeToString())
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), trailers, message)


def told(reason: str, **metadata: str) -> Message:
    """The detail that names the error."""
    detail: Message = error_details_pb2.ErrorInfo(
        reason=reason, domain="lavagna", metadata=metadata
    )
    return detail


CODE = grpc.StatusCode


@pytest.mark.parametrize(
    ("code", "reason", "family"),
    [
        (CODE.NOT_FOUND, "NOT_FOUND", lavagna.NotFound),
        (CODE.ABORTED, "STALE_VERSION", lavagna.Conflict),
        (CODE.ABORTED, "CONDITION_FAILED", lavagna.Conflict),
        (CODE.ALREADY_EXISTS, "ALREADY_EXISTS", lavagna.AlreadyExists),
        (CODE.FAILED_PRECONDITION, "VERSION_REQUIRED", lavagna.VersionRequired),
        (CODE.FAILED_PRECONDITION, "LEASE_LOST", lavagna.LeaseLost),
        (CODE.FAILED_PRECONDITION, "EPOCH_CHANGED", lavagna.EpochChanged),
        (CODE.FAILED_PRECONDITION, "FILTER_MISMATCH", lavagna.Refused),
        (CODE.FAILED_PRECONDITION, "NOT_VOTED", lavagna.NotVoted),
        (CODE.FAILED_PRECONDITION, "NOT_MERGED", lavagna.NotMerged),
        (CODE.FAILED_PRECONDITION, "QUORUM_IMPOSSIBLE", lavagna.QuorumImpossible),
        (CODE.FAILED_PRECONDITION, "CONTENT_MISMATCH", lavagna.ContentMismatch),
        (CODE.FAILED_PRECONDITION, "POLL_CLOSED", lavagna.PollClosed),
        (CODE.PERMISSION_DENIED, "NOT_A_VOTER", lavagna.NotAVoter),
        (CODE.PERMISSION_DENIED, "NOT_A_WRITER", lavagna.PermissionDenied),
        (CODE.UNAUTHENTICATED, "UNAUTHENTICATED", lavagna.Unauthenticated),
        (CODE.OUT_OF_RANGE, "COMPACTED", lavagna.Compacted),
        (CODE.OUT_OF_RANGE, "FUTURE_REVISION", lavagna.FutureRevision),
        (CODE.INVALID_ARGUMENT, "INVALID_KEY", lavagna.Invalid),
        (CODE.RESOURCE_EXHAUSTED, "LIMIT_KEY_BYTES", lavagna.Exhausted),
        (CODE.RESOURCE_EXHAUSTED, "SLOW_CONSUMER", lavagna.SlowConsumer),
        (CODE.UNAVAILABLE, "SHUTTING_DOWN", lavagna.Unavailable),
        (CODE.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED", lavagna.TimedOut),
        (CODE.INTERNAL, "INTERNAL", LavagnaError),
    ],
)
def test_every_reason_has_its_class(
    code: grpc.StatusCode, reason: str, family: type[LavagnaError]
) -> None:
    error = error_of(report(code, told(reason, key="k")), target="board.example:7443")
    assert type(error) is family
    assert error.reason == reason
    assert error.metadata == {"key": "k"}
    assert str(error) == "what went wrong"


@pytest.mark.parametrize("code", [code for code in CODE if code is not CODE.OK])
def test_every_status_without_details_becomes_an_error_of_the_sdk(code: grpc.StatusCode) -> None:
    error = error_of(report(code), target="board.example:7443")
    assert isinstance(error, LavagnaError)
    assert error.reason == code.name


def test_a_server_that_goes_down_with_a_call_at_its_door_is_away() -> None:
    error = error_of(report(CODE.CANCELLED), target="board.example:7443")
    assert type(error) is lavagna.Unavailable
    assert str(error) == "board.example:7443 broke the call off; it may be going down"


def test_a_caller_whom_the_server_does_not_know_is_told_how_to_say_who_it_is() -> None:
    error = error_of(report(CODE.UNAUTHENTICATED, told("UNAUTHENTICATED")), target="t")
    assert "LAVAGNA_TOKEN" in error.__notes__[0]


def test_a_refusal_is_refused_whatever_its_status() -> None:
    for family in (lavagna.Unauthenticated, lavagna.PermissionDenied, lavagna.LeaseLost):
        assert issubclass(family, lavagna.Refused)


def test_a_conflict_tells_the_loser_the_current_version_value_and_author() -> None:
    current = entries_pb2.Entry(
        key="counter", version=7, author="ada", value=entries_pb2.Value(json="42")
    )
    failed = entries_pb2.FailedCondition(key="counter", current=current, message="at 7, not 6")
    detail = errors_pb2.ConflictDetail(failed_conditions=[failed])
    error = error_of(report(CODE.ABORTED, told("STALE_VERSION"), detail), target="t")
    assert isinstance(error, lavagna.Conflict)
    assert error.current is not None
    assert (error.current.version, error.current.value, error.current.author) == (7, 42, "ada")
    assert error.failed[0].message == "at 7, not 6"


def test_a_conflict_over_an_entry_that_is_gone_has_no_current_one() -> None:
    detail = errors_pb2.ConflictDetail(
        failed_conditions=[entries_pb2.FailedCondition(key="counter")]
    )
    error = error_of(report(CODE.ABORTED, told("CONDITION_FAILED"), detail), target="t")
    assert isinstance(error, lavagna.Conflict)
    assert error.current is None
    assert error.failed[0].key == "counter"


def test_an_invalid_request_names_the_fields() -> None:
    violation = error_details_pb2.BadRequest.FieldViolation(
        field="changes[0].key", description="at most 512 bytes"
    )
    bad = error_details_pb2.BadRequest(field_violations=[violation])
    error = error_of(report(CODE.INVALID_ARGUMENT, told("INVALID_KEY"), bad), target="t")
    assert isinstance(error, lavagna.Invalid)
    assert error.violations == (lavagna.Violation("changes[0].key", "at most 512 bytes"),)


def test_an_exhausted_quota_says_which_and_when_to_come_back() -> None:
    violation = error_details_pb2.QuotaFailure.Violation(
        subject="agent ada", description="100 commits/s"
    )
    error = error_of(
        report(
            CODE.RESOURCE_EXHAUSTED,
            told("QUOTA_COMMITS"),
            error_details_pb2.QuotaFailure(violations=[violation]),
            error_details_pb2.RetryInfo(retry_delay=Duration(seconds=2, nanos=500_000_000)),
        ),
        target="t",
    )
    assert isinstance(error, lavagna.Exhausted)
    assert error.violations == (lavagna.Violation("agent ada", "100 commits/s"),)
    assert error.retry_after == 2.5


def test_a_slow_consumer_gets_the_token_to_resume_with() -> None:
    detail = errors_pb2.ResumeDetail(token="t-1")
    error = error_of(report(CODE.RESOURCE_EXHAUSTED, told("SLOW_CONSUMER"), detail), target="t")
    assert isinstance(error, lavagna.SlowConsumer)
    assert error.token == "t-1"


def test_what_was_compacted_names_the_oldest_revision() -> None:
    error = error_of(report(CODE.OUT_OF_RANGE, told("COMPACTED", oldest="40")), target="t")
    assert isinstance(error, lavagna.Compacted)
    assert error.oldest_revision == 40


def test_a_server_that_is_not_there_is_named_with_what_to_do() -> None:
    error = error_of(report(CODE.UNAVAILABLE, message="refused"), target="localhost:7443")
    assert "localhost:7443 cannot be reached" in str(error)
    assert "lavagna serve" in str(error)


CONNECTING = "failed to connect to all addresses; last error: "
REFUSED = f"{CONNECTING}UNKNOWN: ipv6:%5B::1%5D:7443: Connection refused"
UNTRUSTED = f"{CONNECTING}UNKNOWN: ipv4:127.0.0.1:7443: Tls handshake failed: CERTIFICATE_VERIFY_FAILED: self signed"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (REFUSED, "is `lavagna serve` running there?"),
        (UNTRUSTED, "its certificate is not trusted"),
        (f"{CONNECTING}Tls handshake failed: WRONG_VERSION_NUMBER", "does not speak TLS"),
        (f"{CONNECTING}Tls handshake failed: BAD_SIGNATURE", "TLS does not come about"),
        (f"{CONNECTING}Hostname Verification Check failed.", "is for another name"),
        (f"{CONNECTING}UNAVAILABLE: ipv4:127.0.0.1:7443: Socket closed", "it may want TLS"),
        ("Socket closed", "is `lavagna serve` running there?"),
        ("errors resolving there:1: Domain name not found", "a target is HOST:PORT"),
        ("something new", "is `lavagna serve` running there?"),
    ],
)
def test_a_server_that_cannot_be_reached_is_named_with_why(said: str, why: str) -> None:
    message = str(error_of(report(CODE.UNAVAILABLE, message=said), target="localhost:7443"))
    assert message.startswith("localhost:7443 cannot be reached")
    assert why in message
    assert said.removeprefix(CONNECTING) in message


def test_that_nobody_listens_at_one_address_does_not_hide_what_happened_at_another() -> None:
    untrusted, refused, closed = (
        error_of(report(CODE.UNAVAILABLE, message=said), target="t")
        for said in (UNTRUSTED, REFUSED, "Socket closed")
    )
    assert telling(None, untrusted) is untrusted
    assert telling(untrusted, refused) is untrusted
    assert telling(refused, untrusted) is untrusted
    assert telling(closed, refused) is refused


def test_the_message_in_full_is_taken_where_the_status_says_less() -> None:
    full = status_pb2.Status(code=10, message="caf\u00e9 is at version 7")
    trailers = grpc.aio.Metadata(("grpc-status-details-bin", full.SerializeToString()))
    cut = grpc.aio.AioRpcError(CODE.ABORTED, grpc.aio.Metadata(), trailers, "caf")
    assert str(error_of(cut, target="t")) == "caf\u00e9 is at version 7"


def test_a_garbled_trailer_still_gives_the_family_and_the_message() -> None:
    trailers = grpc.aio.Metadata(("grpc-status-details-bin", b"\xff\xff"))
    garbled = grpc.aio.AioRpcError(CODE.ABORTED, grpc.aio.Metadata(), trailers, "stale")
    error = error_of(garbled, target="t")
    assert type(error) is lavagna.Conflict
    assert str(error) == "stale"


def test_a_detail_that_this_sdk_does_not_know_is_passed_over() -> None:
    unknown = error_details_pb2.DebugInfo(detail="x")
    error = error_of(report(CODE.ABORTED, told("STALE_VERSION"), unknown), target="t")
    assert error.reason == "STALE_VERSION"
