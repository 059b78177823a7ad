"""Prefix extension: levels, shares and sizes; and its exact epsilon in every setup."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import product

import pytest
from conformance import memo, realised, setups

from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import exp
from deniable.protocol.limits import MAX_CELLS
from deniable.protocol.mechanisms.pem import PEM
from deniable.protocol.proofs.branches import outcomes
from deniable.protocol.response import Response


def pem(epsilon: str = "4", again: str | None = None, **options: int) -> PEM:
    second = None if again is None else Decimal(again)
    return PEM.resolve(2, Decimal(epsilon), second, options)


SMALL = {"letters": 2, "length": 3, "first": 1, "step": 1, "rows": 2, "last": 40}


@pytest.mark.parametrize("first", [None, "1"])
@pytest.mark.parametrize("g", [2, 3, 5])
def test_epsilon_is_exact_in_every_setup_and_round(g: int, first: str | None) -> None:
    """Over all pairs of all 27 texts; reached where two of them are in different buckets."""
    mechanism = pem("2", first, **SMALL, g=g)
    for rounds, epsilon in ((1, "2"), (2, first)):
        if epsilon is None:
            continue
        ratios = [realised(laws(mechanism, setup, rounds)) for setup in setups(mechanism)]
        assert max(ratios) <= exp(Decimal(epsilon)).high
        assert float(max(ratios)) == pytest.approx(float(exp(Decimal(epsilon)).low), rel=1e-12)


def laws(mechanism: PEM, setup: int, rounds: int) -> list[dict[Response, Fraction]]:
    texts = range(3**3)
    return [mechanism.law(setup, memo(mechanism, setup, text), rounds) for text in texts]


@pytest.mark.parametrize("first", [None, "1"])
def test_devices_draw_what_the_law_says(first: str | None) -> None:
    mechanism = pem("2", first, **SMALL, g=3)
    for setup, text in product(setups(mechanism), (0, 5, 26)):
        key = memo(mechanism, setup, text)
        drawn = outcomes(partial(mechanism.permanent, setup, key))
        assert drawn == mechanism.law(setup, key, 1)
        reports: dict[Response, Fraction] = {}
        for permanent, mass in drawn.items():
            for report, chance in outcomes(partial(mechanism.instant, permanent)).items():
                reports[report] = reports.get(report, Fraction(0)) + mass * chance
        assert reports == mechanism.law(setup, key, 2)


def test_every_device_has_one_level_with_the_stated_share() -> None:
    mechanism = pem(**SMALL)
    assert mechanism.lengths == (1, 2, 3)
    shares = [Fraction(0)] * 3
    for setup, mass in setups(mechanism).items():
        shares[mechanism.level(setup)] += mass
    assert shares == [Fraction(3, 10), Fraction(3, 10), Fraction(4, 10)]
    assert shares == [mechanism.share(level) for level in range(3)]
    assert mechanism.coverage == shares[-1]


def test_a_level_sees_the_first_letters_only() -> None:
    mechanism = pem(**SMALL)
    assert [mechanism.prefix(2 * 9 + 1 * 3 + 2, level) for level in range(3)] == [2, 7, 23]
    for setup in range(2):
        assert memo(mechanism, setup, 18) == memo(mechanism, setup, 26)


@pytest.mark.parametrize(
    ("letters", "length", "lengths", "last"),
    [
        (26, 6, (3, 4, 5, 6), 41),
        (26, 8, (3, 4, 5, 6, 7, 8), 33),
        (26, 3, (3,), 53),
        (500, 3, (1, 2, 3), 45),
        (1, 31, (16, 21, 26, 31), 41),
        (10, 24, (*range(4, 25),), 20),
    ],
)
def test_levels_by_default(letters: int, length: int, lengths: tuple[int, ...], last: int) -> None:
    mechanism = pem(letters=letters, length=length)
    assert (mechanism.lengths, mechanism.last) == (lengths, last)
    assert (letters + 1) ** mechanism.lengths[0] <= 1 << 16
    assert MAX_CELLS - len(lengths) * mechanism.g < mechanism.shape.cells <= MAX_CELLS


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"first": 5}, "first must be at most the 4 letters of a text: 5"),
        ({"rows": 4096}, "levels x rows x g must be at most 32768 cells"),
        ({"length": 6, "first": 5}, "first must be at most 4 for an alphabet of 26 letters"),
        ({"length": 12, "step": 5}, "step must be at most 4 for an alphabet of 26 letters"),
    ],
)
def test_sizes_that_cannot_be(options: dict[str, int], why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        pem(**{"letters": 26, "length": 4, **options})


def test_a_step_longer_than_the_text_is_as_long_as_there_are_letters_left() -> None:
    mechanism = pem(letters=26, length=6, first=3, step=64)
    assert mechanism.lengths == (3, 6)
