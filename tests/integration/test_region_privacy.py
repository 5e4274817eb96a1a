"""What may not be read shows in nothing: not to those who write there, not through triggers, not on the agenda."""

from __future__ import annotations

import pytest

from lavagna_server.domain.agenda import Activation, ActivationId, ActivationState
from lavagna_server.domain.agents import Role
from lavagna_server.domain.entries import Change, Condition, Entry, Operation, Requirement
from lavagna_server.domain.errors import LeaseLost, NotFound, VersionRequired
from lavagna_server.domain.leases import LeaseToken
from lavagna_server.domain.regions import Electorate, Policy, Voters
from lavagna_server.domain.triggers import Statistics, Trigger, TriggerId
from lavagna_server.domain.values import Form, Value
from lavagna_server.engine.engine import Engine
from tests.desks import Desk, delete, entries_of, json_value, note, put

pytestmark = pytest.mark.guarantee("S8")
CREW = frozenset({"crew"})


@pytest.fixture
async def alice(engine: Engine) -> Desk:
    """An agent in a team who keeps a secret, and an inbox that others may write to."""
    alice = Desk(engine, "alice", Role.ADMIN, CREW)
    await alice.region("secret", readers=("alice",), writers=("alice",))
    await alice.region("inbox", readers=("alice",), writers=("alice", "bob"))
    await alice.put("secret/pin", 1234)
    return alice


@pytest.fixture
def bob(engine: Engine) -> Desk:
    """A member of the same team, who may not read what alice keeps secret."""
    return Desk(engine, "bob", Role.AGENT, CREW)


@pytest.fixture
def olga(engine: Engine) -> Desk:
    """An observer."""
    return Desk(engine, "olga", Role.OBSERVER)


async def fate(desk: Desk, change: Change) -> tuple[object, ...]:
    """What becomes of a change, as its author learns it."""
    try:
        written = await desk.commit(change)
    except (NotFound, VersionRequired) as refused:
        current = [each.current for each in getattr(refused, "failed", ())]
        return type(refused), str(refused), refused.numbers, current
    answers = entries_of(written)[: written.plan.answers]
    return ("written", [(each.kind, each.id in written.plan.unseen) for each in answers])


PATCH = Change(note("inbox/a"), Operation.PATCH, Value(Form.JSON, "{}"))


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize(
    "change",
    [
        put("inbox/a", 1),
        put("inbox/a", 1, overwrite=True),
        put("inbox/a", 1, expected=1),
        put("inbox/a", 1, expected=0),
        delete("inbox/a"),
        delete("inbox/a", expected=1),
        PATCH,
        Change(note("inbox"), Operation.APPEND, json_value(1)),
    ],
)
async def test_who_may_write_but_not_read_cannot_tell_whether_something_is_there(
    alice: Desk, bob: Desk, change: Change, policy: Policy
) -> None:
    await alice.region(
        "inbox",
        owner="alice",
        readers=("alice",),
        writers=("alice", "bob"),
        policy=policy,
        electorate=Electorate((Voters("alice"),)),
    )
    nothing_there = await fate(bob, change)
    await alice.put("inbox/a", "text of alice's", tags=("hers",))

    something_there = await fate(bob, change)

    if change.operation is Operation.APPEND:
        assert (nothing_there[0], something_there[0]) == ("written", "written")
    else:
        assert something_there == nothing_there
    assert "alice" not in repr(something_there)


async def test_what_may_not_be_read_may_not_be_probed_with_conditions(
    alice: Desk, bob: Desk
) -> None:
    await alice.put("secret/a", 1)

    with pytest.raises(NotFound):
        await bob.get("secret/a")
    for requirement in (Requirement.EXISTS, Requirement.VERSION):
        with pytest.raises(NotFound):
            await bob.commit(put("x", 1), conditions=[Condition(note("secret/a"), requirement, 1)])
        with pytest.raises(NotFound):
            await bob.commit(put("x", 1), conditions=[Condition(note("secret/b"), requirement, 1)])


async def test_what_is_put_or_appended_blindly_arrives(alice: Desk, bob: Desk) -> None:
    written = await bob.commit(put("inbox/a", "hello", overwrite=True), put("open", 1))
    (appended,) = entries_of(
        await bob.commit(Change(note("inbox"), Operation.APPEND, json_value("again")))
    )

    assert written.plan.unseen == {note("inbox/a")}
    assert (await alice.get("inbox/a")).value == json_value("hello")
    assert (await alice.get(appended.key)).author == "bob"


