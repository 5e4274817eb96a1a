"""The crew's processes: who belongs to it, how each is started, and when one is missed."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

from lavagna import Board
from lavagna_crew.demo.processes import Child, Processes
from lavagna_crew.models.scripted import Script
from lavagna_crew.place import Place
from lavagna_crew.terms import PROGRAMMERS

MEMBERS: Mapping[str, str] = {
    "ceo": "ceo",
    "cto": "cto",
    "programmer-1": "programmer",
    "programmer-2": "programmer",
    "tester": "tester",
}
"""Names and roles. Two programmers race for the same work, so either can be missed."""


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
            environment = {**self._processes.environment, **place.variables()}
            self.children[name] = await self._processes.start(
                name, self._command(role, name), environment, waits=True
            )

    def let_go(self) -> None:
        """Lets the members join the board, which is there now."""
        for child in self.children.values():
            child.let_go()

    async def guard(self, tell: Callable[[str, str], None]) -> None:
        """Tells who ends; never returns.

        Raises:
            CrewLost: The last one of a role ended.
        """
        waits = {
            asyncio.create_task(child.process.wait()): name for name, child in self.children.items()
        }
        try:
            while waits:
                done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                for name in [waits.pop(task) for task in done]:
                    tell(name, self.children[name].end)
                    self._check(name)
        finally:
            for task in waits:
                task.cancel()

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
