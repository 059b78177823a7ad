"""What is no number, no path and no name is refused in one line, whatever type it has."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from deniable.analysis import (
    check_survey,
    compare,
    diff,
    explain,
    plan_margin,
    plan_survey_local,
    plan_survey_margins,
    plan_survey_shares,
    survey_total_epsilon,
    total_epsilon,
    users_needed,
)
from deniable.protocol.errors import ParameterError

ANY: Any = None
NUMBER = "must be a number, written like 0.95"
NAME = "mechanism must be the name of one, or auto"
FILE = "must be the path of a file"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: total_epsilon(epsilon=1, days=3, mechanism=[1]), NAME),  # type: ignore[arg-type]
        (lambda: users_needed(epsilon=1, margin="0.1", mechanism=ANY), NAME),
        (lambda: plan_margin(epsilon=1, devices=9, mechanism={}), NAME),  # type: ignore[arg-type]
        (lambda: compare(epsilon=1, devices=9, delta="1e-6", mechanism=[1]), NAME),  # type: ignore[arg-type]
        (lambda: explain(epsilon=True), f"epsilon {NUMBER}"),
        (lambda: plan_margin(epsilon=True, devices=9), f"epsilon {NUMBER}"),
        (lambda: plan_margin(epsilon=False, devices=9), f"epsilon {NUMBER}"),
        (lambda: plan_margin(epsilon=Decimal("sNaN"), devices=9), "epsilon must be finite: sNaN"),
        (lambda: users_needed(epsilon=1, margin=Decimal("-sNaN12")), "margin must be finite"),
        (lambda: survey_total_epsilon(ANY, days=3), f"survey {FILE}"),
        (lambda: plan_survey_shares(ANY, total_epsilon=3), f"survey {FILE}"),
        (lambda: plan_survey_margins(ANY, devices=3), f"survey {FILE}"),
        (lambda: plan_survey_local(ANY, central_epsilon=1, delta="1e-6", crowd=9), FILE),
        (lambda: check_survey(ANY), f"survey {FILE}"),
        (lambda: diff(ANY, "new.toml"), f"old {FILE}"),
    ],
)
def test_a_wrong_type_is_a_line(call: Callable[[], object], said: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("epsilon", [45, "44.5", 50])
def test_why_no_larger_epsilon_is_computed(epsilon: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        total_epsilon(epsilon=epsilon, days=1)
    assert str(caught.value) == (
        f"epsilon must be in 0.000001..44: {epsilon}; the 64-bit thresholds of devices cannot "
        "express more"
    )


def test_a_smaller_one_is_refused_without_that_reason() -> None:
    with pytest.raises(ParameterError, match=r"epsilon must be in 0\.000001\.\.44: 1E-7$"):
        total_epsilon(epsilon="1e-7", days=1)
