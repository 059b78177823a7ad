"""Faults seen in other implementations, each put in on purpose: the suite must turn red.

The mutants live here; the checks are those the real mechanisms pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction

import conformance
import pytest

from deniable.protocol.draws import Draws, KeyedDraws, _Stream, length_prefixed
from deniable.protocol.exact import SCALE, ceil_threshold, exp, floor_threshold
from deniable.protocol.mechanisms import Law, Mechanism
from deniable.protocol.mechanisms.grr import GRR
from deniable.protocol.mechanisms.oue import OUE
from deniable.protocol.mechanisms.sue import SUE
from deniable.protocol.mechanisms.unary import Unary
from deniable.protocol.response import Response

SECRET = bytes(range(32))
EPSILONS = ("0.1", "0.5", "1", "2", "3.7", "4", "8")


class NeverCleared(OUE):
    """The true bit always survives the permanent round, so a zero is proof (pure-ldp RAPPOR)."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        return Response(super().permanent(setup, memo, keyed).out | 1 << int(memo))


class NeverClearedAndSaysSo(NeverCleared):
    """The same with a distribution to match: honest, and not private."""

    def law(self, setup: int, memo: bytes, rounds: int) -> Law:
        law: Law = {}
        for response, mass in super().law(setup, memo, rounds).items():
            kept = Response(response.out | 1 << int(memo))
            law[kept] = law.get(kept, Fraction(0)) + mass
        return law


class OneWordForAllBits(SUE):
    """All bits of a report compare with the same random word."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        same = keyed.chance(self.other_bit)
        mask = sum(same << i for i in range(self.k) if i != int(memo))
        return Response(mask | keyed.chance(self.true_bit) << int(memo))


class UnevenOthers(GRR):
    """Another symbol by a modulus, so that the first ones are likelier."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        if keyed.chance(self.keep):
            return Response(int(memo))
        other = keyed.below(self.k) % (self.k - 1)
        return Response(other + (other >= int(memo)))


