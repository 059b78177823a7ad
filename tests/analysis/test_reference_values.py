"""Values of the literature and of independent programs, one by one, against what is computed here.

``reference_values.json`` holds name, inputs, value, tolerance and source. A value belongs to the
function whose pattern its name matches; what is left out is listed with the reason. Where a source
prints a wrong or a rough value, the file has the right one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from scipy.optimize import brentq

from deniable.analysis import debias, total_epsilon, users_needed
from deniable.analysis.accountants.closed_forms import advanced, basic, kov
from deniable.analysis.accountants.compositions import compositions
from deniable.analysis.accountants.parts import Part
from deniable.analysis.accountants.renyi import converted, rdp, zcdp
from deniable.analysis.auditing import bounds
from deniable.analysis.models.central import (
    analytic_sigma,
    gaussian_advantage,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_loss_tail,
    gaussian_true_positives,
    laplace_deviation,
    textbook_sigma,
)
from deniable.analysis.reading import (
    advantage_cap,
    odds_factor,
    posterior,
    success_cap,
    true_positive_cap,
)
from deniable.analysis.shuffling.bounds import clones_bound, shuffle_bounds
from deniable.analysis.shuffling.inverse import crowd_for
from deniable.protocol.mechanisms import FrequencyOracle, build

LN3 = Decimal("1.0986122886681098")

Inputs = dict[str, Any]
Found = float | int | None

VALUES = json.loads((Path(__file__).parent / "reference_values.json").read_text("utf-8"))

LEFT_OUT = {
    "census_sum": "a sum of two published epsilons of a central system",
    "laplace_loss_q99.9_k200_eps0.2": "quantile of a simulated sum of Laplace losses",
    "rr_loss_q99.9_k200_eps0.2": "quantile of a loss: no bound, so no command gives it",
    "rdp_mu1_d1e-5_improved_integeralpha": "integer orders only: ours are real, and less",
    "local_central_ratio": "ratio of two rules of thumb; compare prints both exact errors",
    "shuffle_folklore_rule_n1e6_eps1_d1e-6": "no bound; a test of the bounds shows it broken",
}
"""Values of things this project has no function for."""

BELOW = re.compile(r"zcdp_loose|rdp_classic|rdp_100gauss_sigma10_classic|bbgn19")
"""Values of looser bounds: what is computed here must not exceed them."""

ABOVE = re.compile(r"logratio|memo_irr_(singleday|trajectory)|wang|interior|perposition")
"""Losses that a real device or data set attains: what is computed here must not be below them."""


def part(epsilon: object, reports: int, name: str = "grr", k: int = 2) -> Part:
    return Part(build(name, k, Decimal(str(epsilon))), reports)


def method(found: str, parts: list[Part], delta: float) -> Found:
    return next(each.epsilon for each in compositions(parts, delta) if each.method == found)


def exactly(i: Inputs) -> Found:
    """Of any report of that epsilon, as binary randomized response is one."""
    return method("exact", [part(i["eps0"], i["k"])], i["delta"])


def exactly_of_a_mechanism(i: Inputs) -> Found:
    of = part(i["eps0"], i["k"], i["mech"], i.get("K", 2))
    return method("exact", [of], i["delta"])


def gaussian_rdp(rho: float, delta: float) -> float:
    return converted(lambda over: rho * (1 + over), delta)


def fresh(i: Inputs) -> Found:
    return total_epsilon(epsilon=i["eps"], days=i["k"]).rows[1].fresh.epsilon


def debiased(i: Inputs, what: str) -> Found:
    """The number of those who would truly say yes, or its standard error."""
    counts = [i["n"] - i["yes"], i["yes"]]
    row = debias(counts, mechanism="grr", epsilon=LN3).records()[1]
    return float(row[what]) * i["n"]


def debiased_share(i: Inputs) -> Found:
    return (debiased({"n": 1000, "yes": round(1000 * i["raw"])}, "frequency") or 0) / 1000


def realized(p: float) -> Found:
    """The epsilon that a randomized response of probability p realizes, not just declares."""
    declared = Decimal(repr(math.log(p / (1 - p))))
    oracle = build("grr", 2, declared)
    assert isinstance(oracle, FrequencyOracle)
    assert float(oracle.p) == pytest.approx(p, abs=1e-15)
    return math.log(oracle.p / oracle.q)


def users(i: Inputs) -> Found:
    chosen = {"values": i.get("k", 2), "mechanism": i.get("mech", "grr")}
    if "f" in i:
        chosen |= {"frequency": i["f"], "fixed_population": True}
    z = f"{i['z']:.15f}"
    return users_needed(epsilon=i["eps"], margin=str(i["margin"]), sigmas=z, **chosen).users


def worst_deviation(epsilon: float) -> float:
    """Of one user's answer to a yes/no, in units of a frequency."""
    oracle = build("grr", 2, Decimal(str(epsilon)))
    return math.sqrt(oracle.worst_variance_iid()[0])


