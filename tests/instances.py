"""Small instances of every mechanism: few outputs, few setups, and what they are asked about."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

from deniable.protocol.mechanisms import MECHANISMS, NO_OPTIONS, Mechanism, Options, build
from deniable.protocol.mechanisms.hcms import HCMS
from deniable.protocol.mechanisms.pem import PEM
from deniable.protocol.mechanisms.privset import PrivSet
from deniable.protocol.mechanisms.rows import bucket
from deniable.protocol.mechanisms.sketch import Sketch
from deniable.protocol.text_form import base_of

DOMAINS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "rappor": (2, 3),
        "privset": (2, 3, 4),
        "cms": (2, 4),
        "hcms": (2, 4),
        "pem": (2, 3),
        "trajectory": (2,),
    }
)
"""Of 2, 3 and 5 where nothing is said."""

_OPTIONS: Mapping[str, Options] = MappingProxyType(
    {
        "rappor": {"bits": 4, "hashes": 1, "cohorts": 2},
        "privset": {"items": 2},
        "cms": {"rows": 2},
        "hcms": {"rows": 2},
        "pem": {"letters": 1, "length": 2, "first": 1, "step": 1, "rows": 2},
        "trajectory": {"periods": 4, "changes": 2},
        "counter": {"periods": 4},
    }
)

_SIZED = MappingProxyType({"cms": "width", "hcms": "width", "pem": "g"})
"""By which option k is chosen."""


def options(name: str, k: int, *, all_of_them: bool = True) -> Options:
    """Return what makes a mechanism small; or what it cannot be built without."""
    if all_of_them:
        sized = {_SIZED[name]: k} if name in _SIZED else {}
        return {**_OPTIONS.get(name, NO_OPTIONS), **sized}
    return {one: _OPTIONS[name][one] for one in MECHANISMS[name].given}


def small(name: str, k: int, epsilon: Decimal, first: Decimal | None = None) -> Mechanism:
    """Return a mechanism over k symbols, or buckets, with few outputs."""
    return build(name, k, epsilon, first, options(name, k))


def usual(name: str, k: int, epsilon: Decimal, first: Decimal | None = None) -> Mechanism:
    """Return a mechanism that chooses for itself what it can."""
    return build(name, k, epsilon, first, options(name, k, all_of_them=False))


def domains(name: str) -> tuple[int, ...]:
    """Return the k of small instances."""
    return DOMAINS.get(name, (2, 3, 5))


def domain(mechanism: Mechanism) -> range:
    """Return the encoded values there are: all sets, all texts of a form, or some texts."""
    if mechanism.asks == "set":
        return range(1 << mechanism.k)
    if isinstance(mechanism, PEM):
        return range(base_of(mechanism.letters) ** mechanism.length)
    if mechanism.asks == "text":
        return range(5)
    return range(mechanism.k)


def answers(mechanism: Mechanism) -> list[int]:
    """Return the values that are answered as they are: no set with too many items."""
    every = domain(mechanism)
    if isinstance(mechanism, PrivSet):
        return [value for value in every if value.bit_count() <= mechanism.items]
    return list(every)


def asked(mechanism: Mechanism) -> range:
    """Return what the frequency of can be asked for: of sets, that of every item and dummy."""
    return range(mechanism.symbols) if isinstance(mechanism, PrivSet) else domain(mechanism)


def truth(mechanism: Mechanism, setup: int, value: int, symbol: int) -> Fraction:
    """Return with which probability a report is made of a symbol, if a device has a value.

    Of a set with more than m items it is made of m of them; of texts in one bucket, of all.
    """
    if isinstance(mechanism, PrivSet):
        size = value.bit_count()
        if size <= mechanism.items:
            return Fraction(mechanism.padded(value) >> symbol & 1)
        return Fraction((value >> symbol & 1) * mechanism.items, size)
    if isinstance(mechanism, Sketch):
        return Fraction(len({_bucket(mechanism, setup, text) for text in (value, symbol)}) == 1)
    return Fraction(value == symbol)


def hash_row(mechanism: Mechanism, setup: int) -> int:
    """Return what setups have in common whose devices have the same collisions of texts."""
    if isinstance(mechanism, HCMS):
        return setup // mechanism.width
    return setup if isinstance(mechanism, Sketch) else 0


def _bucket(mechanism: Sketch, setup: int, text: int) -> int:
    family, number = mechanism.name, hash_row(mechanism, setup)
    if isinstance(mechanism, PEM):
        text = mechanism.prefix(text, mechanism.level(setup))
    return bucket(family, number, text, mechanism.k)
