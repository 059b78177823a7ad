"""What a mechanism's code reveals: the walk of every branch, and what is read draw by draw."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import conformance
import pytest
from instances import domains, small, usual

from deniable.protocol.draws import Draws
from deniable.protocol.exact import SCALE, exp
from deniable.protocol.mechanisms import MECHANISMS, Mechanism, build
from deniable.protocol.mechanisms.grr import GRR
from deniable.protocol.mechanisms.oue import OUE
from deniable.protocol.mechanisms.privset import PrivSet
from deniable.protocol.mechanisms.sue import SUE
from deniable.protocol.proofs import leakage as module
from deniable.protocol.proofs.bits import BitLaws, NotIndependent, patterns, read_bits
from deniable.protocol.proofs.leakage import leakage
from deniable.protocol.response import Response

SMALL = [
    small(name, k, Decimal("1.5"), first)
    for name, cls in MECHANISMS.items()
    for k in domains(name)
    for first in (None, *([Decimal("0.7")] if cls.two_rounds else []))
    if (name, first) != ("rappor", Decimal("0.7")) and cls.asks not in ("trajectory", "counter")
]


def log(ratio: Fraction) -> float:
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def realised(mechanism: Mechanism, rounds: int) -> Fraction:
    return max(
        conformance.realised(conformance.laws(mechanism, setup, rounds))
        for setup in conformance.setups(mechanism)
    )


@pytest.mark.parametrize("mechanism", SMALL, ids=lambda m: f"{m.name}-{m.k}-{m.epsilon_first}")
def test_every_way_finds_what_the_stated_law_says(
    mechanism: Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole walk, and what is done where that is too long, give one rational."""
    expected = (realised(mechanism, 1), realised(mechanism, 2))
    whole = leakage(mechanism)
    assert (whole.permanent, whole.report) == expected
    assert whole.by == "every branch of the code"
    monkeypatch.setattr(module, "_LEAVES", 0)
    read = leakage(mechanism)
    assert (read.permanent, read.report) == expected


@pytest.mark.parametrize(
    ("name", "k"),
    [*((name, 40) for name in MECHANISMS), ("hr", 700), ("sue", 1000), ("ss", 1000), ("olh", 1000),
     ("rappor", 1000), ("dbitflip", 1000), ("1bitmean", 1000)],
)  # fmt: skip
def test_large_domains_keep_their_promise(name: str, k: int) -> None:
    """Within a billionth below e^epsilon, which the conformance suite proves for small k."""
    epsilon = Decimal(2)
    first = Decimal(1) if MECHANISMS[name].two_rounds else None
    found = leakage(usual(name, 2 if name == "trajectory" else k, epsilon, first))
    for ratio, promised in ((found.permanent, epsilon), (found.report, first or epsilon)):
        assert ratio is not None
        assert ratio <= exp(promised).low
        assert log(ratio) > float(promised) - 1e-9
    assert "at most" not in found.by


class NeverCleared(OUE):
    """The true bit always survives, so a zero is proof."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        return Response(super().permanent(setup, memo, keyed).out | 1 << int(memo))


class OneWordForAllBits(SUE):
    """All other bits are decided by one draw."""

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


class SecondRoundForgotten(OUE):
    """Reports are the permanent response."""

    def instant(self, permanent: Response, fresh: Draws) -> Response:
        return permanent


class OneValueBetrayed(OUE):
    """The bit of value 5, and of no other, is set whenever another is."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        mask = super().permanent(setup, memo, keyed).out
        return Response(mask | (1 << 5 if mask and memo == b"5" else 0))


class OneSymbolKept(GRR):
    """The second round leaves symbol 30, and no other, as it is."""

    def instant(self, permanent: Response, fresh: Draws) -> Response:
        return permanent if permanent.out == 30 else super().instant(permanent, fresh)


FAULTY = {
    "one value betrayed": (OneValueBetrayed, 20, lambda found: found.permanent is None),
    "one value betrayed, wide": (OneValueBetrayed, 200, lambda found: found.permanent is None),
    "one symbol kept": (OneSymbolKept, 100, lambda found: found.report > exp(Decimal(1)).high),
    "never cleared": (NeverCleared, 4, lambda found: found.permanent is None),
    "never cleared, wide": (NeverCleared, 40, lambda found: found.permanent is None),
    "one word": (OneWordForAllBits, 40, lambda found: found.permanent is None),
    "uneven": (UnevenOthers, 5, lambda found: found.permanent > exp(Decimal(2)).high),
    "one round": (SecondRoundForgotten, 4, lambda found: found.report > exp(Decimal(1)).high),
    "one round, wide": (SecondRoundForgotten, 40, lambda found: found.report == found.permanent),
}


@pytest.mark.parametrize("fault", FAULTY)
def test_faults_show(fault: str) -> None:
    cls, k, shows = FAULTY[fault]
    assert shows(leakage(cls.resolve(k, Decimal(2), Decimal(1))))


