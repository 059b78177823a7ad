"""Every mechanism by its name, and how one is built.

To add a mechanism: write its module, add its class to ``MECHANISMS``. Wire form, folding,
collection and proofs come with its shape; a new decoder goes to the analysis.
"""

from __future__ import annotations

from decimal import Decimal

from ..errors import ParameterError
from .base import NO_OPTIONS, Asks, Mechanism, Options
from .dbitflip import DBitFlip
from .grr import GRR
from .hadamard import HadamardResponse
from .olh import OLH
from .one_bit import OneBitMean
from .oue import OUE
from .piecewise import Piecewise
from .rappor import Rappor
from .square_wave import SquareWave
from .subset import SubsetSelection
from .sue import SUE

MECHANISMS: dict[str, type[Mechanism]] = {
    cls.name: cls
    for cls in (
        GRR,
        SUE,
        OUE,
        OLH,
        SubsetSelection,
        HadamardResponse,
        Rappor,
        DBitFlip,
        OneBitMean,
        Piecewise,
        SquareWave,
    )
}
"""Every mechanism a survey may name."""


def named(asks: Asks) -> tuple[str, ...]:
    """Return the names of the mechanisms for one kind of question."""
    return tuple(name for name, cls in MECHANISMS.items() if cls.asks == asks)


def build(
    name: str,
    k: int,
    epsilon: Decimal,
    epsilon_first: Decimal | None = None,
    options: Options = NO_OPTIONS,
) -> Mechanism:
    """Return the mechanism ``name`` with its exact thresholds.

    Parameters
    ----------
    name : str
        One of :data:`MECHANISMS`.
    k : int
        Domain size, at least 2.
    epsilon : Decimal
        Permanent loss for an unchanging value, positive and at most 44.
    epsilon_first : Decimal, optional
        Loss of one report, less than ``epsilon``; adds a second, fresh round.
    options : mapping of str to int, optional
        What the mechanism leaves to its author, such as RAPPOR's ``hashes``.

    Raises
    ------
    ParameterError
        For an unknown name or a parameter out of range.

    Examples
    --------
    >>> warner = build("grr", 2, Decimal("1.0986122886681098"))
    >>> round(float(warner.p), 6), round(float(warner.q), 6)
    (0.75, 0.25)
    """
    if name not in MECHANISMS:
        raise ParameterError(f"mechanism must be one of {', '.join(MECHANISMS)}: {name}")
    cls = MECHANISMS[name]
    if epsilon_first is not None and not cls.two_rounds:
        able = ", ".join(n for n in named(cls.asks) if MECHANISMS[n].two_rounds)
        raise ParameterError(
            f"{name} has no second round; leave out epsilon_first, or use one of {able}"
        )
    _check_options(cls, options)
    mechanism = cls.resolve(k, epsilon, epsilon_first, options)
    if not mechanism.tells:
        raise ParameterError(f"epsilon is too small to say anything about {k} values")
    return mechanism


def _check_options(cls: type[Mechanism], options: Options) -> None:
    for name, value in options.items():
        if name not in cls.options:
            known = ", ".join(cls.options) or "none"
            raise ParameterError(f"{cls.name} has no option of that name; it has {known}: {name}")
        bounds = cls.options[name]
        if type(value) is not int or value not in bounds:
            raise ParameterError(
                f"{name} must be a whole number in {bounds.start}..{bounds.stop - 1}: {value}"
            )
