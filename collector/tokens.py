"""Bearer tokens of those who read: shown once, kept as a hash, each with the doors it opens.

A token is 32 random bytes, so its plain SHA-256 tells nothing of it. Every request looks it up
anew: one that was revoked is worthless at once, at every replica.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence

from deniable.protocol.errors import ParameterError

from .problems import HTTPProblem
from .store.base import Store, Token

TOKEN_BYTES = 32

SCOPES = ("analyst", "metrics", "operator")
"""What was released and where the rest stands; the meters; both of these."""

DEFAULT_SCOPES = ("analyst",)

_OPERATOR = "operator"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")
_REALM = 'Bearer realm="deniable"'


def create_token(store: Store, name: str, scopes: Sequence[str] = DEFAULT_SCOPES) -> str:
    """Make a token and return it; this is the only time it can be seen.

    Raises
    ------
    ParameterError
        If the name is no word or is taken, or a scope is none.
    """
    if not _NAME.fullmatch(name):
        raise ParameterError("token name must be 1..64 letters, digits, '.', '_', '@' or '-'")
    if not scopes or set(scopes) - set(SCOPES):
        raise ParameterError(f"token {name}: scopes must be some of {', '.join(SCOPES)}")
    token = secrets.token_urlsafe(TOKEN_BYTES)
    with store.transaction() as tx:
        if not tx.put_token(name, Token(_digest(token), tuple(sorted(set(scopes))))):
            raise ParameterError(f"token {name} exists; revoke it first or choose another name")
    return token


def revoke_token(store: Store, name: str) -> None:
    """Make a token worthless.

    Raises
    ------
    ParameterError
        If there is none of that name.
    """
    with store.transaction() as tx:
        if not tx.drop_token(name):
            raise ParameterError(f"token {name} does not exist; see `token list`")


def require_token(store: Store, authorization: str, scope: str) -> None:
    """Check the Authorization header of a request.

    Raises
    ------
    HTTPProblem
        401 unless it bears a token that was created and not revoked, 403 if that token has
        neither the scope nor operator.
    """
    scheme, _, text = authorization.partition(" ")
    text = text.strip()
    matches: list[Token] = []
    if scheme.lower() == "bearer" and _TOKEN.fullmatch(text):  # or else the store is not asked
        digest = _digest(text)
        with store.read() as reader:
            tokens = reader.tokens().values()
        matches = [token for token in tokens if hmac.compare_digest(digest, token.digest)]
    if not matches:
        raise HTTPProblem(401, "a valid bearer token is needed", {"WWW-Authenticate": _REALM})
    if not {scope, _OPERATOR} & set(matches[0].scopes):
        challenge = f'{_REALM}, error="insufficient_scope", scope="{scope}"'
        text = f"the token's scopes do not include {scope}; an operator can make one that does"
        raise HTTPProblem(403, text, {"WWW-Authenticate": challenge})


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
