"""Permanent responses: frozen for given keyed bytes, and the only thing that time can reveal."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from decimal import Decimal

import pytest
from instances import small, usual

from deniable.protocol.draws import Draws, KeyedDraws
from deniable.protocol.mechanisms import MECHANISMS, Mechanism, build
from deniable.protocol.response import Response

SECRET = bytes(range(32))
FIELDS = (b"permanent", b"acme-editor", b"dark_mode", b"1")


def keyed(device: int) -> KeyedDraws:
    return KeyedDraws(SECRET, *FIELDS, str(device).encode())


def keyed_words(device: int) -> list[int]:
    """The first sixteen words of a device, by hmac alone."""
    fields = (b"deniable/1", *FIELDS, str(device).encode())
    message = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
    blocks = b"".join(
        hmac.digest(SECRET, message + counter.to_bytes(8, "big"), "sha512") for counter in (0, 1)
    )
    return [int.from_bytes(blocks[at : at + 8], "big") for at in range(0, 128, 8)]


def grr(words: list[int], value: int, k: int) -> int:
    """Keep if the first word is below the threshold; else another symbol by the next good word."""
    if words[0] < build("grr", k, Decimal("0.5")).thresholds["keep"]:
        return value
    full = 2**64 // (k - 1) * (k - 1)
    other = next(word for word in words[1:] if word < full) % (k - 1) if k > 2 else 0
    return [symbol for symbol in range(k) if symbol != value][other]


def one_bit(words: list[int], value: int, k: int) -> int:
    """With the rounding point 0, whatever is above the lower end is rounded up."""
    return int((value > 0) == (words[0] < build("1bitmean", k, Decimal("0.5")).thresholds["keep"]))


def band(name: str) -> Callable[[list[int], int, int], int]:
    def cell(words: list[int], value: int, k: int) -> int:
        """A cell of the band if the first word is below the threshold; else one of the others."""
        mechanism = build(name, k, Decimal("0.5"))
        cells = range(mechanism.shape.width)
        inside = [y for y in cells if value <= y <= value + mechanism.shape.width - k]
        outside = [y for y in cells if y not in inside]
        chosen = inside if words[0] < mechanism.thresholds["inside"] else outside
        if len(chosen) == 1:
            return chosen[0]
        full = 2**64 // len(chosen) * len(chosen)
        return chosen[next(word for word in words[1:] if word < full) % len(chosen)]

    return cell


def unary(name: str) -> Callable[[list[int], int, int], int]:
    def mask(words: list[int], value: int, k: int) -> int:
        thresholds = build(name, k, Decimal("0.5")).thresholds
        asked = ["true_bit" if symbol == value else "other_bit" for symbol in range(k)]
        return sum((words[i] < thresholds[which]) << i for i, which in enumerate(asked))

    return mask


def subset(words: list[int], value: int, k: int) -> int:
    """The true one by the first word; each other by a word that extends the sample by one."""
    mechanism = build("ss", k, Decimal("0.5"))
    stream = iter(words)
    chosen = [value] if next(stream) < mechanism.thresholds["inside"] else []
    others = [symbol for symbol in range(k) if symbol != value]
    missing = mechanism.chosen["weight"] - len(chosen)
    for size in range(k - missing, k):
        full = 2**64 // size * size
        word = next(word for word in stream if word < full) if size > 1 else 0
        drawn = others[word % size]
        chosen.append(others[size - 1] if drawn in chosen else drawn)
    return sum(1 << symbol for symbol in chosen)


def hadamard(words: list[int], value: int, k: int) -> int:
    """A sign by the first word and a column by the second, moved along the row's lowest bit."""
    size = next(2**b for b in range(k + 1) if 2**b > k)
    column, row = words[1] % size, value + 1
    odd = sum(row >> b & column >> b & 1 for b in range(8)) % 2
    if (words[0] < build("hr", k, Decimal("0.5")).thresholds["plus"]) == bool(odd):
        lowest = next(b for b in range(8) if row >> b & 1)
        return column - 2**lowest if column >> lowest & 1 else column + 2**lowest
    return column


BY_HAND = {
    "ss": subset,
    "hr": hadamard,
    "1bitmean": one_bit,
    "piecewise": band("piecewise"),
    "square-wave": band("square-wave"),
    "grr": grr,
    "olh": grr,
    "sue": unary("sue"),
    "oue": unary("oue"),
}

