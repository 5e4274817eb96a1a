"""How much there is to merge, and the vote that takes no look inside. Values worked by hand."""

from __future__ import annotations

import pytest

from lavagna_server.domain.merging import MergeRules, Position
from lavagna_server.domain.merging import Testimony as Claim  # pytest would take it for a test
from lavagna_server.domain.merging.differences import changes
from lavagna_server.domain.merging.sizes import has_more, parts_of
from lavagna_server.domain.merging.voices import ValueType, listened, type_of
from lavagna_server.domain.merging.written import selected_as_written
from lavagna_server.domain.values import Form, Value


def claims(*contents: str | bytes, form: Form = Form.JSON) -> list[Claim]:
    return [
        Claim(agent, Value(form, content), 1.0, 1.0)
        for agent, content in zip("abcdefg", contents, strict=False)
    ]


def test_every_json_value_at_any_depth_is_a_part() -> None:
    voices = listened(claims('{"a": [1, {}], "b": null}', "5"))

    assert parts_of(voices, MergeRules(), None) == 6
    assert parts_of(voices, MergeRules(number="log-pool"), None) == 24
    assert parts_of(voices, MergeRules(fields={"b": "log-pool"}), None) == 24


def test_that_json_has_too_many_parts_shows_before_it_is_decoded() -> None:
    prose = Value(Form.JSON, '"' + r"one, [two], \", {three}, \\" * 9 + '"')
    many, deep = Value(Form.JSON, "[1,2,3,4,5]"), Value(Form.JSON, '[{"a":[[[1]]]}]')

    assert not has_more([prose], 1)
    assert has_more([prose, many], 5)
    assert not has_more([many], 5)
    assert has_more([many], 4)
    assert has_more([deep], 4)
    assert not has_more([deep], 5)
    assert not has_more([Value(Form.TEXT, ",,,,"), Value(Form.DATA, b",,,,")], 1)


def test_what_is_selected_whole_is_one_part() -> None:
    voices = listened(claims('{"a": [1, 2]}', "[1, 2]"))

    assert parts_of(voices, MergeRules(record="select"), None) == 1 + 3
    texts = listened(claims("one\ntwo", "one", form=Form.TEXT))
    assert parts_of(texts, MergeRules(), "base") == 2


def test_each_text_by_line_counts_with_the_lines_of_the_base_and_equal_texts_once() -> None:
    texts = listened(claims("one\ntwo", "one\ntwo", "", form=Form.TEXT))

    assert parts_of(texts, MergeRules(text="lines"), "1\n2\n3") == 3 + (3 + 2) + (3 + 1)
    assert parts_of(texts, MergeRules(text="lines"), None) == 3 + 2 + 1


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (' {"a": 1}', ValueType.RECORD),
        ("\n[]", ValueType.COLLECTION),
        ('"x"', ValueType.CATEGORY),
        ("true", ValueType.CATEGORY),
        ("false", ValueType.CATEGORY),
        ("null", ValueType.CATEGORY),
        ("-1", ValueType.NUMBER),
        ("\t0.5", ValueType.NUMBER),
    ],
)
def test_the_type_of_json_shows_in_how_it_begins(content: str, expected: ValueType) -> None:
    assert type_of(Value(Form.JSON, content)) is expected
    [voice] = listened(claims(content))
    assert voice.type is expected


def test_contents_are_voted_on_by_weight_as_they_are_written() -> None:
    said = [
        Claim("a", Value(Form.JSON, '{"x":1}'), 2.0, 0.5),
        Claim("b", Value(Form.JSON, '{"x": 1}'), 1.5, 1.0),
        Claim("c", Value(Form.JSON, '{"x": 1}'), 1.5, 0.5),
        Claim("d", Value(Form.TEXT, '{"x": 1}'), 0.0, 1.0),
    ]
    for order in (said, said[::-1]):
        result = selected_as_written(order)
        assert result is not None
        assert (result.value.content, result.rule) == ('{"x": 1}', "select-as-written@1")
        assert result.confidence == (1.5 + 0.75) / 5
        assert result.dissent == ("a", "d")
        assert [share.weight for share in result.support] == [2, 1.5, 1.5, 0]
        assert result.support[1].position is Position.SAME
        assert result.working == ("8 bytes: 3 (b, c)", "7 bytes: 2 (a)")


def test_of_contents_that_tie_the_first_by_its_text_is_taken_whoever_claims_it() -> None:
    for order in (("y", "x"), ("x", "y")):
        result = selected_as_written(claims(*order, form=Form.TEXT))
        assert result is not None
        assert (result.value.content, result.confidence) == ("x", 0.5)
        assert "a tie" in result.working[-1]
    data = selected_as_written(claims(b"\xff", b"\x00", form=Form.DATA))
    assert data is not None
    assert data.value.content == b"\x00"


def test_contents_without_any_weight_count_the_same() -> None:
    said = [Claim(agent, Value(Form.TEXT, text), 0.0, 1.0) for agent, text in ("ax", "by", "cy")]
    result = selected_as_written(said)

    assert result is not None
    assert (result.value.content, result.dissent) == ("y", ("a",))
    assert selected_as_written([]) is None


def test_short_matches_among_many_same_lines_end_the_comparison_early() -> None:
    """Each match of one line would be looked for among all that is left: the time would grow with the third power."""
    old = ("begin", *("same", "old") * 2_000, "end")
    new = ("begun", *("same", "new") * 2_000, "ended")

    assert len(list(changes(old, new, steps_max=500_000))) == 1
