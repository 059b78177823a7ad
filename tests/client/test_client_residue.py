"""What is left of an answer on the device: nothing, once the collector has it."""

from __future__ import annotations

import hashlib
import itertools
import logging
import struct
import traceback
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from client_kit import (
    DAY,
    Clock,
    Collector,
    bytes_of,
    choice,
    question,
    reply,
    responses,
    rows,
    settle,
    survey,
)

from deniable.client import Client
from deniable.protocol.derivation import permanent_response
from deniable.protocol.survey import Survey

SIDES = [f"side {number}" for number in range(256)]
HEAD = {"linkable": True, "max_epsilon": Decimal(4000)}


def text(number: int, side: str) -> str:
    """An answer that is found nowhere by chance."""
    return f"answer-{hashlib.sha256(f'{number}{side}'.encode()).hexdigest()[:16]}"


FIFTY: dict[str, dict[str, Any]] = {
    **{f"yes{n}": question() for n in range(20)},
    **{f"few{n}": choice(*(text(n, side) for side in "abcd")) for n in range(8)},
    **{f"wide{n}": choice(text(n, "w"), *SIDES, mechanism="oue") for n in range(7)},
    **{
        f"number{n}": question(type="number", range={"low": -1_000_000, "high": 1_000_000})
        for n in range(15)
    },
}
ANSWERS: dict[str, Any] = {
    **{f"yes{n}": n % 2 == 0 for n in range(20)},
    **{f"few{n}": text(n, "c") for n in range(8)},
    **{f"wide{n}": text(n, "w") for n in range(7)},
    **{f"number{n}": 135_791.25 + 1_111.5 * n for n in range(15)},
}
"""A yes or no is no needle; that nothing is left of one is shown by comparing whole stores."""


def needles() -> list[bytes]:
    """How each value but a yes or no would look if it were written down."""
    found: list[bytes] = []
    for value in ANSWERS.values():
        if isinstance(value, str):
            found.append(value.encode())
        elif isinstance(value, float):
            found += [str(value).encode(), struct.pack("<d", value), struct.pack(">d", value)]
            found.append(str(int(value)).encode())
    return found


def found_in(haystack: bytes, wanted: list[bytes]) -> list[bytes]:
    return [needle for needle in wanted if needle in haystack]


def wide(store: Path) -> list[bytes]:
    """What waits of the wide questions: 257 bits each, found nowhere by chance."""
    return [response.encode() for n in range(7) for response in responses(store, f"wide{n}")]


@pytest.mark.parametrize("how", ["record", "later", "many"])
def test_a_store_holds_no_value_ever_and_no_response_after_the_acknowledgement(
    start: Any, heard: Collector, store: Path, how: str
) -> None:
    """In its file, freed pages included, in its journal and its lock, open and closed."""
    client = start(survey(HEAD, **FIFTY), heard.url, consent="on")
    client._engine._uploader.stop(5)
    if how == "many":
        client.record_many(ANSWERS)
    for name, value in ANSWERS.items() if how != "many" else ():
        client.record(name, value, wait=how == "record")
    assert client.status().queued == 50
    sent = wide(store)
    assert len(found_in(bytes_of(store.parent), sent)) == 7, "the search works"
    assert found_in(bytes_of(store.parent), needles()) == []
    assert client.flush(force=True).sent == 50
    assert sorted(sent) == sorted(
        response.encode() for _, name, response in heard.reports if name.startswith("wide")
    )
    for _ in range(2):
        assert found_in(bytes_of(store.parent), sent + needles()) == []
        client.close()


def test_a_kept_response_is_gone_when_the_person_wants_it_no_more(
    start: Any, heard: Collector, store: Path
) -> None:
    client = start(survey(HEAD, **FIFTY), heard.url, consent="on")
    client._engine._uploader.stop(5)
    client._engine._store.keep_responses(True)
    client.record_many(ANSWERS)
    sent = wide(store)
    client.flush(force=True)
    assert len(found_in(bytes_of(store.parent), sent)) == 7
    assert found_in(bytes_of(store.parent), needles()) == []
    client._engine._store.keep_responses(False)
    assert found_in(bytes_of(store.parent), sent) == []


