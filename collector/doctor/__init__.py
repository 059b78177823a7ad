"""``doctor``: small checks of what an operator set up, each with the way to put it right.

What must never change: a check reads and writes nothing, and makes no running collector wait.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial

from deniable.protocol.errors import DeniableError

from . import clock, endpoints, files, keys, sqlite, surveys, tokens
from .contents import Contents, read_contents, require_psycopg
from .findings import Case, Check, Finding, Findings, fault

__all__ = ["Case", "Finding", "examine"]

SQLITE_CHECKS: tuple[Check, ...] = (
    sqlite.store,
    sqlite.pragmas,
    sqlite.integrity,
    sqlite.schema,
)
"""What is looked at in the file of a store, each only if the one before could look."""

CHECKS: tuple[Check, ...] = (
    files.store_modes,
    files.key_modes,
    files.keys_apart,
    files.file_systems,
    files.free_space,
    sqlite.users,
    keys.key_server,
    keys.flood_server,
    endpoints.endpoints,
)
"""What is looked at from outside, whether or not the store can be read."""

CONTENT_CHECKS: tuple[Callable[[Case, Contents], Findings], ...] = (
    clock.clock,
    surveys.expired,
    keys.fitting,
    keys.waiting,
    tokens.tokens,
)
"""What is looked at in what the store holds."""

Looking = Generator[Finding, None, bool]
"""Findings, and in the end whether what comes next can be looked at."""


def examine(case: Case) -> Findings:
    """Yield what each check finds; one that cannot be made is a fault, told once."""
    try:
        _ = case.path
    except DeniableError as exc:
        yield _unmade("store", exc)
        yield from surveys.files(case, None)
        return
    readable = yield from _look_at_store(case)
    for check in CHECKS:
        yield from _made(_name(check), partial(check, case))
    contents = (yield from _read(case)) if readable else None
    yield from surveys.files(case, contents)
    if contents is not None:
        for look in CONTENT_CHECKS:
            yield from _made(_name(look), partial(look, case, contents))


def _read(case: Case) -> Generator[Finding, None, Contents | None]:
    try:
        return read_contents(case)
    except DeniableError as exc:
        yield _unmade("contents", exc)
        return None


def _look_at_store(case: Case) -> Looking:
    """Look at the store until something is in the way; return whether its contents can be read."""
    if case.path is None:
        return (yield from _all_is_known("server", lambda: _ask_server(case)))
    for check in SQLITE_CHECKS:
        if not (yield from _all_is_known(_name(check), partial(check, case))):
            return False
    return True


def _all_is_known(name: str, check: Callable[[], Findings]) -> Looking:
    """Make a check; return whether it could be made, and found a schema of this version if any."""
    known = True

    def noted() -> Findings:
        nonlocal known
        for finding in check():
            known = known and (finding.check != "schema" or finding.status == "ok")
            yield finding

    made = yield from _made(name, noted)
    return made and known


def _ask_server(case: Case) -> Findings:
    require_psycopg()
    from . import postgres

    server = postgres.ask_server(case.store)
    for check in postgres.SERVER_CHECKS:
        yield from check(server)


def _made(name: str, check: Callable[[], Findings]) -> Looking:
    """Make a check; return whether it could be made."""
    try:
        yield from check()
    except DeniableError as exc:
        yield _unmade(name, exc)
    except OSError as exc:
        yield fault(name, f"cannot be looked at ({exc.strerror})", "run it as serve's user")
    else:
        return True
    return False


def _unmade(name: str, exc: DeniableError) -> Finding:
    """Return what is in the way of a check: ``problem; fix``."""
    problem, _, fix = " / ".join(str(exc).splitlines()).partition("; ")
    return fault(name, problem, fix or "see to that first")


def _name(check: Callable[..., object]) -> str:
    return check.__name__.replace("_", " ")
