"""Runs a command that does not outlive the process that started it.

    python tether.py PARENT COMMAND ...

Stands alone, because it turns into the command: the kernel is told to end this process when the
parent dies, however it dies, and keeps to that when the command takes its place. Where there is no
such kernel the command runs untethered.
"""

import ctypes
import os
import signal
import sys

SET_PARENT_DEATH_SIGNAL = 1
"""An option of Linux's prctl(2)."""


def tie_to_parent(number: int = signal.SIGTERM) -> None:
    """Has the kernel send a signal to this process when its parent dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, number, 0, 0, 0)


def main() -> None:
    """Ties itself to the parent, and becomes the command."""
    parent, *command = sys.argv[1:]
    tie_to_parent()
    # A parent that died before the tie was made is not there to be missed.
    if os.getppid() == int(parent):
        os.execv(command[0], command)  # noqa: S606 - the command comes from the launcher


if __name__ == "__main__":
    main()
