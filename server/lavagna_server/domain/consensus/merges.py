"""The merges of one commit: nobody is refused for what others claim, nobody learns what it may not read, and none takes long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lavagna_server.domain.agents import Caller
from lavagna_server.domain.consensus.claims import (
    Merge,
    check_alone,
    claimed_key,
    selected,
    weighed,
)
from lavagna_server.domain.entries import ChangeType, Entry
from lavagna_server.domain.errors import Exhausted, Invalid
from lavagna_server.domain.regions import Region
from lavagna_server.domain.values import check_value

if TYPE_CHECKING:
    from lavagna_server.domain.consensus.settling import Hall

_RESULT = "the merge of all claims"


class Merges:
    """Merges claims for one commit, of a caller when one made it."""

    def __init__(self, hall: Hall, caller: Caller | None) -> None:
        self._hall, self._caller = hall, caller
        self._seen = self._unseen = self._parts = self._bytes = 0

    def merge(
        self, claim: Entry, earlier: Entry | None, claims: Sequence[Entry], region: Region
    ) -> Merge:
        """What the live claims about a key come to, because one of them changed from `earlier`.

        Raises:
            Exhausted: There is more to merge than may be, and the caller may know of it.
            Invalid: The caller's claim is none that its rule takes.
        """
        # Who may not read learns nothing from what others claim, nor from how much.
        is_seen = self._caller is None or region.may_read(self._caller)
        if self._caller is not None and claim.exists:
            check_alone(claim, region.merging.rules, self._hall.limits)
        is_refusable = is_seen and self._caller is not None and _grows(claim, earlier)
        most = self._hall.limits.claims_per_key_max
        if is_seen and claim.change is ChangeType.CREATED and len(claims) > most:
            raise Exhausted("claims_per_key_max", maximum=most, subject=claimed_key(claim))
        try:
            merge = self._checked(claims, region)
        except Exhausted as fault:
            if is_refusable:
                raise
            merge = selected(claims, region, self._hall.standings, str(fault), as_written=True)
        except Invalid as fault:
            merge = selected(claims, region, self._hall.standings, str(fault))
        if self._caller is not None:
            self._charge(claims, merge, is_seen=is_seen)
        return merge

    def _checked(self, claims: Sequence[Entry], region: Region) -> Merge:
        merge = weighed(claims, region, self._hall.standings, self._hall.limits)
        check_value(merge.result.value, field=_RESULT, limits=self._hall.limits)
        if region.schema_json:
            self._hall.check_schema(region, merge.result.value, _RESULT)
        return merge

    def _charge(self, claims: Sequence[Entry], merge: Merge, *, is_seen: bool) -> None:
        """Bounds what all merges of a commit look at; where the caller may not know of that, how many there are."""
        limits = self._hall.limits
        if not is_seen:
            self._unseen += 1
            if self._unseen > limits.unread_claims_max:
                most = limits.unread_claims_max
                raise Exhausted("unread_claims_max", maximum=most, subject="one commit")
            return
        self._seen += 1
        self._parts += merge.parts
        self._bytes += sum(each.value.size_bytes for each in claims if each.value is not None)
        if self._seen == 1:
            return
        for name, used, most in (
            ("claims_parts_max", self._parts, limits.claims_parts_max),
            ("claims_bytes_max", self._bytes, limits.claims_bytes_max),
        ):
            if used > most:
                raise Exhausted(name, maximum=most, subject="all that one commit merges")


def _grows(claim: Entry, earlier: Entry | None) -> bool:
    """Whether a claim is new or larger than it was: who makes its claim smaller is not held up."""
    if claim.value is None:
        return False
    if earlier is None or earlier.value is None:
        return True
    return claim.value.size_bytes > earlier.value.size_bytes
