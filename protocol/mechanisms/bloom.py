"""The Bloom filters of RAPPOR: which bits a symbol sets in a cohort.

They are public and the same on every device: nothing but the cohort and the symbol goes in, so a
report tells of its device no more than its cohort and its bits. What must never change: the
positions for given numbers. The filter is what a device's permanent response is remembered
under; another filter after an upgrade would be a second response, and spend epsilon twice.

References
----------
Bloom. Space/time trade-offs in hash coding with allowable errors. CACM 1970.
"""

from __future__ import annotations

from ..draws import PublicDraws


def positions(cohort: int, symbol: int, bits: int, hashes: int) -> tuple[int, ...]:
    """Return the bits that a symbol sets: ``hashes`` different ones of ``bits``.

    They are uniform draws from the public stream of ("bloom", cohort, symbol), both in decimal;
    a bit that was drawn before is drawn again, so every filter has exactly as many bits set.

    >>> positions(0, 0, 8, 2), positions(1, 0, 8, 2)
    ((6, 7), (2, 7))
    """
    draws = PublicDraws(b"bloom", str(cohort).encode(), str(symbol).encode())
    found: list[int] = []
    while len(found) < hashes:
        at = draws.below(bits)
        if at not in found:
            found.append(at)
    return tuple(found)


def bloom_filter(cohort: int, symbol: int, bits: int, hashes: int) -> int:
    """Return the filter as a mask: bit i is 1 << i."""
    return sum(1 << at for at in positions(cohort, symbol, bits, hashes))
