"""What people are told of a crew: the story of its entries, and the scene that comes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from lavagna import Activation, ActivationState, ChangeType, Commit, Entry, Kind, Occasion, Space
from lavagna_crew.demo.scene import Scene
from lavagna_crew.demo.story import deed, told
from lavagna_crew.demo.view import Lines, Picture, view_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
FAILED = {"test": "test_a.ATest.test_it_works (n=2)", "text": "AssertionError"}


def entry(key: str, value: object, *, author: str = "tester", json: bool = True) -> Entry:
    """The first version of an entry."""
    text = "{}" if json else None
    return Entry(key, Kind.NOTE, 1, 1, ChangeType.CREATED, value, author, NOON, json_text=text)


def commit(
    revision: int, *entries: Entry, occasion: Occasion = Occasion.WRITE, author: str = "tester"
) -> Commit:
    """A commit of these entries."""
    return Commit(Space.SHARED, revision, NOON, author, None, occasion, entries)


def activation(
    trigger: str, task: str, state: ActivationState, *, holder: str = "", fence: int = 1
) -> Activation:
    """An activation of a trigger for a task."""
    return Activation(
        id=f"{trigger}-{task}",
        trigger_id=trigger,
        space=Space.SHARED,
        state=state,
        key=f"tasks/{task}",
        bind={"task": task},
        rating=0,
        fired_revision=1,
        fired_at=NOON,
        slot_at=None,
        late=False,
        attempt=1,
        attempts_max=4,
        fence=fence,
        holder=holder,
        lease_expires_at=None,
        depth=1,
        parent_id="",
        not_before=None,
        reason="",
        finished_at=None,
        completed_revision=0,
    )


def outcome(*failures: Mapping[str, str], **more: Any) -> Mapping[str, Any]:
    """What the tester writes about a run."""
    return {
        "ok": not failures,
        "passed": 7,
        "failed": len(failures),
        "failures": list(failures),
        "timed_out": False,
        "out_of_memory": False,
        **more,
    }


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("request", {"task": "a game"}, "asks: a game"),
        ("goal", {"title": "Go", "statement": "A game."}, "sets the goal: Go. A game."),
        ("suites/a", {"edition": 1, "note": "all"}, "has tests for a: all"),
        ("suites/a", {"edition": 2, "note": "all"}, "has tests for a, edition 2: all"),
        ("submissions/a", {"attempt": 2, "note": "ok"}, "hands in a, attempt 2: ok"),
        ("results/a", outcome(attempt=1), "a, attempt 1: 7 passed"),
        (
            "results/a",
            outcome(FAILED, FAILED, attempt=1),
            "a, attempt 1: 7 passed, 2 FAILED (test_it_works)",
        ),
        (
            "results/a",
            outcome(FAILED, attempt=1, timed_out=True),
            "a, attempt 1: 7 passed, 1 FAILED (test_it_works; out of time)",
        ),
        ("report", outcome(), "the whole program: 7 passed"),
        ("verdict", {"accepted": True, "reason": "fine"}, "accepts the program: fine"),
        ("verdict", {"accepted": False, "reason": "no"}, "rejects the program: no"),
    ],
)
def test_an_entry_is_told_in_words(key: str, value: object, text: str) -> None:
    assert told(entry(key, value)) == text


@pytest.mark.parametrize(
    "key", ["code/a/a.py", "tests/a/test_a.py", "usage/ceo/1", "tasks/a", "design"]
)
def test_what_another_entry_of_the_same_commit_tells_is_not_told_twice(key: str) -> None:
    assert told(entry(key, "text", json=False)) is None


def proposal(*, reason: str = "", outcome: str = "open") -> Entry:
    """A design that is proposed, or what became of it."""
    electors = [{"agent": name} for name in ("cto", "p1", "p2", "p3")]
    basis = {"poll": {"target": "design", "electors": electors, "outcome": outcome}}
    basis["poll"]["reason"] = reason
    change = ChangeType.PROPOSED if outcome == "open" else ChangeType.DECIDED
    value = {"edition": 1, "summary": "Two.", "tasks": ["a", "b"]} if outcome == "open" else None
    return Entry(
        "design/1-000", Kind.PROPOSAL, 1, 1, change, value, "cto", NOON, json_text="{}", basis=basis
    )


def ballot(author: str, choice: str, reason: str = "", *, sure: float | None = None) -> Entry:
    """A vote on that design."""
    said = {"choice": choice, "reason": reason}
    key = f"design/1-000/@{author}"
    return replace(entry(key, said, author=author), kind=Kind.BALLOT, confidence=sure)


def claim(author: str, value: float, *, sure: float | None = None) -> Entry:
    """An estimate."""
    key = f"estimate/@{author}"
    return replace(entry(key, value, author=author), kind=Kind.CLAIM, confidence=sure)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (proposal(), "proposes design 1, split into a, b. Two."),
        (ballot("p1", "accept"), "votes yes"),
        (ballot("p1", "reject", "slow", sure=0.8), "votes NO, 80% sure: slow"),
        (ballot("p1", "abstain"), "votes neither yes nor no"),
        (claim("p1", 1), "estimates 1 hour"),
        (claim("p1", 2.5, sure=0.5), "estimates 2.5 hours, 50% sure"),
        (
            proposal(outcome="undecided", reason="2 of 4 accept"),
            "the design is UNDECIDED: 2 of 4 accept",
        ),
    ],
)
def test_votes_and_estimates_are_told_in_words(said: Entry, text: str) -> None:
    assert told(said) == text


def test_a_change_that_somebody_else_proposes_is_told_by_what_it_is_about() -> None:
    assert told(replace(proposal(), key="goal/1-000")) == "proposes another goal"


def voted() -> Scene:
    """A crew that decided against one voice, while a fourth thought too long."""
    scene = Scene()
    list(scene.take(commit(1, proposal(), ballot("cto", "accept"), claim("cto", 4), author="cto")))
    late = {"edition": 1, "choice": "reject", "reason": "late"}
    list(scene.take(commit(2, ballot("p1", "reject", "slow"), claim("p1", 9), author="p1")))
    accepted = proposal(outcome="accepted", reason="3 of 4 accept")
    list(scene.take(commit(3, ballot("p2", "accept"), accepted, author="p2")))
    list(scene.take(commit(4, entry("opinions/p3/1-000", late, author="p3"))))
    list(scene.take(commit(5, entry("estimate", 5))))
    return scene


def test_the_vote_and_its_dissent_stay_to_be_seen_those_too_late_to_count_among_it() -> None:
    agreement = voted().agreement

    assert agreement.polls_told == [
        "Vote:   design 1   + cto   - p1   + p2   · p3   accepted: 3 of 4 accept",
        "        against it, p1: slow",
        "        against it, p3, too late to vote: late",
    ]
    assert agreement.lines == [
        "design 1   + cto   - p1   + p2   · p3   accepted: 3 of 4 accept",
        "effort     5 hours, of 2 estimates from 4 to 9: cto 4, p1 9",
    ]


def test_an_estimate_that_is_withdrawn_does_not_count() -> None:
    scene = voted()
    list(scene.take(commit(6, replace(claim("p1", 9), change=ChangeType.DELETED, value=None))))

    assert scene.agreement.estimate_told == "5 hours, of one estimate of 4: cto 4"


def test_a_decision_is_told_as_the_boards_and_the_authors_own_vote_goes_without_saying() -> None:
    assert [(one.who, one.text.split()[0]) for one in voted().happenings] == [
        ("cto", "proposes"),
        ("cto", "estimates"),
        ("p1", "votes"),
        ("p1", "estimates"),
        ("p2", "votes"),
        ("board", "the"),
    ]


def test_a_crew_that_waits_for_votes_has_not_come_to_rest() -> None:
    scene = Scene()
    list(scene.take(commit(1, proposal(), author="cto")))
    (said,) = scene.take(commit(2, occasion=Occasion.QUIESCENCE, author=""))
    assert (scene.at_rest, said.text.endswith("; a vote goes on")) == (False, True)

    list(scene.take(commit(3, proposal(outcome="undecided"), author="")))
    list(scene.take(commit(4, occasion=Occasion.QUIESCENCE, author="")))
    assert scene.at_rest


def test_a_deed_names_its_task() -> None:
    waiting = activation("programmers.build", "cache", ActivationState.WAITING)

    assert deed(waiting) == "writes cache"


def test_who_wakes_is_told_once_for_each_lease() -> None:
    scene = Scene()
    first = activation("programmers.build", "a", ActivationState.LEASED, holder="p1")
    again = activation("programmers.build", "a", ActivationState.LEASED, holder="p2", fence=2)

    looks: Sequence[Sequence[Activation]] = [[first], [first], [again]]
    told_each = [[one.who for one in scene.look(look)] for look in looks]

    assert told_each == [["p1"], [], ["p2"]]
    assert scene.awake == {"p2": ["writes a"]}


def test_what_waits_is_what_nobody_has_begun_and_what_depends_on_others() -> None:
    scene = Scene()
    tasks = [
        entry("tasks/base", {"depends_on": []}),
        entry("tasks/top", {"depends_on": ["base", "side"]}),
        entry("results/side", outcome(attempt=1)),
    ]
    list(scene.take(commit(1, *tasks)))
    list(scene.look([activation("programmers.build", "base", ActivationState.WAITING)]))

    assert scene.waiting == ["writes base"]
    assert list(scene.blocked()) == ["top waits for base"]

    list(scene.take(commit(2, entry("results/base", outcome(attempt=1)))))
    assert list(scene.blocked()) == []


def test_the_scene_rests_when_the_board_does_and_wakes_with_the_next_commit() -> None:
    scene = Scene()
    list(scene.take(commit(1, occasion=Occasion.QUIESCENCE, author="")))
    assert scene.at_rest

    verdict = {"accepted": False, "final": False, "reason": "no"}
    list(scene.take(commit(2, entry("verdict", verdict))))
    assert (scene.at_rest, scene.decided, scene.revision) == (False, False, 2)

    list(scene.take(commit(3, entry("verdict", {**verdict, "final": True}))))
    assert scene.decided


def test_failed_runs_are_counted() -> None:
    scene = Scene()
    for revision, failures in enumerate([[FAILED], [FAILED], []], start=1):
        result = outcome(*failures, attempt=revision)
        list(scene.take(commit(revision, entry("results/a", result))))

    assert scene.failed_runs == 2


def test_anything_but_a_terminal_gets_a_line_for_everything() -> None:
    sink = StringIO()
    console, scene = Console(file=sink, width=40), Scene(clock=lambda: 0.0)
    view = view_of(scene, console)
    long = "x" * 100
    with view:
        for happening in scene.take(commit(1, entry("request", {"task": f"[b] {long}"}))):
            view.tell(happening)

    assert isinstance(view, Lines)
    assert sink.getvalue() == f"   0.0 s  tester        asks: [b] {long}\n"


def test_silence_is_filled_with_what_goes_on() -> None:
    sink, now = StringIO(), [0.0]
    scene = Scene(["ceo"], clock=lambda: now[0])
    view = view_of(scene, Console(file=sink))
    for seconds in (0.5, 1.2, 1.4):
        now[0] = seconds
        view.refresh()
    assert sink.getvalue().split() == ["1.2", "s", "…", "everybody", "starts"]

    list(scene.take(commit(1, entry("crew/ceo", {"process": 1}, author="ceo"))))
    list(scene.look([activation("ceo.judge", "", ActivationState.LEASED, holder="ceo")]))
    for seconds in (11.0, 11.3):
        now[0] = seconds
        view.refresh()
    assert "11.3 s" in sink.getvalue()
    assert "still: ceo judges the program" in sink.getvalue()
    assert sink.getvalue().count("\n") == 2


def test_a_terminal_shows_who_is_awake_what_changed_and_what_waits() -> None:
    sink = StringIO()
    console = Console(file=sink, width=90, force_terminal=True)
    scene = Scene(["ceo", "cto", "tester"], clock=lambda: 0.0)
    with view_of(scene, console) as view:
        present = [entry(f"crew/{name}", {"process": 1}, author=name) for name in ("ceo", "cto")]
        list(scene.take(commit(1, *present)))
        list(scene.take(commit(2, entry("tasks/a", {"depends_on": ["b"]}))))
        list(scene.take(commit(3, proposal(), author="cto")))
        list(scene.take(commit(4, ballot("p1", "accept"), claim("p1", 4), author="p1")))
        leased = activation("cto.design", "", ActivationState.LEASED, holder="cto")
        list(scene.look([leased]))
        view.refresh()

    assert isinstance(view, Picture)
    picture = sink.getvalue()
    for shown in (
        "designs the program",
        "asleep",
        "starts",
        "is up, process 1",
        "a waits for b",
        "what is agreed",
        "design 1   · cto   + p1",
        "effort     ?, of one estimate of 4: p1 4",
    ):
        assert shown in picture
