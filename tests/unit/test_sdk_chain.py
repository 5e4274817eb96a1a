"""The covers chain: a watch that skips, repeats, disorders or tears commits is found out."""

from __future__ import annotations

import pytest

from lavagna import BrokenChain, Commit, EpochChanged, Space, State
from lavagna.chain import Chain
from lavagna.v1 import entries_pb2
from lavagna.v1 import watch_pb2 as wire


def message(
    after: int,
    through: int,
    *commits: int | wire.Commit,
    space: entries_pb2.Space.ValueType = entries_pb2.SPACE_SHARED,
    epoch: str = "e",
) -> wire.WatchResponse:
    """A message about a range of revisions, with commits at these."""
    return wire.WatchResponse(
        header=entries_pb2.ResponseHeader(epoch=epoch),
        space=space,
        covers=wire.Covers(after=after, through=through),
        commits=[wire.Commit(revision=each) if isinstance(each, int) else each for each in commits],
    )


def state(after: int, through: int, *keys: str, synced: bool = False) -> wire.WatchResponse:
    """A part of the initial state."""
    part = message(after, through)
    part.state.extend(entries_pb2.Entry(key=key) for key in keys)
    part.synced = synced
    return part


def part(revision: int, index: int, key: str, *, last: bool = False) -> wire.Commit:
    """A part of a commit that is too large for one message."""
    fragment = wire.Fragment(index=index, last=last)
    return wire.Commit(
        revision=revision, author="ada", entries=[entries_pb2.Entry(key=key)], fragment=fragment
    )


def chain(
    after: int | None = None,
    *,
    spaces: tuple[Space, ...] = (Space.SHARED,),
    initial_state: bool = False,
    resumed: bool = False,
) -> Chain:
    """The chain of a watch of these spaces that starts there."""
    return Chain(spaces, after=after, initial_state=initial_state, resumed=resumed)


def given(links: Chain, *messages: wire.WatchResponse) -> list[int]:
    """The revisions of the commits that the messages give."""
    items = [item for each in messages for item in links.take(each)]
    return [item.revision for item in items if isinstance(item, Commit)]


@pytest.mark.guarantee("W1")
@pytest.mark.guarantee("W4")
def test_a_chain_without_gap_gives_every_commit_in_order() -> None:
    links = chain(after=0)
    assert given(links, message(0, 3, 1, 3), message(3, 3), message(3, 9), message(9, 10, 10)) == [
        1,
        3,
        10,
    ]
    assert links.through(Space.SHARED) == 10


@pytest.mark.guarantee("W4")
@pytest.mark.parametrize(
    "following",
    [
        pytest.param(message(4, 6, 5), id="a gap"),
        pytest.param(message(2, 6, 5), id="an overlap"),
        pytest.param(message(3, 2), id="backwards"),
        pytest.param(wire.WatchResponse(space=entries_pb2.SPACE_SHARED), id="no proof"),
    ],
)
def test_what_does_not_follow_breaks_the_chain(following: wire.WatchResponse) -> None:
    links = chain(after=0)
    links.take(message(0, 3, 3))
    following.header.epoch = "e"
    with pytest.raises(BrokenChain):
        links.take(following)


@pytest.mark.guarantee("W4")
def test_a_first_message_without_proof_breaks_the_chain() -> None:
    with pytest.raises(BrokenChain, match="does not say what it covers"):
        chain().take(wire.WatchResponse(space=entries_pb2.SPACE_SHARED))


@pytest.mark.guarantee("W4")
def test_a_watch_after_a_revision_must_begin_exactly_there() -> None:
    with pytest.raises(BrokenChain, match=r"proven through revision 10, but .* begins after 12"):
        chain(after=10).take(message(12, 13, 13))


@pytest.mark.guarantee("W2")
@pytest.mark.parametrize(
    "commits",
    [(5, 5), (6, 5), (4,), (3,), (8,)],
    ids=["twice", "out of order", "before the range", "again", "past the range"],
)
def test_a_commit_outside_its_message_breaks_the_chain(commits: tuple[int, ...]) -> None:
    links = chain(after=0)
    links.take(message(0, 4, 4))
    with pytest.raises(BrokenChain):
        links.take(message(4, 7, *commits))


def test_each_space_has_a_chain_of_its_own() -> None:
    links = chain(spaces=(Space.SHARED, Space.PRIVATE))
    links.take(message(10, 11, 11))
    links.take(message(2, 3, 3, space=entries_pb2.SPACE_PRIVATE))
    links.take(message(11, 12, 12))
    with pytest.raises(BrokenChain, match="private"):
        links.take(message(4, 5, 5, space=entries_pb2.SPACE_PRIVATE))


