"""What one epsilon means: published caps, attackers that reach them, and how it is said."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from decimal import Decimal
from typing import Any

import pytest
from click.testing import CliRunner
from click.testing import Result as Done
from hypothesis import given
from hypothesis import strategies as st

from deniable.analysis import explain, total_epsilon
from deniable.analysis.accountants.lattice import exact
from deniable.analysis.accountants.losses import randomized_response
from deniable.analysis.cli import main
from deniable.analysis.figures import at_least, at_most, power_at_most
from deniable.analysis.reading import (
    advantage_cap,
    odds_factor,
    posterior,
    posterior_at_least,
    read,
    success_cap,
    true_positive_cap,
)
from deniable.analysis.render import as_csv, as_table
from deniable.protocol.errors import ParameterError

SIZES = st.one_of(st.floats(1e-6, 50), st.floats(50, 1e13))
SHARES = st.floats(1e-9, 1 - 1e-9)


def run(*arguments: str) -> Done:
    return CliRunner().invoke(main, [*arguments], prog_name="deniable")


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [(0.1, 0.52497918747894), (1, 0.7310585786300049), (3, 0.9525741268224333)],
)
def test_published_success_caps(epsilon: float, expected: float) -> None:
    assert explain(epsilon=epsilon).reading.success_cap == pytest.approx(expected, abs=5e-4)
    assert success_cap(epsilon) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [(0.1, 0.04995837495787998), (1, 0.46211715726000974), (8, 0.999329299739067)],
)
def test_published_advantage_caps(epsilon: float, expected: float) -> None:
    assert explain(epsilon=epsilon).reading.advantage_cap == pytest.approx(expected, abs=1e-12)


def test_published_rate_of_true_positives() -> None:
    assert true_positive_cap(8, 0.01, 1e-5) == pytest.approx(0.9996678953530028, abs=1e-9)
    reading = explain(epsilon=8, delta="1e-5").reading
    assert reading.true_positive_cap == pytest.approx(0.9996678953530028, abs=1e-9)


def test_published_odds() -> None:
    assert explain(epsilon=5, prior="0.01").posterior.at_most == pytest.approx(
        0.5998596018130347, abs=5e-4
    )
    factor = explain(epsilon="0.1").reading.odds_factor
    assert factor is not None
    assert 100 * (factor - 1) == pytest.approx(10.517091807564762, abs=1e-9)
    assert explain(epsilon=10).reading.odds_factor == pytest.approx(22026.465794806718, abs=0.5)
    assert explain(epsilon="0.1", prior="0.548").posterior.at_most == pytest.approx(
        0.5726308496338662, abs=5e-4
    )


def test_published_odds_of_a_group_of_twenty() -> None:
    """Twenty devices of one person are a group: e^(20 epsilon)."""
    row = total_epsilon(epsilon=1, days=365, devices_per_person=20).rows[1]
    reading = row.reading("memoized")
    assert reading is not None
    assert reading.odds_factor == pytest.approx(485165195.4097903, abs=1000)
    assert not reading.meaningful


@given(epsilon=st.floats(1e-6, 30), prior=SHARES)
def test_randomized_response_reaches_every_cap(epsilon: float, prior: float) -> None:
    """Its one response of two is right with E/(E+1): Bayes' rule, and the best test there is."""
    right = 1 / (1 + math.exp(-epsilon))
    wrong = 1 - right if epsilon < 1 else math.exp(-epsilon) * right
    after = prior * right / (prior * right + (1 - prior) * wrong)
    against = prior * wrong / (prior * wrong + (1 - prior) * right)
    belief = explain(epsilon=epsilon, prior=prior).posterior
    assert belief.at_most == pytest.approx(after, rel=1e-9)
    assert belief.at_least == pytest.approx(against, rel=1e-9)
    assert success_cap(epsilon) == pytest.approx(right, rel=1e-12)
    assert advantage_cap(epsilon) == pytest.approx(right - wrong, rel=1e-6, abs=1e-15)
    assert true_positive_cap(epsilon, wrong) == pytest.approx(right, rel=1e-9)


