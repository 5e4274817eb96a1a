"""Options and arguments whose value is one of a few words of the SDK."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import typer

_NOT_FOR_USERS = "unknown"
"""What the SDK calls a word that it is too old to know; nobody can ask for it."""


def one_of(kind: type[StrEnum], *names: str, explained: str) -> Any:
    """An option that takes one of the words of `kind`; typer reads it from an annotation."""
    words = _words(kind)
    return typer.Option(
        *names,
        help=explained,
        metavar="|".join(words),
        parser=_parser(kind, words),
        autocompletion=lambda: words,
    )


def argument_of(kind: type[StrEnum], *, explained: str) -> Any:
    """The same as an argument; annotate it as a `str`, or the help lists what nobody can ask for."""
    words = _words(kind)
    return typer.Argument(
        help=explained,
        metavar="|".join(words),
        parser=_parser(kind, words),
        autocompletion=lambda: words,
    )


def _words(kind: type[StrEnum]) -> list[str]:
    return [word.value for word in kind if word.value != _NOT_FOR_USERS]


def _parser(kind: type[StrEnum], words: list[str]) -> Callable[[str], StrEnum]:
    def parse(text: str) -> StrEnum:
        if text not in words:
            raise typer.BadParameter(f"{text!r} is none of {', '.join(words)}.")
        return kind(text)

    return parse
