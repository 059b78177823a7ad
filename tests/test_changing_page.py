"""The page on mechanisms says of answers that change what the code computes, with a picture."""

from __future__ import annotations

import pytest
from test_docs import ROOT, load_generator

changing = load_generator("generate_changing")


def test_the_table_is_current() -> None:
    page = changing.PAGE.read_text(encoding="utf-8")
    assert changing.update(page) == page, "run `make docs`"


def test_the_picture_is_there_and_small() -> None:
    assert f"]({changing.PICTURE.name})" in changing.PAGE.read_text(encoding="utf-8")
    picture = (ROOT / "docs" / "changing.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 100_000


def test_the_pictures_points_are_where_theory_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few of its runs: the mean over periods of the squared errors, beside the expected."""
    monkeypatch.setattr(changing, "RUNS", 12)
    other = changing.best_memoized(2.0, 30)
    made = changing.mechanism(30, changing.EPSILON, changing.CHANGES)
    found = changing.simulated(30, changing.with_second_round)
    assert 0.8 < (found**2).mean() * 4 * other.gap**2 * changing.DEVICES < 1.25
    found = changing.simulated(30, changing.with_horizon)
    expected = changing.expected_errors(made, changing.DEVICES)
    assert 0.5 < (found**2 / expected**2).mean() < 1.7
