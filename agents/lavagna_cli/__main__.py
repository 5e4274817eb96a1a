"""The command `lavagna`, which is there even where the parts that it needs are not."""

import sys
from importlib import import_module

from lavagna_cli.exits import ExitCode


def main() -> None:
    """Runs the command line that the process was started with, and exits."""
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


if __name__ == "__main__":
    main()
