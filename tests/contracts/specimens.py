"""Activations of every shape: one as a test wants it, and all that a search could meet."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from lavagna_server.domain.agenda import Activation, ActivationFilter, ActivationId, ActivationState
from lavagna_server.domain.entries import Kind, SpaceName
from lavagna_server.domain.leases import Lease
from lavagna_server.domain.triggers import TriggerLimits
from tests.contracts.scribe import START

SPACES = [SpaceName("atelier"), SpaceName("atelier", "ada"), SpaceName("studio")]
"""Few of everything, so that filters meet what they look for."""
_TRIGGERS = ["on-plan", "on-task"]
_WORKERS = ["ada", "grace", "team:testers"]
_BINDINGS = ["", "a/b", "ü"]
_RATINGS = [-(2**63), -1, 0, 1, 2**63 - 1]


def after(seconds: float) -> datetime:
    """A moment so long after the start."""
    return START + timedelta(seconds=seconds)


def lease(expires_at: datetime, *, holder: str = "ada") -> Lease:
    """A lease that ends when it says."""
    return Lease(holder, f"nonce-{holder}", expires_at, timedelta(seconds=30), None)


def activation(  # noqa: PLR0913 - what a test wants of one, by name
    number: int,
    *,
    space: SpaceName = SPACES[0],
    trigger: str = "on-plan",
    worker: str = "ada",
    state: ActivationState = ActivationState.WAITING,
    binding: str = "a/b",
    rating: int = 0,
    root: int = 0,
    fired_at: datetime | None = None,
    not_before: datetime | None = None,
    start_by: datetime | None = None,
    lease: Lease | None = None,
) -> Activation:
    """An activation that was fired `number` seconds after the start."""
    return Activation(
        ActivationId(space, number),
        trigger,
        worker,
        state,
        Kind.NOTE,
        "a/b",
        1,
        {"task": "b"},
        binding,
        rating,
        fired_revision=number,
        fired_at=fired_at or after(number),
        depth=0,
        root=root or number,
        limits=TriggerLimits(),
        not_before=not_before,
        start_by=start_by,
        lease=lease,
    )


MOMENTS = st.integers(0, 12).map(after)


@st.composite
def agendas(draw: st.DrawFn) -> list[Activation]:
    """Activations of several spaces, numbered as they were fired, in all states."""
    found: list[Activation] = []
    for space in SPACES:
        for number in range(1, draw(st.integers(1, 6))):
            state = draw(st.sampled_from(ActivationState))
            waits = state in {ActivationState.WAITING, ActivationState.HELD}
            found.append(
                activation(
                    number,
                    space=space,
                    trigger=draw(st.sampled_from(_TRIGGERS)),
                    worker=draw(st.sampled_from(_WORKERS)),
                    state=state,
                    binding=draw(st.sampled_from(_BINDINGS)),
                    rating=draw(st.sampled_from(_RATINGS)),
                    root=draw(st.integers(1, number)),
                    not_before=draw(st.none() | MOMENTS) if waits else None,
                    start_by=draw(st.none() | MOMENTS),
                    lease=lease(draw(MOMENTS)) if state is ActivationState.LEASED else None,
                )
            )
    return found


_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "space": st.sampled_from(SPACES),
    "states": st.frozensets(st.sampled_from(ActivationState), min_size=1, max_size=4),
    "trigger": st.sampled_from(_TRIGGERS),
    "triggers": st.frozensets(st.sampled_from(_TRIGGERS), min_size=1),
    "workers": st.frozensets(st.sampled_from(_WORKERS), min_size=1, max_size=2),
    "binding": st.sampled_from(_BINDINGS),
    "root": st.integers(1, 4),
    "rating_min": st.sampled_from(_RATINGS),
    "below_number": st.integers(1, 6),
    "fired_after": MOMENTS,
    "offered_by": MOMENTS,
    "lease_expired_by": MOMENTS,
    "start_due_by": MOMENTS,
}


def _filter(fields: dict[str, Any]) -> ActivationFilter:
    return replace(ActivationFilter(), **fields)


FILTERS = (
    st.lists(st.sampled_from(sorted(_FIELDS)), max_size=4, unique=True)
    .flatmap(lambda names: st.fixed_dictionaries({name: _FIELDS[name] for name in names}))
    .map(_filter)
)
"""A few fields at a time: all at once would mean no activation at all."""
