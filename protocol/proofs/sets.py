"""Sets of a fixed size: the chance of the true symbol from its draw, the others by counting.

There are too many sets to walk. A uniform one of m of n symbols takes draws whose possibilities
multiply to m! C(n, m), and is seen to be uniform on a smaller mechanism of the same code. What
must never change: what does not look like that is refused.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

from ..exact import SCALE
from ..mechanisms.base import Mechanism
from ..response import Response
from .bits import Script, patterns
from .branches import outcomes
from .walks import Keys, Leakage, Unclear, keys_of, spread


def read_sets(mechanism: Mechanism, keys: Keys, weight: int) -> Leakage:
    """Read the chance of the true symbol from its draw; all sets that agree on it are alike."""
    (memos,) = keys.by_setup.values()
    k = mechanism.k
    twin = _require_uniform_twin(mechanism, weight)
    true = {_true_symbol(mechanism, memo, weight) for memo in spread(memos, 32)}
    if len(true) > 1:
        raise Unclear("values are not treated alike")
    threshold = true.pop()
    hit = Fraction(threshold, SCALE) / math.comb(k - 1, weight - 1)
    miss = Fraction(SCALE - threshold, SCALE) / math.comb(k - 1, weight)
    ratio = max(hit / miss, miss / hit) if hit and miss else None
    by = f"draw by draw: one decides on the true symbol, sets are counted as over {twin} symbols"
    return Leakage(ratio, ratio, by)


def _true_symbol(mechanism: Mechanism, memo: bytes, weight: int) -> int:
    """Return the threshold of the draw that decides whether the true symbol is in the set."""
    others = mechanism.k - 1
    thresholds = set()
    for number, coins in enumerate(patterns(64, 32)):
        script = Script(coins, spread=True)
        out = mechanism.permanent(0, memo, script).out
        inside = bool(coins & 1)
        drawn = math.prod(script.below_asked)
        sets = math.comb(others, weight - inside) * math.factorial(weight - inside)
        if len(script.asked) != 1 or drawn != sets or out.bit_count() != weight:
            raise Unclear("the set is not drawn as a uniform one would be")
        if bool(out >> int(memo) & 1) != inside:
            raise Unclear("the first draw does not decide on the true symbol")
        again = Script(number)
        if mechanism.instant(Response(out), again) != Response(out) or again.asked:
            raise Unclear("there is a second round")
        thresholds.add(script.asked[0])
    if len(thresholds) > 1:
        raise Unclear("the chance of the true symbol depends on a draw")
    return thresholds.pop()


def _require_uniform_twin(mechanism: Mechanism, weight: int) -> int:
    """Walk every branch of the same code over fewer symbols: sets that agree must be alike.

    Returns
    -------
    int
        Over how many.
    """
    k = min(mechanism.k, 7)
    twin = replace(mechanism, k=k, weight=min(weight, 3))  # type: ignore[type-var]
    for memo in keys_of(twin, [0], 1).by_setup[0]:
        law = outcomes(partial(twin.permanent, 0, memo))
        for inside in (0, 1):
            masses = {mass for y, mass in law.items() if y.out >> int(memo) & 1 == inside}
            if len(masses) != 1:
                raise Unclear("sets that agree on the true symbol are not alike")
        if len(law) != math.comb(k, twin.shape.weight or 0):
            raise Unclear("some sets are never drawn")
    return k
