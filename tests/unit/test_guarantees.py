"""README's table of guarantees and the markers of the tests say the same: a promise without a test is not made."""

from __future__ import annotations

from tests.guarantees import PROMISES, README, linked, marked, promised

FIELD_REPORTS = {
    *("F1", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11"),
    *("F12", "F13", "F15", "F16", "F17", "F25", "F26"),
}
"""The failures of other systems that this version must not repeat."""


def test_the_table_lists_every_promise_once_and_in_order() -> None:
    assert promised(README.read_text()) == PROMISES


def test_every_promise_has_a_test_and_every_marker_a_promise() -> None:
    assert set(marked("guarantee")) == set(PROMISES)


def test_the_table_links_every_promise_to_the_tests_that_bear_its_number() -> None:
    readme = README.read_text()

    assert linked(readme) == readme, "`python -m tests.guarantees` writes the links anew"


def test_every_field_report_of_this_version_is_replayed() -> None:
    assert not FIELD_REPORTS - set(marked("field_report"))
