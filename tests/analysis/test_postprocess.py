"""Post-processing against the definition of each step, on frequencies of any sign."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.analysis import post_process
from deniable.protocol.errors import ParameterError

frequencies = st.lists(st.floats(-3, 3), min_size=2, max_size=40)


def norm_sub_by_iteration(raw: list[float]) -> list[float]:
    """The published rule, for estimates whose positive ones exceed 1 in sum: clip, subtract."""
    kept = [max(f, 0.0) for f in raw]
    while True:
        positive = [i for i, f in enumerate(kept) if f > 0]
        excess = (math.fsum(kept) - 1) / len(positive)
        kept = [f - excess if f > 0 else 0.0 for f in kept]
        if all(f >= 0 for f in kept):
            return kept
        kept = [max(f, 0.0) for f in kept]


@given(frequencies)
def test_none_changes_nothing(raw: list[float]) -> None:
    assert post_process(raw, "none") == tuple(raw)


@given(frequencies)
def test_clip_moves_each_to_the_nearest(raw: list[float]) -> None:
    clipped = post_process(raw, "clip")
    assert all(0 <= f <= 1 for f in clipped)
    assert all(c == f for c, f in zip(clipped, raw, strict=True) if 0 <= f <= 1)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [([1e17, 0.3], (1, 0)), ([-1e300] * 2, (0.5, 0.5)), ([1e12 + 0.5, 1e12], (0.75, 0.25))],
)
def test_huge_frequencies_keep_their_digits(
    raw: list[float], expected: tuple[float, float]
) -> None:
    assert post_process(raw, "norm-sub") == expected


@pytest.mark.parametrize("how", ["norm-sub", "simplex"])
@given(raw=frequencies)
def test_projections_give_the_nearest_distribution(how: str, raw: list[float]) -> None:
    """By the Karush-Kuhn-Tucker conditions: one shift for all that stay positive."""
    made = post_process(raw, how)
    assert min(made) >= 0
    assert math.fsum(made) == pytest.approx(1, abs=1e-9)
    shifts = [m - f for m, f in zip(made, raw, strict=True) if m > 0]
    assert max(shifts) - min(shifts) < 1e-9
    assert all(f + shifts[0] <= 1e-9 for m, f in zip(made, raw, strict=True) if m == 0)


@given(frequencies.filter(lambda raw: math.fsum(f for f in raw if f > 0) > 1.001))
def test_norm_sub_is_what_its_authors_iterate(raw: list[float]) -> None:
    assert post_process(raw, "norm-sub") == pytest.approx(norm_sub_by_iteration(raw), abs=1e-9)


@pytest.mark.parametrize("how", ["norm-sub", "simplex"])
@pytest.mark.parametrize("raw", [[-0.1, -0.2, -0.3], [0.0, 0.0], [-1e9, -1e9], [-5.0, -0.0, -2.0]])
def test_nothing_positive_is_no_division_by_zero(how: str, raw: list[float]) -> None:
    made = post_process(raw, how)
    assert math.fsum(made) == pytest.approx(1, abs=1e-6)
    assert made.index(max(made)) == raw.index(max(raw))


def test_an_unknown_step_is_refused() -> None:
    with pytest.raises(
        ParameterError, match="one of none, clip, norm-sub, simplex, em, nnls: magic"
    ):
        post_process([0.5, 0.5], "magic")
