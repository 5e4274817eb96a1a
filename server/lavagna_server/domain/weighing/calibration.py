"""Calibration: what a stated confidence has been worth so far, learnt from claims of which somebody entitled said what was true.

Stated confidences are counted in ten buckets. What a confidence c is worth is the isotonic regression, at c, of all resolved claims together with
PRIOR_CLAIMS imagined ones that stated c and came out right just as often as stated. By the max-min formula of Ayer, Brunk, Ewing, Reid & Silverman
(Ann. Math. Statist. 26, 1955), whose other form is pool adjacent violators, and with which Zadrozny & Elkan calibrate classifiers (KDD 2002):

    max over a <= i of min over b >= i of (right[a..b] + PRIOR_CLAIMS * c) / (seen[a..b] + PRIOR_CLAIMS)        where c is in bucket i

So it is the stated confidence itself where nothing is known; the share that was right where much is (the m-estimate of Cestnik, ECAI 1990, is between);
never less for more confidence, and never less after one more right claim.

Only integers are counted, and all arithmetic is exact until one last rounding: the order of the evidence cannot show.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from lavagna_server.domain.errors import Invalid
from lavagna_server.domain.limits import Limits
from lavagna_server.domain.patches import compact
from lavagna_server.domain.values import Json, parse_json
from lavagna_server.domain.weighing.shares import check_share

BUCKETS = 10
PRIOR_CLAIMS = 4
"""How many claims the stated confidence counts for, in each bucket: more, and the overconfident pass for experts longer; fewer, and chance shows."""
EDGES = tuple(index / BUCKETS for index in range(BUCKETS + 1))
"""A bucket holds its lower edge and not its upper one, but the last holds both."""
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Bucket:
    """The claims of similar stated confidence that were resolved."""

    right: int = 0
    wrong: int = 0
    stated_millionths: int = 0
    """The sum of their stated confidences, each rounded to a millionth: integers add up alike in any order."""

    @property
    def seen(self) -> int:
        """How many claims there were."""
        return self.right + self.wrong


@dataclass(frozen=True, slots=True)
class Line:
    """One bucket, for people."""

    low: float
    high: float
    claims: int
    stated: float | None
    """The mean stated confidence; None without claims."""
    seen: float | None
    """The share that was right; None without claims."""
    used: float
    """What the mean stated confidence, or the bucket's middle, is taken for."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The map from stated confidence to probability, of one agent or of several together."""

    buckets: tuple[Bucket, ...] = (Bucket(),) * BUCKETS

    def observed(self, confidence: float, *, right: bool) -> Calibration:
        """The same with one more resolved claim.

        Raises:
            Invalid: The confidence is not from 0 to 1.
        """
        index = _bucket(check_share(confidence, field="confidence"))
        old = self.buckets[index]
        new = Bucket(
            old.right + right,
            old.wrong + (not right),
            old.stated_millionths + round(confidence * MILLION),
        )
        return replace(self, buckets=(*self.buckets[:index], new, *self.buckets[index + 1 :]))

    def probability(self, confidence: float) -> float:
        """What a stated confidence is worth: from 0 to 1, never less for more confidence, itself where nothing is known.

        Raises:
            Invalid: The confidence is not from 0 to 1.
        """
        return _worth(self.buckets, check_share(confidence, field="confidence"))

    @property
    def claims(self) -> int:
        """From how many resolved claims it has learnt."""
        return sum(bucket.seen for bucket in self.buckets)

    def to_json(self) -> str:
        """Canonical: equal calibrations are written alike."""
        return compact([[each.right, each.wrong, each.stated_millionths] for each in self.buckets])

    @classmethod
    def from_json(cls, text: str, *, field: str) -> Calibration:
        """The calibration that was written so.

        Raises:
            Invalid: The text is not one; naming the bucket.
        """
        rows = parse_json(text, field=field, limits=Limits())
        if not isinstance(rows, list) or len(rows) != BUCKETS:
            raise Invalid(field, f"must be a list of {BUCKETS} buckets")
        return cls(
            tuple(_read_bucket(row, index, f"{field}[{index}]") for index, row in enumerate(rows))
        )

    def table(self) -> tuple[Line, ...]:
        """The map, a line for each bucket."""
        return tuple(self._line(index) for index in range(BUCKETS))

    def _line(self, index: int) -> Line:
        bucket, low, high = self.buckets[index], EDGES[index], EDGES[index + 1]
        if not bucket.seen:
            return Line(low, high, 0, None, None, self.probability((low + high) / 2))
        stated = bucket.stated_millionths / (bucket.seen * MILLION)
        share = bucket.right / bucket.seen
        return Line(low, high, bucket.seen, stated, share, self.probability(stated))


UNCALIBRATED = Calibration()
"""Takes everybody at their word."""


def _read_bucket(row: Json, index: int, field: str) -> Bucket:
    counts = (
        [each for each in row if type(each) is int and each >= 0] if isinstance(row, list) else []
    )
    if counts != row or len(counts) != len(fields(Bucket)):
        raise Invalid(field, "must be [right, wrong, sum of stated confidences in millionths]")
    bucket = Bucket(*counts)
    lowest, highest = (bucket.seen * MILLION * edge // BUCKETS for edge in (index, index + 1))
    if not lowest <= bucket.stated_millionths <= highest:
        rule = f"{bucket.seen} claims here state from {lowest} to {highest} millionths in all"
        raise Invalid(field, rule)
    return bucket


def _bucket(confidence: float) -> int:
    return min(bisect_right(EDGES, confidence) - 1, BUCKETS - 1)


@lru_cache(maxsize=4_096)
def _worth(buckets: tuple[Bucket, ...], confidence: float) -> float:
    """The formula at the top. Remembered, because all claims are weighed again whenever one changes."""
    index = _bucket(confidence)
    imagined = PRIOR_CLAIMS * Fraction(confidence)
    right = list(accumulate((each.right for each in buckets), initial=0))
    seen = list(accumulate((each.seen for each in buckets), initial=0))
    return float(
        max(
            min(
                (right[after] - right[first] + imagined)
                / (seen[after] - seen[first] + PRIOR_CLAIMS)
                for after in range(index + 1, BUCKETS + 1)
            )
            for first in range(index + 1)
        )
    )
