"""What a mechanism's code reveals, as a rational: found by running it, not by its word for it.

The leakage is the largest ratio of the probabilities of one output under two values, the device's
setup known; a mechanism keeps its promise if it is at most e^epsilon. It is found for the
permanent response and for one report, from the draws that the code asks for:

* where the tree of choices is small, by every branch of the code;
* for independent bits, draw by draw (:mod:`.bits`): 2^k leaves, but k draws;
* for sets of a fixed size, from the one draw that decides on the true symbol, and by counting
  the sets, whose uniformity is checked by every branch of a smaller mechanism of the same code;
* for sets filled up with dummies, from the draw that decides whether the response meets them
  (:mod:`.padded`), in the same way;
* for one symbol of many, by every branch for as many values as there is time for;
* where one epsilon covers all periods, of all reports together (:mod:`.horizons`).

What must never change: nothing here reads ``Mechanism.law``, ``p``, ``q`` or a threshold; ``by``
says how a number was found, and where none was found it is None.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ..draws import Draws
from ..exact import SCALE
from ..mechanisms.base import Mechanism
from ..mechanisms.dyadic import Dyadic
from ..mechanisms.privset import PrivSet
from ..response import Response
from .bits import BitLaws, NotIndependent, patterns, read_bits
from .branches import TooManyBranches, outcomes
from .horizons import walk_horizon
from .padded import read_padded_sets
from .sets import read_sets
from .symbols import walk_symbols
from .walks import (
    Allowance,
    Keys,
    Leakage,
    Ratio,
    Unclear,
    composed,
    keys_of,
    largest_ratio,
    most_of,
    spread,
)

_LEAVES = 20_000
_MANY_LAWS = 40_000
_MEMOS = 20_000
_ASSIGNED = 1 << 17
_FEW_SETUPS = 4
_MANY_DRAWS = 1_000_000
_FLIPS = 32


def leakage(mechanism: Mechanism) -> Leakage:
    """Return what the permanent response and one report reveal, found by running the code.

    Takes seconds for any k; below a dozen values, milliseconds.
    """
    try:
        if isinstance(mechanism, Dyadic):
            return walk_horizon(mechanism)
        setups = _setups(mechanism)
        try:
            every = keys_of(mechanism, spread(setups, _MEMOS // mechanism.k + 1), len(setups))
            if every.complete:
                return _every_branch(mechanism, every)
        except TooManyBranches:
            pass
        some = spread(setups, _affordable(mechanism))
        return _read(mechanism, keys_of(mechanism, some, len(setups)))
    except TooManyBranches:
        return Leakage(None, None, "not found: too many branches")
    except (NotIndependent, Unclear) as exc:
        return Leakage(None, None, f"not found: {exc}")
    except AttributeError:
        return Leakage(None, None, "not found: the code asks its draws for what they do not offer")


def _read(mechanism: Mechanism, keys: Keys) -> Leakage:
    """Find the leakage where not every branch can be visited."""
    weight = mechanism.shape.weight
    if isinstance(mechanism, PrivSet):
        return read_padded_sets(mechanism, keys)
    if mechanism.shape.kind == "symbol":
        return walk_symbols(mechanism, keys)
    return _bits(mechanism, keys) if weight is None else read_sets(mechanism, keys, weight)


def _setups(mechanism: Mechanism) -> Sequence[int]:
    """Return the setups there are, in order.

    Where too many draws lead to them, and a setup is the row of a response: all rows.
    """
    try:
        return sorted(outcomes(mechanism.assign, _ASSIGNED))
    except TooManyBranches:
        if mechanism.shape.rows == 1:
            raise
        return range(mechanism.shape.rows)


def _affordable(mechanism: Mechanism) -> int:
    """Return in how many setups every value's law can be read soon."""
    width = mechanism.shape.width
    laws = min(mechanism.k, width) if mechanism.shape.kind == "symbol" else mechanism.k
    return max(_FEW_SETUPS, min(_MEMOS // mechanism.k, _MANY_LAWS // (laws * width)))


def _every_branch(mechanism: Mechanism, keys: Keys) -> Leakage:
    """Enumerate every output of every memo key in every setup."""
    allowance = Allowance(_LEAVES)
    permanent: list[Ratio] = []
    report: list[Ratio] = []
    for setup, memos in keys.by_setup.items():
        laws = [allowance.walk(partial(mechanism.permanent, setup, memo)) for memo in memos]
        outputs = {output for law in laws for output in law}
        again = {s: allowance.walk(partial(mechanism.instant, s)) for s in outputs}
        permanent.append(largest_ratio(laws))
        report.append(largest_ratio(composed(laws, again)))
    return Leakage(most_of(permanent), most_of(report), "every branch of the code")


def _bits(mechanism: Mechanism, keys: Keys) -> Leakage:
    """Read the chance of every bit from the draw that decides it."""
    width = mechanism.shape.width
    permanent: list[Ratio] = []
    report: list[Ratio] = []
    attained = every = True
    tried = ""
    for setup, memos in keys.by_setup.items():
        thorough = set(spread(memos, max(4, _MANY_DRAWS // (width * (width + _FLIPS)))))
        tried = f", tried on {len(thorough)} of {len(memos)} values"
        every = every and len(thorough) == len(memos)
        first = BitLaws(SCALE)
        for memo in memos:
            draw = _in_row(mechanism, setup, partial(mechanism.permanent, setup, memo))
            first.add(read_bits(draw, width, thorough=memo in thorough))
        again = first.through(*_second_round(mechanism, setup))
        for laws, ratios in ((first, permanent), (again, report)):
            ratio, exact = laws.largest_ratio()
            ratios.append(ratio)
            attained = attained and exact
    tried = "" if every else tried
    by = f"draw by draw: each decides one bit{tried}{keys.words}"
    by += "" if attained else "; at most"
    return Leakage(most_of(permanent), most_of(report), by)


def _second_round(mechanism: Mechanism, setup: int) -> tuple[list[int], list[int]]:
    """Return the chances over 2^64 that bits of a report are set, if remembered set and if not.

    Raises
    ------
    NotIndependent
        If what becomes of one bit depends on another.
    """
    width = mechanism.shape.width
    row = setup if mechanism.shape.rows > 1 else 0

    def chances(mask: int) -> list[int]:
        draw = _in_row(mechanism, setup, partial(mechanism.instant, Response(mask, row)))
        return read_bits(draw, width, thorough=True)

    full = (1 << width) - 1
    ones, zeros = chances(full), chances(0)
    for mask in patterns(width, 4):
        mixed = [(ones if mask >> bit & 1 else zeros)[bit] for bit in range(width)]
        if chances(mask) != mixed:
            raise NotIndependent("the second round of one bit depends on another")
    return ones, zeros


def _in_row(
    mechanism: Mechanism, setup: int, draw: Callable[[Draws], Response]
) -> Callable[[Draws], Response]:
    """Return ``draw``, refusing a response in any other row than the device's."""
    row = setup if mechanism.shape.rows > 1 else 0

    def checked(draws: Draws) -> Response:
        response = draw(draws)
        if response.row != row:
            raise Unclear("a response names another row than the device's")
        return response

    return checked
