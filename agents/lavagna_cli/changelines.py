"""One readable line per change: what `watch` prints for people."""

from collections.abc import Iterator

from rich.text import Text

from lavagna import Commit, Entry, Kind, Occasion, State
from lavagna_cli import contents, moments, values
from lavagna_cli.screen import CHANGE_STYLES

_VALUE_LENGTH_MAX = 100
_AUTHOR_STYLES = ("magenta", "blue", "bright_cyan", "bright_magenta", "bright_blue", "bright_green")
_WITHOUT_ENTRIES = {
    Occasion.QUIESCENCE: "the crew has come to rest",
    Occasion.COMPACTION: "earlier history was given up",
}


def commit_lines(commit: Commit) -> Iterator[Text]:
    """A line for each change of the commit, or one for an event that changes no entry."""
    for entry in commit.entries:
        yield _line(entry, CHANGE_STYLES[entry.change])
    if not commit.entries:
        remark = _WITHOUT_ENTRIES.get(commit.occasion, commit.occasion.value)
        yield Text.assemble(
            _revision(commit.revision),
            (moments.clock_time(commit.committed_at), "dim"),
            (f"  {remark}", "italic"),
        )


def state_lines(state: State) -> Iterator[Text]:
    """A line for each entry that a watch begins with."""
    for entry in state.entries:
        yield _line(entry, "dim")


def _line(entry: Entry, change_style: str) -> Text:
    author = values.printable(entry.author) or "server"
    ground = contents.ground(entry)
    return Text.assemble(
        _revision(entry.revision),
        (moments.clock_time(entry.committed_at), "dim"),
        (f"  {author:<12}", _author_style(author)),
        (f" {values.printable(entry.key)}", "bold"),
        (f" {_kind(entry)}{entry.change}", change_style),
        (f" v{entry.version}", "dim"),
        f"  {values.shortened(contents.said(entry), _VALUE_LENGTH_MAX)}".rstrip(),
        (f"  {ground}" if ground else "", "dim"),
    )


def _kind(entry: Entry) -> str:
    """The kind where the key and the change do not say it."""
    return f"{entry.kind} " if entry.kind in {Kind.BALLOT, Kind.CLAIM} else ""


def _revision(revision: int) -> tuple[str, str]:
    return f"{revision:>6}  ", "cyan"


def _author_style(author: str) -> str:
    """The same colour for the same author in every run, unlike what `hash` would give."""
    return _AUTHOR_STYLES[sum(author.encode()) % len(_AUTHOR_STYLES)]