class LargerSetsMeetMore(PrivSet):
    """The chance to meet grows with the size of the set."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        more = self.meet + (SCALE - self.meet) * min(int(memo, 16).bit_count(), self.items) // 8
        return replace(self, meet=more)._drawn(memo, keyed)

    def _drawn(self, memo: bytes, keyed: Draws) -> Response:
        return PrivSet.permanent(self, 0, memo, keyed)


class FirstItemNamed(PrivSet):
    """A response that meets the set has its first symbol, not any."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        inside = self.padded(int(memo, 16))
        if inside.bit_count() == self.items and keyed.chance(self.meet):
            rest = [1 << at for at in range(self.symbols) if not inside >> at & 1]
            return Response((inside & -inside) | sum(rest[: self.weight - 1]))
        return super().permanent(setup, memo, keyed)


@pytest.mark.parametrize("k", [3, 12])
@pytest.mark.parametrize("fault", [LargerSetsMeetMore, FirstItemNamed])
def test_faults_of_sets_show(fault: type[PrivSet], k: int) -> None:
    made = [cls.resolve(k, Decimal(2), None, {"items": 2}) for cls in (PrivSet, fault)]
    honest, wrong = (leakage(each).permanent for each in made)
    assert honest is not None
    assert honest <= exp(Decimal(2)).low
    assert wrong is None or wrong > exp(Decimal(2)).high


def test_many_sets_keep_their_promise() -> None:
    found = leakage(build("privset", 300, Decimal(1), None, {"items": 10}))
    assert found.permanent is not None
    assert float(Decimal(1)) - 1e-9 < log(found.permanent)
    assert found.permanent <= exp(Decimal(1)).low
    assert found.by == (
        "draw by draw: one decides whether the set is met, responses are counted as over 4 values,"
        " for 134 of all sets"
    )


@pytest.mark.parametrize(
    ("name", "k", "words"),
    [
        ("oue", 300, "draw by draw: each decides one bit, tried on "),
        ("ss", 60, "sets are counted as over 7 symbols"),
        ("grr", 400, ", the second round for "),
    ],
)
def test_what_was_not_tried_is_said(name: str, k: int, words: str) -> None:
    first = Decimal(1) if name == "grr" else None
    assert words in leakage(build(name, k, Decimal(2), first)).by


class Off(GRR):
    """Compares with a threshold that is off by one part in 2^64."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        class Other:
            def chance(self, threshold: int) -> bool:
                return keyed.chance(threshold + 1)

            below = keyed.below

        return super().permanent(setup, memo, Other())


@pytest.mark.parametrize("k", [3, 150])
def test_one_part_in_the_whole_scale_shows(k: int) -> None:
    exact = GRR.resolve(k, Decimal(2), None)
    off = Off.resolve(k, Decimal(2), None)
    one, other = leakage(exact).permanent, leakage(off).permanent
    assert one is not None
    assert other == Fraction(exact.keep + 1, SCALE - exact.keep - 1) * (k - 1)
    assert one <= exp(Decimal(2)).low < exp(Decimal(2)).high < other


class PastTheDraws(SUE):
    """Takes words past the exact draws, which no walk can follow."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        return Response(keyed._word() % 2)  # type: ignore[attr-defined]


def test_code_that_goes_past_its_draws_is_refused() -> None:
    found = leakage(PastTheDraws.resolve(4, Decimal(2), None))
    assert (found.permanent, found.report) == (None, None)
    assert found.by == "not found: the code asks its draws for what they do not offer"


def test_a_code_of_another_form_is_refused() -> None:
    """Two bits by one draw, one bit by two, and a question that depends on an answer."""

    def shared(draws: Draws) -> Response:
        return Response(3 * draws.chance(SCALE // 3))

    def mixed(draws: Draws) -> Response:
        one, two = draws.chance(SCALE // 3), draws.chance(SCALE // 3)
        return Response((one and two) | two << 1)

    def nested(draws: Draws) -> Response:
        one = draws.chance(SCALE // 3)
        return Response(one | draws.chance(SCALE // 5 if one else SCALE // 3) << 1)

    for draw in (shared, mixed, nested):
        with pytest.raises(NotIndependent):
            read_bits(draw, 2, thorough=True)


def test_the_bits_of_many_values_are_compared_by_kind() -> None:
    """64 values, more than are compared in pairs, against the walk of the pairs themselves."""
    sue = SUE.resolve(64, Decimal(2), None)
    rows = [
        [sue.true_bit if at == value else sue.other_bit for at in range(64)] for value in range(64)
    ]
    laws = BitLaws(SCALE)
    for row in rows:
        laws.add(row)
    by_hand = max(
        math.prod(
            max(Fraction(a, b), Fraction(SCALE - a, SCALE - b)) for a, b in zip(*pair, strict=True)
        )
        for pair in ((rows[0], rows[1]), (rows[5], rows[9]), (rows[3], rows[63]))
    )
    assert laws.largest_ratio() == (by_hand, True)


def test_patterns_are_the_same_every_time() -> None:
    assert list(patterns(70, 5)) == list(patterns(70, 5))
    assert len({*patterns(70, 5)}) == 5
