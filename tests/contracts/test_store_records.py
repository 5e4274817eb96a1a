"""What is configured, what requests came to, and the end of a board."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

import pytest

from lavagna_server.domain.agenda import ActivationFilter
from lavagna_server.domain.agents import Agent, Role
from lavagna_server.domain.boards import Board
from lavagna_server.domain.entries import ChangeType, Kind, SpaceName
from lavagna_server.domain.keys import EVERYTHING, parse_pattern
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.merging import MergeRules
from lavagna_server.domain.regions import Electorate, Merging, Policy, Region, Retention, Voters
from lavagna_server.domain.schedules import Schedule
from lavagna_server.domain.standings import Standing
from lavagna_server.domain.triggers import Mode, Source, Statistics, Trigger, TriggerLimits
from lavagna_server.domain.weighing.calibration import UNCALIBRATED
from lavagna_server.engine.overlay import record_key
from lavagna_server.ports.store import Changes, EdgeId, Effect, Order, Record, Scan, Store
from tests.contracts.scribe import START, Scribe, note, put
from tests.contracts.specimens import activation, after

PATTERN = parse_pattern("täsks/{task}/**", field="on", limits=Limits())

RECORDS: list[Record] = [
    Board("atelier", "epoch"),
    Board("studio", "epoch", "Das Stüdio", 5, -(2**63), 3, after(1)),
    Region("atelier", "plan"),
    Region(
        "atelier",
        "plan/ü",
        "ada",
        ("ada", "team:x"),
        ("*",),
        Policy.LATEST,
        '{"type": "object"}',
        Retention(timedelta(days=3), 7),
        9,
        4,
    ),
    Region(
        "atelier",
        "design",
        "team:x",
        policy=Policy.QUORUM,
        electorate=Electorate(
            (Voters("ada", 2.5, True), Voters("team:x"), Voters("*")),
            share=2 / 3,
            deadline=timedelta(microseconds=1),
            groups_min=2,
            group_cap=1.5,
        ),
    ),
    Agent("-", "root", Role.ADMIN),
    Agent("atelier", "ada", Role.AGENT, ("x", "y"), b"\x00hash", True, after(2), 2),
    Standing("atelier", "ada"),
    Standing("atelier", "nobody", 0.1, "the-same-model", 3),
    Standing(
        "atelier",
        "bob",
        calibrations={
            "effort/ü": UNCALIBRATED.observed(0.9, right=True).observed(0.1, right=False)
        },
    ),
    Region(
        "atelier",
        "effort",
        policy=Policy.WEIGHTED,
        merging=Merging(
            MergeRules("mean", text="lines", fields={"a/ü": "max"}, threshold=0.25),
            1.5,
            ("*", "ada"),
        ),
    ),
    Trigger(SpaceName("atelier"), "on-plan", "ada"),
    Trigger(
        SpaceName("atelier", "ada"),
        "on-plan",
        "ada",
        "testers",
        (
            Source(PATTERN, frozenset(Kind), frozenset({ChangeType.CREATED, ChangeType.EXPIRED})),
            Source(EVERYTHING),
        ),
        (PATTERN, EVERYTHING),
        "entry.value == 'ü'",
        "5",
        Mode.EVERY,
        None,
        TriggerLimits(cooldown=timedelta(microseconds=1), start_deadline=timedelta(days=1)),
        True,
        True,
        12,
        Statistics(1, 2, 3, 4, 5, 6, 7, 8, "Fehler: ü", after(3)),
    ),
    Trigger(
        SpaceName("atelier"),
        "hourly",
        "ada",
        mode=Mode.DUE,
        schedule=Schedule(cron="0 * * * *", time_zone="Europe/Zurich"),
        next_due_at=after(4),
    ),
    Trigger(SpaceName("atelier"), "once", "ada", mode=Mode.DUE, schedule=Schedule(at=after(5))),
]


def stored(store: Store) -> list[Record]:
    """All records, those of a kind together."""
    with store.snapshot() as snapshot:
        return [
            *snapshot.records(Board),
            *snapshot.records(Region),
            *snapshot.records(Agent),
            *snapshot.records(Standing),
            *snapshot.records(Trigger),
        ]


def by_name(records: Iterable[Record]) -> list[Record]:
    """Records in one order, whatever a set among their fields prints as."""
    return sorted(records, key=lambda each: repr(record_key(each)))


class TestRecords:
    """Boards, regions, agents and triggers."""

    def test_every_record_reads_as_it_was_saved(self, store: Store) -> None:
        with store.transaction() as transaction:
            transaction.write(Changes(saved=RECORDS))

        assert by_name(stored(store)) == by_name(RECORDS)

    @pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
    def test_saving_again_replaces_and_removing_removes(self, store: Store, record: Record) -> None:
        others = [each for each in RECORDS if each != record]
        later = replace(record, version=99)
        with store.transaction() as transaction:
            transaction.write(Changes(saved=[*others, record, later]))
        saved = stored(store)
        with store.transaction() as transaction:
            transaction.write(Changes(removed=[record]))

        assert by_name(saved) == by_name([*others, later])
        assert by_name(stored(store)) == by_name(others)

    def test_removing_what_is_not_there_changes_nothing(self, store: Store) -> None:
        with store.transaction() as transaction:
            transaction.write(Changes(saved=RECORDS[:1], removed=RECORDS[1:]))

        assert stored(store) == RECORDS[:1]


class TestEffects:
    """What requests came to."""

    EFFECT = Effect("atelier", "ada", "r-1", b"\x00print", b"\xffanswer", START)

    @pytest.mark.guarantee("S6")
    def test_an_effect_is_found_by_board_agent_and_request(self, store: Store) -> None:
        with store.transaction() as transaction:
            transaction.write(Changes(effects=[self.EFFECT]))

        with store.snapshot() as snapshot:
            assert snapshot.effect("atelier", "ada", "r-1") == self.EFFECT
            assert snapshot.effect("atelier", "ada", "r-2") is None
            assert snapshot.effect("atelier", "grace", "r-1") is None
            assert snapshot.effect("studio", "ada", "r-1") is None

    @pytest.mark.guarantee("S6")
    def test_effects_before_a_moment_are_forgotten_and_no_others(self, store: Store) -> None:
        later = replace(self.EFFECT, request_id="r-2", at=after(1))
        with store.transaction() as transaction:
            transaction.write(Changes(effects=[self.EFFECT, later]))
        with store.transaction() as transaction:
            transaction.forget_effects(after(1))

        with store.snapshot() as snapshot:
            assert snapshot.effect("atelier", "ada", "r-1") is None
            assert snapshot.effect("atelier", "ada", "r-2") == later


class TestErasure:
    """The end of a board."""

    def test_nothing_of_an_erased_board_is_left_and_all_of_others(self, store: Store) -> None:
        scribes = [
            Scribe(store, "atelier"),
            Scribe(store, "atelier", "ada"),
            Scribe(store, "atelier2"),
        ]
        records: list[Record] = []
        for scribe in scribes:
            scribe.commit(put("a", expires_at=after(50)))
            scribe.fire(activation(1, space=scribe.name))
            board, owner = scribe.name
            edge = EdgeId(Trigger(scribe.name, "on", "ada").id, "", note("a"))
            records += [
                Board(board, "epoch"),
                Region(board, "plan"),
                Agent(board, "ada", Role.AGENT),
                Trigger(scribe.name, "on", "ada"),
            ]
            with store.transaction() as transaction:
                effect = Effect(board, owner, "r", b"", b"", START)
                transaction.write(Changes(saved=records, edges=[(edge, True)], effects=[effect]))
        with store.transaction() as transaction:
            transaction.erase_board("atelier")
            assert transaction.space(scribes[0].name) is None

        with store.snapshot() as snapshot:
            for scribe, exists in zip(scribes, (False, False, True), strict=True):
                board, owner = scribe.name
                found = [
                    snapshot.space(scribe.name),
                    snapshot.newest(scribe.name, [note("a")]),
                    snapshot.scan(scribe.name, Scan()),
                    snapshot.commits(scribe.name, after=0, limit=1, bytes_max=1),
                    snapshot.activations(
                        ActivationFilter(scribe.name), order=Order.NEWEST, limit=1
                    ),
                    snapshot.edges(Trigger(scribe.name, "on", "ada").id, ""),
                    snapshot.effect(board, owner, "r"),
                ]
                assert [bool(each) for each in found] == [exists] * 7, scribe.name
            assert [space.board for space, _ in snapshot.expiring(after(50), 9)] == ["atelier2"]

        assert stored(store) == records[8:]

    def test_a_board_made_anew_begins_at_nothing(self, store: Store) -> None:
        Scribe(store).commit(put("a"), put("b"))
        other = Scribe(store, "studio").commit(put("c"))
        again = Scribe(store)
        made = again.stage(put("a", "anew"))
        with store.transaction() as transaction:
            transaction.erase_board("atelier")
            transaction.write(again.changes())

        with store.snapshot() as snapshot:
            assert list(snapshot.scan(again.name, Scan())) == list(made.entries)
            assert list(snapshot.scan(other.space, Scan())) == list(other.entries)
            assert snapshot.space(again.name) == again.space
