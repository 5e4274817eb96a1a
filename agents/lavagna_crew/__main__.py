"""One member of the crew, as a process: `python -m lavagna_crew ROLE --name NAME`.

Where its board is, it learns from LAVAGNA_TARGET, LAVAGNA_BOARD and LAVAGNA_TOKEN; what it thinks
with, from `--script`, or else from OPENAI_API_KEY, OPENAI_BASE_URL and LAVAGNA_MODEL.
"""

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence

from lavagna import Agent
from lavagna_crew import keys
from lavagna_crew.mind import Mind
from lavagna_crew.models.choice import opened, price
from lavagna_crew.models.scripted import script_for
from lavagna_crew.place import Place
from lavagna_crew.records import Presence
from lavagna_crew.roles.ceo import ceo
from lavagna_crew.roles.cto import cto
from lavagna_crew.roles.programmer import programmer
from lavagna_crew.roles.tester import tester

ROLES: Mapping[str, Callable[[str, Mind], Agent]] = {
    "ceo": ceo,
    "cto": cto,
    "programmer": programmer,
    "tester": tester,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Works until it is told to stop."""
    parser = argparse.ArgumentParser(prog="python -m lavagna_crew", description=__doc__)
    parser.add_argument("role", choices=list(ROLES))
    parser.add_argument("--name", help="the agent's name (default: its role)")
    parser.add_argument("--target", metavar="HOST:PORT", help="instead of $LAVAGNA_TARGET")
    parser.add_argument("--board", help="instead of $LAVAGNA_BOARD")
    parser.add_argument("--script", metavar="TASK", help="play the script of this task")
    parser.add_argument("--pace", type=float, default=1.0, help="1 plays a script at its own pace")
    parser.add_argument("--wait", action="store_true", help="join on a line of standard input")
    options = parser.parse_args(arguments)
    said = {"LAVAGNA_TARGET": options.target, "LAVAGNA_BOARD": options.board}
    place = Place.from_environment({**os.environ, **{k: v for k, v in said.items() if v}})
    script = script_for(options.script) if options.script else None
    if options.script and script is None:
        parser.error(f"no script plays {options.script!r}")
    logging.basicConfig(format="%(asctime)s %(name)s: %(message)s")
    name = options.name or options.role
    mind = Mind(name, opened(script, pace=options.pace), price=price())
    # Whoever starts the crew may do so before there is a board; the end of the input is its end.
    if options.wait and not sys.stdin.readline():
        return
    asyncio.run(work(options.role, name, mind, place))


async def work(role: str, name: str, mind: Mind, place: Place) -> None:
    """Joins the board, says so there, and works until a signal comes."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    agent = ROLES[role](name, mind)
    try:
        async with place.open(name) as board, agent.joined(board):
            present = Presence(role=role, model=mind.model_name, process=os.getpid())
            await board.put(keys.presence(name), present, overwrite=True)
            await stop.wait()
    finally:
        await mind.close()


if __name__ == "__main__":
    main()
