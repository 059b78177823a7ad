"""What somebody has who seizes a collector's disks, and what they would try with it.

A *site* is a collector on a store of its own. From it the attacker takes *dumps*, the rows of
every table, and *files*, everything that stands on the disks but the keys. The attacks are written
so that they find the answer where it is there to be found; each test shows that as well.
"""

from __future__ import annotations

import base64
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
from collector_kit import Clock, InProcess, period_keys
from psycopg import sql
from scipy.stats import hypergeom
from servers import Postgres

from deniable.collector.app import close_app, create_app
from deniable.collector.config import Config
from deniable.collector.store.base import Scope
from deniable.protocol.survey import Survey

DAY = "2026-11-30"
ODDS = 1e-9

Row = tuple[Any, ...]
Dump = dict[str, list[Row]]
Features = dict[str, bytes]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Words = np.ndarray[Any, np.dtype[np.uint64]]

_ANCHOR = 16
_LOOKED_AT = 256
_MIX = np.uint64(0x9E37_79B9_7F4A_7C15)


@dataclass
class Site:
    """A collector in this process, and where it writes.

    Attributes
    ----------
    copies : dict
        Files that were taken before now.
    """

    running: InProcess
    folder: Path
    store: str
    postgres: Postgres | None = None
    database: str = ""
    copies: dict[str, bytes] = field(default_factory=dict)

    @property
    def keys(self) -> list[bytes]:
        """What the attacker does not have."""
        return [path.read_bytes() for path in period_keys(self.folder / "keys")]

    def ask(self, query: str) -> list[Row]:
        """Run a query as who took the disks would."""
        if self.postgres is None:
            with closing(sqlite3.connect(self.folder / "collector.db")) as connection:
                return connection.execute(query).fetchall()
        with psycopg.connect(self.postgres.url(self.database), autocommit=True) as connection:
            connection.execute("SET search_path = deniable")
            cursor = connection.execute(sql.SQL(query))  # type: ignore[arg-type]
            return cursor.fetchall() if cursor.description else []

    def dump(self) -> Dump:
        """Every row of every table, in PostgreSQL with its place and its transaction."""
        if self.postgres is None:
            tables = self.ask("SELECT name FROM sqlite_master WHERE type = 'table'")
            return {name: self.ask(f"SELECT * FROM {name}") for (name,) in tables}
        with psycopg.connect(self.postgres.url(self.database), autocommit=True) as connection:
            tables = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'deniable'"
            ).fetchall()
            return {
                name: connection.execute(
                    sql.SQL("SELECT xmin::text, ctid::text, t.* FROM deniable.{} t").format(
                        sql.Identifier(name)
                    )
                ).fetchall()
                for (name,) in tables
            }

    def files(self) -> dict[str, bytes]:
        """Every file but the keys, and those of other databases of the server."""
        found = {
            str(path): path.read_bytes()
            for path in self.folder.rglob("*")
            if path.is_file() and self.folder / "keys" not in path.parents
        }
        if self.postgres is not None:
            self.ask("ANALYZE")
            self.ask("CHECKPOINT")
            found |= dict(self._server_files(self.postgres))
        return found | self.copies

    def _server_files(self, server: Postgres) -> Iterator[tuple[str, bytes]]:
        ((oid,),) = self.ask(f"SELECT oid FROM pg_database WHERE datname = '{self.database}'")
        for path in server.folder.rglob("*"):
            parts = path.relative_to(server.folder).parts
            if path.is_file() and (parts[:2] != ("data", "base") or parts[2] == str(oid)):
                yield str(path), path.read_bytes().rstrip(b"\0")
        yield "pg_dump", server.run("pg_dump", server.url(self.database)).encode()

    def tag(self, device: bytes) -> bytes:
        """The name of a device's ledger row, for which one needs the key."""
        return self.running.collector.keys.of(Scope("test", DAY)).tag(device)


@contextmanager
def running_site(
    survey: Survey, folder: Path, server: Postgres | None, role: str = "collector", **settings: str
) -> Iterator[Site]:
    """A collector on an SQLite file, or on a database of its own with settings of its own."""
    store, database = str(folder / "collector.db"), ""
    if server is not None:
        database = server.fresh_database().split("/")[3].split("?")[0]
        server.execute(f"ALTER DATABASE {database} OWNER TO {role}")
        for name, value in settings.items():
            server.execute(f"ALTER DATABASE {database} SET {name} = '{value}'")
        store = server.url(database, role)
    clock = Clock(datetime(2026, 11, 30, 12, tzinfo=UTC))
    keys = str(folder / "keys")
    app = create_app(Config(store, (survey,), keys=keys, release_every=0, clock=clock))
    try:
        yield Site(InProcess(app, clock), folder, store, server, database)
    finally:
        close_app(app)
        if server is not None:
            server.execute(f"DROP DATABASE {database} WITH (FORCE)")


# Searching


def spellings(secret: bytes) -> list[bytes]:
    """The ways in which bytes could have been written."""
    return [
        secret,
        secret[::-1],
        secret.hex().encode(),
        secret.hex().upper().encode(),
        base64.b64encode(secret).rstrip(b"="),
        base64.urlsafe_b64encode(secret).rstrip(b"="),
        base64.b32encode(secret).rstrip(b"="),
        repr(secret)[2:-1].encode(),
    ]


def search(files: Mapping[str, bytes], secrets: Iterable[bytes]) -> set[bytes]:
    """Return which of the secrets stand in a file, in any spelling."""
    by_anchor: dict[int, list[tuple[int, bytes, bytes]]] = {}
    for secret in secrets:
        for needle in spellings(secret):
            offset, anchor = _anchor(needle)
            by_anchor.setdefault(anchor, []).append((offset, needle, secret))
    wanted = np.array([*by_anchor], np.uint64)
    found = set()
    for content in files.values():
        for place, anchor in _places(content, wanted):
            for offset, needle, secret in by_anchor[anchor]:
                if place >= offset and content.startswith(needle, place - offset):
                    found.add(secret)
    return found


