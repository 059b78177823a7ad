"""Every mechanism by its name, and how one is built.

To add a mechanism: write its module, add a line to ``MECHANISMS``. Wire form, folding,
collection and proofs come with its shape; a new decoder goes to the analysis. A device loads
only the modules of the mechanisms that its survey names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module
from typing import cast

from ..errors import ParameterError
from .base import NO_OPTIONS, Asks, Mechanism, Options


@dataclass(frozen=True, slots=True)
class Place:
    """Where a mechanism is, and which questions it serves."""

    asks: Asks
    module: str
    name: str

    def load(self) -> type[Mechanism]:
        """Return its class."""
        module = import_module(f".{self.module}", __package__)
        return cast("type[Mechanism]", getattr(module, self.name))


class Registry(MutableMapping[str, type[Mechanism]]):
    """Classes by their names; each is loaded when it is first asked for."""

    def __init__(self, places: Mapping[str, Place]) -> None:
        self._found: dict[str, Place | type[Mechanism]] = {**places}

    def __getitem__(self, name: str) -> type[Mechanism]:
        found = self._found[name]
        if isinstance(found, Place):
            found = self._found[name] = found.load()
        return found

    def __setitem__(self, name: str, mechanism: type[Mechanism]) -> None:
        self._found[name] = mechanism

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def named(self, asks: Asks) -> tuple[str, ...]:
        """Return the names of those that serve one kind of question, and load none."""
        return tuple(name for name, found in self._found.items() if found.asks == asks)


MECHANISMS = Registry(
    {
        "grr": Place("choice", "grr", "GRR"),
        "sue": Place("choice", "sue", "SUE"),
        "oue": Place("choice", "oue", "OUE"),
        "olh": Place("choice", "olh", "OLH"),
        "ss": Place("choice", "subset", "SubsetSelection"),
        "hr": Place("choice", "hadamard", "HadamardResponse"),
        "rappor": Place("choice", "rappor", "Rappor"),
        "dbitflip": Place("choice", "dbitflip", "DBitFlip"),
        "1bitmean": Place("number", "one_bit", "OneBitMean"),
        "piecewise": Place("number", "piecewise", "Piecewise"),
        "square-wave": Place("number", "square_wave", "SquareWave"),
        "privset": Place("set", "privset", "PrivSet"),
        "cms": Place("text", "cms", "CMS"),
        "hcms": Place("text", "hcms", "HCMS"),
        "pem": Place("text", "pem", "PEM"),
        "trajectory": Place("trajectory", "trajectory", "Trajectory"),
        "counter": Place("counter", "counter", "Counter"),
    }
)
"""Every mechanism a survey may name."""


def named(asks: Asks) -> tuple[str, ...]:
    """Return the names of the mechanisms for one kind of question."""
    return MECHANISMS.named(asks)


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
        other = f", or use one of {able}" if able else ""
        raise ParameterError(f"{name} has no second round; leave out epsilon_first{other}")
    _check_options(cls, options)
    mechanism = cls.resolve(k, epsilon, epsilon_first, options)
    if not mechanism.tells:
        raise ParameterError(f"epsilon is too small to say anything about {k} values")
    return mechanism


def _check_options(cls: type[Mechanism], options: Options) -> None:
    missing = [name for name in cls.options if name in cls.given and name not in options]
    if missing:
        needed = ", and ".join(f"{name}, {_allowed(cls.options[name])}" for name in missing)
        raise ParameterError(f"{cls.name} needs the option {needed}")
    for name, value in options.items():
        if name not in cls.options:
            known = ", ".join(cls.options) or "none"
            raise ParameterError(f"{cls.name} has no option of that name; it has {known}: {name}")
        bounds = cls.options[name]
        if type(value) is not int or value not in bounds:
            raise ParameterError(f"{name} must be {_allowed(bounds)}: {value}")


def _allowed(bounds: range) -> str:
    return f"a whole number in {bounds.start}..{bounds.stop - 1}"
