"""``doctor``: small checks of what an operator set up, each with the way to put it right.

What must never change: a check reads and writes nothing, and makes no running collector wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from deniable.protocol.errors import DeniableError

from . import clock, endpoints, files, keys, sqlite, surveys, tokens
from .contents import Contents, read_contents, require_psycopg
from .findings import Case, Check, Finding, Findings, fault

__all__ = ["Case", "Finding", "examine"]

CHECKS: tuple[Check, ...] = (
    files.store_modes,
    files.key_modes,
    files.keys_apart,
    files.file_systems,
    files.free_space,
    sqlite.users,
    sqlite.pragmas,
    sqlite.integrity,
    sqlite.schema,
    keys.key_server,
    keys.flood_server,
    endpoints.endpoints,
)
"""What is looked at from outside."""

CONTENT_CHECKS: tuple[Callable[[Case, Contents], Findings], ...] = (
    clock.clock,
    surveys.files,
    surveys.expired,
    keys.fitting,
    keys.waiting,
    tokens.tokens,
)
"""What is looked at in what the store holds."""


def examine(case: Case) -> Iterator[Finding]:
    """Yield what each check finds; one that cannot be made is a fault."""
    for check in CHECKS:
        yield from _made(_name(check), partial(check, case))
    if case.path is None:
        yield from _made("server", partial(_ask_server, case))
    try:
        contents = read_contents(case)
    except DeniableError as exc:
        yield fault("contents", f"were not looked at: {exc}", "see to the store first")
        return
    for look in CONTENT_CHECKS:
        yield from _made(_name(look), partial(look, case, contents))


def _ask_server(case: Case) -> Findings:
    require_psycopg()
    from . import postgres

    server = postgres.ask_server(case.store)
    for check in postgres.SERVER_CHECKS:
        yield from check(server)


def _made(name: str, check: Callable[[], Findings]) -> Findings:
    try:
        yield from check()
    except DeniableError as exc:
        yield fault(name, " / ".join(str(exc).splitlines()), "see to that first")
    except OSError as exc:
        yield fault(name, f"cannot be looked at ({exc.strerror})", "run it as serve's user")


def _name(check: Callable[..., object]) -> str:
    return check.__name__.replace("_", " ")
