"""Runs the tests of the current folder and writes one JSON line for what becomes of each.

Stands alone: it is started as a script in an isolated interpreter, under the warden's limits.
Its argument is the number of the file descriptor to write to; what the tests print goes to the
standard output, and so cannot be taken for a record.
"""

import json
import os
import sys
import unittest
from types import TracebackType
from typing import TextIO, TypeAlias

Fault: TypeAlias = (
    tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]
)

TEXT_CHARACTERS_MAX = 4_000
"""The end of a traceback says what went wrong; no more of it than this."""


class Transcript(unittest.TestResult):
    """Writes down each outcome as it happens, so that a killed run still tells what it did."""

    def __init__(self, sink: TextIO) -> None:
        super().__init__()
        self._sink = sink

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        super().startTest(test)
        self._record("started", test)

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        super().addSuccess(test)
        self._record("passed", test)

    def addFailure(self, test: unittest.TestCase, err: Fault) -> None:  # noqa: N802 - unittest's name
        super().addFailure(test, err)
        self._record("failed", test, text=self.failures[-1][1])

    def addError(self, test: unittest.TestCase, err: Fault) -> None:  # noqa: N802 - unittest's name
        super().addError(test, err)
        self._record("failed", test, text=self.errors[-1][1], memory=_is_memory(err))

    def addSubTest(  # noqa: N802 - unittest's name
        self, test: unittest.TestCase, subtest: unittest.TestCase, err: Fault | None
    ) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            kept = self.failures if _is_failure(test, err) else self.errors
            self._record("failed", subtest, text=kept[-1][1], memory=_is_memory(err))

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802 - unittest's name
        super().addSkip(test, reason)
        self._record("skipped", test, text=reason)

    def addExpectedFailure(self, test: unittest.TestCase, err: Fault) -> None:  # noqa: N802 - unittest's name
        super().addExpectedFailure(test, err)
        self._record("passed", test)

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802 - unittest's name
        super().addUnexpectedSuccess(test)
        self._record("failed", test, text="it was expected to fail, and passed")

    def finish(self) -> None:
        """Says that the run came to its end."""
        self._write({"outcome": "finished"})

    def _record(
        self, outcome: str, test: unittest.TestCase, *, text: str = "", memory: bool = False
    ) -> None:
        here = f"{os.getcwd()}{os.sep}"  # noqa: PTH109 - pathlib is not worth its import here
        text = text.replace(here, "").strip()[-TEXT_CHARACTERS_MAX:]
        self._write({"outcome": outcome, "test": test.id(), "text": text, "memory": memory})

    def _write(self, record: dict[str, object]) -> None:
        print(json.dumps(record), file=self._sink, flush=True)


def _is_memory(err: Fault) -> bool:
    return err[0] is not None and issubclass(err[0], MemoryError)


def _is_failure(test: unittest.TestCase, err: Fault) -> bool:
    return err[0] is not None and issubclass(err[0], test.failureException)


def main() -> None:
    """Runs every `test_*.py` of the current folder."""
    with os.fdopen(int(sys.argv[1]), "w", encoding="utf-8", errors="replace") as sink:
        del sys.argv[1:]
        sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as above
        transcript = Transcript(sink)
        unittest.defaultTestLoader.discover(".", pattern="test_*.py").run(transcript)
        transcript.finish()


if __name__ == "__main__":
    main()