PINNED = {
    "grr": [3, 2, 2, 2, 2, 3, 3, 1, 3, 2, 3, 2, 4, 1, 0, 1],
    "sue": [28, 5, 7, 17, 1, 25, 20, 0, 18, 29, 20, 7, 24, 26, 13, 24],
    "oue": [8, 1, 7, 17, 1, 9, 20, 0, 18, 29, 4, 5, 24, 10, 12, 8],
    "olh": [3, 2, 2, 2, 2, 3, 3, 1, 3, 2, 3, 2, 4, 1, 0, 1],
    "ss": [3, 20, 6, 6, 5, 12, 10, 17, 18, 20, 17, 20, 20, 6, 5, 17],
    "hr": [2, 3, 4, 4, 0, 7, 7, 5, 6, 3, 2, 7, 7, 4, 4, 5],
    "rappor": [188, 165, 7, 145, 33, 57, 180, 192, 18, 29, 52, 7, 152, 218, 77, 56],
    "dbitflip": [0, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0],
    "1bitmean": [0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0],
    "piecewise": [6, 5, 3, 3, 2, 4, 4, 1, 6, 5, 6, 5, 5, 3, 2, 1],
    "square-wave": [5, 4, 4, 2, 4, 4, 5, 1, 5, 4, 5, 4, 3, 3, 4, 1],
    "privset": [32, 2, 2, 64, 64, 64, 8, 16, 16, 2, 32, 64, 16, 32, 64, 1],
    "cms": [24, 9, 7, 17, 1, 25, 24, 0, 18, 29, 20, 15, 24, 26, 13, 24],
    "hcms": [0, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0],
    "pem": [3, 1, 1, 1, 1, 3, 3, 2, 3, 1, 3, 1, 4, 2, 0, 2],
    "trajectory": [0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0],
    "counter": [0, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0, 1, 1, 1, 1, 0],
}
"""Responses of devices 0..15 whose value is 2 of 5, at epsilon 0.5; of a yes/no that changes: yes.

Of a set: the second item of 5, of at most 2; of a text: the number 2, in rows of 4 or 5 buckets.
"""


def frozen(name: str) -> Mechanism:
    """One of few outputs where the sizes are open, and as it is by itself where they are not."""
    k = {"hcms": 4, "trajectory": 2}.get(name, 5)
    made = small if MECHANISMS[name].asks == "text" else usual
    return made(name, k, Decimal("0.5"))


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("name", BY_HAND)
def test_a_permanent_response_is_made_of_the_first_words(name: str, k: int) -> None:
    mechanism = build(name, k, Decimal("0.5"))
    for device in range(100):
        value = device % k
        expected = BY_HAND[name](keyed_words(device), value, k)
        key = mechanism.memo(0, value) or b""
        assert mechanism.permanent(0, key, keyed(device)) == Response(expected)


@pytest.mark.parametrize("name", PINNED)
def test_permanent_responses_are_frozen(name: str) -> None:
    mechanism = frozen(name)
    key = mechanism.memo(0, min(2, mechanism.k - 1)) or b""
    assert [mechanism.permanent(0, key, keyed(n)).out for n in range(16)] == PINNED[name]


def test_every_mechanism_is_frozen() -> None:
    assert PINNED.keys() == MECHANISMS.keys()


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_thousand_questions_have_one_permanent_answer(name: str) -> None:
    mechanism = frozen(name)
    key = mechanism.memo(0, 1) or b""
    assert len({mechanism.permanent(0, key, keyed(7)) for _ in range(1000)}) == 1


def learned(mechanism: Mechanism, permanent_draws: Callable[[int, int], Draws]) -> float:
    """How often an observer of 40 reports of each of 1000 devices names its yes or no.

    He takes the more frequent of the two symbols; devices with an even count are left out.
    """
    right = told = 0
    for device in range(1000):
        value = device % 2
        votes = 0
        for report in range(40):
            drawn = permanent_draws(device, report)
            permanent = mechanism.permanent(0, str(value).encode(), drawn)
            fresh = KeyedDraws(SECRET, b"report", str(device).encode(), str(report).encode())
            votes += 2 * mechanism.instant(permanent, fresh).out - 1
        if votes:
            told += 1
            right += (votes > 0) == bool(value)
    assert told > 900
    return right / told


def test_averaging_learns_the_permanent_response_and_nothing_more() -> None:
    """He is right for p1 = 0.731 of the devices at epsilon 1: that is what epsilon 1 means.

    Of 900 devices or more, a share 0.103 above p1 is 7 standard deviations. Drawn anew for each
    report, the permanent round is averaged away and he is right nearly always: the fault of
    other longitudinal clients.
    """
    mechanism = build("grr", 2, Decimal(1), Decimal("0.9"))
    memoized = learned(mechanism, lambda device, _: keyed(device))
    assert memoized < float(mechanism.first[0]) + 0.103
    redrawn = learned(
        mechanism, lambda device, report: KeyedDraws(SECRET, f"{device} {report}".encode())
    )
    assert redrawn > 0.98


def test_the_secret_alone_decides() -> None:
    """Another secret gives another response in some of a hundred questions, almost surely."""
    mechanism = build("oue", 5, Decimal("0.5"))
    other = hashlib.sha256(b"another device").digest()
    mine = [mechanism.permanent(0, b"2", keyed(n)) for n in range(100)]
    theirs = [
        mechanism.permanent(0, b"2", KeyedDraws(other, *FIELDS, str(n).encode()))
        for n in range(100)
    ]
    assert mine != theirs
