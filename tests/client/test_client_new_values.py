"""Sets, texts and pairs on the device: what is taken, what is refused, and that none of it stays.

All goes through the client of an app, and what is taken to a collector that checks every report.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
import pytest
from client_kit import DAY, NOON, Clock, bytes_of, question, responses, rows, survey
from collector_kit import Clock as CollectorClock
from collector_kit import InProcess
from served_kit import served

from deniable.client.testing import MemoryClient
from deniable.collector.app import close_app, create_app
from deniable.collector.config import Config
from deniable.protocol.derivation import permanent_response
from deniable.protocol.errors import ParameterError
from deniable.protocol.question import MAX_ENTRIES
from deniable.protocol.survey import Survey

CAFE, NFD = "caf\u00e9", "cafe\u0301"
TOOLS = ["a", "b", "c", CAFE]
FORM = {"alphabet": "abcd\u00e9", "max_length": 6, "fold": True}
HUGE = 10_000_000


def set_question(**changes: Any) -> dict[str, Any]:
    return question(type="set", choices=TOOLS, max_items=2, **changes)


def text_question(**changes: Any) -> dict[str, Any]:
    return question(**{"type": "text", "text": FORM, **changes})


def joint_question(**changes: Any) -> dict[str, Any]:
    parts = {"theme": ["dark", "light"], "place": [CAFE, "home"]}
    return question(type="joint", parts=parts, **changes)


def asked(**changes: Any) -> Survey:
    return survey(
        {"linkable": True},
        tools=set_question(**changes),
        word=text_question(**changes),
        both=joint_question(**changes),
    )


class Both(NamedTuple):
    """How an app may keep a pair."""

    theme: str
    place: str


SETS: list[tuple[Callable[[], Any], int]] = [
    (list, 0b0000),
    (tuple, 0b0000),
    (lambda: {"a"}, 0b0001),
    (lambda: frozenset({"a", "b"}), 0b0011),
    (lambda: ["b", "a", "b", "b"], 0b0011),
    (lambda: {"c": 1, "a": 2}.keys(), 0b0101),
    (lambda: {1: "c", 2: "a"}.values(), 0b0101),
    (lambda: (letter for letter in "ab"), 0b0011),
    (lambda: np.array(["a", CAFE]), 0b1001),
    (lambda: np.array(["a", NFD], dtype=object), 0b1001),
    (lambda: np.array([], dtype=str), 0b0000),
    (lambda: [NFD, CAFE], 0b1000),
    (lambda: TOOLS, 0b1111),
    (lambda: ["a"] * MAX_ENTRIES, 0b0001),
]
TEXTS: list[tuple[Callable[[], Any], str | None]] = [
    (lambda: "abba", "abba"),
    (lambda: " ABBA\n", "abba"),
    (lambda: "ab\u00e9", "ab\u00e9"),
    (lambda: "abe\u0301", "ab\u00e9"),
    (lambda: "\uff41\uff22", "ab"),  # full width
    (lambda: np.str_("abba"), "abba"),
    (lambda: "", None),
    (lambda: "abcdabc", None),
    (lambda: "xyz", None),
    (lambda: "a\0b", None),
    (lambda: "a\ud800", None),
    (lambda: "\u202eab", None),
    (lambda: "a" + "\u0301" * 1000, None),
    (lambda: Unread("a" * HUGE), None),
    (lambda: Unread("\ufdfa" * HUGE), None),
]
PAIRS: list[tuple[Callable[[], Any], int]] = [
    (lambda: {"theme": "dark", "place": "home"}, 1),
    (lambda: {"place": NFD, "theme": "light"}, 2),
    (lambda: ("light", "home"), 3),
    (lambda: ["dark", NFD], 0),
    (lambda: Both("light", CAFE), 2),
]


class Unread(str):
    """A text that must not be looked at."""

    __slots__ = ()

    def isascii(self) -> bool:
        raise AssertionError("it was looked at")

    __iter__ = __hash__ = __eq__ = isascii  # type: ignore[assignment]


TAKEN = {
    **{f"tools{i}": (set_question, *each) for i, each in enumerate(SETS)},
    **{f"word{i}": (text_question, *each) for i, each in enumerate(TEXTS)},
    **{f"both{i}": (joint_question, *each) for i, each in enumerate(PAIRS)},
}


def test_every_form_of_an_answer_is_taken_and_counts(start: Any, store: Path, clock: Clock) -> None:
    """Each is the permanent response of what it stands for, and a collector counts it."""
    copies = survey(
        {"linkable": True, "max_epsilon": 1000},
        **{name: build(min_crowd=1) for name, (build, *_) in TAKEN.items()},
    )
    settings: dict[str, Any] = {"release_every": 0, "clock": CollectorClock(NOON)}
    app = create_app(Config(str(store.parent.parent / "collector.db"), (copies,), **settings))
    try:
        running = InProcess(app, settings["clock"])
        with served(running) as connect:
            port = connect().socket.getpeername()[1]
            client = start(copies, f"http://127.0.0.1:{port}", consent="on")
            for name, (_, value, _) in TAKEN.items():
                client.record(name, value())
            assert client.status().dropped == {}
            assert client.flush(force=True).sent == len(TAKEN)
        running.release(days=10)
        ((secret,),) = rows(store, "SELECT secret FROM device")
        for name, (_, _, meant) in TAKEN.items():
            question = copies.questions[name]
            symbol: Any = question.text.encode("", meant or "") if question.text else meant
            cells = [0] * question.mechanism.shape.cells
            response = permanent_response(secret, question, symbol)
            assert response is not None
            question.mechanism.shape.fold(cells, response)
            [document] = running.documents("acme", name)
            assert document["cells"] == cells, name
    finally:
        close_app(app)


class Raises:
    """Fails in whatever way it is looked at."""

    def fail(self, *_: object) -> Any:
        raise LookupError("true value")

    __iter__ = __len__ = __getitem__ = __contains__ = __bool__ = __eq__ = __hash__ = fail
    __str__ = __repr__ = fail


class RaisingText(str):
    """A choice that fails when it is compared."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise LookupError("true value")


