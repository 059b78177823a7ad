"""One symbol of many: every branch of the code, for as many values as there is time for.

A symbol of 4096 has 4096 branches for each of 4096 values. The values that are walked lie evenly
over the domain, its ends included, so that the farthest are among them. What must never change:
how many were walked is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

from ..mechanisms.base import Law, Mechanism
from ..response import Response
from .branches import outcomes
from .walks import Allowance, Keys, Leakage, Ratio, Unclear, largest_ratio, most_of, spread

_MANY_LEAVES = 80_000


def walk_symbols(mechanism: Mechanism, keys: Keys) -> Leakage:
    """Enumerate the outputs of as many values as there is time for, the ends of the domain first.

    A second round must keep a symbol with one probability and give every other with another:
    then a report has the law ``miss + (hit - miss) P``, where P is that of the permanent.
    """
    allowance = Allowance(_MANY_LEAVES)
    permanent: list[Ratio] = []
    report: list[Ratio] = []
    walked = most = 0
    hit, again = Fraction(1), mechanism.shape.width
    for setup, memos in keys.by_setup.items():
        share = Allowance(allowance.leaves // (len(keys.by_setup) - len(permanent)))
        laws = _some_laws(mechanism, setup, memos, share)
        allowance.leaves -= _MANY_LEAVES // len(keys.by_setup) - share.leaves
        permanent.append(largest_ratio(laws))
        symbols = spread(range(mechanism.shape.width), max(8, _MANY_LEAVES // (4 * len(laws[0]))))
        hit, miss = _kept_or_moved(mechanism, setup, symbols)
        blurred = [{y: miss + (hit - miss) * mass for y, mass in law.items()} for law in laws]
        report.append(largest_ratio(blurred))
        walked, most = max(walked, len(laws)), max(most, len(memos))
        again = min(again, len(symbols))
    which = "" if walked == most else f" for {walked} of {most} values"
    if hit < 1 and again < mechanism.shape.width:
        which += f", the second round for {again} of {mechanism.shape.width} symbols"
    by = f"every branch of the code{which}{keys.words}"
    return Leakage(most_of(permanent), most_of(report), by)


def _some_laws(
    mechanism: Mechanism, setup: int, memos: Sequence[bytes], allowance: Allowance
) -> list[Law]:
    """Walk at least two values, and then those that lie between as long as it is allowed."""
    before = allowance.leaves
    first = Allowance(max(before, 4 * mechanism.shape.width)).walk(
        partial(mechanism.permanent, setup, memos[0])
    )
    cost = 2 * len(first)
    some = spread(memos[1:], max(1, before // cost - 1))
    allowance.leaves -= cost * (1 + len(some))
    return [first, *(outcomes(partial(mechanism.permanent, setup, memo)) for memo in some)]


def _kept_or_moved(
    mechanism: Mechanism, setup: int, symbols: Sequence[int]
) -> tuple[Fraction, Fraction]:
    """Return (hit, miss) of the second round: (1, 0) if there is none.

    Raises
    ------
    Unclear
        If it is not the same two for all of these symbols.
    """
    width = mechanism.shape.width
    found = set()
    for symbol in symbols:
        kept = Response(symbol, setup if mechanism.shape.rows > 1 else 0)
        law = dict(outcomes(partial(mechanism.instant, kept)))
        hit = law.pop(kept, Fraction(0))
        others = set(law.values()) or {Fraction(0)}
        if len(others) > 1 or (law and len(law) != width - 1):
            raise Unclear("the second round does not treat other symbols alike")
        found.add((hit, others.pop()))
    if len(found) > 1:
        raise Unclear("the second round does not treat symbols alike")
    return found.pop()
