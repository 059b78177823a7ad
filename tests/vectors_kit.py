"""What the known answers are derived from once more: nothing but hashlib, hmac and docs/wire.md."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parents[1] / "protocol" / "test_vectors.json"
KNOWN: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
QUESTIONS = {question["id"]: question for question in KNOWN["survey"]["questions"]}
SCALE = 2**64


def prefixed(*fields: str) -> bytes:
    return b"".join(len(f.encode()).to_bytes(4, "big") + f.encode() for f in fields)


def words(secret: str, *fields: str) -> Iterator[int]:
    counter = 0
    while True:
        message = prefixed("deniable/1", *fields) + counter.to_bytes(8, "big")
        block = hmac.new(bytes.fromhex(secret), message, hashlib.sha512).digest()
        yield from (int.from_bytes(block[at : at + 8], "big") for at in range(0, 64, 8))
        counter += 1


def public_words(*fields: str) -> Iterator[int]:
    counter = 0
    while True:
        message = prefixed("deniable/1", *fields) + counter.to_bytes(8, "big")
        block = hashlib.sha256(message).digest()
        yield from (int.from_bytes(block[at : at + 8], "big") for at in range(0, 32, 8))
        counter += 1


def keyed(question: dict[str, Any], secret: str, purpose: str, setup: str, memo: str) -> Any:
    names = ("vectors", question["id"], str(question["version"]), question["hash"])
    return words(secret, purpose, *names, setup, memo)


def below(drawn: Iterator[int], n: int) -> int:
    if n == 1:
        return 0
    size = 1
    while SCALE**size < n:
        size += 1
    while True:
        number = 0
        for _ in range(size):
            number = number * SCALE + next(drawn)
        if number < SCALE**size - SCALE**size % n:
            return number % n


def thresholds(question: dict[str, Any]) -> dict[str, int]:
    return {name: int(value) for name, value in question["mechanism"]["thresholds"].items()}


def kept_or_moved(symbol: int, threshold: int, k: int, drawn: Iterator[int]) -> int:
    if next(drawn) < threshold:
        return symbol
    other = below(drawn, k - 1)
    return other + (other >= symbol)


def coins(limits: list[int], drawn: Iterator[int]) -> int:
    return sum((next(drawn) < limit) << bit for bit, limit in enumerate(limits))


def kept_or_turned(mask: int, width: int, threshold: int, drawn: Iterator[int]) -> int:
    """Each bit as it is with the threshold's probability, or turned over."""
    limits = [threshold if mask >> bit & 1 else SCALE - threshold for bit in range(width)]
    return coins(limits, drawn)


def packed(mask: int, width: int) -> str:
    return base64.urlsafe_b64encode(mask.to_bytes((width + 7) // 8, "little")).rstrip(b"=").decode()


def unpacked(wire: str) -> int:
    return int.from_bytes(base64.urlsafe_b64decode(wire + "=" * (-len(wire) % 4)), "little")