@pytest.mark.parametrize("reports", [1, 3, 10])
@pytest.mark.parametrize("delta", [1e-6, 1e-3, 0.1])
def test_odds_may_exceed_twice_their_factor_with_twice_delta_only(
    reports: int, delta: float
) -> None:
    """Of composed randomized response, every total of losses enumerated."""
    each = 0.5
    epsilon = exact(randomized_response(each), reports, delta)
    right = 1 / (1 + math.exp(-each))
    chances = {
        (reports - 2 * lies) * each: math.comb(reports, lies)
        * right ** (reports - lies) * (1 - right) ** lies
        for lies in range(reports + 1)
    }  # fmt: skip
    factor = odds_factor(epsilon, delta)
    assert factor == pytest.approx(2 * math.exp(epsilon))
    beyond = sum(p for loss, p in chances.items() if loss > math.log(factor))
    below = sum(p for loss, p in chances.items() if loss < -math.log(factor))
    assert beyond <= read(epsilon, delta).odds_fail == 2 * delta
    assert below <= 2 * delta


def test_odds_exceed_their_plain_factor_more_often_than_delta() -> None:
    """Why a delta takes twice the factor: the simple reading of it is false."""
    epsilon = exact(randomized_response(0.5), 10, 0.1)
    right = 1 / (1 + math.exp(-0.5))
    beyond = sum(
        math.comb(10, lies) * right ** (10 - lies) * (1 - right) ** lies
        for lies in range(11)
        if (10 - 2 * lies) * 0.5 > epsilon
    )
    assert beyond > 0.1


@given(epsilon=SIZES, prior=SHARES, delta=st.one_of(st.just(0.0), st.floats(1e-15, 0.49)))
def test_every_cap_is_a_probability_and_in_order(
    epsilon: float, prior: float, delta: float
) -> None:
    made: dict[str, Any] = {"epsilon": epsilon, "prior": prior, "delta": delta or None}
    explained = explain(**made)
    belief, caps = explained.posterior, explained.reading
    assert 0 <= belief.at_least <= prior * (1 + 1e-12)
    assert prior * (1 - 1e-12) <= belief.at_most <= 1
    assert 0.5 <= caps.success_cap <= 1
    assert 0 < caps.advantage_cap <= 1
    assert caps.success_cap == pytest.approx((1 + caps.advantage_cap) / 2, rel=1e-12)
    assert 0.01 <= caps.true_positive_cap <= 1
    assert caps.odds_factor is None or caps.odds_factor > 1
    json.dumps(explained.document(), allow_nan=False)
    assert not re.search(r"\b(nan|inf)\b", as_table(explained) + as_csv(explained))


@given(epsilon=st.floats(1e-6, 100), prior=SHARES)
def test_more_epsilon_lets_more_be_believed(epsilon: float, prior: float) -> None:
    assert posterior(prior, epsilon) <= posterior(prior, 1.1 * epsilon)
    assert posterior_at_least(prior, epsilon) >= posterior_at_least(prior, 1.1 * epsilon)


def test_the_ends() -> None:
    assert (posterior(0, 1e9), posterior(1, 1e9)) == (0, 1)
    assert (posterior_at_least(0, 1e9), posterior_at_least(1, 1e9)) == (0, 1)
    assert odds_factor(701) is None
    assert odds_factor(1, 0.5) is None
    assert read(1, 0.5).odds_fail == 1


def test_the_document() -> None:
    document = explain(epsilon=5, prior="0.01").document()
    assert document["posterior"] == pytest.approx(0.5998596018130347, abs=1e-12)
    assert (document["prior"], document["epsilon"], document["delta"]) == (0.01, 5, None)
    assert len(document["posteriors"]) == 1
    assert {"success_cap", "advantage_cap", "odds_factor", "posterior"} <= set(document)
    assert document["epsilon_unit"].startswith("of whatever it was computed for: one report, or")
    assert document["meaningful"] is True


def test_without_a_prior_there_are_several_and_the_even_one_is_the_success_cap() -> None:
    document = explain(epsilon=2).document()
    assert [one["prior"] for one in document["posteriors"]] == [0.001, 0.01, 0.1, 0.5, 0.9]
    assert document["prior"] == 0.5
    assert document["posterior"] == pytest.approx(document["success_cap"], abs=1e-15)
    assert document["posterior"] == document["posteriors"][3]["posterior"]


def test_a_delta_doubles_the_odds_and_is_said() -> None:
    sure, unsure = explain(epsilon=2, prior="0.1"), explain(epsilon=2, prior="0.1", delta="1e-6")
    assert unsure.posterior.at_most == posterior(0.1, 2 + math.log(2)) > sure.posterior.at_most
    assert unsure.document()["odds_fail"] == 2e-6
    assert "probability of at most 2 delta = 2e-06" in as_table(unsure)
    assert "delta" not in as_table(sure)


