"""Lasso over Bloom filters: fewer errors than least squares where the bits are few.

Everything follows from fixed seeds; tolerances are such that others would fail with odds below
1e-9.
"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import binom
from survey_documents import choice_table, make_survey
from tally_places import write_store

from deniable.analysis import estimate, estimate_selected, estimate_tallies
from deniable.analysis.bloom import estimate_bloom
from deniable.analysis.cli import main
from deniable.analysis.estimators import Level
from deniable.analysis.lasso import _descent, selected
from deniable.analysis.simulation import draw_tallies
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import build
from deniable.protocol.mechanisms.rappor import Rappor
from deniable.protocol.tally import Tally

CROWDED = {"bits": 16, "hashes": 2, "cohorts": 16}
"""Of 240 free cells, for 230 values."""


def rappor(k: int, epsilon: str = "4", **options: int) -> Rappor:
    made = build("rappor", k, Decimal(epsilon), None, options)
    assert isinstance(made, Rappor)
    return made


def zipf(k: int) -> np.ndarray:
    shares = 1 / np.arange(1, k + 1) ** 1.2
    return shares / shares.sum()


def drawn(mechanism: Rappor, people: np.ndarray, seed: int) -> list[int]:
    (cells,) = draw_tallies(mechanism, people, np.random.default_rng(seed))
    return cells.tolist()


def test_it_finds_more_of_the_frequent_values_with_less_error_than_least_squares() -> None:
    """A third of the error at most, in each of three crowds."""
    mechanism, n = rappor(230, **CROWDED), 100_000
    for seed in range(3):
        people = np.random.default_rng(seed).multinomial(n, zipf(230))
        cells = drawn(mechanism, people, 100 + seed)
        found = selected(mechanism, cells)
        by_lasso = np.zeros(230)
        by_lasso[found.values] = found.frequencies
        squares = np.array([raw.frequency for raw in estimate_bloom(mechanism, cells, Level(0.05))])
        top = set(np.argsort(-people)[:10].tolist())
        count = [len(top & set(np.argsort(-each)[:10].tolist())) for each in (by_lasso, squares)]
        assert count[0] > count[1]
        errors = [float(((each - people / n) ** 2).mean()) ** 0.5 for each in (by_lasso, squares)]
        assert errors[0] < errors[1] / 2.5
        assert len(found.values) < 30


def test_noise_alone_selects_seldom() -> None:
    mechanism, runs = rappor(60, "2", bits=8, hashes=2, cohorts=12), 120
    hits = sum(
        len(selected(mechanism, drawn(mechanism, np.full(60, 200), seed)).values) > 0
        for seed in range(runs)
    )
    assert hits <= binom.isf(1e-9, runs, 0.05)


def test_errors_are_those_of_the_fit() -> None:
    """Two frequent values before an even background: 200 normal errors, of variance 1."""
    mechanism, people = rappor(60, "2", bits=8, hashes=2, cohorts=12), np.full(60, 100)
    people[[3, 40]] = 5000
    true, errors = people / people.sum(), []
    for seed in range(100):
        found = selected(mechanism, drawn(mechanism, people, seed))
        assert {3, 40} <= set(found.values.tolist())
        at = np.searchsorted(found.values, [3, 40])
        errors += ((found.frequencies - true[found.values]) / found.errors)[at].tolist()
    assert abs(np.mean(errors)) < 7 / np.sqrt(len(errors))
    assert abs(np.std(errors) - 1) < 7 / np.sqrt(2 * len(errors))


def test_the_descent_ends_where_nothing_is_to_be_gained() -> None:
    rng = np.random.default_rng(5)
    design = rng.random((40, 60))
    gram, target = design.T @ design, design.T @ (3 * design[:, 7] + rng.normal(size=40))
    penalty = np.full(60, 2.0)
    x = _descent(gram, target, penalty, 1e-3)
    pull = target - penalty - gram @ x
    assert np.all(x >= 0)
    assert np.all(pull[x == 0] < 1e-6)
    assert np.all(np.abs(pull[x > 0]) < 1e-6)
    assert x[7] > 1


def test_it_reads_what_least_squares_cannot() -> None:
    """Only a few cohorts have reported, so that the bits do not tell the values apart."""
    mechanism = rappor(60, "3", bits=8, hashes=2, cohorts=12)
    people = np.zeros(60, dtype=np.int64)
    people[[5, 9]] = 20_000, 10_000
    cells = drawn(mechanism, people, 6)
    cells[9 * 4 :] = [0] * (9 * 8)
    with pytest.raises(ParameterError, match="do not tell 60 values apart"):
        estimate_bloom(mechanism, cells, Level(0.05))
    found = selected(mechanism, cells)
    assert {5, 9} <= set(found.values.tolist())


def tally_of(n: int, mechanism: object) -> Tally:
    choices = [f"v{value}" for value in range(60)]
    table = choice_table(choices=choices, mechanism=mechanism, epsilon=4, period="week")
    question = make_survey({"page": table}, max_epsilon=16, linkable=True).questions["page"]
    people = np.full(60, n // 100)
    people[7] = n - people.sum() + people[7]
    (cells,) = draw_tallies(question.mechanism, people, np.random.default_rng(7))
    return Tally(question, "2026-W49", None, n, tuple(cells.tolist()))


RAPPOR = {"name": "rappor", "bits": 8, "hashes": 2, "cohorts": 12}


def test_estimates_of_the_selected_only(tmp_path: Path) -> None:
    tally = tally_of(10_000, RAPPOR)
    made = estimate_selected([tally])
    values = [one.value for one in made.estimates]
    assert "v7" in values
    assert len(values) < 10
    (one,) = (one for one in made.estimates if one.value == "v7")
    assert abs(one.frequency - 0.41) < 7 * one.standard_error
    assert 0 < made.fake_bias < estimate_tallies([tally]).fake_bias
    assert "lasso selected" in made.notes[0]
    place = write_store(tmp_path / "store.db", [tally])
    assert estimate("page", place, decoder="lasso")[0].estimates == made.estimates
    line = ["estimate", "page", "--from", str(place), "--decoder", "lasso"]
    run = CliRunner().invoke(main, line)
    assert run.exit_code == 0, run.output
    assert "after selection" in run.stdout


@pytest.mark.parametrize(
    ("mechanism", "options", "why"),
    [
        ("grr", {"decoder": "lasso"}, "lasso decodes the Bloom filters of rappor"),
        (RAPPOR, {"decoder": "ridge"}, "decoder must be one of least-squares, lasso: ridge"),
        (RAPPOR, {"decoder": "lasso", "pool": "mean"}, "leave out pool"),
        (RAPPOR, {"decoder": "lasso", "post_process": "clip"}, "leave out post_process"),
    ],
)
def test_what_it_cannot_do(
    mechanism: object, options: dict[str, str], why: str, tmp_path: Path
) -> None:
    place = write_store(tmp_path / "store.db", [tally_of(1000, mechanism)])
    with pytest.raises(ParameterError, match=why):
        estimate("page", place, **options)  # type: ignore[arg-type]