def _anchor(needle: bytes) -> tuple[int, int]:
    """Return the place of the sixteen bytes of a needle that say most, and a hash of them."""
    assert len(needle) >= _ANCHOR, needle
    places = range(min(len(needle) - _ANCHOR + 1, _LOOKED_AT))
    place = max(places, key=lambda at: (needle[at] > 0, len(set(needle[at : at + _ANCHOR]))))
    window = np.frombuffer(needle[place : place + _ANCHOR], np.uint8)
    return place, int(_hashes(window, np.zeros(1, np.int64))[0])


def _hashes(data: Bytes, at: np.ndarray[Any, np.dtype[np.int64]]) -> Words:
    """Return a hash of the sixteen bytes at each place; its low half-word are the first two."""
    words = [np.zeros(len(at), np.uint64), np.zeros(len(at), np.uint64)]
    for byte in range(_ANCHOR):
        words[byte // 8] |= data[at + byte].astype(np.uint64) << np.uint64(8 * (byte % 8))
    return words[0] ^ ((words[1] * _MIX) << np.uint64(16))


def _places(content: bytes, wanted: Words) -> list[tuple[int, int]]:
    """Return where sixteen bytes of a content have a hash among those wanted, and which."""
    if len(content) < _ANCHOR:
        return []
    data = np.frombuffer(content, np.uint8)
    likely = np.zeros(1 << 16, bool)
    likely[wanted & np.uint64(0xFFFF)] = True
    pairs = data[1:].astype(np.uint16) << 8 | data[:-1]
    at = np.flatnonzero(likely[pairs[: 2 - _ANCHOR]])
    values = _hashes(data, at)
    hits = np.isin(values, wanted)
    return list(zip(at[hits].tolist(), values[hits].tolist(), strict=True))


# Comparing two dumps


def differences(before: Dump, after: Dump) -> Features:
    """What one commit changed, table by table, and how each tally's bytes differ from the last."""
    features: Features = {}
    for table, rows in after.items():
        old = before[table]
        fresh = sorted((row for row in rows if row not in old), key=repr)
        features[f"{table} rows"] = len(fresh).to_bytes(4, "little")
        for number, row in enumerate(fresh):
            last = _predecessor(row, old) if table == "pending" else None
            for column, value in enumerate(row):
                name = f"{table} {number} {column}"
                features |= _features(name, value, last[column] if last else None)
    return features


def _predecessor(row: Row, old: Sequence[Row]) -> Row | None:
    """Return the version of a tally's row before this one: its key stands before n and cells."""
    return next((one for one in old if _tally(one) == _tally(row)), None)


def _tally(row: Row) -> Row:
    return tuple(value for value in row[:-2] if not _of_postgres(value))


def _of_postgres(value: object) -> bool:
    """Return whether it is an xmin or a ctid."""
    return isinstance(value, str) and bool(re.fullmatch(r"\d+|\(\d+,\d+\)", value))


def _features(name: str, value: object, last: object) -> Features:
    data = _as_bytes(value)
    found = {name: data, f"{name} length": len(data).to_bytes(4, "little")}
    if isinstance(last, bytes) and len(last) == len(data):
        found[f"{name} xor"] = bytes(a ^ b for a, b in zip(data, last, strict=True))
        whole = len(data) // 8 * 8
        new, old = (np.frombuffer(some[:whole], "<i8") for some in (data, last))
        found[f"{name} less"] = (new - old).tobytes()
    return found


def _as_bytes(value: object) -> bytes:
    if isinstance(value, int):
        return value.to_bytes(8, "little")
    return value if isinstance(value, bytes) else str(value).encode()


def likeliest(traces: Sequence[Features], answers: Sequence[int]) -> float:
    """Return how likely chance alone ties some bit of the traces to the answers as tightly.

    Fisher's exact test for every bit of every feature, two-sided, times their number (Bonferroni):
    if nothing depends on the answers, the result is below x with a probability of at most x.
    """
    bits = _bits(traces)
    given = np.asarray(answers, bool)
    ones, both = (some.sum(axis=0, dtype=np.int64) for some in (bits, bits[given]))
    pairs = np.unique(np.stack([ones, both]), axis=1)
    n, marked = len(given), int(given.sum())
    below = hypergeom.cdf(pairs[1], n, marked, pairs[0])
    above = hypergeom.sf(pairs[1] - 1, n, marked, pairs[0])
    return float(min(1.0, 2 * np.minimum(below, above).min() * bits.shape[1]))


def _bits(traces: Sequence[Features]) -> Bytes:
    """Return a row of bits for each trace; what is shorter than in another ends in zeros."""
    columns = []
    for name in sorted({name for trace in traces for name in trace}):
        values = [trace.get(name, b"") for trace in traces]
        width = max(map(len, values))
        packed = b"".join(value.ljust(width, b"\0") for value in values)
        columns.append(np.frombuffer(packed, np.uint8).reshape(len(traces), width))
    return np.unpackbits(np.concatenate(columns, axis=1), axis=1)


# Matching


def matches(rows: Sequence[bytes], released: Sequence[bytes]) -> int:
    """Return how many rows share eight bytes anywhere with what was released.

    By chance that is one in 2^64 for each pair of places.
    """
    windows = {some[at : at + 8] for some in released for at in range(len(some) - 7)}
    return sum(any(row[at : at + 8] in windows for at in range(len(row) - 7)) for row in rows)