@pytest.mark.parametrize(("epsilon", "meaningful"), [(10, True), ("10.01", False), (10**12, False)])
def test_no_meaningful_guarantee(epsilon: Any, meaningful: bool) -> None:
    explained = explain(epsilon=epsilon)
    assert explained.document()["meaningful"] is meaningful
    assert ("no meaningful guarantee" in as_table(explained)) is not meaningful
    assert (explained.document()["verdict"] == "no meaningful guarantee") is not meaningful


def test_the_command_for_people_and_programs() -> None:
    text = " ".join(run("explain", "--epsilon", "1", "--prior", "0.01").stdout.split())
    assert (
        "If somebody believed with 1 % that your answer is yes, then after seeing everything that "
        "epsilon is of, they may believe it with at most 2.673 % and at least 0.3702 %." in text
    )
    assert "right in at most 73.11 % of cases" in text
    assert "It adds up: over questions" in text
    done = run("explain", "--epsilon", "1", "--prior", "0.01", "--format", "json")
    assert json.loads(done.stdout) == explain(epsilon=1, prior="0.01").document()
    rows = list(csv.DictReader(io.StringIO(run("explain", "--epsilon=1", "--format=csv").stdout)))
    assert [row["prior"] for row in rows] == ["0.001", "0.01", "0.1", "0.5", "0.9"]
    assert tuple(rows[0]) == explain(epsilon=1).columns


@pytest.mark.parametrize("delta", [None, "1e-6"])
@pytest.mark.parametrize("epsilon", ["1", "730"])
def test_every_epsilon_that_is_shown_says_of_what(epsilon: str, delta: str | None) -> None:
    for section in explain(epsilon=epsilon, delta=delta).sections():
        for text in (section.title, *section.notes, *section.columns):
            if re.search("(?<!total-)epsilon", text, re.IGNORECASE):
                assert re.search(r"epsilon (is of|\d+.*, of|assumes)", text, re.IGNORECASE), text


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": 0}, r"epsilon must be in 0.000001..10000000000000: 0"),
        ({"epsilon": "1e14"}, r"epsilon must be in"),
        ({"epsilon": float("nan")}, r"epsilon must be finite"),
        ({"prior": 0}, r"prior must be above 1e-15 and below 0.999999999999999: 0"),
        ({"prior": 1}, r"prior must be above 1e-15 and below 0.999999999999999: 1"),
        ({"prior": "1e-400"}, r"prior must be above"),
        ({"delta": 0}, r"delta must be above 1e-100 and below 0.5: 0"),
        ({"delta": "0.5"}, r"delta must be above 1e-100 and below 0.5: 0.5"),
    ],
)
def test_parameters_out_of_range(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        explain(**({"epsilon": 1} | wrong))


def test_a_wrong_command_line_is_one_line() -> None:
    done = run("explain", "--epsilon", "1", "--prior", "2")
    assert (done.exit_code, len(done.stderr.splitlines())) == (1, 1)
    assert run("explain").exit_code == 2


@given(value=st.floats(1e-300, 1e15), digits=st.integers(2, 8))
def test_bounds_are_rounded_to_their_side(value: float, digits: int) -> None:
    exactly = Decimal(value)
    up = Decimal(at_most(value, digits).replace(",", ""))
    down = Decimal(at_least(value, digits).replace(",", ""))
    assert down <= exactly * (1 + Decimal("1e-12"))
    assert up >= exactly * (1 - Decimal("1e-12"))
    width = exactly * Decimal(10) ** (1 - digits)
    assert up - exactly <= width
    assert exactly - down <= width


def test_figures() -> None:
    assert [at_most(v) for v in (0.0, 730.0, 1.6416635, 1e-6, 44e6, 1e-5 * 3)] == [
        "0", "730", "1.64167", "1e-6", "44,000,000", "3e-5",
    ]  # fmt: skip
    assert at_most(0.1 + 0.2) == "0.3"
    assert at_least(2 / 3, 4) == "0.6666"
    assert [power_at_most(v) for v in (1.0, 10.0, 30.5)] == ["2.72", "22,026.5", "e^30.5"]
