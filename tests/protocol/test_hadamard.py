"""Hadamard response: the matrix built by Kronecker products, published values, and its faults."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import permutations

import conformance
import pytest
from enumeration import WORDS, exp_between

from deniable.protocol.draws import Draws, KeyedDraws
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import Law, Mechanism, build
from deniable.protocol.mechanisms.hadamard import HadamardResponse
from deniable.protocol.response import Response

EPSILONS = ("0.01", "0.5", "1", "1.0986122886681098", "2", "4", "8", "16")


def made(k: int, epsilon: str) -> HadamardResponse:
    mechanism = build("hr", k, Decimal(epsilon))
    assert isinstance(mechanism, HadamardResponse)
    return mechanism


def matrix(size: int) -> list[list[int]]:
    """Sylvester: [[H, H], [H, -H]] from [[1]]."""
    rows = [[1]]
    while len(rows) < size:
        rows = [row + row for row in rows] + [row + [-x for x in row] for row in rows]
    return rows


@pytest.mark.parametrize(
    ("k", "columns"), [(2, 4), (3, 4), (4, 8), (7, 8), (8, 16), (100, 128), (127, 128), (128, 256)]
)
def test_there_are_as_many_columns_as_rows_are_needed(k: int, columns: int) -> None:
    mechanism = made(k, "1")
    assert mechanism.shape.cells == mechanism.columns == columns
    assert columns == 2 ** math.ceil(math.log2(k + 1))


@pytest.mark.parametrize("k", [2, 3, 4, 7, 8, 20])
def test_a_report_supports_the_rows_where_its_column_has_plus_one(k: int) -> None:
    mechanism = made(k, "1")
    rows = matrix(mechanism.columns)
    for value in range(k):
        law = mechanism.law(0, str(value).encode(), 1)
        for column in range(mechanism.columns):
            plus = rows[value + 1][column] == 1
            assert mechanism.supports(value, Response(column)) == plus
            chance = mechanism.p if plus else 1 - mechanism.p
            assert law[Response(column)] == chance / (mechanism.columns // 2)


@pytest.mark.parametrize("k", [2, 3, 100, 4096])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_probability_is_the_published_one_rounded_down(k: int, epsilon: str) -> None:
    mechanism = made(k, epsilon)
    low, _ = exp_between(Fraction(epsilon))
    assert mechanism.thresholds == {"plus": math.floor(WORDS * low / (low + 1))}
    assert mechanism.q == Fraction(1, 2)
    ratio = mechanism.p / (1 - mechanism.p)
    assert ratio <= low
    assert ratio >= exp_between(Fraction(epsilon) * (1 - conformance.BILLIONTH))[1]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_every_domain_conforms(epsilon: str) -> None:
    for k in (2, 3, 4, 7, 8):
        mechanism = made(k, epsilon)
        assert list(conformance.faults(mechanism)) == []
        conformance.check_tightness(mechanism)


def test_values_of_the_literature() -> None:
    mechanism = made(100, "1")
    assert mechanism.columns == 128
    assert round(float(mechanism.p), 6) == 0.731059
    assert mechanism.q == Fraction(1, 2)
    assert round(mechanism.variance(0), 6) == 4.682694


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
def test_the_variance_is_the_published_one(epsilon: str) -> None:
    big_e = math.exp(float(epsilon))
    for f in (0.0, 0.25, 1.0):
        stated = ((big_e + 1) / (big_e - 1)) ** 2 - f
        assert made(50, epsilon).variance(f) == pytest.approx(stated, rel=1e-12)


def test_two_values_are_supported_at_once_as_often_as_a_third_decides() -> None:
    """So there is no one ``joint``: of rows 1, 2 and 3 two decide the third, of 1, 2 and 4 not."""
    mechanism = made(4, "1")
    found = {}
    for x, v, w in permutations(range(4), 3):
        law = mechanism.law(0, str(x).encode(), 1)
        both = (m for y, m in law.items() if mechanism.supports(v, y) and mechanism.supports(w, y))
        found[x, v, w] = sum(both)
    assert found[0, 1, 2] == found[2, 0, 1] == mechanism.p / 2
    assert found[0, 1, 3] == found[3, 0, 1] == Fraction(1, 4)
    assert mechanism.joint is None


@pytest.mark.parametrize("k", [100, 4096])
def test_a_report_of_a_large_domain_is_within_it_and_supports_as_stated(k: int) -> None:
    """2000 devices: a binomial count is within 7 deviations with odds above 1 - 3e-12."""
    mechanism = made(k, "1")
    drawn = [
        mechanism.permanent(0, b"77", KeyedDraws(bytes(32), str(device).encode()))
        for device in range(2000)
    ]
    for response in drawn:
        assert mechanism.shape.unpack(mechanism.shape.pack(response)) == response
    for value in (0, 1, 76, 77, 78, k - 1):
        chance = float(mechanism.p if value == 77 else mechanism.q)
        count = sum(mechanism.supports(value, response) for response in drawn)
        assert abs(count - 2000 * chance) < 7 * math.sqrt(2000 * chance * (1 - chance))


def test_parameters_out_of_range_are_refused() -> None:
    with pytest.raises(ParameterError, match="hr has no second round; leave out epsilon_first"):
        build("hr", 5, Decimal(2), Decimal(1))
    with pytest.raises(ParameterError, match="hr has no option of that name; it has none: bits"):
        build("hr", 5, Decimal(2), None, {"bits": 2})
    for k in (2, 4096):
        with pytest.raises(ParameterError, match="too small to say anything"):
            build("hr", k, Decimal("1e-25"))
    with pytest.raises(ParameterError, match="k must be at least 2: 1"):
        build("hr", 1, Decimal(1))


# Faults, each put in on purpose.


class AlwaysPlus(HadamardResponse):
    """The column is always one of the true symbol's, so any other is proof."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        return HadamardResponse(self.k, self.epsilon, None, WORDS).permanent(setup, memo, keyed)


