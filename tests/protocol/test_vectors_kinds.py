"""Known answers of sets, texts and changing answers, derived once more from the layout alone.

If a value here differs, devices in the field would draw a second permanent response: change the
code back, never the file.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest
from vectors_kit import (
    KNOWN,
    QUESTIONS,
    below,
    kept_or_moved,
    kept_or_turned,
    keyed,
    packed,
    public_words,
    thresholds,
)

PRIME = 2**61 - 1
HALF = 2**63


def bucket(family: str, row: int, number: int, width: int) -> int:
    drawn = public_words("row", family, str(row))
    a, b, c = (below(drawn, PRIME) for _ in range(3))
    x = number % PRIME
    return (a * x * x + b * x + c) % PRIME % width


def number_of(form: dict[str, Any], text: str) -> int:
    """The letters' places in the alphabet, from 1 on, as digits; 0 of a text that does not fit."""
    normal = unicodedata.normalize("NFC", text)
    if form["fold"]:
        folded = unicodedata.normalize("NFKC", text).casefold()
        normal = unicodedata.normalize("NFKC", folded).strip()
    if not 0 < len(normal) <= form["max_length"] or not set(normal) <= set(form["alphabet"]):
        return 0
    digits = [form["alphabet"].index(letter) + 1 for letter in normal]
    number = 0
    for digit in [*digits, *[0] * (form["max_length"] - len(digits))]:
        number = number * (len(form["alphabet"]) + 1) + digit
    return number


def symbol_of(question: dict[str, Any], answer: Any) -> int:
    if question["type"] == "text":
        return number_of(question["text"], answer)
    if question["type"] == "set":
        composed = {unicodedata.normalize("NFC", item) for item in answer}
        return sum(1 << question["choices"].index(item) for item in composed)
    one, two = question["parts"]
    given = [answer[part["name"]] for part in (one, two)] if isinstance(answer, dict) else answer
    place = one["choices"].index(given[0]) * len(two["choices"])
    return int(place + two["choices"].index(given[1]))


def subset(of: list[int], size: int, drawn: Iterator[int]) -> set[int]:
    taken: set[int] = set()
    for last in range(len(of) - size, len(of)):
        at = below(drawn, last + 1)
        taken.add(last if at in taken else at)
    return {of[at] for at in taken}


def set_response(question: dict[str, Any], secret: str, symbol: int) -> Any:
    options, k = question["mechanism"]["options"], question["mechanism"]["k"]
    items, weight = options["items"], options["weight"]
    drawn = keyed(question, secret, "permanent", "0", f"{symbol:x}")
    held = [at for at in range(k) if symbol >> at & 1]
    if len(held) > items:
        held = sorted(subset(held, items, drawn))
    inside = sorted([*held, *range(k + len(held), k + items)])
    outside = [at for at in range(k + items) if at not in inside]
    common = 0
    if next(drawn) < thresholds(question)["meet"]:
        ways = [math.comb(items, met) * math.comb(k, weight - met) for met in range(1, weight + 1)]
        left, common = below(drawn, sum(ways)), 1
        while left >= ways[common - 1]:
            left -= ways[common - 1]
            common += 1
    chosen = subset(inside, common, drawn) if common else set()
    chosen |= subset(outside, weight - common, drawn)
    return packed(sum(1 << at for at in chosen), k + items)


def text_response(question: dict[str, Any], secret: str, number: int) -> Any:
    mechanism, keep = question["mechanism"], thresholds(question)["keep"]
    name, options = mechanism["name"], mechanism["options"]
    drawn = keyed(question, secret, "setup", "", "")
    if name == "pem":
        first, step, length = options["first"], options["step"], options["length"]
        lengths = [*range(first, length, step), length]
        last = len(lengths) - 1
        level = last if below(drawn, 100) < options["last"] else below(drawn, last)
        setup = level * options["rows"] + below(drawn, options["rows"])
        prefix = number // (options["letters"] + 1) ** (length - lengths[level])
        memo = bucket(name, setup, prefix, options["g"])
        drawn = keyed(question, secret, "permanent", str(setup), str(memo))
        return [setup, kept_or_moved(memo, keep, options["g"], drawn)]
    setup = below(drawn, mechanism["shape"]["rows"])
    width = options["width"]
    if name == "hcms":
        row, column = divmod(setup, width)
        memo = 1 - (bucket(name, row, number, width) & column).bit_count() % 2
        drawn = keyed(question, secret, "permanent", str(setup), str(memo))
        return [setup, kept_or_turned(memo, 1, keep, drawn)]
    memo = bucket(name, setup, number, width)
    drawn = keyed(question, secret, "permanent", str(setup), str(memo))
    return [setup, packed(kept_or_turned(1 << memo, width, keep, drawn), width)]


def pair_response(question: dict[str, Any], secret: str, symbol: int) -> Any:
    mechanism = question["mechanism"]
    drawn = keyed(question, secret, "permanent", "0", str(symbol))
    return kept_or_moved(symbol, thresholds(question)["keep"], mechanism["k"], drawn)


RESPONSES = {"set": set_response, "text": text_response, "joint": pair_response}


