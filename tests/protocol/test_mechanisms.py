"""Every mechanism proved by enumeration: what its code draws, and what that reveals.

A mechanism joins by being registered in ``MECHANISMS``; where domains of 2, 3 and 5 have too many
outputs to enumerate, ``instances.py`` names smaller ones, and options that make it small.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from itertools import product

import conformance
import pytest
from instances import domains, small, usual

from deniable.protocol.draws import KeyedDraws
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import MECHANISMS, Mechanism, Options, build
from deniable.protocol.response import Response

EPSILONS = ("0.01", "0.1", "0.5", "1", "1.0986122886681098", "2", "3.7", "4", "8", "12", "16")
MADE_OF_OTHERS = ("cms", "hcms", "pem")
"""Kept bits and randomized response over buckets: at every second epsilon."""

Settings = tuple[str, int, str]


def grid(largest_k: int = 5, largest_epsilon: int = 16) -> list[Settings]:
    return [
        (name, k, epsilon)
        for name in MECHANISMS
        for k, epsilon in product(domains(name), EPSILONS[:: 2 if name in MADE_OF_OTHERS else 1])
        if k <= largest_k and Decimal(epsilon) <= largest_epsilon
    ]


def label(settings: Settings) -> str:
    return "{}-k{}-{}".format(*settings)


@cache
def family(name: str, k: int, epsilon: str) -> tuple[Mechanism, ...]:
    """The mechanism without a second round, and with several."""
    whole = Decimal(epsilon)
    parts = {whole * Decimal(part) for part in ("0.5", "0.9", "0.999")}
    if not MECHANISMS[name].two_rounds:
        return (small(name, k, whole),)
    firsts = sorted(first for first in parts | {Decimal("0.01")} if first < whole)
    return tuple(small(name, k, whole, first) for first in (None, *firsts))


@pytest.mark.parametrize("settings", grid(), ids=label)
@pytest.mark.parametrize("check", conformance.CHECKS, ids=lambda check: check.__name__)
def test_every_mechanism_conforms(settings: Settings, check: Callable[[Mechanism], None]) -> None:
    for mechanism in family(*settings):
        check(mechanism)


@pytest.mark.parametrize(
    "settings", [one for one in grid(largest_epsilon=8) if one[0] != "counter"], ids=label
)
def test_no_accuracy_is_wasted(settings: Settings) -> None:
    """Of a counter one report alone reveals less than its epsilon, which all of them share."""
    for mechanism in family(*settings):
        conformance.check_tightness(mechanism)


@pytest.mark.parametrize(
    "settings", [one for one in grid(largest_k=3) if MECHANISMS[one[0]].two_rounds], ids=label
)
def test_several_reports_reveal_what_the_chains_say(settings: Settings) -> None:
    for mechanism in family(*settings)[1:]:
        conformance.check_chains(mechanism)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_domain_is_what_was_asked(name: str) -> None:
    first = Decimal(1) if MECHANISMS[name].two_rounds else None
    k = domains(name)[-1]
    mechanism = small(name, k, Decimal(2), first)
    assert mechanism.name == name
    assert mechanism.k == k
    assert [mechanism.epsilon, mechanism.epsilon_first] == [2, first]
    assert small(name, k, Decimal(2)) == small(name, k, Decimal("2.00"))
    assert all(isinstance(value, int) for value in mechanism.thresholds.values())


@pytest.mark.parametrize("name", MECHANISMS)
def test_without_a_second_round_a_report_is_the_permanent_response(name: str) -> None:
    mechanism = usual(name, 2, Decimal(2))
    memo = conformance.memo(mechanism, 0, 1)
    permanent = mechanism.permanent(0, memo, KeyedDraws(bytes(32), b"any"))
    assert mechanism.instant(permanent, KeyedDraws(bytes(32), b"other")) == permanent
    assert mechanism.second is None


@pytest.mark.parametrize(
    ("k", "epsilon", "first", "message"),
    [
        (1, "1", None, "k must be at least 2: 1"),
        (2, "0", None, "epsilon must be positive and finite: 0"),
        (2, "-1.0", None, "epsilon must be positive and finite: -1.0"),
        (2, "NaN", None, "epsilon must be positive and finite: NaN"),
        (2, "sNaN", None, "epsilon must be positive and finite: sNaN"),
        (2, "Infinity", None, "epsilon must be positive and finite: Infinity"),
        (2, "44.1", None, "epsilon must be at most 44"),
        (2, "1e999999", None, "epsilon must be at most 44"),
        (2, "0." + "3" * 56, None, "epsilon must have at most 55 decimal places"),
        (2, "1e-56", None, "epsilon must have at most 55 decimal places"),
        (2, "1e-25", None, "epsilon is too small to say anything about 2 values"),
        (2, "2", "1e-25", "epsilon is too small to say anything about 2 values"),
        (2, "2", "0", "epsilon_first must be positive and finite: 0"),
        (2, "2", "2", r"epsilon_first must be less than epsilon \(2\): 2"),
        (2, "2", "3", r"epsilon_first must be less than epsilon \(2\): 3"),
        (2, "2", "1." + "9" * 56, "epsilon_first must have at most 55 decimal places"),
    ],
)
@pytest.mark.parametrize("name", MECHANISMS)
def test_parameters_out_of_range_are_refused(
    name: str, k: int, epsilon: str, first: str | None, message: str
) -> None:
    if first is not None and not MECHANISMS[name].two_rounds:
        message = f"{name} has no second round; leave out epsilon_first"
    if k == 1 and MECHANISMS[name].asks in ("text", "trajectory"):
        pytest.skip("it has a width of its own, or yes and no")
    with pytest.raises(ParameterError, match=f"^{message}"):
        usual(name, k, Decimal(epsilon), None if first is None else Decimal(first))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("grr", {"g": 2}, "grr has no option of that name; it has none: g"),
        ("olh", {"h": 2}, "olh has no option of that name; it has g: h"),
        ("olh", {"g": True}, r"g must be a whole number in 2\.\.4096: True"),
        ("olh", {"g": 1}, r"g must be a whole number in 2\.\.4096: 1"),
        ("ss", {"weight": "2"}, r"weight must be a whole number in 1\.\.4095: 2"),
    ],
)
def test_options_out_of_range_are_refused(name: str, options: dict[str, int], message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{message}"):
        build(name, 8, Decimal(1), None, options)


def test_an_unknown_mechanism_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"mechanism must be one of grr, sue, oue.*: nonesuch"):
        build("nonesuch", 2, Decimal(1))


def test_an_epsilon_may_be_too_small_for_a_large_domain_only() -> None:
    assert build("grr", 2, Decimal("1e-17")).p > Decimal("0.5")
    with pytest.raises(ParameterError, match="too small to say anything about 4096 values"):
        build("grr", 4096, Decimal("1e-17"))


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(
    ("epsilon", "first"),
    [("44", None), ("44", "43.9"), ("2", "1." + "9" * 55), ("1", "1e-9"), ("1e-9", None)],
)
def test_extreme_epsilons_still_conform(name: str, epsilon: str, first: str | None) -> None:
    if first is not None and not MECHANISMS[name].two_rounds:
        pytest.skip("it has one round")
    second = None if first is None else Decimal(first)
    mechanism = small(name, 2, Decimal(epsilon), second)
    assert list(conformance.faults(mechanism)) == []


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_host_applications_decimal_context_decides_nothing(name: str) -> None:
    """An app that computes with six digits must not change what its users' devices send."""
    first = Decimal("1.414213562373095048") if MECHANISMS[name].two_rounds else None
    parameters = (name, domains(name)[-1], Decimal("3.141592653589793238"), first)
    expected = usual(*parameters).thresholds
    hostile = decimal.Context(prec=3, rounding=decimal.ROUND_UP, Emin=-2, Emax=2)
    hostile.traps[decimal.Inexact] = hostile.traps[decimal.Rounded] = True
    with decimal.localcontext(hostile):
        assert usual(*parameters).thresholds == expected


