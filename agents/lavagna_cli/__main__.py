"""The command `lavagna`, which is there even where the parts that it needs are not."""

import os
import sys
from importlib import import_module

from lavagna_cli.exits import ExitCode


def main() -> None:
    """Runs the command line that the process was started with, and exits."""
    _open_what_is_closed()
    try:
        running = import_module("lavagna_cli.running")
        code = running.run(sys.argv[1:])
    except KeyboardInterrupt:  # also while it is still loading, which takes the longest
        sys.exit(ExitCode.INTERRUPTED)
    except ModuleNotFoundError as missing:
        sys.stderr.write(
            f"error: the command line needs {missing.name}, which is not installed."
            " Run pip install 'lavagna[cli]'\n"
        )
        sys.exit(ExitCode.UNAVAILABLE)
    sys.exit(code)


def _open_what_is_closed() -> None:
    """Makes a closed standard stream one that leads nowhere (`>&-`, or a supervisor that closes).

    Else Python has None in its place, and the next file or connection to be opened gets its number.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123, SIM115 (kept open to the end)
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


if __name__ == "__main__":
    main()
