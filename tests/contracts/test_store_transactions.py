"""All or nothing, and never half: what transactions and snapshots see of each other."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from lavagna_server.domain.agenda import ActivationFilter
from lavagna_server.domain.agents import Agent, Role
from lavagna_server.domain.boards import Board
from lavagna_server.domain.entries import SpaceName
from lavagna_server.domain.triggers import TriggerId
from lavagna_server.ports.store import (
    Changes,
    EdgeId,
    Effect,
    Scan,
    Snapshot,
    Store,
    Subtree,
    Transaction,
)
from tests.contracts.scribe import START, Scribe, keys, note, put, text
from tests.contracts.specimens import activation, after


class Interrupted(Exception):
    """Ends a transaction without effect."""


EDGE = EdgeId(TriggerId(SpaceName("atelier"), "on-plan"), "", note("a"))


def everything(snapshot: Snapshot) -> list[object]:
    """All that a test writes, as a snapshot sees it."""
    name = SpaceName("atelier")
    return [
        snapshot.space(name),
        list(snapshot.scan(name, Scan())),
        list(snapshot.versions(name, note("a"), below_version=None, limit=10)),
        list(snapshot.commits(name, after=0, limit=10, bytes_max=1 << 20)),
        list(snapshot.records(Board)),
        list(snapshot.records(Agent)),
        snapshot.effect("atelier", "ada", "r-1"),
        snapshot.edges(EDGE.trigger, ""),
        snapshot.count_activations(ActivationFilter()),
        snapshot.next_deadline(START),
    ]


def changes(scribe: Scribe) -> Changes:
    """Something of everything."""
    scribe.stage(put("a", "anew", expires_at=after(9)), put("b"))
    made = scribe.changes()
    made.activations = [activation(1)]
    made.saved = [Board("atelier", "epoch"), Agent("atelier", "ada", Role.AGENT)]
    made.effects = [Effect("atelier", "ada", "r-1", b"", b"", START)]
    made.edges = [(EDGE, True)]
    return made


def interrupted(store: Store, act: Callable[[Transaction], None]) -> None:
    """Does something in a transaction that then fails."""
    with store.transaction() as transaction:
        act(transaction)
        raise Interrupted


class TestAtomicity:
    """A group takes effect as a whole."""

    @pytest.mark.guarantee("W3")
    def test_an_exception_undoes_everything(self, store: Store, scribe: Scribe) -> None:
        scribe.commit(put("a"))
        with store.snapshot() as snapshot:
            before = everything(snapshot)

        def act(transaction: Transaction) -> None:
            transaction.compact(scribe.name, Subtree(), 1)
            transaction.forget_effects(after(100))
            transaction.write(changes(scribe))

        with pytest.raises(Interrupted):
            interrupted(store, act)

        with store.snapshot() as snapshot:
            assert everything(snapshot) == before

    def test_an_erasure_can_be_undone(self, store: Store, scribe: Scribe) -> None:
        with store.transaction() as transaction:
            transaction.write(changes(scribe))
        with store.snapshot() as snapshot:
            before = everything(snapshot)
        with pytest.raises(Interrupted):
            interrupted(store, lambda transaction: transaction.erase_board("atelier"))

        with store.snapshot() as snapshot:
            assert everything(snapshot) == before
        scribe.commit(put("c"))

    def test_a_space_that_was_undone_can_be_written_again(self, store: Store) -> None:
        lost = Scribe(store)
        lost.stage(put("a", "lost"))
        with pytest.raises(Interrupted):
            interrupted(store, lambda transaction: transaction.write(lost.changes()))
        Scribe(store, owner="ada").commit(put("a", "private"))
        kept = Scribe(store)
        kept.commit(put("a", "kept"))

        with store.snapshot() as snapshot:
            assert [entry.value for entry in snapshot.scan(kept.name, Scan())] == [text("kept")]

    def test_a_transaction_that_writes_nothing_changes_nothing(
        self, store: Store, scribe: Scribe
    ) -> None:
        scribe.commit(put("a"))
        with store.snapshot() as snapshot:
            before = everything(snapshot)
        with store.transaction() as transaction:
            transaction.write(Changes())
        with store.transaction():
            pass

        with store.snapshot() as snapshot:
            assert everything(snapshot) == before


class TestIsolation:
    """A snapshot shows one moment."""

    def test_a_transaction_reads_what_was_committed_before(
        self, store: Store, scribe: Scribe
    ) -> None:
        scribe.commit(put("a"))

        with store.transaction() as transaction, store.snapshot() as snapshot:
            assert everything(transaction) == everything(snapshot)

    @pytest.mark.guarantee("S2")
    def test_nobody_sees_a_transaction_before_it_ends(self, store: Store, scribe: Scribe) -> None:
        scribe.commit(put("a"))
        with store.snapshot() as snapshot:
            before = everything(snapshot)
        with store.transaction() as transaction:
            transaction.write(changes(scribe))
            with store.snapshot() as during:
                assert everything(during) == before
        with store.snapshot() as snapshot:
            assert everything(snapshot) != before

    def test_a_snapshot_never_changes(self, store: Store, scribe: Scribe) -> None:
        scribe.commit(put("a"))
        before = scribe.space
        with store.snapshot() as read, store.snapshot() as unread:
            seen = everything(read)
            with store.transaction() as transaction:
                transaction.write(changes(scribe))
            with store.transaction() as transaction:
                transaction.compact(scribe.name, Subtree(), 2)
            with store.transaction() as transaction:
                transaction.erase_board("atelier")
            Scribe(store).commit(put("other"))

            assert everything(read) == seen
            assert everything(unread) == seen
            assert keys(unread.scan(scribe.name, Scan())) == ["a"]
            assert unread.space(scribe.name) == before

    def test_snapshots_of_different_moments_stand_side_by_side(
        self, store: Store, scribe: Scribe
    ) -> None:
        scribe.commit(put("a"))
        with store.snapshot() as first:
            scribe.commit(put("b"))
            with store.snapshot() as second:
                scribe.commit(put("c"))
                with store.snapshot() as third:
                    found = [
                        keys(each.scan(scribe.name, Scan())) for each in (third, second, first)
                    ]

        assert found == [["a", "b", "c"], ["a", "b"], ["a"]]

    def test_readers_on_other_threads_do_not_wait_for_a_transaction(
        self, store: Store, scribe: Scribe
    ) -> None:
        scribe.commit(put("a"))
        scribe.stage(put("b"))

        def read() -> list[str]:
            with store.snapshot() as snapshot:
                return keys(snapshot.scan(scribe.name, Scan()))

        with ThreadPoolExecutor(4) as pool, store.transaction() as transaction:
            transaction.write(scribe.changes())
            found = [pool.submit(read).result(timeout=30) for _ in range(8)]

        assert found == [["a"]] * 8
        assert read() == ["a", "b"]

    def test_a_second_transaction_waits_for_the_first(self, store: Store, scribe: Scribe) -> None:
        entered, first_ended = Event(), Event()
        order: list[str] = []

        def second() -> None:
            entered.set()
            with store.transaction() as transaction:
                order.append("second")
                assert first_ended.is_set()
                assert transaction.space(scribe.name) == scribe.space

        with ThreadPoolExecutor(1) as pool:
            with store.transaction() as transaction:
                waiting = pool.submit(second)
                entered.wait(timeout=30)
                scribe.stage(put("a"))
                transaction.write(scribe.changes())
                order.append("first")
                first_ended.set()
            waiting.result(timeout=30)

        assert order == ["first", "second"]

    def test_readers_and_a_writer_at_full_speed_see_only_whole_groups(
        self, store: Store, scribe: Scribe
    ) -> None:
        done = Event()

        def read() -> list[tuple[int, int]]:
            torn: list[tuple[int, int]] = []
            while not done.is_set():
                with store.snapshot() as snapshot:
                    space = snapshot.space(scribe.name)
                    newest = snapshot.newest(scribe.name, [note("x"), note("y")])
                versions = {entry.version for entry in newest.values()}
                if space is not None and versions != {space.head // 2}:
                    torn.append((space.head, len(versions)))
            return torn

        with ThreadPoolExecutor(3) as pool:
            readers = [pool.submit(read) for _ in range(3)]
            for _ in range(100):
                scribe.stage(put("x"))
                scribe.stage(put("y"))
                scribe.flush()
            done.set()
            torn = [each for reader in readers for each in reader.result(timeout=60)]

        assert torn == []
