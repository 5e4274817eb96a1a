"""Standing triggers: sets those of an agent, and warns where they do not do what their author thinks."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from lavagna.calls import Caller
from lavagna.clients.triggers import Triggers
from lavagna.errors import Exhausted, NotFound, Unavailable
from lavagna.triggers import Trigger

_DEFINED_BY = (
    "on",
    "reads",
    "when",
    "rating",
    "mode",
    "schedule",
    "limits",
    "space",
    "team",
    "own_writes",
)
"""What makes two triggers of one name differ; the rest is kept by the server."""

_log = logging.getLogger(__name__)


class StandingTriggers:
    """The triggers of one agent on one board."""

    def __init__(self, caller: Caller, agent: str, triggers: Sequence[Trigger]) -> None:
        self._client = Triggers(caller)
        self._agent, self._wanted = agent, triggers
        self._warned: dict[str, str] = {}
        """The error that was last warned of, by trigger."""

    async def set(self) -> None:
        """Sets the triggers, which changes nothing where they are set already.

        Raises:
            LavagnaError: The server cannot be reached, or refuses one of them.
        """
        for wanted in self._wanted:
            before = await self._found(wanted.id)
            now = await self._client.set(wanted)
            if before is not None:
                self._warn_of_replaced(before, now)
            self._warn_of_error(now)

    async def look(self) -> None:
        """Warns of conditions and ratings that could not be evaluated since the last look.

        Raises:
            LavagnaError: The server refuses to hear from this agent.
        """
        try:
            for wanted in self._wanted:
                found = await self._found(wanted.id)
                if found is not None:
                    self._warn_of_error(found)
        except (Exhausted, Unavailable) as away:
            _log.debug("%s did not look after its triggers: %s", self._agent, away)

    async def _found(self, trigger_id: str) -> Trigger | None:
        try:
            return await self._client.get(trigger_id)
        except NotFound:
            return None

    def _warn_of_replaced(self, before: Trigger, now: Trigger) -> None:
        differing = [name for name in _DEFINED_BY if getattr(before, name) != getattr(now, name)]
        if differing:
            _log.warning(
                "%s replaces another definition of the trigger %s, which %s had set; %s differ."
                " Processes that still run with that one are woken by this one now",
                self._agent,
                now.id,
                before.agent,
                ", ".join(f"`{name}`" for name in differing),
            )

    def _warn_of_error(self, trigger: Trigger) -> None:
        error = trigger.statistics.last_error
        if error and error != self._warned.get(trigger.id):
            _log.warning(
                "%s: the trigger %s could not be evaluated and did not fire: %s",
                self._agent,
                trigger.id,
                error,
            )
        self._warned[trigger.id] = error
