"""Schedules: the next time that a rule names, in its own time zone.

Slots are computed from the rule and the previous slot, never from when the previous firing happened, so that they do not drift (F12).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from lavagna_server.domain.errors import Invalid

CRON_FIELDS = 5
CRON_CHARACTERS_MAX = 128


@dataclass(frozen=True, slots=True)
class Schedule:
    """Once at a time, or at each time of a cron rule."""

    at: datetime | None = None
    cron: str = ""
    """Five fields: minute, hour, day of month, month, day of week."""
    time_zone: str = "UTC"

    def next_after(self, moment: datetime) -> datetime | None:
        """The first slot later than `moment`, in UTC; None when there is none."""
        if not self.cron:
            return self.at if self.at is not None and self.at > moment else None
        local = moment.astimezone(ZoneInfo(self.time_zone))
        try:
            return next(CronSim(self.cron, local)).astimezone(UTC)
        except StopIteration:
            return None

    def last_until(self, first: datetime, moment: datetime) -> datetime:
        """The newest slot not later than `moment`, beginning with the slot `first`."""
        if not self.cron:
            return first
        # Backwards from just after the moment: the slots in between may be many.
        local = (moment + timedelta(minutes=1)).astimezone(ZoneInfo(self.time_zone))
        for slot in CronSim(self.cron, local, reverse=True):
            at = slot.astimezone(UTC)
            if at <= moment:
                return max(first, at)
        return first


def check_schedule(schedule: Schedule, *, field: str) -> None:
    """Checks that the rule can be read and its time zone is known.

    Raises:
        Invalid: Naming the part that is wrong.
    """
    try:
        ZoneInfo(schedule.time_zone)
    except (
        ValueError,
        OSError,
        KeyError,
    ):  # unknown names raise KeyError's child, hostile ones the others
        raise Invalid(
            f"{field}.time_zone", f"{schedule.time_zone!r} is not an IANA time zone"
        ) from None
    if (schedule.at is None) == (not schedule.cron):
        raise Invalid(field, "give either a time or a cron rule")
    if schedule.cron:
        if len(schedule.cron) > CRON_CHARACTERS_MAX or len(schedule.cron.split()) != CRON_FIELDS:
            raise Invalid(
                f"{field}.cron", "a cron rule has five fields: minute hour day month weekday"
            )
        try:
            CronSim(schedule.cron, datetime(2024, 1, 1, tzinfo=UTC))
        except CronSimError as error:
            raise Invalid(f"{field}.cron", f"{schedule.cron!r}: {error}") from None
