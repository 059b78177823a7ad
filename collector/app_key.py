"""The keys that apps ship with: who is let in to ``POST /v1/reports``, if the operator asks.

A key lies inside an app that anybody may open, so it is no secret and no authentication: it keeps
out junk that is aimed at nobody in particular, and lets an operator retire a build whose key was
taken. All devices of an app have the same one, so it identifies nobody.

What must never change: the collector keeps hashes only, compares them all in constant time, and
never logs what a request sent.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from deniable.protocol.errors import ParameterError

from .problems import HTTPProblem

HEADER = "Deniable-App-Key"

_KEY_BYTES = 32
_PREFIX = "sha256:"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class AppKeys:
    """The keys in force.

    Attributes
    ----------
    digests : tuple of bytes
        SHA-256 of each; one at least.
    """

    digests: tuple[bytes, ...]

    @classmethod
    def load(cls, path: str | PathLike[str]) -> AppKeys:
        """Read a file of keys: on each line ``sha256:<64 hex digits>``, then a name, or anything.

        Empty lines, and those that begin with ``#``, say nothing. To retire a key, remove its line.

        Raises
        ------
        ParameterError
            If the file cannot be read, holds no key, or has a line that is none; it names the line
            and repeats nothing of it.
        """
        try:
            text = Path(path).read_text("utf-8")
        except OSError as exc:
            reason = f"cannot be read ({exc.strerror}); check its path and its permissions"
            raise ParameterError(f"app keys: {path} {reason}") from exc
        except UnicodeDecodeError as exc:
            raise ParameterError(f"app keys: {path} is not UTF-8; write it as that") from exc
        digests = []
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            found = _DIGEST.fullmatch(words[0])
            if found is None:
                raise ParameterError(
                    f"app keys: {path}, line {number}: must begin with sha256: and 64 hex digits, "
                    "as `deniable-collector app-key create` prints it"
                )
            digests.append(bytes.fromhex(found[1]))
        if not digests:
            raise ParameterError(
                f"app keys: {path} holds no key, and would let nobody in; add the line that "
                "`deniable-collector app-key create` prints"
            )
        return cls(tuple(digests))

    def check(self, header: str | None) -> None:
        """Let a request in that has one of the keys.

        Parameters
        ----------
        header : str or None
            What it sent as ``Deniable-App-Key``.

        Raises
        ------
        HTTPProblem
            401 otherwise; clients then pause until their next start.
        """
        sent = _digest(header or "")
        matches = [hmac.compare_digest(sent, one) for one in self.digests]
        if not any(matches):
            raise HTTPProblem(
                401,
                f"{HEADER}: this collector takes reports only of apps whose key it knows",
                {"WWW-Authenticate": 'Deniable-App-Key realm="deniable"'},
            )


def create_app_key(name: str) -> tuple[str, str]:
    """Make a key; this is the only time it can be seen.

    Parameters
    ----------
    name : str
        Of the app or build, for whoever reads the file.

    Returns
    -------
    key : str
        To ship in the app: ``Client(…, app_key=key)``.
    line : str
        For the collector's file, without the line's end.

    Raises
    ------
    ParameterError
        If the name is no word.
    """
    if not _NAME.fullmatch(name):
        raise ParameterError("app key name must be 1..64 letters, digits, '.', '_' or '-'")
    key = secrets.token_urlsafe(_KEY_BYTES)
    return key, f"{_PREFIX}{_digest(key).hex()}  {name}"


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
