"""Why a server cannot be reached: what gRPC says of it, and what to do about that.

The reasons are told by gRPC's own words; where those change, they still stand in the message.
"""

from __future__ import annotations

from typing import TypeVar

_CONNECTING = "failed to connect to all addresses; last error: "
_NOBODY_LISTENS = "Connection refused"

_UNKNOWN = "is `lavagna serve` running there?"
_REASONS = (
    (
        ("Tls handshake failed", "WRONG_VERSION_NUMBER"),
        "what listens there does not speak TLS; connect without `tls` and LAVAGNA_TLS_CA",
    ),
    (
        ("Hostname Verification",),
        "its certificate is for another name; use that as the target, or `Tls(server_name=...)`",
    ),
    (
        ("CERTIFICATE_VERIFY_FAILED",),
        "its certificate is not trusted; name it, or who signed it, as `tls` or LAVAGNA_TLS_CA",
    ),
    (
        ("Tls handshake failed",),
        "TLS does not come about; check what `tls` or LAVAGNA_TLS_CA trusts",
    ),
    (
        (_CONNECTING, "Socket closed"),
        "what listens there hangs up; it may want TLS (`tls` or LAVAGNA_TLS_CA) or a client's"
        " certificate (LAVAGNA_CLIENT_CERT)",
    ),
    (
        ("errors resolving",),
        "there is no such address; a target is HOST:PORT, such as localhost:7443",
    ),
)

Gap = TypeVar("Gap", bound=Exception)


def explained(target: str, said: str) -> str:
    """What to tell people of a server that cannot be reached."""
    reason = next((told for words, told in _REASONS if all(word in said for word in words)), "")
    about = f": {reason}" if reason else f"; {_UNKNOWN}"
    return f"{target} cannot be reached{about} ({said.removeprefix(_CONNECTING)})"


def telling(earlier: Gap | None, later: Gap) -> Gap:
    """Which of two failures in a row tells why.

    A name may stand for several addresses, and gRPC tells only of the one that failed last. That
    nobody listens at one of them must not hide what happened at another.
    """
    if earlier is None or _NOBODY_LISTENS not in str(later):
        return later
    return earlier if any(told in str(earlier) for _, told in _REASONS) else later
