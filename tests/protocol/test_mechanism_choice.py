"""What ``mechanism = "auto"`` means; a change of what it chooses is a new survey format."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from survey_documents import choice_table, make_question, make_survey, survey_tables, told

from deniable.protocol.limits import MAX_FINGERPRINT_BITS
from deniable.protocol.mechanisms import MECHANISMS, build, choose
from deniable.protocol.survey import parse_survey

FROZEN = [
    ("0.5", None, False, [(2, "grr"), (7, "oue"), (11, "grr")]),
    ("0.5", None, True, [(2, "grr"), (7, "oue")]),
    ("1", None, False, [(2, "grr"), (10, "oue"), (12, "grr")]),
    ("1", None, True, [(2, "grr"), (10, "oue")]),
    ("2", None, False, [(2, "grr")]),
    ("2", None, True, [(2, "grr"), (21, "oue")]),
    ("4", None, False, [(2, "grr")]),
    ("4", None, True, [(2, "grr"), (135, "oue")]),
    ("8", None, False, [(2, "grr"), (1025, "oue"), (1056, "grr")]),
    ("8", None, True, [(2, "grr")]),
    ("2", "1", False, [(2, "grr")]),
    ("2", "1", True, [(2, "grr"), (10, "oue")]),
    ("4", "1", False, [(2, "grr")]),
    ("4", "1", True, [(2, "grr"), (10, "oue")]),
]
"""epsilon, epsilon_first, linkable, and the domain sizes from which a mechanism is chosen."""


@pytest.mark.parametrize(("epsilon", "first", "linkable", "turns"), FROZEN)
def test_the_rule_is_frozen(
    epsilon: str, first: str | None, linkable: bool, turns: list[tuple[int, str]]
) -> None:
    edges = {2, 3, 100, 1024, 4096} | {k + step for k, _ in turns for step in (-1, 0, 1)}
    for k in sorted(edges - {1}):
        expected = [name for start, name in turns if start <= k][-1]
        second = None if first is None else Decimal(first)
        assert choose(k, Decimal(epsilon), second, linkable=linkable).name == expected, k


def entropy(p: float) -> float:
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)


def expected(k: int, epsilon: float) -> str:
    """The rule in floats: least variance at 1/k among those of at most ten bits, else GRR."""
    e, root = math.exp(epsilon), math.exp(epsilon / 2)
    p = {"grr": e / (e + k - 1), "sue": root / (root + 1), "oue": 0.5}
    q = {"grr": 1 / (e + k - 1), "sue": 1 / (root + 1), "oue": 1 / (e + 1)}
    bits = {name: k * entropy(q[name] + (p[name] - q[name]) / k) for name in ("sue", "oue")}
    bits["grr"] = math.log2(k)
    variance = {
        n: q[n] * (1 - q[n]) / (p[n] - q[n]) ** 2 + (1 - p[n] - q[n]) / (p[n] - q[n]) / k for n in p
    }
    quiet = [name for name in p if bits[name] <= 10]
    return min(quiet or ["grr"], key=variance.__getitem__)


@pytest.mark.parametrize("epsilon", ["0.1", "0.7", "1.5", "3", "6", "9"])
def test_the_rule_is_the_documented_one(epsilon: str) -> None:
    for k in (*range(2, 40), 100, 500, 1000, 1024, 1025, 1040, 1056, 1100, 4096):
        assert choose(k, Decimal(epsilon)).name == expected(k, float(epsilon)), k


@pytest.mark.parametrize("epsilon", ["0.5", "2", "8"])
def test_what_is_chosen_is_quiet_or_there_was_nothing_quiet(epsilon: str) -> None:
    for k in (2, 9, 64, 1024, 1025, 4096):
        chosen = choose(k, Decimal(epsilon))
        all_bits = [build(name, k, Decimal(epsilon)).fingerprint_bits for name in MECHANISMS]
        if min(all_bits) <= MAX_FINGERPRINT_BITS:
            assert chosen.fingerprint_bits <= MAX_FINGERPRINT_BITS
        else:
            assert chosen.name == "grr"


def test_a_survey_chooses_by_its_own_consent_to_be_linkable() -> None:
    table = choice_table(choices=[f"c{n}" for n in range(30)], mechanism="auto", epsilon=1)
    assert make_survey({"a": table}).questions["a"].mechanism.name == "grr"
    assert make_survey({"a": table}, linkable=True).questions["a"].mechanism.name == "oue"


def test_an_explicit_mechanism_is_taken_and_checked_instead() -> None:
    table = choice_table(choices=[f"c{n}" for n in range(64)], mechanism="oue", epsilon=2)
    assert make_question(table).mechanism.name == "oue"
    [(key, problem, _)] = told(lambda: parse_survey(survey_tables({"a": table})))
    assert key == "survey.linkable"
    assert "the once answers of one request carry up to 34.8 bits, more than 10" in problem


def test_an_explicit_auto_is_the_default() -> None:
    assert make_question(choice_table(mechanism="auto")) == make_question(choice_table())