def sampled_deviation(i: Inputs) -> Found:
    oracle = build("grr", 2, Decimal(str(i["eps"])))
    return math.sqrt(oracle.variance_iid(i["pi"]) / i["n"])


def central_users(i: Inputs) -> Found:
    return math.ceil(2 * laplace_deviation(i["eps"]) / i["margin"])


def per_report(i: Inputs, bound: Callable[[list[Part], float], float]) -> float:
    """The epsilon of a report at which a bound on all of them reaches the total."""

    def excess(epsilon: float) -> float:
        return bound([part(f"{epsilon:.17f}", i["k"])], float(i["dprime"])) - i["total"]

    return float(brentq(excess, 1e-6, 1, xtol=1e-15))


def dr_true(i: Inputs) -> Found:
    return 1 / per_report({**i, "dprime": math.exp(-32)}, advanced)


def first_failure(i: Inputs) -> Found:
    def excess(epsilon: float) -> float:
        return gaussian_delta(1 / textbook_sigma(epsilon, i["delta"]), epsilon) / i["delta"] - 1

    return float(brentq(excess, 5, 12, xtol=1e-10))


def textbook_mu(i: Inputs) -> float:
    return 1 / textbook_sigma(i["eps"], i["delta"])


def analytic_mu(i: Inputs) -> float:
    return 1 / analytic_sigma(i["eps"], i["delta"])


def composed_gaussian_basic(i: Inputs) -> Found:
    """Each of k releases takes delta/k, and the epsilon that the textbook's sigma stands for."""
    return i["k"] * textbook_sigma(1, i["delta"] / i["k"]) / i["sigma"]


def second_round(i: Inputs) -> float:
    oracle = build("grr", i.get("k", 2), Decimal(str(i["eps_inf"])), Decimal(str(i["eps1"])))
    assert oracle.second is not None
    return float(oracle.second[0])


def memoized(i: Inputs, row: int) -> Found:
    first = {"epsilon_first": i["eps1"]} if "eps1" in i else {}
    table = total_epsilon(epsilon=i["eps_inf"], days=i["T"], values=i.get("k", 2), **first)
    found = table.rows[row]
    return found.second_round if first else found.memoized


def entries(i: Inputs, name: str, k: int, **options: int) -> Found:
    table = total_epsilon(epsilon=i["eps_inf"], days=365, values=k, mechanism=name, options=options)
    return table.rows[2].memoized


def rappor_permanent(i: Inputs) -> Found:
    """The epsilon at which a bit is kept with probability 1 - f/2."""
    oracle = build("rappor", 4, Decimal("4.394449154672439"), None, {"hashes": i["h"]})
    assert oracle.thresholds["keep"] / 2**64 == pytest.approx(1 - i["f"] / 2, abs=1e-12)
    return float(oracle.epsilon)


def per_day(i: Inputs) -> Found:
    return basic([part(i["eps_per_day"], i["days"])])


def mixed(i: Inputs) -> Found:
    return method("exact", [part(e, t) for e, t in i["items"]], i["delta"])


def refuting(i: Inputs) -> Found:
    return bounds.trials_to_refute(i["true"], i["claim"], i["alpha"])


def crossover(i: Inputs) -> Found:
    reports = range(1, 100)
    return next(
        n
        for n in reports
        if advanced([part(i["eps"], n)], i["dprime"]) < basic([part(i["eps"], n)])
    )


def shuffled(i: Inputs, name: str, k: int) -> Found:
    oracle = build(name, k, Decimal(str(i["eps0"])))
    return shuffle_bounds(oracle, i["n"], i["delta"]).upper


def blanket(i: Inputs) -> Found:
    """Of binary randomized response, of that over ten values, or of any report."""
    wanted = i["bound"].split("_")[0]
    if wanted == "gen":
        return clones_bound(i["eps0"], i["n"], i["delta"])
    return shuffled(i, "grr", int(wanted.removeprefix("rr")))


