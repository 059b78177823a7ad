"""What matters of a report in a shuffled crowd: three classes of outputs, in exact rationals.

Let P and Q be the output distributions of two values x and x', and omega what every other device
emits at least (an upper bound: the privacy blanket) or exactly (a lower bound: that data set).
Outputs fall into those that speak for x (probability P_a = ``true`` under P and P_b = ``other``
under Q), their mirror image, and the rest, where P = Q. Omega gives each of the first two
``each``. Of the rest, an output has the ratio P/omega; what is missing of omega has the ratio 0.

An upper bound may use any omega that is less than what the devices emit, so the rest is given
only its mass under P over its largest ratio; a lower bound may merge outputs, since what is
merged tells less. So two ratios are enough: ``low`` and ``high``.

References
----------
Balle, Bell, Gascón, Nissim. The privacy blanket of the shuffle model. CRYPTO 2019.
Feldman, McMillan, Talwar. Hiding among the clones. FOCS 2021.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from deniable.protocol.mechanisms import FrequencyOracle, Mechanism
from deniable.protocol.mechanisms.grr import GRR
from deniable.protocol.mechanisms.hadamard import HadamardResponse
from deniable.protocol.mechanisms.olh import OLH
from deniable.protocol.mechanisms.one_bit import OneBitMean
from deniable.protocol.mechanisms.subset import SubsetSelection
from deniable.protocol.mechanisms.unary import Unary

LARGEST_CROWD = 10**9
"""Up to where floating-point errors were measured. More devices hide each other no worse."""

ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class Classes:
    """Three classes of outputs.

    Attributes
    ----------
    name : str
        Where omega comes from, in words.
    true, other : Fraction
        P_a > P_b, the probabilities of speaking for the true value and for the other.
    each : Fraction
        Of either class, under omega.
    low, high : Fraction
        Ratios P/omega of the rest.
    share : Fraction
        Of the devices in neither class, those whose output has the ratio ``high``.
    """

    name: str
    true: Fraction
    other: Fraction
    each: Fraction
    low: Fraction = ZERO
    high: Fraction = ZERO
    share: Fraction = ZERO


@dataclass(frozen=True, slots=True)
class Coin:
    """Outputs merged into an event: its probability under x, which all others hold, and x'."""

    base: Fraction
    moved: Fraction


def report_epsilon(mechanism: Mechanism) -> float:
    """Return the epsilon of one report."""
    first = mechanism.epsilon_first
    return float(mechanism.epsilon if first is None else first)


def clones(epsilon: float) -> Classes:
    """Return the classes of any epsilon-LDP report.

    Between two values it tells no more than randomized response does (Kairouz, Oh, Viswanath),
    ``P_a = E/(E+1)``; and every other device emits ``(P + Q)/(2E)`` at least.
    """
    e = Fraction(math.exp(epsilon)) * (1 + Fraction(1, 2**40))
    return Classes("clones, for any randomizer", e / (e + 1), 1 / (e + 1), 1 / (2 * e))


def blankets(mechanism: Mechanism) -> Iterator[Classes]:
    """Yield the classes that hold whatever the other devices answer."""
    yield clones(report_epsilon(mechanism))
    if isinstance(mechanism, GRR | OneBitMean):
        p, q = mechanism.p, mechanism.q
        yield _blanket(f"privacy blanket of {mechanism.name}", p, q, q, ONE)
    elif isinstance(mechanism, SubsetSelection | HadamardResponse):
        # An output has one of two probabilities, whatever the value: the lesser is the blanket.
        true, other = mechanism.losses
        yield _blanket(f"privacy blanket of {mechanism.name}", true, other, other, true / other)
    elif isinstance(mechanism, Unary):
        p, q = mechanism.p, mechanism.q
        least = (1 - p) / (1 - q)
        ratio = p / (q * least)
        name = f"privacy blanket of {mechanism.name}"
        yield _blanket(name, p * (1 - q), q * (1 - p), least * q * (1 - q), ratio)
    elif isinstance(mechanism, OLH):
        p, q, apart = mechanism.buckets.p, mechanism.buckets.q, 1 - mechanism.collisions
        ratio = p / q if mechanism.collisions else ONE
        yield _blanket("privacy blanket of olh", apart * p, apart * q, apart * q, ratio)


