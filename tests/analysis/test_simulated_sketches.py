"""Simulated tallies of sketches against the exact law of each device's report.

Everything follows from fixed seeds; tolerances hold for any, with odds of failure below 1e-9.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from conformance import memo, setups
from text_questions import text_question

from deniable.analysis import simulate
from deniable.analysis.simulation import Population, draw_reports, draw_tallies, fold, sketches
from deniable.analysis.simulation.spreading import spread
from deniable.analysis.texts.hash_rows import places, residues
from deniable.analysis.texts.rehearsal import SHOWN
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import Mechanism, build
from deniable.protocol.mechanisms.rows import bucket
from deniable.protocol.proofs.branches import outcomes
from deniable.protocol.response import Response

SIGMAS = 7.5
"""Two-sided odds of 6e-14 for a normal error; over at most 1000 cells below 1e-10."""

CODES = [3, 2**70 + 5, 0, 41]
SETTINGS = list(product(["cms", "hcms", "pem"], [None, "1"]))

OPTIONS = {
    "cms": {"rows": 3, "width": 4},
    "hcms": {"rows": 3, "width": 4},
    "pem": {"rows": 2, "g": 4, "letters": 3, "length": 33, "first": 11, "step": 11, "last": 40},
}


def small(name: str, first: str | None) -> Mechanism:
    return build(name, 2, Decimal(2), None if first is None else Decimal(first), OPTIONS[name])


def folded(mechanism: Mechanism, response: Response) -> np.ndarray:
    cells = [0] * mechanism.shape.cells
    mechanism.shape.fold(cells, response)
    return np.array(cells, dtype=float)


def moments(mechanism: Mechanism, code: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of what one device adds to the cells: the mean, and the second moments.

    The first of these within one period, the other between two.
    """
    mean = np.zeros(mechanism.shape.cells)
    within, between = np.zeros((2, len(mean), len(mean)))
    for setup, weight in setups(mechanism).items():
        for permanent, mass in mechanism.law(setup, memo(mechanism, setup, code), 1).items():
            odds = float(weight * mass)
            again = outcomes(partial(mechanism.instant, permanent))
            given = [(float(chance), folded(mechanism, y)) for y, chance in again.items()]
            expected = sum(chance * cells for chance, cells in given)
            mean += odds * expected
            within += odds * sum(chance * np.outer(cells, cells) for chance, cells in given)
            between += odds * np.outer(expected, expected)
    square = np.outer(mean, mean)
    return mean, within - square, between - square


