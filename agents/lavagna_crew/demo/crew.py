"""The crew's processes: who belongs to it, how each is started, and started again when it was killed."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

from lavagna import Board
from lavagna_crew.demo.processes import Child, Processes
from lavagna_crew.models.scripted import Script
from lavagna_crew.place import Place
from lavagna_crew.terms import PROGRAMMERS, WORK

MEMBERS: Mapping[str, str] = {
    "ceo": "ceo",
    "cto": "cto",
    "programmer-1": "programmer",
    "programmer-2": "programmer",
    "tester": "tester",
}
"""Names and roles. Two programmers race for the same work, so either can be missed."""

REPLACE_SECONDS = WORK.lease_seconds or 0.0
"""How long a member that was killed is missed: until its leases have run out, and others had what it held."""

RESTARTS_MAX = 2
"""How often each member is started again."""


class CrewLost(Exception):
    """Nobody is left who could do a role's work."""


class Crew:
    """The processes of a crew on one board."""

    def __init__(
        self, processes: Processes, place: Place, *, script: Script | None, pace: float
    ) -> None:
        self._processes = processes
        self._place = place
        self._script = script
        self._pace = pace
        self._environments: dict[str, Mapping[str, str]] = {}
        self.children: dict[str, Child] = {}

    async def start(self, admin: Board | None = None) -> None:
        """Starts every member; each waits to be let go.

        With an administrator's board each gets a token of its own, for servers that trust no names.
        """
        for name, role in MEMBERS.items():
            place = self._place
            if admin is not None:
                teams = [PROGRAMMERS] if role == "programmer" else []
                registered = await admin.agents.register(name, teams=teams)
                place = replace(place, token=registered.token)
            self._environments[name] = {**self._processes.environment, **place.variables()}
            await self._start(name)

    def let_go(self) -> None:
        """Lets the members join the board, which is there now."""
        for child in self.children.values():
            child.let_go()

    async def guard(self, tell: Callable[[str, str], None]) -> None:
        """Tells who ends, and starts those again that were killed; never returns.

        Raises:
            CrewLost: The last one of a role ended for good.
        """
        tasks = [asyncio.create_task(self._keep(name, tell)) for name in self.children]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep(self, name: str, tell: Callable[[str, str], None]) -> None:
        """Keeps a member, until it ends of itself or was killed too often; an error would only come again."""
        for restarts in range(RESTARTS_MAX + 1):
            child = self.children[name]
            await child.process.wait()
            tell(name, child.end)
            if not child.was_killed or restarts == RESTARTS_MAX:
                break
            await asyncio.sleep(REPLACE_SECONDS)
            await self._start(name)
            self.children[name].let_go()
        self._check(name)

    async def _start(self, name: str) -> None:
        command = self._command(MEMBERS[name], name)
        environment = self._environments[name]
        self.children[name] = await self._processes.start(name, command, environment, waits=True)

    def _check(self, name: str) -> None:
        alike = [other for other, role in MEMBERS.items() if role == MEMBERS[name]]
        if not any(self.children[other].alive for other in alike):
            child = self.children[name]
            raise CrewLost(
                f"{name} {child.end}, and nobody can take its place\n{child.last_words()}"
            )

    def _command(self, role: str, name: str) -> list[str]:
        command = [sys.executable, "-m", "lavagna_crew", role, "--name", name, "--wait"]
        if self._script is not None:
            command += ["--script", self._script.name, "--pace", str(self._pace)]
        return command