def _blanket(
    name: str, true: Fraction, other: Fraction, each: Fraction, ratio: Fraction
) -> Classes:
    """Return the classes of a blanket whose rest has the ratio P/omega, or less."""
    rest = (1 - true - other) / ratio
    return Classes(name, true, other, each, ZERO, ratio, rest / (1 - 2 * each))


def third_value(mechanism: Mechanism) -> Classes | None:
    """Return the classes if all other devices hold a third value, or None."""
    if mechanism.k < 3 or not isinstance(mechanism, FrequencyOracle):
        return None
    if isinstance(mechanism, OLH):
        return _third_bucket(mechanism.buckets, mechanism.collisions)
    if isinstance(mechanism, GRR):
        return _third_bucket(mechanism, ZERO)
    if isinstance(mechanism, HadamardResponse):
        return _third_row(mechanism.p) if mechanism.k > 3 else None
    if mechanism.joint is None or mechanism.coverage != 1:
        return None
    p, q = mechanism.p, mechanism.q
    one, none = mechanism.joint
    neither = ((1 - p - q + one), (1 - 2 * q + none))
    return _data_set(p - one, q - one, q - none, (one, none), neither)


def _third_bucket(buckets: GRR, shared: Fraction) -> Classes | None:
    """Of values 0, 1 and 2, as hashed by linear rows or not at all.

    Over more than two buckets they share one if 0 and 1 do, and are in three otherwise; over two
    the third shares that of either as often.
    """
    p, q, apart = buckets.p, buckets.q, 1 - shared
    if buckets.k == 2:
        return _data_set(apart * p, apart * q, apart / 2, (shared, shared))
    rest = shared + apart * (buckets.k - 3) * q
    return _data_set(apart * p, apart * q, apart * q, (apart * q, apart * p), (rest, rest))


def _third_row(p: Fraction) -> Classes | None:
    """Of three rows that do not add up to 0, each of the eight patterns has K/8 columns."""
    each = Fraction(1, 4)
    return _data_set(p / 2, (1 - p) / 2, each, (p / 2, each), ((1 - p) / 2, each))


def _data_set(
    true: Fraction,
    other: Fraction,
    each: Fraction,
    *rest: tuple[Fraction, Fraction],
) -> Classes | None:
    """Return the classes of one data set; the rest in pairs of masses under P and omega."""
    ratios = sorted((under_p / omega, omega) for under_p, omega in rest if omega > 0)
    if not ratios or each <= 0 or true <= other:
        return None
    (low, few), (high, many) = ratios[0], ratios[-1]
    if len(ratios) == 1 or low == high:
        low, high, share = low, low, ZERO
    else:
        share = many / (few + many)
    return Classes("all other devices hold a third value", true, other, each, low, high, share)


def coins(mechanism: Mechanism) -> Iterator[Coin]:
    """Yield events of one report if all other devices hold one of the two values."""
    if isinstance(mechanism, OneBitMean):
        yield Coin(mechanism.q, mechanism.p)
        return
    if not isinstance(mechanism, FrequencyOracle) or mechanism.coverage != 1:
        return
    if isinstance(mechanism, OLH):
        apart = 1 - mechanism.collisions
        true, other = apart * mechanism.buckets.p, apart * mechanism.buckets.q
    elif mechanism.joint is not None:
        true, other = mechanism.p - mechanism.joint[0], mechanism.q - mechanism.joint[0]
    else:
        return
    if 0 < other < true < 1:
        yield Coin(other, true)
        if true + other < 1:
            yield Coin(true, other)
