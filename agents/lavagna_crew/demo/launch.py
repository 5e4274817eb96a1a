"""The launch of a demonstration, from the first line to the exit code."""

import asyncio
import os
import secrets
import signal
import tempfile
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from rich.console import Console

from lavagna import ActivationState, AlreadyExists, Board, LavagnaError, Unavailable
from lavagna_crew import charter, keys
from lavagna_crew.demo.crew import MEMBERS, Crew, CrewLost
from lavagna_crew.demo.delivery import FolderTaken, check_folder, collected, delivered
from lavagna_crew.demo.processes import Processes
from lavagna_crew.demo.scene import Happening, Scene
from lavagna_crew.demo.server import Server, ServerFailed
from lavagna_crew.demo.summary import summary, why_stuck
from lavagna_crew.demo.view import View, view_of
from lavagna_crew.models.choice import Choice, choose
from lavagna_crew.models.errors import NoModel
from lavagna_crew.models.scripted import scripts
from lavagna_crew.place import Place
from lavagna_crew.records import Request

ACCEPTED, NOT_ACCEPTED, MISUSED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""

LOOK_SECONDS = 0.15
"""How often the agenda is looked at, to show who is awake."""

T = TypeVar("T")

OPEN_STATES = (ActivationState.WAITING, ActivationState.LEASED)


@dataclass(frozen=True, slots=True)
class Launch:
    """What a person asks for."""

    out: Path
    """Where the program goes."""
    task: str | None = None
    """What to build; None for the first scripted task."""
    target: str | None = None
    """The server to use; None for one of the demonstration's own."""
    board: str | None = None
    """The name of the board to make; None for a new one."""
    token: str | None = None
    """An administrator's, where the server does not trust names."""
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    data_dir: Path | None = None
    """Where the demonstration's own server keeps its data; None for a temporary folder."""
    pace: float = 1.0
    """How fast a script is played: 1 as recorded, 0 at once."""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def place(self, target: str) -> Place:
        """The board to make."""
        name = self.board or f"demo-{secrets.token_hex(3)}"
        return Place(target, name, self.token, self.tls_ca, self.tls_cert, self.tls_key)


class Stuck(Exception):
    """The crew came to rest without a verdict."""


def run(  # noqa: PLR0913 - options, each with a default
    task: str | None,
    out: Path,
    target: str | None = None,
    board: str | None = None,
    *,
    token: str | None = None,
    tls_ca: Path | None = None,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    data_dir: Path | None = None,
    pace: float = 1.0,
    console: Console | None = None,
) -> int:
    """Holds the demonstration that `Launch` describes, and gives the exit code of the command.

    0: the CEO accepted the program; 1: it did not, or the crew could not go on; 2: the task or the
    folder will not do; 130: interrupted.
    """
    console = console or Console()
    launch = Launch(
        out=out,
        task=task,
        target=target,
        board=board,
        token=token,
        tls_ca=tls_ca,
        tls_cert=tls_cert,
        tls_key=tls_key,
        data_dir=data_dir,
        pace=pace,
    )
    try:
        return asyncio.run(held(launch, console))
    except (KeyboardInterrupt, asyncio.CancelledError):
        console.print("Stopped; every process of the demonstration has ended.")
        return INTERRUPTED


async def held(launch: Launch, console: Console) -> int:
    """The demonstration itself."""
    task = launch.task or scripts()[0].task
    try:
        choice = choose(task, environment=launch.environment)
        task = choice.script.task if choice.script else task
        check_folder(launch.out)
    except (NoModel, FolderTaken) as misuse:
        console.print(str(misuse), style="red", markup=False, highlight=False, soft_wrap=True)
        return MISUSED
    console.print(choice.first_line, style="bold", markup=False, highlight=False, soft_wrap=True)
    me = asyncio.current_task()
    assert me is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, me.cancel)
    try:
        return await Stage(launch, choice, task, console).play()
    except (CrewLost, LavagnaError, ServerFailed, Stuck) as fault:
        console.print(str(fault), style="red", markup=False, highlight=False, soft_wrap=True)
        return NOT_ACCEPTED
    finally:
        asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)