def kinds(bits: int, few: int, epsilon: float) -> tuple[int, int, int]:
    """The most ones of the likelier masks, and how many of either kind there are.

    Every number of ones has a threshold of its own, and only one of them is here.
    """
    for ones in range((bits + 1) // 2):
        low = sum(math.comb(bits, fewer) for fewer in range(ones + 1))
        high = 2**bits - low
        if math.isclose(few * high / ((2**64 - few) * low), math.exp(epsilon), rel_tol=1e-12):
            return ones, low, high
    raise AssertionError("no number of ones has this threshold")


def turned_over(question: dict[str, Any], secret: str, level: int) -> int:
    options = question["mechanism"]["options"]
    bits = min(options["changes"] + 1, options["periods"] >> level)
    few = thresholds(question)[f"few_{level}"]
    drawn = keyed(question, secret, "permanent", str(level), "")
    turned, low, high = kinds(bits, few, float(question["epsilon"]))
    seldom = next(drawn) < few
    left, ones = below(drawn, low if seldom else high), 0 if seldom else turned + 1
    while left >= math.comb(bits, ones):
        left -= math.comb(bits, ones)
        ones += 1
    return sum(1 << at for at in subset(list(range(bits)), ones, drawn))


class Device:
    """What a device does at the end of each period."""

    def __init__(self, question: dict[str, Any], secret: str) -> None:
        self.question, self.secret = question, secret
        self.name, self.options = question["mechanism"]["name"], question["mechanism"]["options"]
        drawn = keyed(question, secret, "setup", "", "")
        self.level = below(drawn, self.options["periods"].bit_length())
        self.setup, self.point = self.level, 0
        if self.name == "counter":
            k = question["mechanism"]["k"]
            self.point = below(drawn, k - 1)
            self.setup = self.level * (k - 1) + self.point
        self.bits: dict[int, int] = {}
        self.told = 0

    def report(self, t: int, answer: Any) -> Any:
        bit = self.bits.get(max(self.bits, default=0))
        if answer is not None:
            bit = int(self.symbol(answer) > self.point)
            if self.name == "counter":
                bit = max(bit, *self.bits.values(), 0)
        if bit is not None:
            self.bits[t] = bit
        span = 1 << self.level
        before = -1 if t == span else self.at(t - span)
        if t % span or bit is None or before is None:
            return None
        return [self.level, self.said(t, bit, before)]

    def symbol(self, answer: Any) -> int:
        if self.name == "trajectory":
            return int(answer)
        grid = self.question["range"]
        steps = grid["steps"] // (int(grid["high"]) - int(grid["low"]))
        return int(answer * steps)

    def at(self, t: int) -> int | None:
        """The bit at the end of a period: that of the last one before in which one was known."""
        known = [at for at in self.bits if at <= t]
        return self.bits[max(known)] if known else None

    def said(self, t: int, bit: int, before: int) -> int:
        rose = bit > max(before, 0)
        if self.name == "counter":
            said, self.told = rose and not self.told, self.told or rose
            drawn = keyed(self.question, self.secret, "permanent", str(self.setup), f"{t} {said:d}")
            return int(next(drawn) < thresholds(self.question)["true_bit" if said else "other_bit"])
        most = min(self.options["changes"] + 1, self.options["periods"] >> self.level)
        if bit == before or self.told == most:
            drawn = keyed(self.question, self.secret, "permanent", str(self.setup), str(t))
            return int(next(drawn) < HALF)
        self.told += 1
        mask = turned_over(self.question, self.secret, self.level)
        return mask >> self.told - 1 & 1 ^ rose


def test_hash_rows_are_squares_modulo_a_prime() -> None:
    for entry in KNOWN["rows"]:
        drawn = public_words("row", entry["family"], str(entry["row"]))
        assert [str(below(drawn, PRIME)) for _ in range(3)] == entry["parameters"]
        for number, known in entry["buckets"]:
            assert bucket(entry["family"], entry["row"], int(number), entry["width"]) == known


@pytest.mark.parametrize("name", sorted({entry["question"] for entry in KNOWN["answered"]}))
def test_answers_follow_from_the_layout(name: str) -> None:
    question = QUESTIONS[name]
    entries = [entry for entry in KNOWN["answered"] if entry["question"] == name]
    assert len({str(entry["response"]) for entry in entries}) > 1
    for entry in entries:
        symbol = symbol_of(question, entry["answer"])
        assert str(symbol) == entry["symbol"]
        response = RESPONSES[question["type"]](question, entry["secret"], symbol)
        assert response == entry["response"]


def test_histories_follow_from_the_layout() -> None:
    levels: dict[str, set[int]] = {}
    for entry in KNOWN["histories"]:
        device = Device(QUESTIONS[entry["question"]], entry["secret"])
        levels.setdefault(entry["question"], set()).add(device.level)
        for t, answer, response in entry["steps"]:
            assert device.report(t, answer) == response, (entry["question"], t)
    assert {name: len(found) for name, found in levels.items()} == {
        "changing": 4, "changing_long": 5, "rising": 2,
    }  # fmt: skip
