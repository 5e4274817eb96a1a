"""What time brings: which entries have expired, and when something happens next."""

from dataclasses import replace
from datetime import datetime

import pytest

from lavagna_server.domain.agenda import Activation, ActivationState
from lavagna_server.ports.store import Store
from tests.contracts.scribe import START, Scribe, gone, put
from tests.contracts.specimens import activation, after, lease


def next_deadline(store: Store, moment: datetime) -> datetime | None:
    """The next deadline, seen from a moment."""
    with store.snapshot() as snapshot:
        return snapshot.next_deadline(moment)


class TestExpiring:
    """Entries whose time has come."""

    def test_the_earliest_come_first_from_every_space(self, store: Store) -> None:
        shared, private = Scribe(store), Scribe(store, owner="ada")
        shared.commit(put("c", expires_at=after(30)), put("a", expires_at=after(10)), put("ever"))
        private.commit(put("b", expires_at=after(20)))

        with store.snapshot() as snapshot:
            due = snapshot.expiring(after(30), 10)
            first = snapshot.expiring(after(30), 2)
            before = snapshot.expiring(after(29.999999), 10)

        assert [(space.owner, entry.key) for space, entry in due] == [
            ("", "a"),
            ("ada", "b"),
            ("", "c"),
        ]
        assert [entry.key for _, entry in first] == ["a", "b"]
        assert [entry.key for _, entry in before] == ["a", "b"]
        assert due[0] == (shared.name, shared.newest("a"))

    def test_only_the_newest_version_counts(self, store: Store, scribe: Scribe) -> None:
        scribe.stage(put("kept", expires_at=after(1)), put("renewed", expires_at=after(1)))
        scribe.stage(put("ended", expires_at=after(1)))
        scribe.stage(put("kept"), put("renewed", expires_at=after(9)), gone("ended"))
        scribe.flush()

        with store.snapshot() as snapshot:
            assert list(snapshot.expiring(after(8), 10)) == []
            assert [entry.key for _, entry in snapshot.expiring(after(9), 10)] == ["renewed"]


class TestNextDeadline:
    """The moment at which upkeep has something to do."""

    def test_a_store_without_any_has_none(self, store: Store, scribe: Scribe) -> None:
        scribe.commit(put("a"))
        scribe.fire(activation(1))

        assert next_deadline(store, START) is None

    @pytest.mark.parametrize(
        "due",
        [
            activation(1, state=ActivationState.LEASED, lease=lease(after(5))),
            activation(1, start_by=after(5)),
            activation(1, state=ActivationState.HELD, start_by=after(5)),
            activation(1, not_before=after(5)),
            activation(1, state=ActivationState.HELD, not_before=after(5)),
        ],
        ids=["lease", "start", "start of a held one", "wait", "hold"],
    )
    def test_every_kind_of_deadline_counts(
        self, store: Store, scribe: Scribe, due: Activation
    ) -> None:
        scribe.fire(due, activation(2, not_before=after(99)))

        assert next_deadline(store, after(1)) == after(5)

    def test_an_expiry_counts(self, store: Store, scribe: Scribe) -> None:
        scribe.commit(put("a", expires_at=after(5)), put("b", expires_at=after(4)))
        assert next_deadline(store, after(1)) == after(4)
        scribe.commit(gone("b"))
        assert next_deadline(store, after(1)) == after(5)
        scribe.commit(put("a"))
        assert next_deadline(store, after(1)) is None

    @pytest.mark.parametrize(
        "due",
        [
            activation(1, state=ActivationState.LEASED, lease=lease(after(5))),
            activation(1, start_by=after(5)),
        ],
        ids=["lease", "start"],
    )
    def test_what_was_missed_still_counts(
        self, store: Store, scribe: Scribe, due: Activation
    ) -> None:
        scribe.fire(due)

        assert next_deadline(store, after(50)) == after(5)

    def test_a_missed_expiry_still_counts(self, store: Store, scribe: Scribe) -> None:
        scribe.commit(put("a", expires_at=after(5)))

        assert next_deadline(store, after(50)) == after(5)

    def test_a_wait_that_is_over_does_not_count(self, store: Store, scribe: Scribe) -> None:
        scribe.fire(
            activation(1, not_before=after(5)),
            activation(2, state=ActivationState.HELD, not_before=after(9)),
        )

        assert next_deadline(store, after(4.999999)) == after(5)
        assert next_deadline(store, after(5)) == after(9)
        assert next_deadline(store, after(9)) is None

    def test_a_start_deadline_does_not_count_once_started_or_ended(
        self, store: Store, scribe: Scribe
    ) -> None:
        waiting = activation(1, start_by=after(5))
        scribe.fire(waiting)
        scribe.fire(replace(waiting, state=ActivationState.LEASED, lease=lease(after(30))))
        assert next_deadline(store, after(1)) == after(30)
        scribe.fire(replace(waiting, state=ActivationState.EXPIRED))
        assert next_deadline(store, after(1)) is None
