"""Activations and edges: stored as they are, found by every filter, in both orders."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lavagna_server.domain.agenda import (
    OPEN_STATES,
    Activation,
    ActivationFilter,
    ActivationId,
    ActivationState,
)
from lavagna_server.domain.entries import EntryId, Kind, Space, SpaceName
from lavagna_server.domain.leases import Lease
from lavagna_server.domain.triggers import Trigger, TriggerId, TriggerLimits
from lavagna_server.ports.store import Changes, EdgeId, Order, Store
from tests.contracts.scribe import START, Scribe, note
from tests.contracts.specimens import FILTERS, SPACES, activation, after, agendas, lease

WAITING = frozenset({ActivationState.WAITING})


def numbers(activations: Sequence[Activation]) -> list[int]:
    """The numbers of activations, in their order."""
    return [each.id.number for each in activations]


class TestActivations:
    """One activation, as it is."""

    FULL = Activation(
        ActivationId(SPACES[0], 5),
        trigger="on-plan",
        worker="team:testers",
        state=ActivationState.LEASED,
        kind=Kind.NOTE,
        key="täsk/1",
        version=3,
        bind={"task": "1", "name": "ü"},
        binding="1/ü",
        rating=-7,
        fired_revision=12,
        fired_at=START + timedelta(microseconds=1),
        depth=2,
        root=1,
        limits=TriggerLimits(
            lease=timedelta(seconds=1),
            attempts_max=7,
            backoff=timedelta(0),
            concurrency_max=3,
            binding_concurrency_max=0,
            cooldown=timedelta(hours=1),
            start_deadline=timedelta(microseconds=5),
            run_deadline=None,
            causal_depth_max=2,
            firings_per_minute_max=9,
        ),
        parent=4,
        slot_at=after(1),
        late=True,
        not_before=None,
        start_by=after(2),
        attempt=2,
        fence=3,
        lease=Lease("ada", "nonce", after(3), timedelta(seconds=30), after(4)),
        reason="the model timed out",
        finished_at=None,
        completed_revision=0,
        holder="ada",
    )

    @pytest.mark.parametrize(
        "written",
        [
            FULL,
            replace(FULL, kind=None, key="", version=0, bind={}, limits=TriggerLimits()),
            replace(
                FULL,
                state=ActivationState.COMPLETED,
                lease=None,
                finished_at=after(9),
                completed_revision=14,
            ),
            replace(FULL, state=ActivationState.HELD, lease=None, not_before=after(7), late=False),
        ],
        ids=["leased", "scheduled", "completed", "held"],
    )
    def test_an_activation_reads_as_it_was_written(
        self, store: Store, scribe: Scribe, written: Activation
    ) -> None:
        scribe.fire(written)

        with store.snapshot() as snapshot:
            assert snapshot.activation(written.id) == written
            found = snapshot.activations(ActivationFilter(), order=Order.NEWEST, limit=9)
            assert list(found) == [written]

    def test_the_last_state_counts(self, store: Store, scribe: Scribe) -> None:
        scribe.fire(activation(1), activation(1, state=ActivationState.HELD))
        scribe.fire(activation(1, state=ActivationState.DEAD))

        with store.snapshot() as snapshot:
            found = snapshot.activation(ActivationId(scribe.name, 1))
            count = snapshot.count_activations(ActivationFilter())

        assert found == activation(1, state=ActivationState.DEAD)
        assert count == 1

    def test_everything_that_moves_is_written_again(self, store: Store, scribe: Scribe) -> None:
        held = replace(
            self.FULL,
            state=ActivationState.HELD,
            rating=2**63 - 1,
            not_before=after(7),
            start_by=after(8),
            attempt=3,
            fence=9,
            lease=None,
            reason="another",
            holder="grace",
        )
        ended = replace(
            held,
            state=ActivationState.DEAD,
            not_before=None,
            start_by=None,
            finished_at=after(9),
            completed_revision=3,
        )
        renewed = replace(
            self.FULL, lease=Lease("grace", "other", after(30), timedelta(seconds=9), after(40))
        )
        found: list[Activation | None] = []
        for moved in (self.FULL, renewed, held, self.FULL, ended):
            scribe.fire(moved)
            with store.snapshot() as snapshot:
                found.append(snapshot.activation(moved.id))

        assert found == [self.FULL, renewed, held, self.FULL, ended]

    def test_what_was_never_fired_is_not_found(self, store: Store, scribe: Scribe) -> None:
        scribe.fire(activation(1))
        elsewhere = ActivationFilter(SpaceName("elsewhere"))

        with store.snapshot() as snapshot:
            assert snapshot.activation(ActivationId(scribe.name, 2)) is None
            assert snapshot.activation(ActivationId(SpaceName("elsewhere"), 1)) is None
            assert list(snapshot.activations(elsewhere, order=Order.AGENDA, limit=1)) == []
            assert snapshot.count_activations(elsewhere) == 0


class TestAgenda:
    """The order in which work is offered."""

    @pytest.mark.guarantee("A7")
    def test_the_higher_rating_comes_first_and_among_equals_the_oldest(
        self, store: Store, scribe: Scribe
    ) -> None:
        ratings = [0, 5, -(2**63), 5, 2**63 - 1, 0]
        scribe.fire(
            *(activation(number, rating=rating) for number, rating in enumerate(ratings, 1))
        )
        where = ActivationFilter(scribe.name, WAITING)

        with store.snapshot() as snapshot:
            found = snapshot.activations(where, order=Order.AGENDA, limit=10)
            first = snapshot.activations(where, order=Order.AGENDA, limit=2)

        assert numbers(found) == [5, 2, 4, 1, 6, 3]
        assert numbers(first) == [5, 2]

    @pytest.mark.guarantee("A7")
    def test_the_agendas_of_an_agent_and_its_teams_are_one(
        self, store: Store, scribe: Scribe
    ) -> None:
        workers = ["ada", "team:testers", "grace", "team:testers", "ada"]
        scribe.fire(
            *(
                activation(number, worker=worker, rating=number % 3)
                for number, worker in enumerate(workers, 1)
            )
        )
        where = ActivationFilter(
            scribe.name,
            frozenset({ActivationState.WAITING, ActivationState.HELD}),
            workers=frozenset({"ada", "team:testers", "team:none"}),
        )

        with store.snapshot() as snapshot:
            found = snapshot.activations(where, order=Order.AGENDA, limit=10)
            first = snapshot.activations(where, order=Order.AGENDA, limit=3)

        assert numbers(found) == [2, 5, 1, 4]
        assert numbers(first) == [2, 5, 1]

    def test_the_newest_come_first_in_pages(self, store: Store, scribe: Scribe) -> None:
        scribe.fire(*(activation(number) for number in range(1, 6)))

        with store.snapshot() as snapshot:
            first = snapshot.activations(ActivationFilter(scribe.name), order=Order.NEWEST, limit=2)
            second = snapshot.activations(
                ActivationFilter(scribe.name, below_number=4), order=Order.NEWEST, limit=9
            )

        assert (numbers(first), numbers(second)) == ([5, 4], [3, 2, 1])

    def test_a_moment_itself_counts_as_come(self, store: Store, scribe: Scribe) -> None:
        scribe.fire(
            activation(1, not_before=after(5)),
            activation(2, start_by=after(5)),
            activation(3, state=ActivationState.LEASED, lease=lease(after(5))),
        )

        def found(where: ActivationFilter) -> list[int]:
            with store.snapshot() as snapshot:
                return numbers(snapshot.activations(where, order=Order.NEWEST, limit=9))

        assert found(ActivationFilter(states=WAITING, offered_by=after(4.999999))) == [2]
        assert found(ActivationFilter(states=WAITING, offered_by=after(5))) == [2, 1]
        assert found(ActivationFilter(start_due_by=after(4.999999))) == []
        assert found(ActivationFilter(start_due_by=after(5))) == [2]
        assert found(ActivationFilter(lease_expired_by=after(4.999999))) == []
        assert found(ActivationFilter(lease_expired_by=after(5))) == [3]
        assert found(ActivationFilter(fired_after=after(2))) == [3]

    @given(
        agenda=agendas(),
        filters=st.lists(FILTERS, min_size=1, max_size=8),
        order=st.sampled_from(Order),
        limit=st.integers(1, 20),
    )
    @settings(
        suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=100
    )
    def test_every_filter_finds_exactly_what_it_means(
        self,
        store: Store,
        agenda: list[Activation],
        filters: list[ActivationFilter],
        order: Order,
        limit: int,
    ) -> None:
        with store.transaction() as transaction:
            for board in {space.board for space in SPACES}:
                transaction.erase_board(board)
            spaces = [Space(space, "first", activations=len(agenda)) for space in SPACES]
            transaction.write(
                Changes(spaces=spaces, activations=[_elsewhere(each) for each in agenda])
            )
        with store.transaction() as transaction:
            transaction.write(Changes(activations=agenda))

        with store.snapshot() as snapshot:
            for where in filters:
                meant = [each for each in agenda if where.includes(each)]
                meant.sort(key=_agenda_first if order is Order.AGENDA else _newest_first)
                assert snapshot.count_activations(where) == len(meant)
                found = snapshot.activations(where, order=order, limit=limit)
                assert list(found) == meant[:limit]

    def test_those_that_can_still_move_are_told_from_those_that_ended(
        self, store: Store, scribe: Scribe
    ) -> None:
        states = list(ActivationState)
        scribe.fire(*(activation(number, state=state) for number, state in enumerate(states, 1)))
        ended = frozenset(states) - OPEN_STATES

        with store.snapshot() as snapshot:
            assert snapshot.count_activations(ActivationFilter(scribe.name, OPEN_STATES)) == 3
            assert snapshot.count_activations(ActivationFilter(scribe.name, ended)) == 6
            assert snapshot.count_activations(ActivationFilter(scribe.name)) == 9


class TestEdges:
    """The subjects for which a condition holds."""

    TRIGGER = TriggerId(SpaceName("atelier"), "on-plan")

    def test_an_edge_is_there_from_its_addition_to_its_removal(
        self, store: Store, scribe: Scribe
    ) -> None:
        first, second = (EdgeId(self.TRIGGER, "x", note(key)) for key in ("a", "ü/b"))
        found: list[frozenset[EntryId]] = []
        for edges in (
            [(first, True), (second, True), (first, True)],
            [(first, False)],
            [(first, True), (first, False), (second, False), (second, True)],
            [(second, False), (first, False)],
        ):
            with store.transaction() as transaction:
                transaction.write(Changes(spaces=[scribe.space], edges=edges))
            with store.snapshot() as snapshot:
                found.append(snapshot.edges(self.TRIGGER, "x"))

        assert found == [{note("a"), note("ü/b")}, {note("ü/b")}, {note("ü/b")}, set()]

    def test_bindings_triggers_and_spaces_are_kept_apart(
        self, store: Store, scribe: Scribe
    ) -> None:
        private = TriggerId(SpaceName("atelier", "ada"), "on-plan")
        edges = [
            (EdgeId(trigger, binding, note(f"{number}")), True)
            for number, (trigger, binding) in enumerate(
                [
                    (self.TRIGGER, ""),
                    (self.TRIGGER, "x"),
                    (self.TRIGGER._replace(name="on-plan2"), ""),
                    (private, ""),
                ]
            )
        ]
        with store.transaction() as transaction:
            transaction.write(Changes(spaces=[scribe.space], edges=edges))

        with store.snapshot() as snapshot:
            found = [snapshot.edges(edge.trigger, edge.binding) for edge, _ in edges]

        assert found == [{note("0")}, {note("1")}, {note("2")}, {note("3")}]

    def test_all_edges_of_a_trigger_are_found_and_no_others(
        self, store: Store, scribe: Scribe
    ) -> None:
        other = TriggerId(SpaceName("atelier"), "on-plan-too")
        edges = [
            EdgeId(trigger, binding, note(key))
            for trigger in (self.TRIGGER, other)
            for binding in ("", "x")
            for key in ("a", "ü/b")
        ]
        with store.transaction() as transaction:
            transaction.write(
                Changes(spaces=[scribe.space], edges=[(edge, True) for edge in edges])
            )

        with store.snapshot() as snapshot:
            found = snapshot.edges_of(self.TRIGGER)
            none = snapshot.edges_of(TriggerId(SpaceName("studio"), "on-plan"))

        assert (len(found), set(found), len(none)) == (4, set(edges[:4]), 0)

    def test_a_removed_trigger_takes_its_edges_along(self, store: Store, scribe: Scribe) -> None:
        trigger = Trigger(scribe.name, "on-plan", "ada")
        kept = EdgeId(TriggerId(scribe.name, "other"), "x", note("a"))
        fresh = EdgeId(trigger.id, "x", note("b"))
        with store.transaction() as transaction:
            edges = [(EdgeId(trigger.id, binding, note("a")), True) for binding in ("", "x")]
            transaction.write(
                Changes(spaces=[scribe.space], saved=[trigger], edges=[*edges, (kept, True)])
            )
        with store.transaction() as transaction:
            transaction.write(Changes(removed=[trigger], saved=[trigger], edges=[(fresh, True)]))

        with store.snapshot() as snapshot:
            assert snapshot.edges(trigger.id, "") == set()
            assert snapshot.edges(trigger.id, "x") == {note("b")}
            assert snapshot.edges(kept.trigger, "x") == {note("a")}
            assert list(snapshot.records(Trigger)) == [trigger]


def _agenda_first(activation: Activation) -> tuple[object, ...]:
    return (*activation.agenda_order, activation.id.space)


def _newest_first(activation: Activation) -> tuple[object, ...]:
    return (-activation.id.number, activation.id.space)


def _elsewhere(activation: Activation) -> Activation:
    """The same activation in a state in which other filters mean it."""
    state = ActivationState.DEAD if activation.state.is_open else ActivationState.HELD
    return replace(activation, state=state, rating=~activation.rating, lease=None, not_before=None)
