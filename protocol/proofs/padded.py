"""Sets filled up with dummies: what is read from the draw that decides whether they are met.

There are too many responses to walk. Those that meet the padded set of an answer, and those that do
not, are seen to be alike by every branch of the same code over fewer values; how many there are is
counted. What must never change: what does not look like that is refused.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial

from ..exact import SCALE
from ..mechanisms.privset import PrivSet
from ..response import Response
from .bits import Script, patterns
from .branches import outcomes
from .walks import Keys, Leakage, Unclear, keys_of, largest_ratio, spread

_VALUES, _ITEMS, _WEIGHT = 4, 2, 3


def read_padded_sets(mechanism: PrivSet, keys: Keys) -> Leakage:
    """Read the chance to meet from its draw; all responses that meet are alike, and all others."""
    (memos,) = keys.by_setup.values()
    _require_alike_over_few_values(mechanism)
    asked = {_chance_to_meet(mechanism, memo) for memo in spread(memos, 64)}
    if len(asked) > 1:
        raise Unclear("values are not treated alike")
    chance, (meets, misses) = asked.pop(), _counted(mechanism)
    hit, miss = Fraction(chance, SCALE) / meets, Fraction(SCALE - chance, SCALE) / misses
    ratio = max(hit / miss, miss / hit) if hit and miss else None
    few = min(mechanism.k, _VALUES)
    by = f"draw by draw: one decides whether the set is met, responses are counted as over {few}"
    return Leakage(ratio, ratio, f"{by} values{keys.words}")


def _counted(mechanism: PrivSet) -> tuple[int, int]:
    """Return how many responses meet a padded set, and how many do not."""
    misses = math.comb(mechanism.k, mechanism.weight)
    return math.comb(mechanism.k + mechanism.items, mechanism.weight) - misses, misses


def _chance_to_meet(mechanism: PrivSet, memo: bytes) -> int:
    """Return the threshold of the one draw that decides whether the response meets the set.

    Of a set with too many values, of which some are drawn first, only that this is the one draw.
    """
    answer = int(memo, 16)
    thresholds = set()
    for number, coins in enumerate(patterns(64, 32)):
        script = Script(coins, spread=True)
        out = mechanism.permanent(0, memo, script).out
        if len(script.asked) != 1 or out.bit_count() != mechanism.weight:
            raise Unclear("the response is not drawn as one that meets the set or does not")
        if answer.bit_count() <= mechanism.items and not _agrees(mechanism, answer, out, coins & 1):
            raise Unclear("the first draw does not decide whether the set is met")
        again = Script(number)
        if mechanism.instant(Response(out), again) != Response(out) or again.asked:
            raise Unclear("there is a second round")
        thresholds.add(script.asked[0])
    if len(thresholds) > 1:
        raise Unclear("the chance to meet the set depends on a draw")
    return thresholds.pop()


def _agrees(mechanism: PrivSet, answer: int, out: int, meets: int) -> bool:
    return bool(out & _padded(answer, mechanism.k, mechanism.items)) == bool(meets)


def _padded(answer: int, k: int, items: int) -> int:
    """Fill an answer of s values up with the dummies s, s+1, .., items-1, which follow the k."""
    return answer | sum(1 << k + dummy for dummy in range(answer.bit_count(), items))


def _require_alike_over_few_values(mechanism: PrivSet) -> None:
    """Walk every branch of the same code over few values, and compare all responses.

    Of a set with too many values too: it reveals no more than those that it is drawn from.
    """
    k = min(mechanism.k, _VALUES)
    items, weight = min(mechanism.items, _ITEMS), min(mechanism.weight, _WEIGHT, k)
    twin = replace(mechanism, k=k, items=items, weight=weight)
    laws, whole = {}, math.comb(k + items, weight)
    for memo in keys_of(twin, [0], 1).by_setup[0]:
        laws[int(memo, 16)] = law = outcomes(partial(twin.permanent, 0, memo))
        if len(law) != whole:
            raise Unclear("some responses are never drawn")
    kept = {answer: law for answer, law in laws.items() if answer.bit_count() <= items}
    for answer, law in kept.items():
        for meets in (False, True):
            inside = _padded(answer, k, items)
            if len({mass for y, mass in law.items() if bool(y.out & inside) == meets}) != 1:
                raise Unclear("responses that meet the set are not alike, or those that do not")
    if largest_ratio(list(laws.values())) != largest_ratio(list(kept.values())):
        raise Unclear("a set with too many values reveals more than those drawn from it")
