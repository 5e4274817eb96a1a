"""Watches that are taken up again: after a disconnection, a kill of the server, and a compaction."""

from __future__ import annotations

import pytest

from lavagna import Compacted
from tests.faults.lives import Server
from tests.faults.witness import revisions_after, witnessing

pytestmark = pytest.mark.faults


@pytest.mark.guarantee("W1")
@pytest.mark.guarantee("W2")
@pytest.mark.guarantee("W4")
@pytest.mark.guarantee("W5")
@pytest.mark.field_report("F13")
async def test_a_watch_goes_on_after_a_disconnection_and_a_kill_and_says_what_is_compacted(
    server: Server,
) -> None:
    life = await server.start()
    async with server.connect("writer") as board:
        for number in range(10):
            await board.put(f"a/{number}", number)
        async with witnessing(board) as witness:
            await witness.until(10)
            assert witness.revisions == list(range(1, 11))
            token = witness.token
        for number in range(10, 60):
            await board.put(f"a/{number}", number)
        assert await revisions_after(server, token, 60) == list(range(11, 61))

        async with witnessing(board, token=token) as witness:
            await witness.until(60)
            await life.kill()
            await server.start()
            await board.put("a/60", 60)
            await witness.until(61)
            assert witness.revisions == list(range(11, 62))
        assert await revisions_after(server, token, 61) == list(range(11, 62))

        assert await board.compact(40) == 40
        with pytest.raises(Compacted) as compacted:
            await anext(board.watch(token=token))
        assert compacted.value.oldest_revision == 40
