"""Retries: bounded, doubling and jittered; and what a connection remembers between calls."""

from __future__ import annotations

import pytest

from lavagna import Invalid, Retry, Tls
from lavagna.attempt import reason_of
from lavagna.calls import Revisions
from lavagna.channel import Identity
from lavagna.v1.entries_pb2 import ResponseHeader


def test_there_is_one_wait_fewer_than_attempts() -> None:
    assert len(list(Retry(attempts_max=5).waits())) == 4
    assert list(Retry(attempts_max=1).waits()) == []


def test_waits_lie_below_a_ceiling_that_doubles_up_to_the_bound() -> None:
    retry = Retry(attempts_max=10, first_seconds=0.1, most_seconds=1.0)
    for _ in range(200):
        for failures, wait in enumerate(retry.waits()):
            assert 0 <= wait <= min(1.0, 0.1 * 2**failures)


def test_callers_that_fail_together_come_back_apart() -> None:
    assert len({Retry().wait(3) for _ in range(50)}) > 40


def test_a_wait_stays_bounded_after_a_thousand_failures() -> None:
    assert Retry(most_seconds=3).wait(1_000) <= 3


@pytest.mark.guarantee("S5")
def test_a_connection_remembers_the_newest_revision_of_each_log() -> None:
    seen = Revisions()
    seen.note("shared", ResponseHeader(epoch="e", revision=7))
    seen.note("shared", ResponseHeader(epoch="e", revision=5))
    seen.note("private/ada", ResponseHeader(epoch="e", revision=2))
    assert (seen.newest("shared"), seen.newest("private/ada"), seen.newest("other")) == (7, 2, 0)


@pytest.mark.guarantee("S5")
def test_a_new_epoch_forgets_the_revisions_of_the_old_one() -> None:
    seen = Revisions()
    seen.note("shared", ResponseHeader(epoch="e", revision=7))
    seen.note("private/ada", ResponseHeader(epoch="e", revision=9))
    seen.note("shared", ResponseHeader(epoch="f", revision=3))
    assert (seen.newest("shared"), seen.newest("private/ada")) == (3, 0)


def test_a_token_goes_as_a_bearer_and_a_name_as_a_name() -> None:
    assert Identity("ada").metadata("r1") == (("lavagna-agent", "ada"), ("lavagna-request", "r1"))
    assert Identity("ada", "s3cret").metadata("r1")[0] == ("authorization", "Bearer s3cret")


@pytest.mark.parametrize("name", ["jos\u00e9", "a\nb", "\x00"])
def test_a_name_that_cannot_be_sent_is_refused_before_it_is(name: str) -> None:
    with pytest.raises(Invalid, match="agent: only printable ASCII"):
        Identity(name)


def test_secrets_are_not_shown() -> None:
    tls = Tls(certificate=b"-----BEGIN CERTIFICATE-----", key=b"-----BEGIN PRIVATE KEY-----s3cret")
    shown = f"{Identity('ada', 's3cret')!r} {tls!r}"
    assert "s3cret" not in shown


def test_the_reason_of_a_failed_attempt_names_type_and_text_and_fits() -> None:
    assert reason_of(ValueError("no plan")) == "ValueError: no plan"
    assert reason_of(KeyError()) == "KeyError"
    assert reason_of(ValueError("\ud800")) == "ValueError: ?"
    assert len(reason_of(ValueError("\N{SNOWMAN}" * 9_000)).encode()) <= 4_000
