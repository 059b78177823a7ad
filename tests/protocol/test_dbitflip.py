"""dBitFlipPM: who is asked about what, the lifetime it promises, and its faults."""

from __future__ import annotations

import hmac
import math
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import conformance
import pytest
from enumeration import WORDS, exp_between

from deniable.protocol.draws import Draws, KeyedDraws
from deniable.protocol.errors import ParameterError
from deniable.protocol.limits import MAX_CELLS
from deniable.protocol.mechanisms import Law, build
from deniable.protocol.mechanisms.dbitflip import DBitFlip
from deniable.protocol.response import Response

PAIRS = [
    ("0.01", None),
    ("1", None),
    ("4", None),
    ("16", None),
    ("0.02", "0.01"),
    ("2", "1"),
    ("2", "1.999999999999999999"),
    ("8", "0.01"),
]
SMALL = [(2, 1), (3, 1), (5, 1), (2, 2), (3, 2), (4, 2), (3, 3), (4, 3)]
"""(k, d)"""


def made(k: int, bits: int, epsilon: str, first: str | None = None) -> DBitFlip:
    second = None if first is None else Decimal(first)
    mechanism = build("dbitflip", k, Decimal(epsilon), second, {"bits": bits})
    assert isinstance(mechanism, DBitFlip)
    return mechanism


@pytest.mark.parametrize(("epsilon", "first"), PAIRS)
@pytest.mark.parametrize(("k", "bits"), SMALL)
def test_every_design_conforms(k: int, bits: int, epsilon: str, first: str | None) -> None:
    mechanism = made(k, bits, epsilon, first)
    assert list(conformance.faults(mechanism)) == []
    conformance.check_tightness(mechanism)
    if first is not None and k <= 3:
        conformance.check_chains(mechanism)


@pytest.mark.parametrize(("epsilon", "first"), PAIRS)
@pytest.mark.parametrize("k", [2, 10, 4096])
def test_several_bits_are_perturbed_like_sue(k: int, epsilon: str, first: str | None) -> None:
    sue = build("sue", k, Decimal(epsilon), None if first is None else Decimal(first))
    given = sue.thresholds
    found = made(k, 2, epsilon, first).thresholds
    assert found["keep"] == given["true_bit"] == WORDS - given["other_bit"]
    assert found.get("keep_again") == given.get("bit_again")


@pytest.mark.parametrize(("epsilon", "first"), PAIRS)
@pytest.mark.parametrize("k", [2, 10, 4096])
def test_one_bit_is_perturbed_like_a_yes_or_no(k: int, epsilon: str, first: str | None) -> None:
    grr = build("grr", 2, Decimal(epsilon), None if first is None else Decimal(first))
    assert made(k, 1, epsilon, first).thresholds == grr.thresholds


@pytest.mark.parametrize("bits", [1, 2, 3, 7])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "4", "16"])
def test_probabilities_are_the_published_ones_rounded_down(bits: int, epsilon: str) -> None:
    exponent = Fraction(epsilon) if bits == 1 else Fraction(epsilon) / 2
    low, _ = exp_between(exponent)
    mechanism = made(7, bits, epsilon)
    assert mechanism.thresholds == {"keep": math.floor(WORDS * low / (low + 1))}
    assert mechanism.q == 1 - mechanism.p


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
@pytest.mark.parametrize(("k", "bits"), [(10, 2), (10, 5), (10, 10), (100, 3)])
def test_the_variance_is_the_published_one(k: int, bits: int, epsilon: str) -> None:
    """Of a value that nobody has: k/d times that of one bit, sqrt(E)/(sqrt(E)-1)^2."""
    root = math.exp(float(epsilon) / 2)
    stated = k / bits * root / (root - 1) ** 2
    assert made(k, bits, epsilon).variance(0) == pytest.approx(stated, rel=1e-12)


def test_one_bit_of_a_third_of_the_values_at_epsilon_one() -> None:
    """E/(E-1)^2 = 0.920674 for a bit, and three times as much: devices are asked about a third."""
    mechanism = made(3, 1, "1")
    assert round(float(mechanism.p), 6) == 0.731059
    assert round(mechanism.variance(0), 6) == round(3 * math.e / (math.e - 1) ** 2, 6) == 2.762021


# Who is asked about what.


