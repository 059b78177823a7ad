"""``shuffle-epsilon``, several days, and what estimates say of their crowd."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner
from survey_documents import ABSENT, boolean_table, make_survey
from tally_places import tally, write_store

from deniable.analysis import estimate, shuffle_epsilon
from deniable.analysis.cli import main
from deniable.analysis.render import as_csv, as_table
from deniable.analysis.shuffling.bounds import clones_bound, shuffle_bounds
from deniable.analysis.totals.longitudinal import unchanging
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import build


def run(*args: str) -> str:
    result = CliRunner().invoke(main, ["shuffle-epsilon", *args], prog_name="deniable")
    assert result.exit_code == 0, result.output
    return result.output


def test_the_json_has_stable_names_and_says_what_it_rests_on() -> None:
    found = json.loads(
        run("--epsilon", "2", "--crowd", "10000", "--delta", "1e-6", "--format", "json")
    )
    assert {"upper", "lower", "method", "closed_forms", "unit", "assumption"} <= set(found)
    bounds = shuffle_bounds(build("grr", 2, Decimal(2)), 10_000, 1e-6)
    assert (found["upper"], found["lower"]) == (bounds.upper, bounds.lower)
    assert found["closed_forms"][0].keys() == {"name", "epsilon", "valid"}
    assert found["closed_forms"][0]["name"] == "Feldman, McMillan, Talwar 2020"
    assert found["unit"].startswith("of one device, from the shuffled reports of one period")


def test_the_table_names_the_trust_and_rounds_bounds_outwards() -> None:
    text = " ".join(run("--epsilon", "2", "--crowd", "10000", "--delta", "1e-6").split())
    bounds = shuffle_bounds(build("grr", 2, Decimal(2)), 10_000, 1e-6)
    shown = Decimal(text.split("epsilon at most ")[1].split()[0])
    assert bounds.upper <= shown <= Decimal(bounds.upper) * Decimal("1.00001")
    least = Decimal(text.split("less than epsilon ")[1].split()[0])
    assert bounds.lower is not None
    assert Fraction(least) <= Fraction(bounds.lower)
    for words in (
        "does not collude with the network",
        "no stable identifier",
        "honest devices, not of reports",
        "in which one device has another answer",
        "noise is fresh",
        "fake devices hide nobody, and shrink it",
        "memoized noise is the same again in the next",
        "delta = 1e-06",
    ):
        assert words in text, words


def test_fake_devices_shrink_the_crowd() -> None:
    with_fake = shuffle_epsilon(epsilon=2, crowd=10_000, delta="1e-6", fake_share="0.1")
    assert with_fake.honest == 9000
    assert with_fake.upper == shuffle_epsilon(epsilon=2, crowd=9000, delta="1e-6").upper
    assert "1,000 of 10,000 are taken to be fake" in str(with_fake.document()["assumption"])
    alone = math.log(math.exp(2) - 1e-6 * (math.exp(2) + 1))
    for share in ("0.9999", "1"):
        assert shuffle_epsilon(
            epsilon=2, crowd=1000, delta="1e-6", fake_share=share
        ).upper == pytest.approx(alone, abs=1e-12)


@pytest.mark.parametrize("hashes", [1, 2, 8])
def test_several_days_of_one_device_reveal_no_less_than_its_reports(hashes: int) -> None:
    """Filters of h hashes differ in up to 2h bits, and a crowd of one hides nothing."""
    options = {"hashes": hashes, "bits": 64, "cohorts": 1}
    asked = {"epsilon": 16, "epsilon_first": 1, "mechanism": "rappor", "values": 12}
    found = [
        shuffle_epsilon(crowd=1, delta="1e-6", days=days, options=options, **asked).upper
        for days in (1, 2, 3)
    ]
    assert found == sorted(found)
    filters = build("rappor", 12, Decimal(16), Decimal(1), options)
    assert found[1] > unchanging(filters, 2) - 1e-4


def test_a_second_round_is_amplified_as_one_report() -> None:
    two = shuffle_epsilon(
        epsilon=2, epsilon_first=1, crowd=10_000, delta="1e-6", mechanism="grr", values=4
    )
    one = shuffle_epsilon(epsilon=1, crowd=10_000, delta="1e-6", mechanism="grr", values=4)
    assert two.upper == pytest.approx(one.upper, rel=1e-6)


def test_several_days_of_memoized_answers_are_refused_in_one_line() -> None:
    with pytest.raises(ParameterError, match="repeat the same noise every day") as caught:
        shuffle_epsilon(epsilon=2, crowd=10_000, delta="1e-6", days=7)
    assert "only epsilon holds, 2 from all reports about one unchanging answer" in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(ParameterError, match="row stays the same"):
        shuffle_epsilon(
            epsilon=2, epsilon_first=1, crowd=10**6, delta="1e-6", days=7, mechanism="olh", values=9
        )


@pytest.mark.parametrize(("name", "places"), [("grr", 1), ("sue", 2), ("oue", 2), ("1bitmean", 1)])
def test_days_with_a_second_round_amplify_that_and_compose_it(name: str, places: int) -> None:
    found = shuffle_epsilon(
        epsilon=2, epsilon_first=1, crowd=10**6, delta="1e-6", days=7, mechanism=name, values=4
    )
    mechanism = build(name, 4, Decimal(2), Decimal(1))
    assert mechanism.second is not None
    p2, q2 = mechanism.second
    daily = clones_bound(places * math.log(p2 / q2), 10**6, 1e-6 / 7)
    assert 0.3 * daily < found.upper <= 7 * daily * (1 + 1e-6)
    alone = shuffle_epsilon(
        epsilon=2, epsilon_first=1, crowd=10**6, delta="1e-6", mechanism=name, values=4
    )
    assert found.lower == pytest.approx(alone.lower, rel=1e-3)
    assert found.lower is not None
    assert found.lower <= found.upper
    assert "composition" in found.method
    assert "an answer that stays the same" in found.unit


def test_days_never_exceed_what_all_reports_reveal_unshuffled() -> None:
    found = shuffle_epsilon(
        epsilon=2, epsilon_first=1, crowd=1000, delta="1e-6", days=10**5, mechanism="grr"
    )
    assert found.upper <= 2
    assert "unshuffled" in found.method


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"crowd": 0}, "crowd must be a whole number"),
        ({"delta": 0}, "delta must be above"),
        ({"delta": 1}, "delta must be above"),
        ({"epsilon": 0}, "epsilon must be in"),
        ({"fake_share": 2}, "fake_share must be in"),
        ({"days": 0}, "days must be a whole number"),
    ],
)
def test_what_is_out_of_range_is_named(given: dict[str, int], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        shuffle_epsilon(**({"epsilon": 1, "crowd": 100, "delta": "1e-6"} | given))  # type: ignore[arg-type]


def test_delta_is_never_assumed() -> None:
    result = CliRunner().invoke(main, ["shuffle-epsilon", "--epsilon", "1", "--crowd", "10"])
    assert result.exit_code == 2
    assert "--delta" in result.output


def test_a_delta_that_would_publish_an_answer_is_warned_of() -> None:
    assert "somebody chosen at random" in run(
        "--epsilon", "1", "--crowd", "1000", "--delta", "0.001"
    )


def test_more_devices_than_were_measured_hide_no_worse() -> None:
    large, more = (
        shuffle_epsilon(epsilon=2, crowd=n, delta="1e-12", values=3, mechanism="grr")
        for n in (10**9, 10**11)
    )
    forms = [form.epsilon for form in more.closed_forms if form.epsilon is not None]
    assert more.upper == min(forms) < large.upper
    assert more.method.startswith("closed form of Feldman")
    assert "No lower bound is computed for more than 1,000,000,000 devices" in as_table(more)
    barely = shuffle_epsilon(epsilon=2, crowd=10**9 + 1, delta="1e-6", mechanism="grr")
    assert barely.method.endswith("for a crowd of 1,000,000,000: more hide no worse")


def test_starting_takes_neither_numpy_nor_scipy() -> None:
    code = (
        "import sys; from deniable.analysis.commands import shuffle_epsilon; "
        "sys.exit(any(name in sys.modules for name in ('numpy', 'scipy')))"
    )
    assert subprocess.run([sys.executable, "-P", "-c", code], check=False).returncode == 0


DARK = make_survey({"dark_mode": boolean_table()}).questions["dark_mode"]


def test_an_estimate_says_what_its_crowd_adds_if_it_is_asked(tmp_path: Path) -> None:
    store = write_store(
        tmp_path / "collector.db",
        [
            tally(DARK, [70_000, 30_000], "2026-11-29"),
            tally(DARK, [7000, 3000], segment="stable"),
            tally(DARK, [600, 400], segment="beta"),
        ],
    )
    assert "shuffle" not in estimate("dark_mode", store).document()
    result = estimate("dark_mode", store, every=True, shuffle_delta="1e-6")
    big, small = (period["shuffle"] for period in result.document())
    assert (big["crowd"], small["crowd"]) == (100_000, 1000)  # the smallest tally decides
    for crowd in (big, small):
        bounds = shuffle_bounds(DARK.mechanism, crowd["crowd"], 1e-6)
        assert (crowd["upper"], crowd["method"]) == (bounds.upper, bounds.method)
        assert crowd["delta"] == 1e-6
        assert "one tally" in crowd["unit"]
    *_, shuffled, memoized = result[1].notes
    assert "Shuffled in a crowd of 1,000, the smallest of 2 tallies: epsilon at" in shuffled
    assert "Memoized noise is the same in every other period's tally" in memoized
    for row in result.records():
        assert (row["shuffle_delta"], row["shuffle_crowd"]) in ((1e-6, 100_000), (1e-6, 1000))
        assert row["shuffled_epsilon"] in (big["upper"], small["upper"])
    assert as_csv(result).splitlines()[0].endswith("shuffled_epsilon,shuffle_delta,shuffle_crowd")
    careless = estimate("dark_mode", store, shuffle_delta="0.4")
    assert "Warning: delta = 0.4 is not below 1/1,000" in careless[0].notes[-1]
    with pytest.raises(ParameterError, match="leave out pool"):
        estimate("dark_mode", store, every=True, shuffle_delta="1e-6", pool="mean")
    with pytest.raises(ParameterError, match="shuffle_delta must be above"):
        estimate("dark_mode", store, shuffle_delta=1)


def test_so_does_the_mean_of_a_number(tmp_path: Path) -> None:
    table = boolean_table(
        type="number",
        range={"low": 0, "high": 10, "steps": 10},
        mechanism="1bitmean",
        default=ABSENT,
        epsilon_first=ABSENT,
    )
    hours = make_survey({"hours": table}).questions["hours"]
    store = write_store(tmp_path / "collector.db", [tally(hours, [6000, 4000])])
    found = estimate("hours", store, shuffle_delta="1e-6").document()
    bounds = shuffle_bounds(build("grr", 2, hours.mechanism.epsilon), 10_000, 1e-6)
    assert found["shuffle"]["upper"] == bounds.upper < 0.2


def test_the_command_of_estimates_has_the_option(tmp_path: Path) -> None:
    store = write_store(tmp_path / "collector.db", [tally(DARK, [7000, 3000])])
    args = ["estimate", "dark_mode", "--from", str(store), "--shuffle-delta", "1e-6"]
    result = CliRunner().invoke(main, args, prog_name="deniable")
    assert result.exit_code == 0, result.output
    assert "Shuffled in a crowd of 10,000" in result.output
