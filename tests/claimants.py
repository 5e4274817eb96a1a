"""Agents who claim, straight on the engine."""

from __future__ import annotations

import json
from typing import Any

from lavagna_server.domain.agents import Role
from lavagna_server.domain.consensus.resolving import Truth
from lavagna_server.domain.entries import (
    Change,
    Entry,
    Operation,
    Request,
)
from lavagna_server.domain.values import Form, Value
from lavagna_server.engine.claims import Claimed, Resolved
from lavagna_server.engine.engine import Engine
from lavagna_server.engine.explanations import Explanation
from lavagna_server.engine.reading import ReadPoint
from tests.desks import Desk, json_value, note


class Claimant(Desk):
    """One agent among those who claim."""

    async def claim(self, key: str, value: object, **more: Any) -> Claimed:
        """Claims a JSON value, or any other."""
        stored = value if isinstance(value, Value) else json_value(value)
        change = Change(note(key), Operation.PUT, stored, **more)
        call = self.call()
        request = Request(self.shared, (change,), request_id=call.request_id)
        claimed: Claimed = await self.engine.claims.claim(call, request, token="")
        return claimed

    async def withdraw(self, key: str) -> Claimed:
        """Ends its claim."""
        claimed: Claimed = await self.engine.claims.withdraw(self.call(), key, token="")
        return claimed

    async def resolve(self, key: str, value: object, *, tolerance: float = 0.0) -> Resolved:
        """Says what is true."""
        truth = Truth(key, json_value(value), tolerance)
        resolved: Resolved = await self.engine.claims.resolve(self.call(), truth, token="")
        return resolved

    async def explain(self, key: str, at: int = 0) -> Explanation:
        """How an entry came about."""
        return await self.engine.explanations.explain(self.caller, key, ReadPoint(at))


def claimant(engine: Engine, agent: str, role: Role = Role.AGENT) -> Claimant:
    return Claimant(engine, agent, role)


def text(content: str) -> Value:
    return Value(Form.TEXT, content)


def merge_of(entry: Entry) -> Any:
    return json.loads(entry.basis)["merge"]
