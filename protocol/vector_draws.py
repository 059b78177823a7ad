"""Known answers below the mechanisms: keyed words, uniform integers, fields and hash buckets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

from .draws import KeyedDraws, PublicDraws
from .errors import ParameterError
from .exact import SCALE
from .mechanisms.galois import field
from .mechanisms.olh import OLH
from .vector_survey import survey

SECRETS: Final = (
    bytes(range(32)),
    b"\xff" * 32,
    hashlib.sha256(b"deniable test vectors").digest(),
)


def words() -> Iterator[dict[str, Any]]:
    """Yield more words than one HMAC has, and fields whose borders differ only."""
    for secret in SECRETS:
        for fields in (["setup"], ["se", "tup"], ["", "é", "1", ""]):
            drawn = KeyedDraws(secret, *(one.encode() for one in fields))
            yield {"secret": secret.hex(), "fields": fields, "words": take(drawn, 9)}


def take(drawn: KeyedDraws | PublicDraws, count: int) -> list[str]:
    """Return the next words as 16 hex digits each; every integer below 2^64 is one word."""
    return [f"{drawn.below(SCALE):016x}" for _ in range(count)]


def below() -> Iterator[dict[str, Any]]:
    """Yield uniform integers, and the word from which on words are drawn again."""
    for n in (1, 2, 3, 10, 255, 4096, 2**53 - 1):
        limit = SCALE - SCALE % n
        secret, fields = SECRETS[0], ["below", str(n)]
        encoded = [one.encode() for one in fields]
        drawn = KeyedDraws(secret, *encoded)
        yield {
            "n": n,
            "limit": str(limit),
            "secret": secret.hex(),
            "fields": fields,
            "drawn": [drawn.below(n) for _ in range(5)],
        }


def field_tables(g: int) -> dict[str, Any]:
    """Return the modulus, and sums and products of up to nine elements, the last ones included."""
    elements = sorted({*range(min(g, 5)), *range(max(0, g - 4), g)})
    gf = field(g)
    return {
        "g": g,
        "modulus": list(gf.modulus),
        "elements": elements,
        "sums": [[gf.add(x, y) for y in elements] for x in elements],
        "products": [[gf.multiply(x, y) for y in elements] for x in elements],
    }


def buckets() -> Iterator[dict[str, Any]]:
    """Yield the bucket of every symbol, row by row."""
    for name in ("prime", "prime_twice", "power", "power_twice", "one_row"):
        olh = survey().questions[name].mechanism
        if not isinstance(olh, OLH):
            raise ParameterError(f"{name}: hash buckets are olh's")
        rows = [[olh.bucket(row, symbol) for symbol in range(olh.k)] for row in range(olh.rows)]
        yield {"question": name, "digits": olh.digits, "rows": rows}
