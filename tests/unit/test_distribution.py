"""What reaches a user's machine when she installs Lavagna."""

import re
from importlib import metadata


def needs_of(extra: str | None) -> set[str]:
    """The distributions that an install with `extra` asks for, without what those ask for."""
    marker = f"extra == '{extra}'" if extra else None
    needs: set[str] = set()
    for requirement in metadata.requires("lavagna") or []:
        name, _, condition = requirement.partition(";")
        if (condition.strip() or None) == marker:
            needs.add(re.split(r"[\[<>=!~ ]", name)[0])
    return needs


def test_an_agent_needs_grpcio_and_protobuf_alone() -> None:
    assert needs_of(None) == {"grpcio", "protobuf"}


def test_all_brings_every_other_extra() -> None:
    extras = set(metadata.metadata("lavagna").get_all("Provides-Extra") or []) - {"all"}

    assert needs_of("all") == {need for extra in extras for need in needs_of(extra)}


def test_no_asynchronous_database_driver_is_asked_for() -> None:
    asked = {requirement.lower() for requirement in metadata.requires("lavagna") or []}

    assert not [
        need for need in asked if re.search(r"aiosqlite|asyncpg|greenlet|\[asyncio\]", need)
    ]
