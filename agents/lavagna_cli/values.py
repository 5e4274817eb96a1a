"""Values: how the command line reads them, and how it shows them."""

import base64
import json
import os
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import NoReturn

import typer

from lavagna import Entry
from lavagna.values import JsonText, Value
from lavagna_cli.jsontext import Document

_JOINERS = "\u200c\u200d"
"""Unprintable by themselves, but parts of words and emoji."""


class Form(StrEnum):
    """How a value is stored."""

    JSON = "json"
    TEXT = "text"
    DATA = "data"


def read(argument: str, form: Form | None = None) -> str | bytes | JsonText:
    """The value that an argument names, byte for byte, in the form asked for.

    `-` is standard input, `@file` a file's content, `@@...` a text that begins with `@`. Without a
    form the value is JSON if it parses, else text, else (when it is not UTF-8) data.

    Raises:
        typer.BadParameter: The file cannot be read, or the content does not have the form.
    """
    return in_form(_content(argument), form)


def form_said(*, as_json: bool, as_text: bool, as_data: bool) -> Form | None:
    """The form that the options --json, --text and --data ask for; None for the first that fits.

    Raises:
        typer.BadParameter: There is more than one of them.
    """
    said = ((Form.JSON, as_json), (Form.TEXT, as_text), (Form.DATA, as_data))
    asked = [form for form, is_asked in said if is_asked]
    if len(asked) > 1:
        raise typer.BadParameter("Pass only one of --json, --text and --data.")
    return asked[0] if asked else None


def in_form(content: bytes, form: Form | None) -> str | bytes | JsonText:
    """The content as a value of that form, or of the first form that fits.

    Raises:
        typer.BadParameter: The content does not have the form.
    """
    if form is Form.DATA:
        return content
    try:
        text = content.decode()
    except UnicodeDecodeError as unfit:
        if form is None:
            return content
        raise typer.BadParameter(f"The value is not UTF-8 text ({unfit}); pass --data.") from None
    if form is Form.TEXT:
        return text
    try:
        json.loads(text, parse_constant=_no_such_number)
    except (ValueError, RecursionError) as unfit:
        if form is None:
            return text
        raise typer.BadParameter(f"The value is not JSON: {unfit}.") from None
    return JsonText(text)


def warn_of_text(
    remark: Callable[[str], None], content: str | bytes | JsonText, form: Form | None
) -> None:
    """Tells whoever may have meant JSON, more than a number or a word, that it is kept as text."""
    if form is None and isinstance(content, str) and content.lstrip().startswith(("{", "[", '"')):
        remark(
            "It begins like JSON but does not parse, so it is kept as text."
            " Pass --text if it is meant so, or --json to have such a value refused."
        )


def _no_such_number(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")


def _content(argument: str) -> bytes:
    if argument == "-":
        return sys.stdin.buffer.read()
    if argument.startswith("@@"):
        return os.fsencode(argument[1:])
    if argument.startswith("@"):
        return file_content(Path(argument[1:]))
    return os.fsencode(argument)


def file_content(path: Path) -> bytes:
    """The bytes of a file that the user named.

    Raises:
        typer.BadParameter: It cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"Cannot read {path}: {error.strerror}.") from None


def form_of(entry: Entry) -> Form | None:
    """How the entry's value is stored; None when it has no value."""
    if entry.json_text is not None:
        return Form.JSON
    if isinstance(entry.value, bytes):
        return Form.DATA
    return Form.TEXT if isinstance(entry.value, str) else None


def stored(entry: Entry) -> bytes:
    """The entry's value as its author wrote it; nothing when it has none."""
    match entry:
        case Entry(json_text=str(text)) | Entry(value=str(text)):
            return text.encode()
        case Entry(value=bytes(content)):
            return content
        case _:
            return b""


def document(entry: Entry) -> Document:
    """The entry's value inside a JSON document: JSON as it is, text as a string, bytes in base64."""
    match entry:
        case Entry(json_text=str(text)):
            return JsonText(text)
        case Entry(value=bytes(content)):
            return base64.b64encode(content).decode()
        case Entry(value=str(text)):
            return text
        case _:
            return None


def shown(entry: Entry) -> str:
    """The entry's value on one line for people; what a terminal would obey is spelt out."""
    if form_of(entry) is Form.DATA:
        return f"<{len(stored(entry)):,} bytes>"
    return printable(stored(entry).decode())


def shown_value(value: Value) -> str:
    """The same for a value whose entry is not at hand, as it would be spelt in JSON or text."""
    match value:
        case bytes():
            return f"<{len(value):,} bytes>"
        case str():
            return printable(value)
        case _:
            return printable(json.dumps(value, ensure_ascii=False))


def printable(text: str, *, keep: str = "") -> str:
    """The text with line ends and control characters spelt out, save those to `keep`.

    Other agents wrote it, and a terminal obeys escape sequences.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in _JOINERS or c in keep else _spelt_out(c) for c in text
    )


def _spelt_out(character: str) -> str:
    return character.encode("unicode_escape").decode()


def shortened(text: str, length_max: int) -> str:
    """The text, or as much of it as fits with an ellipsis."""
    return text if len(text) <= length_max else text[: length_max - 1] + "…"
