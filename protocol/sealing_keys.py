"""Reads ``[[survey.sealing_keys]]``: the analyst's public keys, as authors and compilers write
them.

What must never change: devices seal for exactly one key, and no more than two are in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from .errors import ReportError
from .fields import ID, Fields
from .problems import Problem
from .response import decode_base64url
from .sealing import KEY_STATES, SUITES, KeyState, SealingKey, base64url_length

MAX_SEALING_KEYS = 64
"""In one survey, expired ones included."""

_KEYS = ("id", "suite", "public", "state")


def read_sealing_keys(head: Fields, path: str, problems: list[Problem]) -> tuple[SealingKey, ...]:
    """Read the keys of a survey; mistakes are noted, and the result is then void.

    Parameters
    ----------
    head : Fields
        The survey's own table.
    path : str
        Where the keys are, such as ``survey.sealing_keys``.
    problems : list of Problem
        Of the survey; mistakes are added.
    """
    tables = head.raw("sealing_keys")
    if tables is None:
        return ()
    if not isinstance(tables, list) or len(tables) > MAX_SEALING_KEYS:
        problem = f"must be at most {MAX_SEALING_KEYS} tables"
        head.problem("sealing_keys", problem, "write each as [[survey.sealing_keys]]")
        return ()
    before = len(problems)
    keys = tuple(
        _read(Fields(table, f"{path}[{index}]", _KEYS, problems))
        for index, table in enumerate(tables)
    )
    if len(problems) == before:
        _check_together(keys, head)
    return keys


def require_active(keys: Sequence[SealingKey], sealed: Iterable[str], head: Fields) -> None:
    """Note that questions are sealed and there is no key to seal for."""
    names = ", ".join(sealed)
    if names and not any(key.state == "active" for key in keys):
        head.problem(
            "sealing_keys",
            f"none is active, and {names} must be sealed",
            'make one with `deniable sealing-key create FILE`, and write state = "active"',
        )


def _read(fields: Fields) -> SealingKey:
    name = fields.text("id")
    if name and not ID.fullmatch(name):
        fields.problem("id", "must be like k2027", "use a-z, 0-9, - and _, 64 at most")
    suite = fields.one_of("suite", SUITES)
    state = cast("KeyState", fields.one_of("state", KEY_STATES))
    return SealingKey(name, suite, _public(fields, suite), state)


def _public(fields: Fields, suite: str) -> bytes:
    size = SUITES[suite].public
    text = fields.text("public", limit=base64url_length(max(s.public for s in SUITES.values())))
    try:
        public = decode_base64url(text)
    except ReportError:
        public = b""
    if text and len(public) != size:
        fields.problem(
            "public",
            f"must be the {size} bytes of a public key of {suite}, in base64url without padding",
            "copy what `deniable sealing-key show FILE` prints",
        )
    return public


def _check_together(keys: Sequence[SealingKey], head: Fields) -> None:
    """Note what no key can tell alone."""
    names = [key.id for key in keys]
    for name in sorted({name for name in names if names.count(name) > 1}):
        head.problem("sealing_keys", f"{name} is there twice", "give each key an id of its own")
    publics = {key.public for key in keys}
    if len(publics) < len(keys):
        head.problem("sealing_keys", "two keys are the same", "remove one, or make another")
    for state, fix in (("active", "expire the others"), ("pending", "keep one pending at most")):
        several = [key.id for key in keys if key.state == state]
        if len(several) > 1:
            head.problem("sealing_keys", f"{', '.join(several)} are all {state}", fix)
