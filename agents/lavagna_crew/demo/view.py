"""What people see of the scene: a live picture on a terminal, and lines anywhere else."""

from collections.abc import Iterator
from itertools import cycle
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from lavagna_crew.demo.scene import Happening, Scene

STARTING_SECONDS_MAX = 1.0
SILENCE_SECONDS_MAX = 10.0
"""How long lines may fail to come, while the crew starts and later."""

BAD = ("FAILED", "votes NO", "is REJECTED", "is UNDECIDED")
"""What is shown in red."""

CHANGES_SHOWN = 9
WAITS_SHOWN = 3
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

STYLES = {
    "ceo": "magenta",
    "cto": "blue",
    "programmer-1": "cyan",
    "programmer-2": "green",
    "tester": "yellow",
}


class View(Protocol):
    """Shows a scene for as long as the `with` block lasts."""

    def tell(self, happening: Happening) -> None:
        """Shows that something happened."""
        ...

    def refresh(self) -> None:
        """Shows the scene as it is now."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def view_of(scene: Scene, console: Console) -> View:
    """The view that suits the console."""
    return Picture(scene, console) if console.is_terminal else Lines(scene, console)


class Lines:
    """One line for everything that happens, and one now and then while nothing does."""

    def __init__(self, scene: Scene, console: Console) -> None:
        self._scene = scene
        self._console = console
        self._told_at = 0.0

    def tell(self, happening: Happening) -> None:
        """Prints it."""
        self._print(happening.seconds, happening.who, _marked(happening))

    def refresh(self) -> None:
        """Says what goes on, if nothing was said for a while."""
        bound = SILENCE_SECONDS_MAX if self._scene.complete else STARTING_SECONDS_MAX
        if (now := self._scene.seconds) - self._told_at >= bound:
            self._print(now, "", f"… {self._scene.going_on()}")

    def _print(self, seconds: float, who: str, text: str) -> None:
        self._told_at = seconds
        line = f"{seconds:6.1f} s  {who:<13} {text}"
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leaves the lines where they are."""


class Picture:
    """Who is awake, what changed, what waits: drawn anew as it moves."""

    def __init__(self, scene: Scene, console: Console) -> None:
        self._scene = scene
        self._live = Live(self, console=console, auto_refresh=False)
        self._spinner = cycle(SPINNER)

    def tell(self, happening: Happening) -> None:
        """The scene has it already."""
        self._live.refresh()

    def refresh(self) -> None:
        """Draws the scene."""
        self._live.refresh()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Group(
            Rule(Text(self._headline(), style="bold"), align="left"),
            self._members(),
            Rule("what changed", style="dim", align="left"),
            *self._changes(),
            Rule("what is agreed", style="dim", align="left"),
            *(
                Text(line, no_wrap=True, overflow="ellipsis")
                for line in self._scene.agreement.lines
            ),
            Rule("what waits", style="dim", align="left"),
            *self._waits(),
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leaves the last picture standing."""
        self._live.stop()

    def _headline(self) -> str:
        scene = self._scene
        goal = scene.newest.get("goal", {}).get("title", "the crew gathers")
        away = "" if scene.reachable else " · the server is away"
        return f"{goal} · {scene.seconds:.1f} s · revision {scene.revision}{away}"

    def _members(self) -> RenderableType:
        table = Table.grid(padding=(0, 2))
        for member in self._scene.members:
            doing = self._scene.awake.get(member)
            mark = Text("●", style="bold green") if doing else Text("○", style="dim")
            idle = "asleep" if self._scene.is_up(member) else f"starts {next(self._spinner)}"
            words = Text(", ".join(doing)) if doing else Text(idle, style="dim")
            table.add_row(mark, Text(member, style=STYLES.get(member, "")), words)
        return table

    def _changes(self) -> Iterator[RenderableType]:
        changes = [one for one in self._scene.happenings if not one.wakes][-CHANGES_SHOWN:]
        for one in changes:
            line = Text(f"{one.seconds:6.1f} s  ", style="dim", no_wrap=True, overflow="ellipsis")
            line.append(f"{one.who:<13} ", style=STYLES.get(one.who, ""))
            yield line.append(one.text, style=_style(one.text))
        yield from [Text("")] * (CHANGES_SHOWN - len(changes))

    def _waits(self) -> Iterator[RenderableType]:
        waits = [*self._scene.waiting, *self._scene.blocked()]
        for wait in waits[:WAITS_SHOWN]:
            yield Text(wait, style="dim", no_wrap=True, overflow="ellipsis")
        yield from [Text("")] * (WAITS_SHOWN - len(waits))


def _style(text: str) -> str:
    is_bad = text.startswith("rejects") or any(word in text for word in BAD)
    return "red" if is_bad else "not dim"


def _marked(happening: Happening) -> str:
    return f"… {happening.text}" if happening.wakes else happening.text
