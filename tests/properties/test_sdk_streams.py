"""Streams and values for any input: nothing is lost on the way, and what is lost is noticed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lavagna import BrokenChain, Commit, Space
from lavagna.chain import Chain
from lavagna.v1 import entries_pb2
from lavagna.v1 import watch_pb2 as wire
from lavagna.values import decoded, encoded

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON | st.binary())
def test_any_value_comes_back_as_it_was_written(value: Any) -> None:
    carried = entries_pb2.Value.FromString(encoded(value).SerializeToString())
    assert decoded(carried) == value


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[int], list[wire.WatchResponse]]:
    """The revisions that match, and messages that cover the log in ranges of any size."""
    newest = draw(st.integers(1, 40))
    matching = sorted(draw(st.sets(st.integers(1, newest))))
    ends = sorted({*draw(st.sets(st.integers(1, newest), max_size=8)), newest})
    messages = [
        wire.WatchResponse(
            header=entries_pb2.ResponseHeader(epoch="e"),
            space=entries_pb2.SPACE_SHARED,
            covers=wire.Covers(after=after, through=through),
            commits=[wire.Commit(revision=each) for each in matching if after < each <= through],
        )
        for after, through in zip([0, *ends], ends, strict=False)
    ]
    return matching, messages


def given_by(messages: list[wire.WatchResponse]) -> list[int]:
    """The revisions that a watch of these messages gives."""
    chain = Chain([Space.SHARED], after=0)
    items = [item for message in messages for item in chain.take(message)]
    return [item.revision for item in items if isinstance(item, Commit)]


@pytest.mark.guarantee("W4")
@given(streams())
def test_a_whole_stream_gives_every_commit(
    stream: tuple[list[int], list[wire.WatchResponse]],
) -> None:
    matching, messages = stream
    assert given_by(messages) == matching


@pytest.mark.guarantee("W4")
@given(streams(), st.data())
def test_a_stream_without_one_of_its_messages_is_noticed_at_the_next(
    stream: tuple[list[int], list[wire.WatchResponse]], data: st.DataObject
) -> None:
    _, messages = stream
    assume(len(messages) > 1)
    lost = data.draw(st.integers(0, len(messages) - 2))
    with pytest.raises(BrokenChain):
        given_by([*messages[:lost], *messages[lost + 1 :]])


@pytest.mark.guarantee("W2")
@given(streams(), st.data())
def test_a_message_that_comes_twice_is_noticed(
    stream: tuple[list[int], list[wire.WatchResponse]], data: st.DataObject
) -> None:
    _, messages = stream
    twice = data.draw(st.integers(0, len(messages) - 1))
    with pytest.raises(BrokenChain):
        given_by([*messages[: twice + 1], *messages[twice:]])


@pytest.mark.guarantee("W1")
@given(streams(), st.randoms(use_true_random=False))
def test_messages_in_any_other_order_are_noticed(
    stream: tuple[list[int], list[wire.WatchResponse]], shuffler: Any
) -> None:
    _, messages = stream
    shuffled = list(messages)
    shuffler.shuffle(shuffled)
    assume(shuffled != messages)
    with pytest.raises(BrokenChain):
        given_by(shuffled)
