"""The blocking façade: the same boards for programs without an event loop.

Every method is that of the asynchronous class of the same name, with the same arguments; it runs on
one background thread with one event loop for the whole process, since gRPC wants one. Boards may be
used from any thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from functools import wraps
from inspect import iscoroutinefunction
from types import TracebackType
from typing import Concatenate, Generic, Literal, ParamSpec, Self, TypeVar, overload

from lavagna import board as asynchronous
from lavagna import clients, connection
from lavagna import watch as watching
from lavagna.checks import refusal
from lavagna.commits import Commit, State, Target
from lavagna.entries import Entry, Space, Written
from lavagna.loop_thread import LoopThread
from lavagna.proposals import Proposal
from lavagna.retry import CONTENDED
from lavagna.values import Value

P = ParamSpec("P")
R = TypeVar("R")
Subject = TypeVar("Subject")
Subject_co = TypeVar("Subject_co", covariant=True)
Item = TypeVar("Item", bound=Commit | State)

_thread = LoopThread()


class _Facade(Generic[Subject_co]):
    """Stands for an object of the asynchronous SDK."""

    def __init__(self, subject: Subject_co) -> None:
        self._subject = subject

    @property
    def subject(self) -> Subject_co:
        """The object that this one stands for."""
        return self._subject

    def __repr__(self) -> str:
        return f"blocking {self._subject!r}"


class _Waits(Generic[Subject, P, R]):
    """A method that waits for what the asynchronous one comes to."""

    def __init__(self, method: Callable[Concatenate[Subject, P], Awaitable[R]]) -> None:
        self._method = method

    def __get__(self, facade: _Facade[Subject], _: type) -> Callable[P, R]:
        @wraps(self._method)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            return _thread.wait(self._method(facade.subject, *args, **kwargs))

        return call


class _Iterates(Generic[Subject, P, R]):
    """A method that iterates over what the asynchronous one iterates over."""

    def __init__(self, method: Callable[Concatenate[Subject, P], AsyncIterator[R]]) -> None:
        self._method = method

    def __get__(self, facade: _Facade[Subject], _: type) -> Callable[P, Iterator[R]]:
        @wraps(self._method)
        def call(*args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
            return _thread.iterate(self._method(facade.subject, *args, **kwargs))

        return call


class Triggers(_Facade[clients.Triggers]):
    """The triggers of one board."""

    set = _Waits(clients.Triggers.set)
    get = _Waits(clients.Triggers.get)
    list = _Iterates(clients.Triggers.list)
    suspend = _Waits(clients.Triggers.suspend)
    resume = _Waits(clients.Triggers.resume)
    delete = _Waits(clients.Triggers.delete)
    try_ = _Waits(clients.Triggers.try_)


class Activations(_Facade[clients.Activations]):
    """The agenda of one board."""

    acquire = _Waits(clients.Activations.acquire)
    heartbeat = _Waits(clients.Activations.heartbeat)
    complete = _Waits(clients.Activations.complete)
    fail = _Waits(clients.Activations.fail)
    release = _Waits(clients.Activations.release)
    hold = _Waits(clients.Activations.hold)
    cancel = _Waits(clients.Activations.cancel)
    get = _Waits(clients.Activations.get)
    list = _Iterates(clients.Activations.list)
    replay = _Waits(clients.Activations.replay)


class Members(_Facade[clients.Members]):
    """The agents of one board."""

    register = _Waits(clients.Members.register)
    get = _Waits(clients.Members.get)
    list = _Iterates(clients.Members.list)
    rotate = _Waits(clients.Members.rotate)
    revoke = _Waits(clients.Members.revoke)
    standing = _Waits(clients.Members.standing)
    set_standing = _Waits(clients.Members.set_standing)
    hello = _Waits(clients.Members.hello)


class Regions(_Facade[clients.Regions]):
    """The regions of one board."""

    set = _Waits(clients.Regions.set)
    get = _Waits(clients.Regions.get)
    list = _Waits(clients.Regions.list)
    delete = _Waits(clients.Regions.delete)


class Proposals(_Facade[clients.Proposals]):
    """The proposals of one board."""

    get = _Waits(clients.Proposals.get)
    list = _Iterates(clients.Proposals.list)
    wait = _Waits(clients.Proposals.wait)


class Claims(_Facade[clients.Claims]):
    """The claims on one board."""

    list = _Iterates(clients.Claims.list)
    resolve = _Waits(clients.Claims.resolve)


class Boards(_Facade[clients.Boards]):
    """The boards of one server."""

    create = _Waits(clients.Boards.create)
    get = _Waits(clients.Boards.get)
    list = _Iterates(clients.Boards.list)
    update = _Waits(clients.Boards.update)
    delete = _Waits(clients.Boards.delete)


class Watch(_Facade[watching.Watch[Item]]):
    """An iterator of commits, in order, each once and whole; it waits for the next one."""

    @property
    def token(self) -> str:
        """Resumes a watch of the same targets after the items given so far."""
        return self.subject.token

    @property
    def synced(self) -> bool:
        """Whether the initial state has been given in full, or none was asked for."""
        return self.subject.synced

    @property
    def revision(self) -> int:
        """Everything up to this revision was given or does not match."""
        return self.subject.revision

    def __iter__(self) -> Iterator[Item]:
        return _thread.iterate(self.subject)

    def __enter__(self) -> Self:
        _thread.wait(self.subject.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the watch; an iteration that waits in another thread ends too."""
        _thread.wait(self.subject.aclose())


