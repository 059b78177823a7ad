"""Number questions on the device: every number is taken, nothing else is, and none is kept."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from client_kit import DAY, Clock, Collector, bytes_of, question, responses, survey, survey_file

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import named
from deniable.protocol.survey import Survey


def visits(**changes: Any) -> dict[str, Any]:
    asked = {
        "ask": "How often was the app opened?",
        "type": "number",
        "range": {"low": 0, "high": 100, "steps": 100},
        **changes,
    }
    return question(**asked)


def asked(**changes: Any) -> Survey:
    return survey(visits=visits(**changes))


@pytest.mark.parametrize("name", named("number"))
def test_a_number_is_recorded_and_sent(start: Any, heard: Collector, name: str) -> None:
    numbers = asked(mechanism=name)
    client = start(numbers, heard.url, consent="on")
    client.record("visits", 3)
    client.flush(force=True)
    [(period, sent, response)] = heard.reports
    assert (period, sent) == ("2026-11-30", "visits")
    assert numbers.questions["visits"].mechanism.shape.unpack(response).out == response


@pytest.mark.parametrize(
    "value", [3, -3, 10**400, 2.5, 1e308, -0.0, Decimal("1e999999"), Fraction(1, 3)]
)
def test_every_finite_number_is_taken(start: Any, store: Path, value: object) -> None:
    client = start(asked())
    client.record("visits", value)
    assert len(responses(store, "visits")) == 1


WRONG = [math.nan, math.inf, -math.inf, Decimal("sNaN"), True, "3", None, 3j, [3], object()]


@pytest.mark.parametrize("value", WRONG)
def test_what_is_no_number_raises_if_strict(start: Any, value: object) -> None:
    client = start(asked())
    message = "^visits: the value must be a number, and finite$"
    with pytest.raises(ParameterError, match=message) as caught:
        client.record("visits", value)
    assert caught.value.__context__ is None
    assert client.status().dropped == {"wrong_value": 1}


@pytest.mark.parametrize("value", WRONG)
def test_what_is_no_number_is_silent_otherwise(start: Any, store: Path, value: object) -> None:
    """It is counted, it takes no place, and the number that comes after it is recorded."""
    client = start(asked(), strict=False)
    client.record("visits", value)
    assert client.status().dropped == {"wrong_value": 1}
    assert responses(store, "visits") == []
    client.record("visits", 3)
    assert len(responses(store, "visits")) == 1


@pytest.mark.parametrize("name", named("number"))
def test_numbers_at_one_point_have_one_permanent_response(
    start: Any, clock: Clock, store: Path, name: str
) -> None:
    """Whatever they are written as, on whichever day, over a restart."""
    numbers = asked(mechanism=name, grace=60)
    for value in (7, 7.0, 7.49, Decimal("6.5"), Fraction(7)):
        with start(numbers) as client:
            client.record("visits", value)
        clock.advance(DAY)
    kept = responses(store, "visits")
    assert len(kept) == 5
    assert len(set(kept)) == 1


def test_another_number_has_another_response(start: Any, clock: Clock, store: Path) -> None:
    """At epsilon 16 all but one in 10 000 reports are of the number's own band, of a few cells."""
    numbers = asked(mechanism="piecewise", epsilon=16, grace=60)
    client = start(numbers)
    for day in range(30):
        client.record("visits", day * 3)
        clock.advance(DAY)
    c = numbers.questions["visits"].mechanism.shape.width - 100
    assert c <= 3
    own = sum(3 * day <= out < 3 * day + c for day, out in enumerate(responses(store, "visits")))
    assert own >= 26


def test_a_default_number_speaks_for_the_silent(start: Any, clock: Clock, store: Path) -> None:
    """As if the number itself had been recorded: the half between 2 and 3 is a 3."""
    numbers = asked(mechanism="piecewise", default=Decimal("2.5"), grace=60)
    with start(numbers) as client:
        client.record("visits", 90)
    clock.advance(2 * DAY)
    with start(numbers) as client:
        client.record("visits", 3)
    kept = responses(store, "visits")
    assert len(kept) == 3
    assert kept[1] == kept[2]


def test_a_number_is_nowhere_in_the_store(start: Any, store: Path) -> None:
    with start(asked(mechanism="1bitmean", range={"low": 0, "high": 10**9, "steps": 4095})) as it:
        it.record("visits", 481_516_234)
    found = bytes_of(store.parent)
    for form in (
        b"481516234",
        (481_516_234).to_bytes(4, "big"),
        (481_516_234).to_bytes(4, "little"),
    ):
        assert form not in found


def test_a_compiled_survey_asks_the_same(
    start: Any, clock: Clock, tmp_path: Path, store: Path
) -> None:
    """Its ends are decimals written as text, and its hash is the one the device knows."""
    numbers = asked(
        range={"low": Decimal("-0.5"), "high": Decimal("1e2"), "steps": 10},
        mechanism="piecewise",
        grace=60,
    )
    client = start(numbers)
    client.record("visits", 3)
    client.close()
    clock.advance(DAY)
    start(survey_file(tmp_path / "survey.json", numbers)).record("visits", Decimal("3.5"))
    first, second = responses(store, "visits")
    assert first == second