class Stage:
    """One demonstration: the server, the crew, and the view of both."""

    def __init__(self, launch: Launch, choice: Choice, task: str, console: Console) -> None:
        self._launch = launch
        self._choice = choice
        self._task = task
        self._console = console
        self._scene = Scene(list(MEMBERS))
        self._view: View = view_of(self._scene, console)

    async def play(self) -> int:
        """Plays from the start of the server to the summary."""
        with tempfile.TemporaryDirectory(prefix="lavagna-demo-") as folder:
            async with Processes(Path(folder), self._launch.environment) as processes:
                with self._view:
                    lines = await _first_of([self._played(processes, Path(folder)), self._move()])
        for line in lines:
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)
        verdict = self._scene.verdict
        return ACCEPTED if verdict and verdict["accepted"] else NOT_ACCEPTED

    async def _played(self, processes: Processes, folder: Path) -> list[str]:
        """Starts everything, follows the crew until it has come to rest, and hands over."""
        server = await self._start_server(processes, folder)
        place = self._launch.place(server.target if server else self._launch.target or "")
        crew = Crew(processes, place, script=self._choice.script, pace=self._launch.pace)
        if place.token is None:
            await crew.start()
        if server is not None:
            await server.ready()
        async with place.open("launcher") as board:
            await self._make_board(board, place.board)
            if place.token is not None:
                await crew.start(board)
            crew.let_go()
            jobs = [self._follow(board), self._look(board), crew.guard(self._tell)]
            if server is not None:
                jobs.append(server.keep(lambda text: self._tell("launcher", text)))
            await _first_of(jobs)
            return await self._hand_over(board)

    async def _start_server(self, processes: Processes, folder: Path) -> Server | None:
        """A server of the demonstration's own, unless there is one to use."""
        if self._launch.target is not None:
            return None
        server = Server(processes, self._launch.data_dir or folder / "data")
        child = await server.start()
        self._tell(
            "launcher",
            f"starts {len(MEMBERS)} agents and a server, process {child.process.pid} on "
            f"{server.target}, with its data in {server.data_dir}",
        )
        return server

    async def _make_board(self, board: Board, name: str) -> None:
        try:
            await board.boards.create(name, display_name=self._task)
        except AlreadyExists:
            raise Stuck(f"there is a board {name!r} already; name a new one") from None
        scripted = self._choice.script is not None
        seconds = charter.SCRIPTED_DEADLINE_SECONDS if scripted else charter.DEADLINE_SECONDS
        await charter.enact(
            board, MEMBERS, deadline_seconds=max(seconds, seconds * self._launch.pace)
        )
        self._tell("launcher", f"makes the board {name}, on which a design needs a majority")

    async def _follow(self, board: Board) -> None:
        """Takes in every commit; asks when the crew is there, and returns when it has come to rest.

        Raises:
            Stuck: It came to rest without a verdict.
        """
        asked = False
        async with board.watch(after=0) as commits:
            async for commit in commits:
                self._tell_all(self._scene.take(commit))
                if not asked and self._scene.complete:
                    asked = True
                    await board.put(keys.REQUEST, Request(task=self._task), expected_version=0)
                if asked and self._scene.at_rest:
                    break
        if not self._scene.decided:
            why = await why_stuck(board)
            raise Stuck("\n".join(["the crew came to rest without a verdict", *why]))

    async def _look(self, board: Board) -> None:
        """Looks at the agenda again and again, for the view alone; never returns."""
        while True:
            try:
                agenda = [one async for one in board.activations.list(states=OPEN_STATES)]
            except Unavailable:
                self._scene.reachable = False
            else:
                if not self._scene.reachable:
                    self._tell("launcher", "reaches the server again")
                self._scene.reachable = True
                self._tell_all(self._scene.look(agenda))
            await asyncio.sleep(LOOK_SECONDS)

    async def _move(self) -> NoReturn:
        """Keeps the view moving."""
        while True:
            self._view.refresh()
            await asyncio.sleep(LOOK_SECONDS)

    async def _hand_over(self, board: Board) -> list[str]:
        self._tell_all(self._scene.look([]))
        self._view.refresh()
        verdict = self._scene.verdict
        program = await collected(board)
        run = await delivered(
            program,
            self._launch.out,
            self._scene.newest.get(keys.GOAL),
            verdict["reason"] if verdict else "none",
        )
        return await summary(board, self._scene, program, run, self._launch.out)

    def _tell(self, who: str, text: str) -> None:
        self._view.tell(self._scene.tell(who, text))

    def _tell_all(self, happenings: Iterable[Happening]) -> None:
        for happening in happenings:
            self._view.tell(happening)


async def _first_of(jobs: Iterable[Coroutine[Any, Any, T]]) -> T:
    """What the first job to end gives, however it ends; the others are ended."""
    tasks = [asyncio.create_task(job) for job in jobs]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return done.pop().result()