class AlwaysPlusAndSaysSo(AlwaysPlus):
    """The same with a distribution to match."""

    def law(self, setup: int, memo: bytes, rounds: int) -> Law:
        half = Fraction(2, self.columns)
        law = super().law(setup, memo, 1)
        return {y: half for y in law if self.supports(int(memo), y)}


class WrongBitTurned(HadamardResponse):
    """Turns bit 0, which most rows do not have, so the sign stays what it was."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        plus = keyed.chance(self.plus)
        column = keyed.below(self.columns)
        return Response(
            column if self.supports(int(memo), Response(column)) == plus else column ^ 1
        )


class NoBitTurned(HadamardResponse):
    """Takes the column as it comes, whatever its sign: nothing is left but noise."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        keyed.chance(self.plus)
        return Response(keyed.below(self.columns))


class FirstColumnsFavoured(HadamardResponse):
    """A modulus of words of too few values."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        row, plus = int(memo) + 1, keyed.chance(self.plus)
        column = keyed.below(self.columns + 1) % self.columns
        if self.supports(int(memo), Response(column)) != plus:
            column ^= row & -row
        return Response(column)


class ConstantRow(HadamardResponse):
    """Symbol x has row x: the first symbol's row is +1 everywhere, and supports nothing."""

    def law(self, setup: int, memo: bytes, rounds: int) -> Law:
        value = int(memo)
        plus = [y for y in range(self.columns) if self.supports(value, Response(y))]
        p = self.p if len(plus) < self.columns else Fraction(1)
        return {
            Response(y): p / len(plus) if y in plus else (1 - p) / (self.columns - len(plus))
            for y in range(self.columns)
        }

    def supports(self, value: int, response: Response) -> bool:
        return (value & response.out).bit_count() % 2 == 0


class AlwaysIndependent(HadamardResponse):
    """A quarter for any two other values."""

    @property
    def joint(self) -> tuple[Fraction, Fraction]:
        return self.p / 2, Fraction(1, 4)


@pytest.mark.parametrize(
    ("cls", "red"),
    [
        (AlwaysPlus, {"check_draws"}),
        (AlwaysPlusAndSaysSo, {"check_laws", "check_epsilons", "check_estimates"}),
        (WrongBitTurned, {"check_draws"}),
        (NoBitTurned, {"check_draws"}),
        (FirstColumnsFavoured, {"check_draws"}),
        (ConstantRow, {"check_estimates"}),
        (AlwaysIndependent, {"check_estimates"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_fault_is_caught(cls: type[HadamardResponse], red: set[str]) -> None:
    honest = made(4, "1")
    assert list(conformance.faults(honest)) == []
    assert red <= set(conformance.faults(cls(4, honest.epsilon, None, honest.plus)))


def one_unit_more(mechanism: HadamardResponse) -> Mechanism:
    return replace(mechanism, plus=mechanism.plus + 1)


def in_floats(mechanism: HadamardResponse) -> Mechanism:
    big_e = math.exp(mechanism.epsilon)
    return replace(mechanism, plus=int(big_e / (big_e + 1) * WORDS))


@pytest.mark.parametrize("fault", [one_unit_more, in_floats])
def test_rounding_carelessly_exceeds_epsilon(
    fault: Callable[[HadamardResponse], Mechanism],
) -> None:
    honest = [made(3, epsilon) for epsilon in EPSILONS]
    assert not any("check_epsilons" in conformance.faults(one) for one in honest)
    assert any("check_epsilons" in conformance.faults(fault(one)) for one in honest)
