"""Bearer tokens of those who may read tallies: shown once, kept as a hash."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

from deniable.protocol.errors import ParameterError

from .problems import HTTPProblem
from .store.base import Store

TOKEN_BYTES = 32

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


def create_token(store: Store, name: str) -> str:
    """Make a token and return it; this is the only time it can be seen.

    Raises
    ------
    ParameterError
        If the name is no word or is taken.
    """
    if not _NAME.fullmatch(name):
        raise ParameterError("token name must be 1..64 letters, digits, '.', '_', '@' or '-'")
    token = secrets.token_urlsafe(TOKEN_BYTES)
    with store.transaction() as tx:
        if not tx.put_token(name, _digest(token)):
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


def require_token(store: Store, authorization: str) -> None:
    """Check the Authorization header of a request.

    Raises
    ------
    HTTPProblem
        401 unless it bears a token that was created and not revoked.
    """
    scheme, _, token = authorization.partition(" ")
    digest = _digest(token.strip())
    with store.read() as reader:
        known = reader.tokens().values()
    matches = [hmac.compare_digest(digest, one) for one in known]
    if scheme.lower() != "bearer" or not any(matches):
        raise HTTPProblem(
            401, "a valid bearer token is needed", {"WWW-Authenticate": 'Bearer realm="deniable"'}
        )


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
