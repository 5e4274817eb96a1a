"""Planted faults: read from the environment, and nothing unless it asks for them."""

from __future__ import annotations

import pytest

from lavagna_server.domain.errors import StartRefused
from lavagna_server.faults import POINTS, KilledAt, planted
from lavagna_server.ports.faults import NoFaults


def test_without_the_variable_there_are_no_faults() -> None:
    assert isinstance(planted({}), NoFaults)
    assert isinstance(planted({"LAVAGNA_FAULT": ""}), NoFaults)


@pytest.mark.parametrize("point", POINTS)
def test_each_point_can_be_asked_for(point: str) -> None:
    assert isinstance(planted({"LAVAGNA_FAULT": f"{point}:3"}), KilledAt)


@pytest.mark.parametrize(
    "asked", ["gathered", "gathered:", "gathered:0", "gathered:-1", "gathered:x", "nowhere:1", ":1"]
)
def test_anything_else_is_refused(asked: str) -> None:
    with pytest.raises(StartRefused, match="is not POINT:COUNT"):
        planted({"LAVAGNA_FAULT": asked})


def test_other_points_and_what_comes_before_the_server_is_up_do_not_count() -> None:
    fault = KilledAt("gathered", 1)
    fault.at("gathered")
    fault.begin()
    for point in POINTS[1:]:
        fault.at(point)