def alike(i: Inputs) -> Found:
    """Everybody else gives the same answer: a lower bound, attained."""
    oracle = build("grr", 2, Decimal(str(i["eps0"])))
    return shuffle_bounds(oracle, i["n"], i["delta"]).lower


def closed(i: Inputs, name: str) -> Found:
    oracle = build("grr", 2, Decimal(str(i["eps0"])))
    forms = shuffle_bounds(oracle, i["n"], i["delta"]).closed_forms
    return next(form.epsilon for form in forms if name in form.name)


def largest_valid(i: Inputs) -> Found:
    """The largest epsilon at which the closed form of 2022 applies."""
    low, high = Decimal(1), Decimal(10)
    for _ in range(60):
        middle = (low + high) / 2
        valid = closed({**i, "eps0": f"{middle:.20f}"}, "2022") is not None
        low, high = (middle, high) if valid else (low, middle)
    return float(low)


def crowd(i: Inputs) -> Found:
    return crowd_for(build("grr", 2, Decimal(i["eps0"])), i["target"], i["delta"])


COMPUTED: dict[str, Callable[[Inputs], Found]] = {
    r"coin_protocol_eps": lambda i: realized(i["p_yes_true"]),
    r"rr_p0.70_eps": lambda i: realized(i["p"]),
    r"rr_debias_p0.75.*": debiased_share,
    r"rr_debias_400_160": lambda i: debiased(i, "frequency"),
    r"rr_debias_400_160_se_bound": lambda i: i["n"] * worst_deviation(i["eps"]) / i["n"] ** 0.5,
    r"rr_debias_400_160_se_plugin": lambda i: debiased(i, "standard_error"),
    r"coth_eps2_half": lambda i: 2 * worst_deviation(i["eps"]),
    r"users_(eps2|grr16|oue)_.*": users,
    r"local_se_.*": lambda i: worst_deviation(i["eps"]) / math.sqrt(i["n"]),
    r"central_users_.*": central_users,
    r"rr_sd_iid_.*": sampled_deviation,
    r"posterior_.*": lambda i: posterior(i["prior"], i["eps"]),
    r"success_cap_.*": lambda i: success_cap(i["eps"]),
    r"advantage_cap_.*": lambda i: advantage_cap(i["eps"], i["delta"]),
    r"tpr_cap_.*": lambda i: true_positive_cap(i["eps"], i["fpr"], i["delta"]),
    r"odds_eps5_prior1pct": lambda i: posterior(i["prior"], i["eps"]),
    r"odds_eps0.1_percent": lambda i: 100 * ((odds_factor(i["eps"]) or 0) - 1),
    r"odds_eps10": lambda i: odds_factor(i["eps"]),
    r"kl_rr_eps1": lambda i: i["eps"] * advantage_cap(i["eps"]),
    r"group_k20_eps1": lambda i: odds_factor(i["k"] * i["eps"]),
    r"advanced_(k|formula).*": lambda i: advanced([part(i["eps"], i["k"])], i["dprime"]),
    r"basic_k200.*": lambda i: basic([part(i["eps"], i["k"])]),
    r"advanced_vs_basic.*": crossover,
    r"per_query_basic_k100": lambda i: per_report({**i, "dprime": 0.5}, lambda p, _: basic(p)),
    r"per_query_adv_exact.*": lambda i: per_report(i, advanced),
    r"dr_example3.7_true.*": dr_true,
    r"dr_example3.7_at.*": lambda i: advanced([part(f"{i['eps']:.20f}", i["k"])], math.exp(-32)),
    r"rdp_100gauss.*": lambda i: gaussian_rdp(i["k"] / (2 * i["sigma"] ** 2), i["delta"]),
    r"basic_100gauss.*": composed_gaussian_basic,
    r"gdp_mu1.*": lambda i: gaussian_epsilon(i["mu"], i["delta"]),
    r"rdp_mu1_.*realalpha": lambda i: gaussian_rdp(i["mu"] ** 2 / 2, i["delta"]),
    r"gauss_loss_tail.*": lambda i: gaussian_loss_tail(textbook_mu(i), i["eps"]),
    r"gauss_exact_delta.*": lambda i: gaussian_delta(i["mu"], i["eps"]),
    r"gauss_eps4_delta_exact": lambda i: gaussian_delta(textbook_mu(i), i["eps"]),
    r"gauss_eps8_advantage": lambda i: gaussian_advantage(analytic_mu(i)),
    r"gauss_eps8_tpr.*": lambda i: gaussian_true_positives(analytic_mu(i), 0.01),
    r"gauss_textbook_first.*": first_failure,
    r"sigma_basic.*": lambda i: analytic_sigma(i["eps"] / i["k"], i["delta"] / i["k"]),
    r"rr_optimal.*": exactly,
    r"zcdp_.*": lambda i: zcdp([part(i["eps0"], i["k"])], i["delta"]),
    r"rdp_(improved|classic)_eps.*": lambda i: rdp([part(i["eps0"], i["k"])], i["delta"]),
    r"kov3.4.*": lambda i: kov([part(i["eps0"], i["k"])], i["delta"]),
    r"(grr\d+|oue|sue)_fresh.*": exactly_of_a_mechanism,
    r"five_questions.*": mixed,
    r"clones_.*": lambda i: clones_bound(i["eps0"], i["n"], i["delta"]),
    r"strong_.*": lambda i: shuffled(i, "grr", 2),
    r"rr_exact_homog.*": alike,
    r"grr\d+_blanket.*|wang_.*": lambda i: shuffled(i, "grr", i["k"]),
    r"oue_shuffle.*": lambda i: shuffled(i, "oue", 16),
    r"sue_(shuffle|perposition).*": lambda i: shuffled(i, "sue", 16),
    r"bbgn19.*": blanket,
    r"rr_shuffle_interior.*": lambda i: shuffled(i, "grr", 2),
    r"fmt20_closed.*": lambda i: closed(i, "2020"),
    r"fmt22_closed.*": largest_valid,
    r"efmrtt19.*": lambda i: closed(i, "2019"),
    r"shuffle_never_exceeds.*": lambda i: shuffled(i, "grr", 2),
    r"users_for_central.*": crowd,
    r"memo_constant_.*|memo_irr_T\d+_.*": lambda i: memoized(i, 1),
    r"memo_irr_singleday.*": lambda i: memoized(i, 3),
    r"memo_irr_trajectory.*": lambda i: memoized(i, 4),
    r"change_trajectory_logratio.*": lambda i: memoized(i, 4),
    r"change_trajectory_no_irr": lambda i: memoized(i, 4),
    r"lgrr_p2.*": second_round,
    r"rappor_eps_inf": rappor_permanent,
    r"memo_entries_rappor.*": lambda i: entries(i, "rappor", 8),
    r"memo_entries_dbitflip.*": lambda i: entries(i, "dbitflip", 8, bits=1),
    r"apple_emoji_year": per_day,
    r"apple_quicktype.*": lambda i: basic([part(i["eps"], i["k"])]),
    r"cp_ceiling.*": lambda i: bounds.ceiling(i["N"], i["alpha"]),
    r"cp_upper.*": lambda i: bounds.upper_limit(i["x"], i["N"], i["alpha"]),
    r"trials_needed.*": lambda i: bounds.trials_needed(i["eps"], i["alpha"]),
    r"audit_rr.*": lambda i: bounds.epsilon_lower(i["tp"], i["fp"], i["n"], i["alpha"]),
    r"audit_trials.*": refuting,
    r"int_threshold.*": lambda i: build("grr", 2, LN3).thresholds["keep"] >> (64 - i["bits"]),
}