class RaisingMapping(Mapping[str, str]):
    """One that has its keys, and no values."""

    def __getitem__(self, key: str) -> str:
        raise LookupError("true value")

    def __iter__(self) -> Iterator[str]:
        return iter(("theme", "place"))

    def __len__(self) -> int:
        return 2


class EndlessPair(Sequence[str]):
    """Says that it has two entries, and gives no end of them."""

    def __getitem__(self, at: Any) -> Any:
        return "dark"

    def __len__(self) -> int:
        return 2


class Count:
    """Gives the same entry for ever, and counts how often."""

    def __init__(self, entry: object) -> None:
        self.entry, self.given = entry, 0

    def __iter__(self) -> Iterator[object]:
        while True:
            self.given += 1
            yield self.entry


def breaking() -> Iterator[str]:
    yield "a"
    raise LookupError("true value")


def deep() -> list[Any]:
    nested: list[Any] = []
    nested.append(nested)
    return nested


WRONG: dict[str, list[Callable[[], Any]]] = {
    "tools": [
        *map(lambda each: lambda: each, ["a", b"a", None, True, 1, 1.5, {"a": True}]),
        *map(lambda each: lambda: each, [["true value"], [["a"]], ["a", None], [b"a"], ["A"]]),
        *map(lambda each: lambda: each, [["\ud800"], ["\u202ea"], ["a\0"], ["a "], range(9)]),
        *(Raises, lambda: [Raises()], breaking, lambda: [RaisingText("a")], deep),
        *(lambda: itertools.repeat("a"), itertools.count, lambda: itertools.repeat("true value")),
        *(lambda: ["a"] * 1_000_000, lambda: [Unread("a" * HUGE)], lambda: np.array("a")),
        *(lambda: np.array([["a"]]), lambda: np.arange(3), lambda: [NFD * (HUGE // 5)]),
    ],
    "word": [
        *map(lambda each: lambda: each, [None, True, 1, b"abba", ["a"], ("a", "b"), {"a"}]),
        *(Raises, deep, lambda: np.array(["abba"]), lambda: RaisingText),
    ],
    "both": [
        *map(lambda each: lambda: each, ["dark", b"ab", None, 3, [], ["dark"], ("home", "dark")]),
        *map(lambda each: lambda: each, [("dark", "home", "x"), {"dark", "home"}, ("dark", 1)]),
        *map(lambda each: lambda: each, [{"theme": "dark"}, {"theme": "dark", "true value": "a"}]),
        *map(lambda each: lambda: each, [{"theme": "true value", "place": "home"}, ("dark", "x")]),
        *(Raises, lambda: [Raises(), "home"], RaisingMapping, deep, lambda: iter(("dark", "home"))),
        *(
            EndlessPair,
            lambda: ["dark"] * 1_000_000,
            lambda: ("dark", Unread("a" * HUGE)),
            lambda: itertools,
        ),
    ],
}
EACH_WRONG = [(name, build) for name, every in WRONG.items() for build in every]


def test_what_is_no_answer_raises_if_strict_and_is_not_repeated(start: Any) -> None:
    client = start(asked())
    for name, build in EACH_WRONG:
        with pytest.raises(ParameterError) as caught:
            client.record(name, build())
        message = str(caught.value)
        assert message.startswith((f"{name}: ", "the question or its value cannot be read"))
        assert len(message.splitlines()) == 1
        assert "true value" not in message
        assert caught.value.__context__ is caught.value.__cause__ is None
        for entry in caught.traceback[1:]:
            assert "true value" not in "".join(map(safe, entry.frame.f_locals.values()))
    assert client.status().dropped == {"wrong_value": len(EACH_WRONG)}
    assert client.status().queued == 0


def safe(value: object) -> str:
    """What a value shows of itself, if it does."""
    return repr(value) if isinstance(value, str | list | dict | tuple | Exception) else ""


def test_what_is_no_answer_is_silent_otherwise_and_nowhere(
    start: Any, store: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """It takes no place: the answer that comes after it counts."""
    caplog.set_level(logging.DEBUG)
    client = start(asked(), strict=False)
    for name, build in EACH_WRONG:
        client.record(name, build())
        client.record(name, build(), wait=False)
        assert client.preview(name, build()) is None
    client.record_many((name, build()) for name, build in EACH_WRONG)
    client.record_many({"tools": ["a"], "word": "abba", "both": ("dark", "home")})
    status = client.status()
    assert (status.state, status.queued) == ("local", 3)
    assert status.dropped == {"wrong_value": 3 * len(EACH_WRONG)}
    assert b"true value" not in bytes_of(store.parent)
    assert "true value" not in caplog.text
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "value"),
    [("tools", [Unread("a" * HUGE)]), ("both", ("dark", Unread("a" * HUGE)))],
)
def test_a_text_too_long_to_be_a_choice_is_not_looked_at(start: Any, name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match="must be one of its choices"):
        start(asked()).record(name, value)


def test_the_longest_choice_is_known_in_its_longest_form(start: Any) -> None:
    """Of all characters, none has more than four in a canonical form."""
    longest = max(map(chr, range(0x110000)), key=lambda each: len(normalize("NFD", each)))
    choice = longest * 200
    assert normalize("NFC", choice) == choice
    client = start(survey(dark=question(type="choice", choices=[choice, "other"])))
    client.record("dark", normalize("NFD", choice))
    assert client.status().queued == 1


@pytest.mark.parametrize("entry", ["a", "true value", 7])
def test_what_has_no_end_comes_to_one(start: Any, entry: object) -> None:
    endless = Count(entry)
    start(asked(), strict=False).record("tools", endless)
    assert 0 < endless.given <= MAX_ENTRIES + 1


def test_an_app_that_stops_while_it_is_asked_is_heard(start: Any) -> None:
    """Such as a person's Ctrl-C: it is the app's, and the client goes on."""

    def stopped() -> Iterator[str]:
        yield "a"
        raise KeyboardInterrupt

    client = start(asked(), strict=False)
    with pytest.raises(KeyboardInterrupt):
        client.record("tools", stopped())
    client.record("tools", ["a"])
    assert (client.status().state, client.status().queued) == ("local", 1)


def test_what_an_app_changes_afterwards_changes_nothing(start: Any, store: Path) -> None:
    client = start(asked())
    tools, both = ["a"], {"theme": "dark", "place": "home"}
    client.record("tools", tools, wait=False)
    client.record("both", both, wait=False)
    tools[:] = ["b", "c"]
    both.clear()
    assert client.status().queued == 2
    ((secret,),) = rows(store, "SELECT secret FROM device")
    for name, symbol in (("tools", 1), ("both", 1)):
        question = asked().questions[name]
        response = permanent_response(secret, question, symbol)
        assert response is not None
        assert responses(store, name) == [question.mechanism.shape.pack(response)]


SAME: dict[str, list[Any]] = {
    "tools": [["a", "b", CAFE], (NFD, "b", "b", "a"), {"b", NFD, "a"}],
    "word": ["ab\u00e9", "ABE\u0301", " ab\u00c9 "],
    "both": [("dark", CAFE), {"place": NFD, "theme": "dark"}, ["dark", NFD]],
}


def test_the_same_answer_in_another_form_has_the_same_response(
    start: Any, clock: Clock, store: Path
) -> None:
    """Over days and restarts; the set has more entries than count, so some are drawn by lot."""
    for turn in range(3):
        with start(asked()) as client:
            client.record_many({name: forms[turn] for name, forms in SAME.items()})
        clock.advance(DAY)
    for name in SAME:
        sent = responses(store, name)
        assert len(sent) == 3
        assert sent[0] == sent[1] == sent[2]


ANSWERS: dict[str, Any] = {"tools": ["a"], "word": "abba", "both": ("dark", "home")}
DEFAULTS: dict[str, Any] = {
    "tools": set_question(default=["b", "a"], grace=3),
    "word": text_question(default="ABBA", grace=3),
    "both": joint_question(default=["light", CAFE], grace=3),
}


def test_a_default_speaks_for_the_silent(start: Any, clock: Clock, store: Path) -> None:
    client = start(survey({"linkable": True}, **DEFAULTS))
    client.record_many({"tools": ["a", "b"], "word": "abba", "both": ("light", CAFE)})
    clock.advance(DAY)
    client.flush()
    assert client.status().queued == 3, "the day had its answers"
    clock.advance(DAY)
    client.flush()
    assert client.status().queued == 6
    for name in DEFAULTS:
        recorded, default = responses(store, name)
        assert recorded == default


def test_no_answer_is_in_the_store(start: Any, store: Path) -> None:
    """The question is, in words; the answer is nowhere, in no form."""
    form = {"alphabet": "abcd", "max_length": 20, "fold": True}
    long = survey({"linkable": True}, tools=set_question(), word=text_question(text=form))
    word = "abcdabcdabcdabcdabcd"
    with start(long) as client:
        client.record_many({"word": word, "tools": [NFD]})
    code = long.questions["word"].encode(word)
    content = bytes_of(store.parent)
    assert b"Is the dark theme on?" in content
    for trace in (word, str(code), f"{code:x}", CAFE, NFD):
        assert trace.encode() not in content


@pytest.mark.parametrize("name", ANSWERS)
def test_a_preview_is_what_is_sent(start: Any, store: Path, name: str) -> None:
    client = start(asked())
    preview = client.preview(name, ANSWERS[name])
    client.record(name, ANSWERS[name])
    [report] = preview.request["reports"]
    assert responses(store, name) == [report["response"]]


def test_the_client_in_memory_notes_what_was_meant() -> None:
    with MemoryClient(asked()) as client:
        client.record("tools", iter(["b", "a", "b"]))
        client.record("word", " ABBA ")
        client.record("both", {"place": NFD, "theme": "light"})
        assert client.recorded == [
            ("tools", {"a", "b"}),
            ("word", " ABBA "),
            ("both", ("light", CAFE)),
        ]


def typed(client: MemoryClient) -> None:
    """What a type checker must take, as an app writes it; nothing here runs."""
    client.record("tools", ["a"])
    client.record("tools", {"a"})
    client.record("tools", (each for each in "ab"))
    client.record("both", {"theme": "dark", "place": "home"})
    pairs: Iterable[tuple[str, str | list[str]]] = [("tools", ["a"]), ("word", "a")]
    client.record_many(pairs)
    client.record_many({"tools": ["a"], "both": ("dark", "home"), "dark": True})