@pytest.mark.guarantee("W3")
def test_a_commit_in_fragments_is_given_once_and_whole() -> None:
    links = chain(after=0)
    assert given(links, message(0, 1, 1, part(2, 0, "a")), message(1, 1, part(2, 1, "b"))) == [1]
    torn = links.whole
    (whole,) = links.take(message(1, 2, part(2, 2, "c", last=True)))
    assert isinstance(whole, Commit)
    assert [entry.key for entry in whole.entries] == ["a", "b", "c"]
    assert (whole.revision, whole.author) == (2, "ada")
    assert (torn, links.whole) == (False, True)


@pytest.mark.guarantee("W3")
def test_a_commit_that_a_resumed_stream_begins_anew_is_not_doubled() -> None:
    links = chain(after=0)
    links.take(message(0, 0, part(1, 0, "a")))
    links.take(message(0, 0, part(1, 0, "a")))
    (whole,) = links.take(message(0, 1, part(1, 1, "b", last=True)))
    assert isinstance(whole, Commit)
    assert [entry.key for entry in whole.entries] == ["a", "b"]


@pytest.mark.guarantee("W3")
@pytest.mark.parametrize(
    "torn", [part(1, 2, "c"), part(2, 1, "b"), wire.Commit(revision=2)], ids=["skip", "mix", "end"]
)
def test_a_torn_commit_breaks_the_chain(torn: wire.Commit) -> None:
    links = chain(after=0)
    links.take(message(0, 0, part(1, 0, "a")))
    with pytest.raises(BrokenChain, match="out of turn"):
        links.take(message(0, 0, torn))


@pytest.mark.guarantee("W6")
def test_the_state_comes_first_and_the_commits_follow_its_revision() -> None:
    links = chain(initial_state=True)
    assert links.take(message(5, 5)) == []
    (first,) = links.take(state(5, 5, "a", "b"))
    loading = links.synced
    (second,) = links.take(state(5, 5, "c", synced=True))
    assert isinstance(first, State)
    assert isinstance(second, State)
    assert [entry.key for entry in (*first.entries, *second.entries)] == ["a", "b", "c"]
    assert (first.revision, first.synced, second.revision, second.synced) == (5, False, 5, True)
    assert (loading, links.synced) == (False, True)
    assert given(links, message(5, 6, 6)) == [6]


@pytest.mark.guarantee("W6")
def test_a_commit_that_the_state_holds_already_breaks_the_chain() -> None:
    links = chain(initial_state=True)
    links.take(state(0, 5, "a", synced=True))
    with pytest.raises(BrokenChain):
        links.take(message(4, 6, 5, 6))


def test_an_empty_state_is_a_mark() -> None:
    (mark,) = chain(initial_state=True).take(state(0, 0, synced=True))
    assert mark == State(Space.SHARED, 0, (), synced=True)


@pytest.mark.guarantee("W6")
def test_a_state_of_two_spaces_is_complete_when_both_are() -> None:
    links = chain(spaces=(Space.SHARED, Space.PRIVATE), initial_state=True)
    links.take(state(0, 5, "a", synced=True))
    halfway = links.synced
    private = state(0, 2, "b", synced=True)
    private.space = entries_pb2.SPACE_PRIVATE
    links.take(private)
    assert (halfway, links.synced) == (False, True)


def test_a_resumed_state_is_complete_unless_more_of_it_comes() -> None:
    links = chain(initial_state=True, resumed=True)
    links.take(message(5, 5))
    supposed = links.synced
    links.take(state(5, 5, "z"))
    found = links.synced
    links.take(state(5, 5, synced=True))
    assert (supposed, found, links.synced) == (True, False, True)


def test_a_message_about_a_space_that_is_not_watched_breaks_the_chain() -> None:
    with pytest.raises(BrokenChain, match="private space, which is not watched"):
        chain().take(message(0, 1, 1, space=entries_pb2.SPACE_PRIVATE))


def test_a_bookmark_gives_nothing_and_moves_the_chain() -> None:
    links = chain(after=3)
    assert links.take(message(3, 8)) == []
    assert links.through(Space.SHARED) == 8


def test_another_epoch_ends_the_watch() -> None:
    links = chain(after=0)
    links.take(message(0, 1, 1))
    with pytest.raises(EpochChanged):
        links.take(message(1, 2, 2, epoch="f"))
