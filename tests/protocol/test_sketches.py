"""Hash rows of texts, and what sketches make of them.

The proofs over all outputs are those of every mechanism; here is what a few rows cannot show: that
p and q are right on average over all rows there could be, and that the rows in use are such rows.
"""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import FrequencyOracle, build, rows
from deniable.protocol.mechanisms.rows import PRIME, bucket, row
from deniable.protocol.response import Response

P = 7
"""A prime small enough to go through all rows."""

SIGMAS = 7
"""Two-sided odds of 3e-12 for a normal error; some hundreds of counts are compared."""


@pytest.fixture
def all_rows(monkeypatch: pytest.MonkeyPatch) -> int:
    """Have every row there is modulo a small prime, by its number."""
    every = list(product(range(P), repeat=3))
    monkeypatch.setattr(rows, "PRIME", P)
    monkeypatch.setattr(rows, "row", lambda family, number: every[number])
    return len(every)


def test_any_three_numbers_are_independent_over_all_rows(all_rows: int) -> None:
    for x, y, z in ((0, 1, 2), (3, 6, 5), (1, 2, 4)):
        seen = Counter(
            tuple(bucket("cms", j, number, P) for number in (x, y, z)) for j in range(all_rows)
        )
        assert set(seen.values()) == {1}
        assert len(seen) == P**3


def test_p_and_q_of_cms_are_averages_over_all_rows(all_rows: int) -> None:
    """With P buckets, of which each number has all alike."""
    mechanism = sketch("cms", all_rows, P)
    assert average(mechanism, 1, 1) == mechanism.p
    for value, asked in ((1, 5), (0, 6), (4, 3)):
        assert average(mechanism, value, asked) == mechanism.q


def test_p_and_q_of_hcms_are_averages_over_all_rows_and_columns(all_rows: int) -> None:
    """A power of two has one bucket more, which stays empty: two numbers share one in 7."""
    mechanism = sketch("hcms", all_rows, P + 1)
    assert mechanism.q == mechanism.p / (P + 1) + (1 - Fraction(1, P + 1)) / 2
    assert average(mechanism, 1, 1) == mechanism.p
    for value, asked in ((1, 5), (0, 6), (4, 3)):
        assert average(mechanism, value, asked) == mechanism.p / P + (1 - Fraction(1, P)) / 2


def sketch(name: str, rows: int, width: int) -> FrequencyOracle:
    made = build(name, 2, Decimal(2), None, {"rows": rows, "width": width})
    assert isinstance(made, FrequencyOracle)
    return made


def average(mechanism: FrequencyOracle, value: int, asked: int) -> Fraction:
    """P(a device with a value supports what is asked), over all setups."""
    setups = range(mechanism.shape.rows)
    found = (_supported(mechanism, setup, value, asked) for setup in setups)
    return sum(found, start=Fraction(0)) / len(setups)


def _supported(mechanism: FrequencyOracle, setup: int, value: int, asked: int) -> Fraction:
    """The same of one setup; of a CMS from the one bit that is asked about."""
    memo = mechanism.memo(setup, value)
    assert memo is not None
    if mechanism.name == "hcms":
        law = mechanism.law(setup, memo, 1)
        return sum((m for y, m in law.items() if mechanism.supports(asked, y)), start=Fraction(0))
    same = mechanism.supports(asked, Response(1 << int(memo), setup))
    return mechanism.p if same else 1 - mechanism.p


def test_the_rows_in_use_are_such_rows() -> None:
    """Buckets of neighbours are uniform, and pairs and triples collide as often as they must."""
    width, used, base = 16, 3000, 27**5
    texts = [1000 * base + step * base for step in range(4)]
    found = [[bucket("cms", j, text, width) for text in texts] for j in range(used)]
    for at in range(4):
        for count in Counter(each[at] for each in found).values():
            assert near(count, used, 1 / width)
    for i, j in ((0, 1), (0, 2), (1, 3)):
        assert near(sum(each[i] == each[j] for each in found), used, 1 / width)
    together = sum(each[0] == each[1] and each[0] == each[2] for each in found)
    assert near(together, used, 1 / width**2)


def near(count: int, n: int, chance: float) -> bool:
    return abs(count - n * chance) <= SIGMAS * math.sqrt(n * chance) + 1


def test_rows_and_families_share_nothing() -> None:
    every = {row(family, number) for family in ("cms", "hcms", "pem") for number in range(50)}
    assert len(every) == 150
    assert all(0 <= part < PRIME for each in every for part in each)


def test_what_is_remembered_never_changes() -> None:
    assert [bucket("cms", j, 85_798_787_490, 128) for j in range(8)] == [
        46,
        41,
        93,
        68,
        20,
        125,
        117,
        114,
    ]
    assert [bucket("hcms", j, 0, 4096) for j in range(4)] == [2874, 54, 3750, 4]
    assert bucket("pem", 9, 5 + PRIME, 55) == bucket("pem", 9, 5, 55)


@pytest.mark.parametrize(
    ("name", "options", "why"),
    [
        ("cms", {"rows": 300, "width": 128}, "rows x (width + 1) must be at most 32768 cells"),
        ("hcms", {"rows": 129, "width": 128}, "2 x rows x width must be at most 32768 cells"),
        ("hcms", {"width": 100}, "width must be a power of two: 100"),
        ("cms", {"rows": 0}, "rows must be a whole number in 1..4096: 0"),
        ("cms", {"width": 1}, "width must be a whole number in 2..4096: 1"),
    ],
)
def test_sizes_that_cannot_be(name: str, options: dict[str, int], why: str) -> None:
    with pytest.raises(ParameterError) as caught:
        build(name, 2, Decimal(2), None, options)
    assert str(caught.value).startswith(why)


@pytest.mark.parametrize("name", ["cms", "hcms"])
def test_the_sizes_by_default_fill_a_tally_and_make_small_reports(name: str) -> None:
    shape = build(name, 2, Decimal(2)).shape
    assert 32_700 <= shape.cells <= 32_768
    assert shape.size <= 16