@pytest.mark.parametrize("second_round", [{}, {"epsilon_first": Decimal(1)}])
def test_stores_of_opposite_answers_are_equal_after_the_acknowledgement(
    start: Any, heard: Collector, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    second_round: dict[str, Any],
) -> None:  # fmt: skip
    """Byte for byte, given the same secret and the same draws: so they tell none apart."""
    asked = survey(
        HEAD,
        **{f"yes{n}": question(**second_round) for n in range(10)},
        **{f"wide{n}": choice(*SIDES, mechanism="oue", **second_round) for n in range(5)},
    )
    found = []
    for side in (0, 1):
        count = itertools.count()
        monkeypatch.setattr(
            "os.urandom", lambda size, c=count: hashlib.shake_256(b"%d" % next(c)).digest(size)
        )
        folder = tmp_path / str(side)
        with start(asked, heard.url, store=folder / "acme.db", consent="on") as client:
            client._engine._uploader.stop(5)
            for name, one in asked.questions.items():
                client.record(name, bool(side) if one.type == "boolean" else SIDES[side])
            assert client.flush(force=True).sent == 15
        found.append(bytes_of(folder))
    first, second = ([r for _, _, r in heard.reports[n : n + 15]] for n in (0, 15))
    assert first != second
    assert found[0] == found[1]


# Messages and logs


def told(act: Callable[[], object]) -> str:
    """What an error reporter would send of the frames of the client, with all their variables."""
    try:
        act()
    except Exception as exc:
        reported: Any = traceback.TracebackException.from_exception(exc, capture_locals=True)
        pieces, waiting = [], [reported]
        while waiting:
            one = waiting.pop()
            pieces += one.format_exception_only()
            for frame in one.stack:
                if Path(frame.filename).name != Path(__file__).name:
                    pieces.append(f"{frame.name} {frame.locals}")
            waiting += [each for each in (one.__cause__, one.__context__) if each is not None]
        return "\n".join(pieces)
    return ""


VALUE = "the true value, 7f3a9c"


class Odd:
    """An answer of a type that no question takes."""

    def __repr__(self) -> str:
        return VALUE


def broken() -> Iterator[tuple[str, Any]]:
    """An app's own iterator that fails in the middle."""
    yield "few0", VALUE
    raise RuntimeError("of the app")


FAILING: dict[str, Callable[[Client], object]] = {
    "a choice that is none": lambda c: c.record("few0", VALUE),
    "the same, later": lambda c: c.record("few0", VALUE, wait=False),
    "of another type": lambda c: c.record("few0", Odd()),
    "no boolean": lambda c: c.record("yes0", VALUE),
    "no number": lambda c: c.record("number0", VALUE),
    "an unknown question": lambda c: c.record("nothing", VALUE),
    "a question of another type": lambda c: c.record([], VALUE),
    "one of many": lambda c: c.record_many({"yes0": True, "few0": VALUE, "yes1": False}),
    "many in pairs": lambda c: c.record_many([("few0", VALUE), ("number0", Odd())]),
    "no pairs": lambda c: c.record_many([("few0", VALUE, VALUE)]),
    "nothing to go through": lambda c: c.record_many(7),
    "a broken iterator": lambda c: c.record_many(broken()),
    "a preview": lambda c: c.preview("few0", VALUE),
    "a preview of nothing": lambda c: c.preview("nothing", VALUE),
}


