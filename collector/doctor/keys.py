"""Period keys: there, the right ones, where nobody finds them with the counts; and who waits."""

from __future__ import annotations

from contextlib import ExitStack

from deniable.protocol.errors import StoreError
from deniable.protocol.periods import parse_period

from ..counted import counted
from ..flood_storage import flood_storage_persists
from ..keystore import open_keystore
from ..places import (
    POSTGRESQL,
    redis_url,
    same_place,
    same_server,
    scheme_of,
    without_password,
)
from ..scope_key import KEY_BYTES, ScopeKey
from ..store.base import Scope
from .contents import Contents
from .findings import Case, Findings, fault, ok, warning

_PUT_BACK = (
    "put the key back, and what waits goes on; if it is lost for good, run"
    " deniable-collector release --destroy-unreadable once the period has closed"
)


def fitting(case: Case, contents: Contents) -> Findings:
    """Each open period has the key that its rows were named by."""
    if case.keys_location is None:
        yield fault("keys", "this store has no place for them", "give the one of serve: --keys")
        return
    wrong = []
    with _Keys(case) as keys:
        for scope, row in contents.scopes.items():
            key = keys.get(scope)
            if key is None:
                wrong.append(f"{scope.name} is missing")
            elif len(key) != KEY_BYTES or row.check not in (b"", ScopeKey(scope, key).check):
                wrong.append(f"{scope.name} is another than its rows were named by")
    for which in wrong:
        yield fault("keys", f"{without_password(case.keys_location)}: {which}", _PUT_BACK)
    if not wrong:
        yield ok("keys", f"{counted(len(contents.scopes), 'open period')}, each with its key")


class _Keys:
    """Reads keys, and makes, tidies and changes nothing."""

    def __init__(self, case: Case) -> None:
        self._directory = case.keys_directory
        self._location = case.keys_location or ""
        self._stack = ExitStack()

    def __enter__(self) -> _Keys:
        if self._directory is None:
            location = self._location
            if scheme_of(location) in POSTGRESQL:
                mark = "&" if "?" in location else "?"
                location += f"{mark}options=-c%20default_transaction_read_only%3Don"
            self._server = open_keystore(location)
            self._stack.callback(self._server.close)
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def get(self, scope: Scope) -> bytes | None:
        """Return a scope's key."""
        if self._directory is None:
            return self._server.get(scope.name)
        path = self._directory / f"{scope.name}.key"
        try:
            return path.read_bytes() if path.exists() else None
        except OSError as exc:
            raise StoreError(f"{path}: cannot be read ({exc.strerror})") from exc


def waiting(case: Case, contents: Contents) -> Findings:
    """No tally waits after its period was closed, and none is overdue."""
    late, stuck = set(), set()
    for state in contents.states:
        if state.state != "pending":
            continue
        known = contents.catalogue.questions[state.survey][state.question][state.version]
        closes = known.question.closes(parse_period(state.period))
        name = Scope.of(known.question, state.period).name
        if closes <= contents.watermark:
            stuck.add(name)
        elif closes <= case.now:
            late.add(name)
    for name in sorted(stuck):
        yield fault("waiting tallies", f"{name} is closed and its tallies do not open", _PUT_BACK)
    if late:
        detail = f"{', '.join(sorted(late))} could have been closed by now"
        fix = "run deniable-collector release, or serve without --release-every 0"
        yield warning("waiting tallies", detail, fix)
    if not late and not stuck:
        yield ok("waiting tallies", "none is due")


def key_server(case: Case) -> Findings:
    """Keys on a server are not with the counts, and survive its restart."""
    location = case.keys_location
    if location is None or not scheme_of(location):
        return
    name = without_password(location)
    if same_place(case.store, location):
        fix = "use another database, on a server with backups of its own or none"
        yield fault("key place", f"{name}: is the store's own database", fix)
        return
    if same_server(case.store, location):
        fix = "use another server: these two share a write-ahead log and base backups"
        yield warning("key place", f"{name}: is on the store's own server", fix)
        return
    persists = flood_storage_persists(location) if redis_url(location) else True
    if persists is False:
        fix = "set appendonly yes and appendfsync always on that server"
        yield fault("key place", f"{name}: forgets every key when it restarts", fix)
    elif persists is None:
        fix = "look that appendonly is yes and maxmemory-policy is noeviction"
        yield warning("key place", f"{name}: does not tell whether it keeps keys", fix)
    else:
        yield ok("key place", f"{name}: is not the store's database")


def flood_server(case: Case) -> Findings:
    """Flood counts are kept in memory alone."""
    location = case.flood_storage
    if location is None:
        return
    name = without_password(location)
    fix = "set save '' and appendonly no on that server: its files would tell who sent when"
    persists = flood_storage_persists(location)
    if persists:
        yield fault("flood storage", f"{name}: writes its counts to a disk", fix)
    elif persists is None:
        yield warning("flood storage", f"{name}: does not tell whether it writes to a disk", fix)
    else:
        yield ok("flood storage", f"{name}: keeps its counts in memory")