class Board(_Facade[asynchronous.Board]):
    """One agent's view of one space of a board."""

    get = _Waits(asynchronous.Board.get)
    find = _Waits(asynchronous.Board.find)
    batch_get = _Waits(asynchronous.Board.batch_get)
    entries = _Iterates(asynchronous.Board.entries)
    history = _Iterates(asynchronous.Board.history)
    diff = _Waits(asynchronous.Board.diff)
    export = _Iterates(asynchronous.Board.export)
    put = _Waits(asynchronous.Board.put)
    patch = _Waits(asynchronous.Board.patch)
    append = _Waits(asynchronous.Board.append)
    delete = _Waits(asynchronous.Board.delete)
    commit = _Waits(asynchronous.Board.commit)
    revert = _Waits(asynchronous.Board.revert)
    compact = _Waits(asynchronous.Board.compact)
    wait = _Waits(asynchronous.Board.wait)
    propose = _Waits(asynchronous.Board.propose)
    propose_delete = _Waits(asynchronous.Board.propose_delete)
    vote = _Waits(asynchronous.Board.vote)
    claim = _Waits(asynchronous.Board.claim)
    explain = _Waits(asynchronous.Board.explain)

    @overload
    def withdraw(self, subject: Proposal, *, reason: str = "") -> Proposal: ...

    @overload
    def withdraw(self, subject: str, *, reason: str = "") -> Entry | None: ...

    def withdraw(self, subject: Proposal | str, *, reason: str = "") -> Proposal | Entry | None:
        """Ends a proposal that waits for votes; or, by the key it is about, the caller's claim."""
        if isinstance(subject, Proposal):
            return _thread.wait(self.subject.withdraw(subject, reason=reason))
        return _thread.wait(self.subject.withdraw(subject, reason=reason))

    def update(
        self,
        key: str,
        change: Callable[[Value], Value],
        *,
        attempts: int = CONTENDED.attempts_max,
    ) -> Written:
        """Reads the entry, changes its value and writes it, again when somebody was faster.

        `change` runs on a thread of its own, so it may take its time.

        Raises:
            Conflict: Somebody was faster at every attempt.
            Invalid: `change` is no function, or one that must be awaited.
        """

        def aside(value: Value) -> Awaitable[Value]:
            return asyncio.to_thread(change, value)

        if iscoroutinefunction(change) or not callable(change):
            raise refusal(change, field="change", expected="a plain function of the value")
        return _thread.wait(self.subject.update(key, aside, attempts=attempts))

    @overload
    def watch(
        self,
        *targets: str | Target,
        token: str | None = None,
        after: int | None = None,
        initial_state: Literal[False] = False,
    ) -> Watch[Commit]: ...

    @overload
    def watch(
        self,
        *targets: str | Target,
        token: str | None = None,
        after: int | None = None,
        initial_state: bool,
    ) -> Watch[Commit | State]: ...

    def watch(
        self,
        *targets: str | Target,
        token: str | None = None,
        after: int | None = None,
        initial_state: bool = False,
    ) -> Watch[Commit] | Watch[Commit | State]:
        """The commits that match: from now on, after a revision, or after a token."""
        return Watch(
            self.subject.watch(*targets, token=token, after=after, initial_state=initial_state)
        )

    @property
    def name(self) -> str:
        """The board's name."""
        return self.subject.name

    @property
    def agent_name(self) -> str:
        """The name that calls are made in; empty when the caller only gave a token."""
        return self.subject.agent_name

    @property
    def space(self) -> Space:
        """Which log of the board this is a view of."""
        return self.subject.space

    @property
    def private(self) -> Board:
        """The caller's private space of the same board."""
        return Board(self.subject.private)

    def as_agent(self, name: str, *, token: str | None = None) -> Board:
        """The same board as another agent sees it, over the same connection."""
        return Board(self.subject.as_agent(name, token=token))

    @property
    def triggers(self) -> Triggers:
        """The triggers of this board."""
        return Triggers(self.subject.triggers)

    @property
    def activations(self) -> Activations:
        """The agenda of this board."""
        return Activations(self.subject.activations)

    @property
    def agents(self) -> Members:
        """The agents of this board."""
        return Members(self.subject.agents)

    @property
    def regions(self) -> Regions:
        """The regions of this board."""
        return Regions(self.subject.regions)

    @property
    def proposals(self) -> Proposals:
        """The proposals of this board."""
        return Proposals(self.subject.proposals)

    @property
    def claims(self) -> Claims:
        """The claims on this board."""
        return Claims(self.subject.claims)

    @property
    def boards(self) -> Boards:
        """The boards of the server."""
        return Boards(self.subject.boards)


def _opening(
    opened: Callable[P, AbstractAsyncContextManager[asynchronous.Board]],
) -> Callable[P, AbstractContextManager[Board]]:
    @contextmanager
    @wraps(opened)
    def opening(*args: P.args, **kwargs: P.kwargs) -> Generator[Board]:
        connecting = opened(*args, **kwargs)
        board = _thread.wait(connecting.__aenter__())
        try:
            yield Board(board)
        finally:
            _thread.wait(connecting.__aexit__(None, None, None))

    return opening


connect = _opening(connection.connect)
"""A board, for as long as the `with` block lasts; the arguments are those of `lavagna.connect`."""
