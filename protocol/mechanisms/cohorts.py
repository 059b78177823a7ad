"""How many bits and cohorts RAPPOR has: what is chosen, and what is refused.

What must never change: the sizes chosen for given parameters. They decide the filters and so the
permanent responses of a survey whose author left the choice.
"""

from __future__ import annotations

import math
from fractions import Fraction

from ..errors import ParameterError
from ..limits import MAX_CELLS

MOST_BITS = 1024
MOST_COHORTS = 4096

_FEWEST_BITS = 8
_FEWEST_COHORTS = 8
_ROOM = 8
"""Bits of all cohorts for each symbol, where that many fit into a tally."""

_MOST_FILTERS = 1 << 20
"""Filters times hashes that the analyst may have to compute."""


def sizes(
    k: int, hashes: int, noise: Fraction, bits: int | None, cohorts: int | None
) -> tuple[int, int]:
    """Return (bits, cohorts), choosing what is None.

    Parameters
    ----------
    k, hashes : int
    noise : Fraction
        n times the variance of a frequency if no filters collided.
    bits, cohorts : int or None
        As the author asks.

    Raises
    ------
    ParameterError
        If k frequencies cannot be told from these, or no tally can hold them.
    """
    if bits is None:
        bits = _choose_bits(k, hashes, noise, cohorts)
    if cohorts is None:
        cohorts = _choose_cohorts(k, bits, hashes)
    _require(k, bits, hashes, cohorts)
    return bits, cohorts


def _choose_bits(k: int, hashes: int, noise: Fraction, cohorts: int | None) -> int:
    """Return the least power of two that leaves little to collisions, or what a tally can hold.

    Collisions add 1/(m-1) to the variance; at most a tenth of the noise if m > 10/noise.
    """
    wanted = max(_FEWEST_BITS, 2 * hashes, -(-k // 8), min(2 * k, math.ceil(10 / noise)))
    most = MOST_BITS
    if cohorts is not None:
        wanted = max(wanted, -(-_ROOM * k // cohorts))
        most = min(most, MAX_CELLS // cohorts - 1)
    return min(1 << (wanted - 1).bit_length(), most)


def _choose_cohorts(k: int, bits: int, hashes: int) -> int:
    """Return the fewest that leave room for k frequencies, or as many as are allowed."""
    wanted = max(_FEWEST_COHORTS, -(-_ROOM * k // bits))
    return min(wanted, MAX_CELLS // (bits + 1), _MOST_FILTERS // (k * hashes))


def _require(k: int, bits: int, hashes: int, cohorts: int) -> None:
    """Refuse filters from which k frequencies cannot be told, or that no tally can hold."""
    if bits < 2 * hashes:
        raise ParameterError(
            f"bits must be at least twice hashes ({hashes}), or filters overlap always: {bits}"
        )
    if cohorts * (bits + 1) > MAX_CELLS:
        raise ParameterError(
            f"cohorts x (bits + 1) must be at most {MAX_CELLS} cells of a tally; set fewer of "
            f"either: {cohorts} x {bits + 1}"
        )
    if k * cohorts * hashes > _MOST_FILTERS:
        raise ParameterError(
            f"cohorts must be at most {_MOST_FILTERS // (k * hashes)} for {k} values and {hashes} "
            f"hashes; set more bits instead: {cohorts}"
        )
    if cohorts * (bits - 1) < k:
        raise ParameterError(
            f"cohorts x (bits - 1) must be at least the {k} values to tell apart; set more of "
            f"either: {cohorts} x {bits - 1}"
        )