@pytest.mark.parametrize(("k", "bits"), [*SMALL, (100, 7), (4096, 7)])
def test_every_value_is_asked_about_in_as_many_rows(k: int, bits: int) -> None:
    mechanism = made(k, bits, "1")
    rows = mechanism.shape.rows
    assert rows == (1 if bits == k else k)
    for value in {0, 1, k // 2, k - 1}:
        asked = [row for row in range(rows) if mechanism.covers(value, Response(0, row))]
        assert len(asked) == mechanism.coverage * rows
    for row in (0, rows // 2, rows - 1):
        about = [v for v in range(k) if mechanism.covers(v, Response(0, row))]
        assert set(about) == {(row + bit) % k for bit in range(bits)}
        for bit in range(bits):
            supported = [v for v in range(k) if mechanism.supports(v, Response(1 << bit, row))]
            assert supported == [(row + bit) % k]


def test_rows_are_uniform_and_know_nothing_of_the_value() -> None:
    """5000 devices on 10 rows: 7 deviations of a binomial count are 7 sqrt(450) = 148."""
    mechanism = made(10, 3, "1")
    drawn = Counter(
        mechanism.assign(KeyedDraws(bytes(32), b"setup", str(device).encode()))
        for device in range(5000)
    )
    assert drawn.keys() == set(range(10))
    assert max(abs(count - 500) for count in drawn.values()) < 148


@pytest.mark.parametrize(("k", "bits"), [*SMALL, (100, 7)])
def test_a_lifetime_has_one_response_for_each_place(k: int, bits: int) -> None:
    """However a value changes, the worst case of the paper: min(d+1, k) responses."""
    mechanism = made(k, bits, "1")
    assert mechanism.classes == min(bits + 1, k)
    for row in {0, mechanism.shape.rows // 2, mechanism.shape.rows - 1}:
        keys = {mechanism.memo(row, value) for value in range(k)}
        assert len(keys) == mechanism.classes


def test_values_nobody_asked_about_look_the_same() -> None:
    mechanism = made(10, 3, "1")
    keys = [mechanism.memo(8, value) for value in range(10)]
    assert keys == [b"2", b"3", b"3", b"3", b"3", b"3", b"3", b"3", b"0", b"1"]


# Permanent responses are frozen.

FROZEN = [
    (3, 5), (7, 6), (5, 5), (7, 6), (4, 1), (5, 1), (5, 5), (8, 2),
    (7, 7), (1, 3), (9, 0), (6, 6), (4, 4), (6, 1), (8, 6), (5, 2),
]  # fmt: skip
"""(row, bits) of devices 0..15 whose value is 5 of 10, asked about 3 at epsilon 0.5."""


def words(*fields: bytes) -> list[int]:
    """The first eight words of a device whose secret is zero, by hmac alone."""
    message = b"".join(len(each).to_bytes(4, "big") + each for each in (b"deniable/1", *fields))
    block = hmac.digest(bytes(32), message + bytes(8), "sha512")
    return [int.from_bytes(block[at : at + 8], "big") for at in range(0, 64, 8)]


def test_permanent_responses_are_frozen_and_made_of_the_first_words() -> None:
    mechanism = made(10, 3, "0.5")
    found = []
    for device in (str(number).encode() for number in range(16)):
        row = mechanism.assign(KeyedDraws(bytes(32), b"setup", device))
        key = mechanism.memo(row, 5)
        assert key is not None
        permanent = mechanism.permanent(row, key, KeyedDraws(bytes(32), b"permanent", device))
        found.append((permanent.row, permanent.out))
        assert row == words(b"setup", device)[0] % 10
        keep, drawn = mechanism.thresholds["keep"], words(b"permanent", device)
        about = [(row + bit) % 10 for bit in range(3)]
        chances = [keep if value == 5 else WORDS - keep for value in about]
        bits = sum((drawn[bit] < chances[bit]) << bit for bit in range(3))
        assert found[-1] == (row, bits)
    assert found == FROZEN


# What cannot be.


@pytest.mark.parametrize(
    ("k", "bits", "message"),
    [
        (5, 6, "bits must be at most the 5 values there are: 6"),
        (5, 0, r"bits must be a whole number in 1\.\.4096: 0"),
        (5, -1, "bits must be a whole number"),
        (4096, 8, "bits must be at most 7, or 4096 for all, for .* of 32768: 8"),
        (4096, 4095, "bits must be at most 7, or 4096 for all"),
    ],
)
def test_a_design_that_cannot_be_is_refused(k: int, bits: int, message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{message}"):
        made(k, bits, "1")


def test_what_fits_into_a_tally_is_taken() -> None:
    assert made(4096, 7, "1").shape.cells == MAX_CELLS
    assert made(4096, 4096, "1").shape.cells == 4097
    assert made(4096, 1, "1").shape.cells == 8192
    assert build("dbitflip", 4096, Decimal(1)).chosen == {"bits": 1}


def test_parameters_out_of_range_are_refused() -> None:
    for first in (None, "1e-25"):
        epsilon = "1e-25" if first is None else "1"
        with pytest.raises(ParameterError, match="too small to say anything"):
            made(5, 2, epsilon, first)
    with pytest.raises(ParameterError, match="k must be at least 2: 1"):
        build("dbitflip", 1, Decimal(1))
    with pytest.raises(ParameterError, match=r"dbitflip has no option of that name.*: weight"):
        build("dbitflip", 5, Decimal(1), None, {"weight": 1})


# Faults, each put in on purpose.


class NeverCleared(DBitFlip):
    """A bit that should be set is, so a zero is proof."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        drawn = super().permanent(setup, memo, keyed)
        return Response(drawn.out | self._mask(memo), setup)


class NeverClearedAndSaysSo(NeverCleared):
    """The same with a distribution to match."""

    def law(self, setup: int, memo: bytes, rounds: int) -> Law:
        law: Law = {}
        for response, mass in super().law(setup, memo, 1).items():
            kept = Response(response.out | self._mask(memo), setup)
            law[kept] = law.get(kept, Fraction(0)) + mass
        return law


class OneWordForAllBits(DBitFlip):
    """All bits are turned over together, or none."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        mask = self._mask(memo)
        kept = keyed.chance(self.keep)
        return Response(mask if kept else mask ^ ((1 << self.bits) - 1), setup)


class RowsByModulus(DBitFlip):
    """A modulus of words of too few values: the first rows are likelier."""

    def assign(self, keyed: Draws) -> int:
        return keyed.below(2 * self.k - 1) % self.k


class RememberedByValue(DBitFlip):
    """Values that were not asked about have responses of their own, which then tell them apart."""

    def memo(self, setup: int, symbol: int) -> bytes:
        place = (symbol - setup) % self.k
        return str(place).encode()


class SecondRoundForgotten(DBitFlip):
    """Reports are the permanent response."""

    def instant(self, permanent: Response, fresh: Draws) -> Response:
        return permanent


class RowForgotten(DBitFlip):
    """A report does not say which values it is about."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        return Response(super().permanent(setup, memo, keyed).out)


class EveryBitIsAboutAllValues(DBitFlip):
    """Estimates divide by all reports, as if nobody had not been asked."""

    @property
    def coverage(self) -> Fraction:
        return Fraction(1)


class OneValueLess(DBitFlip):
    """Counts responses over a lifetime, but not that of a value among none of the d."""

    @property
    def classes(self) -> int:
        return self.bits


@pytest.mark.parametrize(
    ("cls", "red"),
    [
        (NeverCleared, {"check_draws"}),
        (NeverClearedAndSaysSo, {"check_laws", "check_epsilons", "check_estimates"}),
        (OneWordForAllBits, {"check_draws"}),
        (RowsByModulus, {"check_estimates"}),
        (RememberedByValue, {"check_lifetime"}),
        (SecondRoundForgotten, {"check_draws"}),
        (RowForgotten, {"check_draws"}),
        (EveryBitIsAboutAllValues, {"check_estimates"}),
        (OneValueLess, {"check_lifetime"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_fault_is_caught(cls: type[DBitFlip], red: set[str]) -> None:
    honest = made(4, 2, "2", "1")
    assert list(conformance.faults(honest)) == []
    faulty = cls(4, honest.epsilon, honest.epsilon_first, 2, honest.keep, honest.keep_again)
    assert red <= set(conformance.faults(faulty))


@pytest.mark.parametrize(("k", "bits"), SMALL)
def test_each_bit_at_the_whole_epsilon_is_too_much_for_two(k: int, bits: int) -> None:
    whole = replace(made(k, bits, "1"), keep=made(k, 1, "1").keep)
    assert ("check_epsilons" in conformance.faults(whole)) == (bits > 1)


@pytest.mark.parametrize(("k", "bits"), SMALL)
@pytest.mark.parametrize("threshold", ["keep", "keep_again"])
def test_one_unit_more_exceeds_epsilon(k: int, bits: int, threshold: str) -> None:
    honest = [made(k, bits, *pair) for pair in (("0.1", "0.05"), ("2", "1"), ("4", "0.05"))]
    more = [replace(one, **{threshold: getattr(one, threshold) + 1}) for one in honest]
    assert any("check_epsilons" in conformance.faults(one) for one in more)


def test_bits_drawn_anew_for_every_report_are_averaged_away() -> None:
    """40 reports of 300 devices at epsilon 1, of a row that is about the one value they have.

    The permanent bit alone names it for p1 = 0.731 of them; 7 deviations are 0.18.
    """
    mechanism = made(2, 1, "1", "0.9")
    rates = []
    for drawn in ("once", "each time"):
        right = 0
        for device in range(300):
            ones = 0
            for report in range(41):
                source = f"{device}" if drawn == "once" else f"{device} {report}"
                permanent = mechanism.permanent(0, b"0", KeyedDraws(bytes(32), source.encode()))
                fresh = KeyedDraws(bytes(32), b"report", f"{device} {report}".encode())
                ones += mechanism.instant(permanent, fresh).out
            right += ones > 20
        rates.append(right / 300)
    assert abs(rates[0] - float(mechanism.first[0])) < 0.18
    assert rates[1] > 0.98


def test_the_places_of_two_values_differ_in_two_bits_at_most() -> None:
    mechanism = made(6, 4, "1")
    for row, (one, two) in ((r, pair) for r in range(6) for pair in combinations(range(6), 2)):
        masks = [mechanism._mask(mechanism.memo(row, v) or b"") for v in (one, two)]
        assert (masks[0] ^ masks[1]).bit_count() <= 2