async def test_a_member_who_changes_a_teams_trigger_reads_with_its_own_rights(
    alice: Desk, bob: Desk
) -> None:
    rating = '"secret/pin" in board ? int(board["secret/pin"]) : 7'
    await alice.trigger("work", "tasks/*", team="crew", reads=("secret/**",))
    changed = await bob.trigger("work", "tasks/*", team="crew", reads=("secret/**",), rating=rating)
    await alice.put("tasks/1", 1)

    leased = await bob.acquire_one()

    assert (changed.agent, changed.version) == ("bob", 2)
    assert leased.activation.rating == 7


async def test_a_member_who_sets_a_teams_trigger_the_same_changes_nothing(
    alice: Desk, bob: Desk
) -> None:
    first = await alice.trigger("work", "tasks/{task}", team="crew")
    again = await bob.trigger("work", "tasks/{task}", team="crew")

    assert (again.agent, again.version) == ("alice", first.version)


async def test_who_takes_a_trigger_over_finds_nothing_of_what_its_setter_alone_could_read(
    alice: Desk, bob: Desk
) -> None:
    await alice.trigger(
        "work",
        "tasks/*",
        team="crew",
        own_writes=True,
        reads=("secret/**",),
        when="size(board) > 0",
    )
    await alice.put("tasks/1", 1)

    await bob.trigger("work", "tasks/*", team="crew", own_writes=True, reads=("secret/**",))

    waiting, cancelled = await alice.activations()
    assert (waiting.state, waiting.key) == (ActivationState.WAITING, "tasks/1")
    assert (cancelled.state, cancelled.reason) == (
        ActivationState.CANCELLED,
        "bob took the trigger over",
    )
    assert (await bob.statistics("work")).fired == 1


async def test_a_member_who_may_read_the_same_changes_a_trigger_without_firing_it_again(
    alice: Desk, bob: Desk
) -> None:
    await alice.trigger("work", "tasks/*", team="crew", own_writes=True)
    await alice.put("tasks/1", 1)
    await bob.complete(await bob.acquire_one())

    await bob.trigger("work", "tasks/*", team="crew", own_writes=True, when="true")

    assert await bob.acquire() == ()


async def test_a_trigger_of_the_same_name_shows_nothing_of_an_earlier_ones_work(
    alice: Desk, bob: Desk
) -> None:
    await alice.trigger(
        "work", "open", own_writes=True, reads=("secret/**",), when="size(board) > 0"
    )
    await alice.put("open", 1)
    await alice.engine.triggers.delete(alice.call(), TriggerId(alice.shared, "work"))
    await bob.trigger("work", "elsewhere")

    assert await listed(alice, bob) == [["open"], []]


async def listed(*desks: Desk) -> list[list[str]]:
    """The keys of the activations that each sees listed and can get."""
    told: list[list[str]] = []
    for desk in desks:
        page = list(await desk.activations())
        assert page == [await desk.engine.activations.get(desk.caller, each.id) for each in page]
        told.append([each.key for each in page])
    return told


async def test_an_activation_is_known_to_those_who_may_read_what_fired_it(
    alice: Desk, bob: Desk, olga: Desk
) -> None:
    await alice.trigger("watch", "**", own_writes=True, team="crew")
    await alice.put("open/1", 1)
    await alice.put("secret/1", 1)
    hidden = ActivationId(alice.shared, 3)

    assert await listed(alice, bob, olga) == [
        ["secret/1", "open/1", "secret/pin"],
        ["open/1"],
        ["open/1"],
    ]
    absent = ActivationId(alice.shared, 99)
    for id_ in (hidden, absent):
        activations = bob.engine.activations
        token = str(LeaseToken(id_.space, id_.number, 1, "n"))
        with pytest.raises(NotFound) as refused:
            await activations.get(bob.caller, id_)
        assert str(refused.value) == f"activation {id_} does not exist or may not be read"
        with pytest.raises(NotFound):
            await activations.hold(bob.call(), id_, None)
        with pytest.raises(NotFound):
            await activations.cancel(bob.call(), id_, "")
        with pytest.raises(NotFound):
            await activations.replay(bob.call(), id_)
        with pytest.raises(NotFound):
            await activations.release(bob.call(), token="", activation=id_)
        with pytest.raises(LeaseLost) as lost:
            await activations.fail(bob.call(), token, reason="", retry_after=None, final=False)
        assert lost.value.why == "there is no such activation"