@pytest.mark.parametrize("drawn", ["tallies", "one by one", "reports"])
@pytest.mark.parametrize(("name", "first"), SETTINGS)
def test_cells_have_the_exact_means(
    name: str, first: str | None, drawn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where devices are put into columns all at once."""
    mechanism, rng = small(name, first), np.random.default_rng(7)
    people = 40_000 * np.array([3, 2, 0, 1])
    if drawn == "tallies":
        monkeypatch.setattr(sketches, "_FEW", 0)
    if drawn == "reports":
        symbols = rng.permutation(np.repeat(np.array(CODES, dtype=object), people))
        cells = fold(mechanism, draw_reports(mechanism, symbols, rng))
    else:
        counted = dict(zip(CODES, people.tolist(), strict=True))
        (cells,) = draw_tallies(mechanism, Population.of(counted), rng)
    each = [moments(mechanism, code) for code in CODES]
    expected = sum(n * mean for n, (mean, _, _) in zip(people, each, strict=True))
    variance = sum(n * within.diagonal() for n, (_, within, _) in zip(people, each, strict=True))
    assert np.all(np.abs(cells - expected) <= SIGMAS * np.sqrt(variance) + 1)
    assert mechanism.shape.reports(cells.tolist()) == people.sum()


@pytest.mark.parametrize(("name", "first"), SETTINGS)
def test_cells_vary_together_as_they_must(name: str, first: str | None) -> None:
    """Within a period and from one to the next: covariances of a few devices in many crowds.

    A product of two sums of d devices has a variance of at most a few times that of normal ones;
    the tolerance takes the variance of the products that were found.
    """
    mechanism, rng, runs = small(name, first), np.random.default_rng(8), 2000
    population = Population.of(dict.fromkeys(CODES[:2], 5))
    tallies = np.array([draw_tallies(mechanism, population, rng, 2) for _ in range(runs)], float)
    each = [moments(mechanism, code) for code in CODES[:2]]
    centred = tallies - 5 * sum(mean for mean, _, _ in each)
    for other, which in ((0, 1), (1, 1 if first is None else 2)):
        found = centred[:, 0, :, None] * centred[:, other, None, :]
        expected = 5 * sum(moment[which] for moment in each)
        deviation = found.std(axis=0) / math.sqrt(runs)
        assert np.all(np.abs(found.mean(axis=0) - expected) <= SIGMAS * deviation + 1e-9)


def test_without_a_second_round_every_period_is_the_same() -> None:
    population = Population.of({5: 1000})
    one, two = draw_tallies(small("cms", None), population, np.random.default_rng(9), 2)
    assert one.tolist() == two.tolist()
    one, two = draw_tallies(small("cms", "1"), population, np.random.default_rng(9), 2)
    assert one.tolist() != two.tolist()


@pytest.mark.parametrize("people", [1, 3, 9, 10_000])
def test_devices_are_spread_evenly_over_their_buckets(people: int) -> None:
    """Singly where they are fewer than the rows, and otherwise at once."""
    codes = list(range(60, 80))
    found = np.zeros((8, 5), dtype=np.int64)
    rng, runs = np.random.default_rng(10), max(1, 2000 // people)
    for _ in range(runs):
        found += spread("cms", range(3, 11), 5, Population.of(dict.fromkeys(codes, people)), rng)
    where = places("cms", range(3, 11), residues(codes), 5)
    held = np.array([np.bincount(row, minlength=5) for row in where])
    expected = held * people * runs / 8
    assert found.sum() == len(codes) * people * runs
    assert np.all(np.abs(found - expected) <= SIGMAS * np.sqrt(expected * 7 / 8))


def test_hashes_in_bulk_are_those_of_devices() -> None:
    codes = [0, 1, 2**61 - 2, 2**61 - 1, 2**61, 12345678901234567890, 2**500 + 3]
    for width in (2, 3, 512, 4096):
        bulk = places("pem", (0, 7, 4095), residues(codes), width).tolist()
        assert bulk == [[bucket("pem", j, c, width) for c in codes] for j in (0, 7, 4095)]


def test_an_open_domain_is_no_array() -> None:
    with pytest.raises(ParameterError, match=r"^cms takes a Population"):
        draw_tallies(small("cms", None), np.array([1, 2]), np.random.default_rng(1))


def test_a_survey_with_texts_is_rehearsed(tmp_path: Path) -> None:
    """Strings of the truth are named, the most frequent if they are many, and the others too."""
    question = text_question("cms")
    survey, truth = tmp_path / "survey.json", tmp_path / "truth.csv"
    document = {"format": 1, "id": "acme-editor", "max_epsilon": "16", "linkable": True}
    survey.write_text(json.dumps(document | {"questions": [question.document()]}))
    rows = [f"{1000 - 9 * n},{'abcdefghij'[n // 10]}{'abcdefghij'[n % 10]}" for n in range(100)]
    truth.write_text("\n".join(["weight,word", *rows, "500,Zz", "2000,does not fit", "300,"]))
    result = simulate(survey, truth, devices=100_000, seed=3, repeat=2)
    values = {value.value: value for value in result.values}
    assert len(values) == SHOWN + 1
    assert "zz" in values
    assert "jj" not in values
    whole = sum(1000 - 9 * n for n in range(100)) + 2500
    assert values["(other)"].truth == pytest.approx(2000 / whole)
    assert values["zz"].n == pytest.approx(100_000 * whole / (whole + 300), abs=1000)
    assert max(abs(value.sigmas) for value in result.values) < 6
    assert "word: the 100 most frequent of 101 strings are named." in result.notes
