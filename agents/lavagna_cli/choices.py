"""Options whose value is one of a few words of the SDK."""

from enum import StrEnum
from typing import Any

import typer

_NOT_FOR_USERS = "unknown"
"""What the SDK calls a word that it is too old to know; nobody can ask for it."""


def one_of(kind: type[StrEnum], *names: str, explained: str) -> Any:
    """An option that takes one of the words of `kind`; typer reads it from an annotation."""
    words = [word.value for word in kind if word.value != _NOT_FOR_USERS]

    def parse(text: str) -> StrEnum:
        if text not in words:
            raise typer.BadParameter(f"{text!r} is none of {', '.join(words)}.")
        return kind(text)

    return typer.Option(
        *names,
        help=explained,
        metavar="|".join(words),
        parser=parse,
        autocompletion=lambda: words,
    )
