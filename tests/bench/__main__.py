"""`make bench`: measures this machine's Lavagna against the bare limit, in one run, and prints ratios.

A machine that does other things disturbs the numbers; the ratios are of rounds that alternate. Nothing here is asserted.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.bench import judgement, works
from tests.bench.servers import echo, lavagna


async def measured(scale: float, console: Console) -> list[works.Row]:
    """All rows, each on a server that the previous ones have left warm."""
    rows: list[works.Row] = []
    with tempfile.TemporaryDirectory() as folder, echo() as bare, lavagna(Path(folder)) as server:
        await works.probe_key(server)
        for name, work in (
            ("commits", works.commits(bare, server, scale)),
            ("watching", works.watching(server, scale)),
            ("waking", works.waking(bare, server, scale)),
            ("growth", works.growth(server, scale)),
            ("bystanders", works.bystanders(server, scale)),
        ):
            with console.status(f"measures {name}"):
                rows += await work
    return rows


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="a fraction of the full size")
    options = parser.parse_args()
    console = Console(width=None if Console().is_terminal else 140)
    table = Table("work", "measured", "ratio", "goal", title="Lavagna, SQLite, every group synced")
    for row in asyncio.run(measured(options.scale, Console(stderr=True))):
        table.add_row(row.work, row.measured, row.ratio, row.goal)
    console.print(table)
    console.print(judgement.table(options.scale))


if __name__ == "__main__":
    main()