@pytest.mark.parametrize("name", FAILING)
def test_no_error_holds_the_value(
    start: Any, store: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client = start(survey(HEAD, **FIFTY), consent="on")
    client._engine._uploader.stop(5)
    report = told(lambda: FAILING[name](client))
    assert report, "it raises, being strict"
    assert VALUE not in report
    assert "deniable.protocol.errors" in report or "UnknownQuestion" in report
    calm = start(survey(HEAD, **FIFTY), strict=False, consent="on")
    assert told(lambda: FAILING[name](calm)) == ""
    calm.record("yes2", True)
    assert calm.status().state == "on", "and it goes on"
    for each in (client, calm):
        each.close()
        assert VALUE not in told(lambda one=each: FAILING[name](one))
    assert VALUE not in caplog.text
    assert VALUE.encode() not in bytes_of(store.parent)


def test_the_watch_for_errors_sees_values() -> None:
    def fails(value: str) -> None:
        exec("def inner(hidden):\n raise ValueError('x')", space := {})
        space["inner"](value)

    assert VALUE in told(lambda: fails(VALUE))


def test_no_log_holds_a_value_a_response_or_a_name(
    start: Any, heard: Collector, store: Path, clock: Clock,
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Of any logger, at DEBUG, over all that can go right and wrong."""
    caplog.set_level(logging.DEBUG)
    client = start(survey(HEAD, **FIFTY), heard.url, consent="on", strict=False)
    client._engine._uploader.stop(5)
    client.record_many(ANSWERS)
    for name in ANSWERS:
        client.record(name, VALUE)
    sent = wide(store)
    ((secret,),) = rows(store, "SELECT secret FROM device")
    for failing in (
        lambda handler, count: reply(handler, 503),
        lambda handler, count: reply(handler, 200, b"<html>"),
        lambda handler, count: setattr(handler, "close_connection", True),
        lambda handler, count: settle(handler, {"accepted": count, "duplicate": 0, "rejected": []}),
    ):
        heard.answer = failing
        client.flush(force=True)
    clock.advance(DAY)
    client.record_many(ANSWERS)
    sent += wide(store)
    with client._engine._db.transaction():
        client._engine._db.write("DROP TABLE queue")
    client.record("few0", ANSWERS["few0"])
    clock.advance(DAY)
    for name, value in ANSWERS.items():
        client.record(name, value)
    assert client.status().state == "silent"
    names = [request.document["device"].encode() for request in heard.requests]
    log = caplog.text.encode() + "".join(capfd.readouterr()).encode()
    assert b"silent: " in log
    assert found_in(log, [*needles(), *sent, *names, VALUE.encode(), secret]) == []
    assert found_in(log, [secret.hex().encode(), repr(secret).encode()]) == []


# What the secret gives away before


def told_apart(asked: Survey, secret: bytes, waiting: dict[str, int]) -> dict[str, int]:
    """The answers that follow from a stolen store: where only one of the two gives what waits."""
    found = {}
    for name, response in waiting.items():
        one = asked.questions[name]
        fits = []
        for symbol in (0, 1):
            permanent = permanent_response(secret, one, symbol)
            assert permanent is not None
            if permanent.out == response:
                fits.append(symbol)
        if len(fits) == 1:
            found[name] = fits[0]
    return found


def test_a_stolen_store_gives_most_waiting_answers_away(start: Any, store: Path) -> None:
    """As SECURITY.md says: 79 % for a yes/no at epsilon 2.

    A response tells if the two permanent responses differ: both kept, or both flipped, so with
    probability p^2 + (1 - p)^2 = 0.790; then it is right. Of 180 answers such a share strays by
    more than 6.5 standard deviations of 0.030 with odds below 1e-10.
    """
    asked = survey(HEAD, **{f"q{n}": question() for n in range(180)})
    client = start(asked)
    client.record_many({name: n % 2 == 0 for n, name in enumerate(asked.questions)})
    ((secret,),) = rows(store, "SELECT secret FROM device")
    waiting = {name: responses(store, name)[0] for name in asked.questions}
    found = told_apart(asked, secret, waiting)
    p = float(asked.questions["q0"].mechanism.p)
    share = p**2 + (1 - p) ** 2
    assert round(share, 2) == 0.79
    assert f"{share:.0%}".replace("%", " %") in (
        Path(__file__).resolve().parents[2] / "SECURITY.md"
    ).read_text("utf-8")
    deviation = (share * (1 - share) / 180) ** 0.5
    assert abs(len(found) / 180 - share) < 6.5 * deviation
    assert all(found[name] == int(n % 2 == 0)
               for n, name in enumerate(asked.questions) if name in found)  # fmt: skip
    assert not found.keys() - waiting.keys()
