"""Named steps that make estimates consistent, at the price of bias. None happens by itself.

Each takes raw frequencies and returns as many. A raw estimate is unbiased and may be negative;
every step but ``none`` trades that for values that look like frequencies, so the standard error
and the interval beside a processed estimate remain those of the raw one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

from deniable.protocol.errors import ParameterError

PostProcess = Literal["none", "clip", "norm-sub", "simplex"]


def post_process(frequencies: Sequence[float], how: str) -> tuple[float, ...]:
    """Return frequencies made consistent by the step ``how``.

    ``none``
        as they are;
    ``clip``
        each to the nearest number in [0, 1]; their sum may differ from 1;
    ``norm-sub``
        ``max(f_i + d, 0)`` with the one d that makes them sum to 1;
    ``simplex``
        the distribution at the least Euclidean distance. It is the same point as ``norm-sub``
        [1]_; both names are in use.

    Parameters
    ----------
    frequencies : sequence of float
        One for each value of a question, finite, negative ones included.
    how : str

    Returns
    -------
    tuple of float
        In the same order.

    Raises
    ------
    ParameterError
        If ``how`` names no step.

    References
    ----------
    .. [1] Wang, Lopuhaä-Zwakenberg, Li, Skoric, Li. Locally differentially private frequency
       estimation with consistency. NDSS 2020.

    Examples
    --------
    >>> post_process([0.7, 0.5, -0.1], "clip")
    (0.7, 0.5, 0.0)
    >>> [round(f, 3) for f in post_process([0.7, 0.5, -0.1], "norm-sub")]
    [0.6, 0.4, 0.0]
    >>> [round(f, 3) for f in post_process([-0.1, -0.2], "norm-sub")]
    [0.55, 0.45]
    """
    if how not in STEPS:
        raise ParameterError(f"post_process must be one of {', '.join(STEPS)}: {how}")
    return STEPS[how](frequencies)


def clip(frequencies: Sequence[float]) -> tuple[float, ...]:
    """Move each frequency to the nearest in [0, 1]."""
    return tuple(min(1.0, max(0.0, f)) for f in frequencies)


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


STEPS: Final[Mapping[str, Callable[[Sequence[float]], tuple[float, ...]]]] = {
    "none": tuple,
    "clip": clip,
    "norm-sub": project,
    "simplex": project,
}
"""Every step there is."""