def value_for(name: str) -> Callable[[Inputs], Found] | None:
    """The function of the one pattern that a name matches."""
    found = [computed for pattern, computed in COMPUTED.items() if re.fullmatch(pattern, name)]
    assert len(found) <= 1, name
    return found[0] if found else None


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value["name"])
def test_a_value(value: dict[str, Any]) -> None:
    name, expected, tolerance = value["name"], value["expected"], value["tolerance"]
    computed = value_for(name)
    if name in LEFT_OUT:
        assert computed is None
        pytest.skip(LEFT_OUT[name])
    assert computed is not None, f"{name}: nothing computes it"
    found = computed(value["inputs"])
    if value["tol_kind"] == "none":
        assert found is None
    elif ABOVE.search(name):
        assert found is not None
        assert expected <= found * (1 + tolerance)
    elif BELOW.search(name):
        assert found is not None
        assert 0 < found <= expected + tolerance
    elif value["tol_kind"] == "rel":
        assert found == pytest.approx(expected, rel=tolerance, abs=0)
    else:
        assert found == pytest.approx(expected, rel=0, abs=tolerance)


def test_every_value_is_accounted_for() -> None:
    names = {value["name"] for value in VALUES}
    assert len(names) == len(VALUES) == 150
    assert set(LEFT_OUT) <= names
    for pattern in COMPUTED:
        assert any(re.fullmatch(pattern, name) for name in names), pattern
