"""The nearest distribution: what projects onto the simplex, for steps and searches alike."""

from __future__ import annotations

from collections.abc import Sequence


def project(frequencies: Sequence[float]) -> tuple[float, ...]:
    """Return the nearest distribution, ``max(f_i + d, 0)``.

    The d is that of the largest m frequencies, for the largest m that leaves all m positive. One
    always does, so nothing is divided by zero even where every frequency is negative. All are
    measured from the largest, which moves the d alone and keeps the digits of huge ones.
    """
    top = max(frequencies)
    below = [f - top for f in frequencies]
    shift, total = 1.0, 0.0
    for m, distance in enumerate(sorted(below, reverse=True), start=1):
        total += distance
        if distance + (1.0 - total) / m <= 0:
            break
        shift = (1.0 - total) / m
    return tuple(max(distance + shift, 0.0) for distance in below)
