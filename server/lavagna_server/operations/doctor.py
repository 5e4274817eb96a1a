"""The doctor: looks after the health of a server's data, and sets right what can be set right without guessing."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from lavagna_server.assembly import ADMIN, ADMIN_TOKEN_FILE, write_secret
from lavagna_server.clocks import SystemClock
from lavagna_server.domain.agenda import Activation, ActivationState, finished, lease_expired
from lavagna_server.domain.agents import SERVER_WIDE, Agent, Role
from lavagna_server.domain.errors import StartRefused
from lavagna_server.engine.identity import token_hash
from lavagna_server.operations import symptoms
from lavagna_server.operations.symptoms import REPAIR, Area, Finding
from lavagna_server.ports.clock import Clock
from lavagna_server.ports.store import Changes
from lavagna_server.storage.damage import Damaged
from lavagna_server.storage.sqlite import SqliteStore
from lavagna_server.storage.sqlite.inspection import Inspection, holder, inspected
from lavagna_server.storage.sqlite.repair import rebuild
from lavagna_server.storage.verification import Progress


def doctor(
    data_dir: Path,
    *,
    repair: bool = False,
    progress: Progress | None = None,
    clock: Clock | None = None,
) -> Sequence[Finding]:
    """What is wrong with the data in a directory; with `repair` also sets right what it can, while no server runs.

    `progress` is told the commits verified and those there are. A repair looks again afterwards: what is gone then is
    marked as repaired. A database that is damaged is a finding, too, and left alone.

    Raises:
        StartRefused: The directory holds no board or that of a newer server, or a server runs and `repair` is asked for.
        StorageFailed: The data may not be read or written.
    """
    patient = _Patient(data_dir, clock or SystemClock())
    if repair and (who := holder(data_dir)):
        raise StartRefused(f"a server uses {data_dir} ({who}): stop it before a repair")
    found = patient.examine(progress)
    if not repair or not any(REPAIR in finding.remedy for finding in found):
        return found
    patient.treat(found)
    left = {finding.what for finding in patient.examine(None)}
    return [replace(finding, is_repaired=finding.what not in left) for finding in found]


class _Patient:
    """The data of one directory."""

    def __init__(self, data_dir: Path, clock: Clock) -> None:
        self._data_dir, self._clock = data_dir, clock

    def examine(self, progress: Progress | None) -> Sequence[Finding]:
        """What is wrong now."""
        found: list[Finding] = []
        try:
            with inspected(self._data_dir) as inspection:
                found.extend(self._symptoms(inspection, progress))
        except Damaged as damage:
            if not any(finding.is_beyond_repair for finding in found):
                found.append(symptoms.of_damage(damage))
        return found

    def _symptoms(self, inspection: Inspection, progress: Progress | None) -> Iterator[Finding]:
        snapshot, now = inspection.snapshot, self._clock.now()
        is_served = bool(holder(self._data_dir))
        yield from symptoms.of_files(self._data_dir, inspection)
        yield from symptoms.of_log(inspection, progress)
        yield from symptoms.of_leases(snapshot, now, is_served=is_served)
        yield from symptoms.of_triggers(inspection)
        yield from symptoms.of_tokens(snapshot, self._admin_token())
        yield from symptoms.of_clock(snapshot, now)

    def treat(self, found: Sequence[Finding]) -> None:
        """Sets right what can be."""
        areas = {finding.area for finding in found if REPAIR in finding.remedy}
        if any(finding.is_beyond_repair for finding in found):
            areas &= {Area.FILES}
        if Area.FILES in areas:
            for path in symptoms.readable_by_others(self._data_dir):
                path.chmod(path.stat().st_mode & ~symptoms.OTHERS_MAY)
        if areas & {Area.LOG, Area.TRIGGERS}:
            rebuild(self._data_dir)
        if areas & {Area.LEASES, Area.TRIGGERS}:
            self._write(Changes(activations=self._unstuck()))
        if Area.TOKENS in areas:
            self._renew_admin_token()

    def _unstuck(self) -> list[Activation]:
        now = self._clock.now()
        with inspected(self._data_dir) as inspection:
            changed = {
                activation.id: lease_expired(activation, now=now)
                for activation, _ in symptoms.stuck(inspection.snapshot, now, is_served=False)
            }
            for activation in symptoms.dangling(inspection.snapshot):
                reason = f"there is no trigger {activation.trigger}"
                changed[activation.id] = finished(
                    activation, ActivationState.CANCELLED, now=now, reason=reason
                )
        return list(changed.values())

    def _admin_token(self) -> str | None:
        path = self._data_dir / ADMIN_TOKEN_FILE
        return path.read_text().strip() if path.exists() else None

    def _renew_admin_token(self) -> None:
        token = f"lav_{secrets.token_urlsafe(32)}"
        with inspected(self._data_dir) as inspection:
            agents = {
                (agent.board, agent.name): agent for agent in inspection.snapshot.records(Agent)
            }
        known = agents.get((SERVER_WIDE, ADMIN))
        admin = known or Agent(
            SERVER_WIDE, ADMIN, Role.ADMIN, created_at=self._clock.now(), version=0
        )
        renewed = replace(
            admin,
            role=Role.ADMIN,
            token_hash=token_hash(token),
            revoked=False,
            version=admin.version + 1,
        )
        self._write(Changes(saved=[renewed]))
        write_secret(self._data_dir / ADMIN_TOKEN_FILE, token.encode() + b"\n")

    def _write(self, changes: Changes) -> None:
        store = SqliteStore.open(self._data_dir)
        try:
            with store.transaction() as transaction:
                transaction.write(changes)
        finally:
            store.close()
