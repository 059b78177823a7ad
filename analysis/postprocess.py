"""Named steps that make estimates consistent, at the price of bias. None happens by itself.

Each takes raw frequencies and returns as many. A raw estimate is unbiased and may be negative;
every step but ``none`` trades that for values that look like frequencies, so the standard error
and the interval beside a processed estimate remain those of the raw one. A step of
:data:`MODEL_STEPS` looks at the counts themselves instead of the raw frequencies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import Mechanism

from .bloom import nonnegative
from .decode import Supports
from .em import maximum_likelihood
from .simplex import project

PostProcess = Literal["none", "clip", "norm-sub", "simplex", "em", "nnls"]

Counted = Sequence[int] | Supports
"""What was counted: the cells of a tally, or only how many reports support each symbol."""


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
        [1]_; both names are in use;
    ``em``
        the distribution that makes the counts most probable; only where they are at hand, see
        :func:`deniable.analysis.em.maximum_likelihood`;
    ``nnls``
        the non-negative frequencies that fit the bits of Bloom filters best; for rappor only,
        see :func:`deniable.analysis.bloom.nonnegative`.

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
        If ``how`` names no step, or one that needs the counts.

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
    require_step(how)
    if how in MODEL_STEPS:
        raise ParameterError(f"post_process {how} needs the counts; ask estimate or debias for it")
    return STEPS[how](frequencies)


def require_step(how: str) -> None:
    """Refuse what names no step.

    Raises
    ------
    ParameterError
        If ``how`` names none.
    """
    if how not in NAMES:
        raise ParameterError(f"post_process must be one of {', '.join(NAMES)}: {how}")


def process(
    mechanism: Mechanism, counted: Counted, frequencies: Sequence[float], how: str
) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Return frequencies made consistent by any step, and remarks for the reader.

    Parameters
    ----------
    mechanism : Mechanism
    counted : sequence of int, or Supports
        For a step that looks at the counts.
    frequencies : sequence of float
        The raw ones, for every other.
    how : str

    Raises
    ------
    ParameterError
        If ``how`` names no step, or none for this mechanism.
    """
    require_step(how)
    if how not in MODEL_STEPS:
        return STEPS[how](frequencies), ()
    made, remark = MODEL_STEPS[how](mechanism, counted)
    return made, (remark,)


def clip(frequencies: Sequence[float]) -> tuple[float, ...]:
    """Move each frequency to the nearest in [0, 1]."""
    return tuple(min(1.0, max(0.0, f)) for f in frequencies)


STEPS: Final[Mapping[str, Callable[[Sequence[float]], tuple[float, ...]]]] = {
    "none": tuple,
    "clip": clip,
    "norm-sub": project,
    "simplex": project,
}
"""Every step that looks at raw frequencies."""

ModelStep = Callable[[Mechanism, Counted], tuple[tuple[float, ...], str]]

MODEL_STEPS: Final[Mapping[str, ModelStep]] = {
    "em": maximum_likelihood,
    "nnls": nonnegative,
}
"""Every step that looks at the counts; each says in a remark what it did."""

NAMES: Final = (*STEPS, *MODEL_STEPS)
"""Every step there is."""