async def test_a_page_of_activations_is_full_though_hidden_ones_lie_between(
    alice: Desk, bob: Desk
) -> None:
    await alice.trigger("watch", "tasks/*", "secret/*", own_writes=True)
    for number in range(6):
        await alice.put(f"tasks/{number}", 1)
        for nth in range(number):
            await alice.put(f"secret/{number}-{nth}", 1)

    async def page(below: int) -> list[Activation]:
        found = await bob.engine.activations.list(
            bob.caller, bob.shared, states=frozenset(), trigger="", below_number=below, size=2
        )
        return list(found)

    keys: list[str] = []
    pages = [await page(0)]
    while pages[-1]:
        keys += [each.key for each in pages[-1]]
        pages.append(await page(pages[-1][-1].id.number))

    assert [len(each) for each in pages] == [2, 2, 2, 0]
    assert keys == [f"tasks/{number}" for number in reversed(range(6))]


async def test_a_rating_made_of_what_may_not_be_read_is_not_shown(
    alice: Desk, bob: Desk, olga: Desk
) -> None:
    await alice.trigger(
        "rated", "open/1", own_writes=True, reads=("secret/**",),
        when='board["secret/pin"] > 1000', rating='int(board["secret/pin"])',
    )  # fmt: skip
    await alice.put("open/1", 1)

    assert await listed(alice, bob, olga) == [["open/1"], [], []]


async def test_what_became_of_a_trigger_is_told_to_those_who_may_read_all_it_looks_at(
    alice: Desk, bob: Desk, olga: Desk
) -> None:
    await alice.trigger("plain", "open/*", own_writes=True, when="entry.value.missing == 1")
    await alice.trigger("secret", "secret/*", own_writes=True, when="entry.value.missing == 1")
    await alice.put("open/1", {"pin": 1})

    plain, hidden = await alice.statistics("plain"), await alice.statistics("secret")
    assert (plain.errors, hidden.errors) == (1, 1)
    assert plain.last_error != ""
    assert hidden.last_error != ""
    for desk in (bob, olga):
        page = await desk.engine.triggers.list(desk.caller, after=None, size=10)
        assert [each.statistics for each in page] == [
            await desk.statistics("plain"),
            await desk.statistics("secret"),
        ]
        assert (await desk.statistics("plain")).errors == 1
        assert (await desk.statistics("plain")).last_error == ""
        assert await desk.statistics("secret") == Statistics()


async def test_a_member_is_not_told_the_errors_of_what_the_setter_alone_may_read(
    alice: Desk, bob: Desk
) -> None:
    await alice.trigger("work", "tasks/*", team="crew", own_writes=True, when="true")
    await alice.put("tasks/1", 1)
    await alice.trigger(
        "work", "tasks/*", team="crew", own_writes=True, reads=("secret/pin",),
        when='board["secret/pin"].missing == entry.value',
    )  # fmt: skip

    async def known(desk: Desk) -> Trigger:
        return await desk.engine.triggers.get(desk.caller, TriggerId(desk.shared, "work"))

    assert (await known(alice)).statistics.last_error != ""
    assert (await known(bob)).statistics == Statistics()
    taken = await bob.trigger("work", "tasks/*", team="crew", when="true")
    assert (taken.statistics.errors, taken.statistics.last_error) == (0, "")


async def test_nothing_is_hidden_where_everyone_may_read(engine: Engine) -> None:
    alice, olga = Desk(engine, "alice"), Desk(engine, "olga", Role.OBSERVER)
    await alice.trigger("work", "tasks/{task}/*", own_writes=True)
    entry: Entry = await alice.put("tasks/1/a", 1)

    (seen,) = await olga.activations()
    assert (seen.key, seen.state) == (entry.key, ActivationState.WAITING)
    assert (await olga.statistics("work")).fired == 1


@pytest.mark.guarantee("S8")
async def test_work_is_never_delivered_with_an_entry_that_its_worker_may_not_read(
    alice: Desk,
) -> None:
    crew = frozenset({"crew"})
    alice, bob = Desk(alice.engine, "alice", teams=crew), Desk(alice.engine, "bob", teams=crew)
    await alice.region("tasks/1/secret", readers=("alice",))
    await alice.trigger(
        "build", "tasks/{task}/*", when="entry.value == 1", team="crew", own_writes=True
    )
    await alice.put("tasks/1/open", 1)
    await alice.put("tasks/1/secret", 1)
    await alice.put("tasks/1/open", 0)

    assert await bob.acquire() == ()
    (leased,) = await alice.acquire()
    assert leased.entry is not None
    assert leased.entry.key == "tasks/1/secret"