class OtherSymbolsOnly(GRR):
    """A uniform symbol instead of a uniform other one."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        return Response(int(memo) if keyed.chance(self.keep) else keyed.below(self.k))


class DecodedByAnotherNumber(OUE):
    """The device compares with an integer, the decoder divides by another q (RAPPOR's f)."""

    @property
    def first(self) -> tuple[Fraction, Fraction]:
        return Fraction(1, 2), Fraction(round(self.other_bit / SCALE * 256), 256)


class SecondRoundForgotten(OUE):
    """Reports are the permanent response, whatever epsilon_first says."""

    def instant(self, permanent: Response, fresh: Draws) -> Response:
        return permanent


class SecondRoundOfSetBitsOnly(SUE):
    """A zero is never set again."""

    def instant(self, permanent: Response, fresh: Draws) -> Response:
        return Response(super().instant(permanent, fresh).out & permanent.out)


MUTANTS: list[tuple[type[GRR] | type[Unary], set[str]]] = [
    (NeverCleared, {"check_draws"}),
    (NeverClearedAndSaysSo, {"check_laws", "check_epsilons", "check_estimates"}),
    (OneWordForAllBits, {"check_draws"}),
    (UnevenOthers, {"check_draws"}),
    (OtherSymbolsOnly, {"check_draws"}),
    (DecodedByAnotherNumber, {"check_draws"}),
    (SecondRoundForgotten, {"check_draws"}),
    (SecondRoundOfSetBitsOnly, {"check_draws"}),
]


@pytest.mark.parametrize(
    ("mutant", "red"), MUTANTS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_faulty_mechanism_is_caught(mutant: type[Mechanism], red: set[str]) -> None:
    honest = mutant.__mro__[1]
    while honest.__name__ not in {"GRR", "OUE", "SUE"}:
        honest = honest.__mro__[1]
    parameters = (3, Decimal(2), Decimal(1))
    assert list(conformance.faults(honest.resolve(*parameters))) == []  # type: ignore[attr-defined]
    assert red <= set(conformance.faults(mutant.resolve(*parameters)))


# Probabilities a little too large.


def ceiled(cls: type[Mechanism]) -> Callable[[int, Decimal], Mechanism]:
    """Rounding to the other side."""

    def make(k: int, epsilon: Decimal) -> Mechanism:
        e, root = exp(epsilon), exp(epsilon / 2)
        if cls is GRR:
            return GRR(k, epsilon, None, ceil_threshold(e / (e + (k - 1))), None)
        if cls is SUE:
            up = ceil_threshold(root / (root + 1))
            return SUE(k, epsilon, None, up, SCALE - up, None)
        return OUE(k, epsilon, None, SCALE // 2, floor_threshold(1 / (e + 1)), None)

    return make


def floating(cls: type[Mechanism]) -> Callable[[int, Decimal], Mechanism]:
    """p and q by math.exp, as nearly every implementation has them."""

    def make(k: int, epsilon: Decimal) -> Mechanism:
        e, root = math.exp(float(epsilon)), math.exp(float(epsilon) / 2)
        if cls is GRR:
            return GRR(k, epsilon, None, int(e / (e + k - 1) * SCALE), None)
        if cls is SUE:
            up = int(root / (root + 1) * SCALE)
            return SUE(k, epsilon, None, up, SCALE - up, None)
        return OUE(k, epsilon, None, SCALE // 2, int(1 / (e + 1) * SCALE), None)

    return make


def exceeds(mechanism: Mechanism) -> bool:
    return "check_epsilons" in conformance.faults(mechanism)


@pytest.mark.parametrize("cls", [GRR, SUE, OUE])
def test_rounding_to_the_other_side_exceeds_epsilon(cls: type[Mechanism]) -> None:
    assert all(exceeds(ceiled(cls)(3, Decimal(epsilon))) for epsilon in EPSILONS)
    assert not any(exceeds(cls.resolve(3, Decimal(epsilon), None)) for epsilon in EPSILONS)


@pytest.mark.parametrize("cls", [GRR, SUE, OUE])
def test_floating_point_exceeds_epsilon(cls: type[Mechanism]) -> None:
    settings = [(k, Decimal(epsilon)) for k in (2, 3, 5) for epsilon in EPSILONS]
    assert any(exceeds(floating(cls)(k, epsilon)) for k, epsilon in settings)


def second_round_ceiled(mechanism: GRR | Unary) -> Mechanism:
    """One more unit in 2^64 for p2."""
    if isinstance(mechanism, GRR):
        assert mechanism.keep_again is not None
        return GRR(
            mechanism.k,
            mechanism.epsilon,
            mechanism.epsilon_first,
            mechanism.keep,
            mechanism.keep_again + 1,
        )
    assert mechanism.bit_again is not None
    return type(mechanism)(
        mechanism.k, mechanism.epsilon, mechanism.epsilon_first,
        mechanism.true_bit, mechanism.other_bit, mechanism.bit_again + 1,
    )  # fmt: skip


@pytest.mark.parametrize("cls", [GRR, SUE, OUE])
def test_one_unit_more_in_the_second_round_exceeds_epsilon_first(
    cls: type[GRR] | type[SUE] | type[OUE],
) -> None:
    exact = [cls.resolve(3, Decimal(epsilon), Decimal("0.05")) for epsilon in EPSILONS]
    assert not any(map(exceeds, exact))
    assert any(exceeds(second_round_ceiled(mechanism)) for mechanism in exact)


def published(k: int, epsilon: Decimal, first: Decimal) -> GRR:
    """L-GRR as published: its eps_2 leaves out the k - 2 paths through other symbols."""
    e, one = exp(epsilon), exp(first)
    e2 = (one * e - 1) / (e - one)
    keep, again = e / (e + (k - 1)), e2 / (e2 + (k - 1))
    return GRR(k, epsilon, first, floor_threshold(keep), floor_threshold(again))


def test_the_published_second_round_wastes_most_of_the_accuracy() -> None:
    wasteful = published(10, Decimal(2), Decimal(1))
    exact = GRR.resolve(10, Decimal(2), Decimal(1))
    assert math.log(wasteful.p / wasteful.q) == pytest.approx(0.699, abs=5e-4)
    assert wasteful.variance(0.2) / exact.variance(0.2) == pytest.approx(2.5, abs=0.05)
    conformance.check_epsilons(wasteful)
    conformance.check_tightness(exact)
    with pytest.raises(AssertionError):
        conformance.check_tightness(wasteful)
    assert published(2, Decimal(2), Decimal(1)) == GRR.resolve(2, Decimal(2), Decimal(1))


# Random bits used twice.


class Shifted(_Stream):
    """Each word begins one bit after the one before: neighbours share 63 bits (Fuchsia Cobalt)."""

    def __init__(self, secret: bytes, *fields: bytes) -> None:
        source = KeyedDraws(secret, *fields)
        super().__init__(lambda: b"")
        self._bits = source.below(SCALE)
        self._source = source

    def _word(self) -> int:
        self._bits = (self._bits << 1 | self._source.chance(SCALE // 2)) % SCALE
        return self._bits


class Repeating(_Stream):
    """Every word is used for two decisions."""

    def __init__(self, secret: bytes, *fields: bytes) -> None:
        source = KeyedDraws(secret, *fields)
        super().__init__(lambda: source.below(SCALE).to_bytes(8, "big") * 2)


def correlated(make: Callable[..., Draws]) -> bool:
    """Whether decisions of one stream depend on each other.

    4000 decisions of chance 1/4: for each lag, products of deviations have mean 0 and standard
    deviation 3/16, so their sum stays within 7 sqrt(4000) 3/16 = 83 with odds above 1 - 3e-12.
    """
    draws = make(SECRET, b"neighbours")
    deviations = [draws.chance(SCALE // 4) - 0.25 for _ in range(4000)]
    return any(
        abs(sum(a * b for a, b in zip(deviations, deviations[lag:], strict=False))) > 83
        for lag in range(1, 17)
    )


def test_neighbouring_bits_used_twice_are_caught() -> None:
    assert not correlated(KeyedDraws)
    assert correlated(Shifted)
    assert correlated(Repeating)


# Questions that share their noise.

Fields = Callable[[int, bytes], Sequence[bytes]]


def agreement(fields: Fields) -> float:
    """How often two questions with the same answer have the same response on one device."""
    oue = OUE.resolve(4, Decimal(1), None)
    same = 0
    for device in range(2000):
        one, other = (
            oue.permanent(0, b"1", KeyedDraws(SECRET, *fields(device, question)))
            for question in (b"dark_mode", b"font")
        )
        same += one == other
    return same / 2000


def test_questions_keyed_alike_share_their_noise() -> None:
    """Python's RAPPOR keyed its masks without the question: equal bits got equal noise.

    Independent responses agree as often as the squares of their law sum to; of 2000 devices,
    7 standard deviations are 0.079 at most.
    """
    law = OUE.resolve(4, Decimal(1), None).law(0, b"1", 1)
    chance = float(sum(mass**2 for mass in law.values()))
    apart = agreement(lambda device, question: (b"permanent", str(device).encode(), question))
    assert abs(apart - chance) < 0.079
    assert agreement(lambda device, _: (b"permanent", str(device).encode())) == 1


# Less entropy than promised.


def truncating(secret: bytes, *fields: bytes) -> KeyedDraws:
    """A derivation that keys its draws with four bytes of what it was given."""
    return KeyedDraws(length_prefixed(secret, *fields)[4:8])


def test_every_bit_of_the_secret_and_the_fields_matters() -> None:
    """Others seed with 32 bits behind a promise of 63: devices share their noise by birthday."""
    secrets = [SECRET]
    secrets += [bytes(b ^ (i == at) for i, b in enumerate(SECRET)) for at in range(32)]
    first = {KeyedDraws(secret, b"a").below(SCALE) for secret in secrets}
    assert len(first) == 33
    truncated = {truncating(secret, b"a").below(SCALE) for secret in secrets}
    assert len(truncated) == 5
    field = bytes(200)
    fields = [field] + [bytes(i == at for i in range(200)) for at in range(200)]
    assert len({KeyedDraws(SECRET, each).below(SCALE) for each in fields}) == 201