def test_a_report_never_leaves_the_domain() -> None:
    grr = build("grr", 5, Decimal("0.5"))
    seen = {grr.permanent(0, b"4", KeyedDraws(bytes(32), str(i).encode())) for i in range(200)}
    assert seen == {Response(symbol) for symbol in range(5)}


@pytest.mark.parametrize("name", ["grr", "hr", "ss", "1bitmean"])
def test_fingerprint_bits_are_the_entropy_where_responses_are_uniform(name: str) -> None:
    mechanism = build(name, 5, Decimal("0.3"))
    found = {
        "grr": math.log2(5),
        "hr": 3.0,
        "ss": math.log2(math.comb(5, 2)),
        "1bitmean": 1.0,
    }
    assert mechanism.fingerprint_bits == pytest.approx(found[name], abs=1e-12)


@pytest.mark.parametrize(
    ("name", "k", "options", "merges"),
    [
        ("grr", 9, {}, False),
        ("oue", 9, {}, False),
        ("olh", 9, {"g": 9}, False),
        ("olh", 9, {"g": 3}, True),
        ("dbitflip", 9, {"bits": 7}, True),
        ("dbitflip", 9, {"bits": 8}, False),
        ("1bitmean", 2, {}, False),
        ("1bitmean", 3, {}, True),
        ("piecewise", 9, {}, False),
    ],
)
def test_which_answers_share_a_permanent_response(
    name: str, k: int, options: Options, merges: bool
) -> None:
    assert build(name, k, Decimal(1), None, options).merges == merges


def test_public_changes_do_not_bound_answers_that_share_a_response() -> None:
    """A change from 0 to 1 shows where 0 and 1 are in different buckets, and not from 0 to 2."""
    olh = build("olh", 3, Decimal(1), None, {"g": 2})
    told = {
        (setup, answers): len({olh.memo(setup, answer) for answer in answers})
        for setup in range(3)
        for answers in ((0, 1), (0, 2))
    }
    assert {told[setup, (0, 1)] - told[setup, (0, 2)] for setup in range(3)} == {-1, 0, 1}
