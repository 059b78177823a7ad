"""What ``mechanism = "auto"`` means; a change of what it chooses is a new survey format."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import get_args

import pytest
from survey_documents import choice_table, make_question, make_survey, survey_tables, told

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import (
    MECHANISMS,
    NO_OPTIONS,
    Asks,
    Mechanism,
    build,
    choose,
    named,
    rivals,
)
from deniable.protocol.survey import parse_survey

SIZES = (2, 3, 4, 8, 16, 64, 256, 1024, 4096)

FROZEN = [
    ("0.5", None, False, "grr grr olh ss olh olh olh grr olh"),
    ("0.5", None, True, "grr grr olh ss ss ss ss ss ss"),
    ("1", None, False, "grr grr grr ss olh olh olh grr olh"),
    ("1", None, True, "grr grr grr ss olh ss ss ss ss"),
    ("2", None, False, "grr grr grr grr ss olh olh grr olh"),
    ("2", None, True, "grr grr grr grr ss olh ss ss ss"),
    ("4", None, False, "grr grr grr grr grr grr olh grr olh"),
    ("4", None, True, "grr grr grr grr grr grr ss ss ss"),
    ("8", None, False, "grr grr grr grr grr grr grr grr grr"),
    ("8", None, True, "grr grr grr grr grr grr grr grr grr"),
    ("2", "1", False, "grr grr grr olh olh olh olh grr olh"),
    ("2", "1", True, "grr grr grr olh olh olh olh olh oue"),
    ("4", "1", False, "grr grr grr olh olh olh olh grr olh"),
    ("4", "1", True, "grr grr grr olh olh olh olh olh oue"),
]
"""epsilon, epsilon_first, linkable, and what is chosen for each of SIZES."""


@pytest.mark.parametrize(("epsilon", "first", "linkable", "names"), FROZEN)
def test_the_rule_is_frozen(epsilon: str, first: str | None, linkable: bool, names: str) -> None:
    second = None if first is None else Decimal(first)
    found = [choose(k, Decimal(epsilon), second, linkable=linkable).name for k in SIZES]
    assert " ".join(found) == names


@pytest.mark.parametrize("epsilon", ["0.5", "2", "8"])
def test_a_number_has_two_permanent_responses(epsilon: str) -> None:
    """So 1BitMean is the rule for numbers, however precise the others are."""
    for k in (3, 101, 4096):
        found = rivals(k, Decimal(epsilon), asks="number")
        assert found[0].mechanism.name == "1bitmean"
        assert [rival.against for rival in found[1:]] == [
            "a device would have more than 2 permanent responses"
        ] * 2
    assert choose(101, Decimal(2), Decimal(1), asks="number").name == "1bitmean"


def expected(k: int, epsilon: Decimal, first: Decimal | None, linkable: bool) -> str:
    """The rule as it is written down."""
    candidates = []
    for name, cls in MECHANISMS.items():
        if cls.asks != "choice" or not cls.automatic or (first and not cls.two_rounds):
            continue
        settings = [NO_OPTIONS, *cls.settings(k)]
        made = [build(name, k, epsilon, first, options) for options in settings]
        quiet = [m for m in made if qualifies(m, first, linkable)]
        candidates += quiet[:1] if made[0] in quiet else quiet
    return min(candidates, key=lambda m: m.exact_variance(Fraction(1, k), sampled=False)).name


def qualifies(mechanism: Mechanism, first: Decimal | None, linkable: bool) -> bool:
    assert mechanism.classes is not None
    alone = math.log2(mechanism.k)
    quiet = mechanism.fingerprint_bits <= (10 if alone <= 10 else alone + 1) + 1e-9
    steady = first is None or mechanism.flips == 1
    return mechanism.classes <= mechanism.k and (linkable or (quiet and steady))


def test_a_quieter_setting_is_taken_where_the_best_shows_too_much() -> None:
    best, chosen = build("olh", 256, Decimal(4)), choose(256, Decimal(4))
    assert (chosen.name, chosen.chosen) == ("olh", {"g": 31})
    assert best.fingerprint_bits > 10 >= chosen.fingerprint_bits
    assert best.variance(0.004) < chosen.variance(0.004) < 1.06 * best.variance(0.004)
    assert chosen.described() == "olh (g = 31)"


@pytest.mark.parametrize("linkable", [False, True])
@pytest.mark.parametrize(
    ("epsilon", "first"),
    [("0.1", None), ("0.7", None), ("1.5", None), ("3", None), ("6", None), ("9", None),
     ("2", "1"), ("4", "0.5")],
)  # fmt: skip
def test_the_rule_is_the_documented_one(epsilon: str, first: str | None, linkable: bool) -> None:
    second = None if first is None else Decimal(first)
    for k in (*range(2, 12), 20, 33, 100, 511, 1025, 4096):
        chosen = choose(k, Decimal(epsilon), second, linkable=linkable).name
        assert chosen == expected(k, Decimal(epsilon), second, linkable), k


def test_rivals_are_listed_in_the_order_of_the_rule() -> None:
    found = rivals(64, Decimal(1))
    assert {rival.mechanism.name for rival in found} == set(named("choice"))
    candidates = [rival for rival in found if not rival.against]
    others = [rival for rival in found if rival.against]
    assert (*candidates, *others) == found
    for group in (candidates, others):
        assert [r.variance for r in group] == sorted(r.variance for r in group)
    assert not any(rival.against for rival in rivals(2, Decimal(2)) if rival.mechanism.automatic)
    steady = {rival.mechanism.name: rival.against for rival in rivals(2, Decimal(2), Decimal(1))}
    assert steady["grr"] == steady["olh"] == ""
    assert (
        steady["sue"] == steady["oue"] == "a changed day shows in more than one place of a report"
    )
    reasons = {rival.mechanism.name: rival.against for rival in others}
    assert reasons["oue"].startswith("its reports tell devices apart by 5")
    assert "approximate" in reasons["rappor"]
    assert {rival.mechanism.name for rival in rivals(64, Decimal(2), Decimal(1))} == {
        name for name in named("choice") if MECHANISMS[name].two_rounds
    }


def test_the_registry_knows_of_each_mechanism_what_its_class_says() -> None:
    assert {name: (cls.name, cls.asks) for name, cls in MECHANISMS.items()} == {
        name: (name, asks) for asks in get_args(Asks) for name in named(asks)
    }


def test_parameters_out_of_range_are_refused_with_their_own_words() -> None:
    with pytest.raises(ParameterError, match="k must be at least 2: 1"):
        choose(1, Decimal(1))
    with pytest.raises(ParameterError, match=r"epsilon_first must be less than epsilon \(1\): 2"):
        choose(2, Decimal(1), Decimal(2))
    with pytest.raises(ParameterError, match="too small to say anything about 4096 values"):
        choose(4096, Decimal("1e-40"))


def test_a_survey_chooses_by_its_own_consent_to_be_linkable() -> None:
    table = choice_table(choices=[f"c{n}" for n in range(30)], mechanism="auto", epsilon=1)
    assert make_survey({"a": table}).questions["a"].mechanism.name == "olh"
    assert make_survey({"a": table}, linkable=True).questions["a"].mechanism.name == "ss"


def test_an_explicit_mechanism_is_taken_and_checked_instead() -> None:
    table = choice_table(choices=[f"c{n}" for n in range(64)], mechanism="oue", epsilon=2)
    assert make_question(table).mechanism.name == "oue"
    [(key, problem, _)] = told(lambda: parse_survey(survey_tables({"a": table})))
    assert key == "survey.linkable"
    assert "the once answers of one request carry up to 34.8 bits, more than 10" in problem


def test_an_explicit_auto_is_the_default() -> None:
    assert make_question(choice_table(mechanism="auto")) == make_question(choice_table())


PREFIXES = {"letters": 26, "length": 8}


@pytest.mark.parametrize(
    ("epsilon", "first", "linkable", "name"),
    [
        ("0.5", None, False, "hcms"),
        ("2", None, False, "hcms"),
        ("8", None, False, "hcms"),
        ("0.5", None, True, "cms"),
        ("2", None, True, "cms"),
        ("8", None, True, "cms"),
        ("2", "1", False, "hcms"),
        ("2", "1", True, "cms"),
    ],
)
def test_the_rule_for_texts_is_frozen(
    epsilon: str, first: str | None, linkable: bool, name: str
) -> None:
    """Bits of a whole row recognise a device; a sign, its row and its column hardly do."""
    second = None if first is None else Decimal(first)
    found = rivals(2, Decimal(epsilon), second, asks="text", linkable=linkable, given=PREFIXES)
    assert found[0].mechanism.name == name
    against = {rival.mechanism.name: rival.against for rival in found}
    assert against["pem"] == "it is for texts to be found"
    assert against["hcms"] == ""
    assert against["cms"].startswith("" if linkable else "its reports tell devices apart by ")


@pytest.mark.parametrize(
    ("asks", "k", "given", "name"),
    [
        ("set", 100, {"items": 5}, "privset"),
        ("trajectory", 2, {"periods": 30, "changes": 2}, "trajectory"),
        ("counter", 101, {"periods": 30}, "counter"),
    ],
)
def test_where_there_is_one_mechanism_it_is_taken(
    asks: Asks, k: int, given: dict[str, int], name: str
) -> None:
    """Whatever it shows: a survey whose requests show too much is refused for that."""
    (found,) = rivals(k, Decimal(1), asks=asks, given=given)
    assert (found.mechanism.name, found.against) == (name, "")
