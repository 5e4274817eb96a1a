"""What a call says about its caller: the metadata and the certificate that it came with."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import grpc.aio

from lavagna_server.domain.errors import Unauthenticated
from lavagna_server.engine.identity import Credentials

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

AUTHORIZATION = "authorization"
AGENT = "lavagna-agent"
REQUEST = "lavagna-request"
SCHEME = "bearer "

TOKEN_CHARACTERS_MAX = 512
REQUEST_CHARACTERS_MAX = 128


class Card(NamedTuple):
    """What a call showed at the door."""

    authorization: str = ""
    stated_agent: str = ""
    certificate_agent: str = ""
    request: str = ""
    """What the client calls this request, for the logs of both sides."""

    def credentials(self, *, trust_names: bool) -> Credentials:
        """What it proves, or where names are trusted states.

        Raises:
            Unauthenticated: It says nothing, or not in a form that means something.
        """
        token = self._token()
        if not (token or self.certificate_agent or (trust_names and self.stated_agent)):
            wanted = f"{AGENT}: <name>" if trust_names else f"{AUTHORIZATION}: Bearer <token>"
            raise Unauthenticated(f"say who you are: metadata `{wanted}`")
        return Credentials(token, self.stated_agent, self.certificate_agent)

    def _token(self) -> str:
        text = self.authorization
        if not text:
            return ""
        if text[: len(SCHEME)].lower() != SCHEME or len(text) > TOKEN_CHARACTERS_MAX:
            raise Unauthenticated(f"metadata `{AUTHORIZATION}` must be `Bearer <token>`")
        return text[len(SCHEME) :].strip()


def card_of(context: Context, *, certificates: bool) -> Card:
    """What the call of `context` showed; of metadata given twice the last counts."""
    authorization = stated = request = ""
    for key, value in context.invocation_metadata() or ():
        if key == AUTHORIZATION:
            authorization = str(value)
        elif key == AGENT:
            stated = str(value)
        elif key == REQUEST:
            request = str(value)[:REQUEST_CHARACTERS_MAX]
    return Card(authorization, stated, _common_name(context) if certificates else "", request)


def _common_name(context: Context) -> str:
    """The common name of the certificate that the client proved to hold; empty when it showed none."""
    names = list(context.auth_context().get("x509_common_name", ()))
    return names[0].decode(errors="replace") if names else ""
