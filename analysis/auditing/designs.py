"""Smaller designs of a mechanism: the same over so few values that all reports can be listed.

What must never change: the epsilons are those of the mechanism.
"""

from __future__ import annotations

from collections.abc import Iterator

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import Mechanism, build
from deniable.protocol.mechanisms.base import Options
from deniable.protocol.mechanisms.dyadic import Dyadic
from deniable.protocol.mechanisms.pem import PEM

SMALL_K = 3
"""Over more values than that, the same design over fewer is enumerated."""

_SMALL_FILTERS: Options = {"bits": 4, "hashes": 1}
"""Options that leave the filters of RAPPOR small enough."""

_SMALL_SETS: Options = {"items": 1}
_SMALL_PREFIXES: Options = {"letters": 50, "length": 1, "first": 1, "rows": 1}


def designs(mechanism: Mechanism) -> Iterator[Mechanism]:
    """Yield the mechanism if it is small, then the same over 3 and over 2 values.

    None of a horizon, whose reports are walked all together, by the code itself.
    """
    if isinstance(mechanism, Dyadic):
        return
    if mechanism.k <= SMALL_K and mechanism.asks != "text":
        yield mechanism
    for k in range(min(SMALL_K, mechanism.k), 1, -1):
        for options in _options(mechanism, k):
            try:
                yield build(mechanism.name, k, mechanism.epsilon, mechanism.epsilon_first, options)
            except ParameterError:
                continue


def _options(mechanism: Mechanism, k: int) -> Iterator[Options]:
    """Yield options to try over k values, or buckets of a text in one row."""
    if isinstance(mechanism, PEM):
        yield {**_SMALL_PREFIXES, "g": k}
    elif mechanism.asks == "text":
        yield {"rows": 1, "width": k}
    else:
        yield from (mechanism.chosen, {}, _SMALL_SETS, _SMALL_FILTERS)
