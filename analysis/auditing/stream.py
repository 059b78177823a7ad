"""Whether installed draws decide exactly what the documented bytes say.

There are no statistics in it: thresholds are set to each word and to one more, and words are put
where a number below n must skip them. What must never change: expected words are derived here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from .derivation import Words, keyed_words, public_words, words_of
from .devices import Devices
from .findings import Finding

_WORDS = 64
_ALL = 2**64

_BELOW = (2, 3, 1000, 2**16 + 1, 2**63 + 1, 2**64 // 3 + 1)
"""Of the last two, words that must be skipped are half and a third of all."""


def check_draws(devices: Devices) -> Finding:
    """Compare the installed draws with the words that the documented bytes give, one by one.

    The i-th chance is asked for the i-th word w, where it must say no, and for w + 1, where it
    must say yes. That leaves no threshold that is off, no word that is used twice, and none
    that shares bits with its neighbour. Numbers below n are asked for where words at and above
    the last full multiple of n must be skipped, so that none is likelier than another.
    """
    material = [bytes(range(7, 39)), b"audit", b"", b"draws"]
    stream = _as_bytes(islice(public_words([b"stream"]), _WORDS))
    sources = {
        "keyed": (material, list(islice(keyed_words(material[0], material[1:]), _WORDS))),
        "public": (material, list(islice(public_words(material), _WORDS))),
        "fresh": ([stream], list(words_of(stream))),
    }
    for kind, (known, words) in sources.items():
        below = devices.draws(kind, known, [("chance", word) for word in words])
        above = devices.draws(kind, known, [("chance", word + 1) for word in words])
        if any(below) or not all(above):
            line = f"the {kind} draws are not those of the documented random bytes"
            return Finding("draws", None, False, line)
        wrong = next((n for n in _BELOW if not _uniform(devices, kind, known, words, n)), None)
        if wrong is not None:
            line = (
                f"{kind} draws below {wrong} are not uniform, or not those of the documented bytes"
            )
            return Finding("draws", None, False, line)
    line = (
        f"keyed, public and fresh draws decide exactly as {_WORDS} known words say, and skip the "
        "words that would make a number likelier than another"
    )
    return Finding("draws", None, True, line)


def _uniform(
    devices: Devices, kind: str, known: Sequence[bytes], words: Sequence[int], n: int
) -> bool:
    """Return whether numbers below n are those of the words, where some are to be skipped."""
    full = _ALL // n * n
    if kind == "fresh":
        edges = [full - 1, min(full, _ALL - 1), min(full + 1, _ALL - 1), _ALL - 1]
        words = list(islice(chain(edges, words), _WORDS))
        known = [_as_bytes(words)]
    expected = Words(iter(words))
    count = sum(word < full for word in words)
    wanted = [expected.below(n) for _ in range(count)]
    return devices.draws(kind, known, [("below", n)] * count) == wanted


def _as_bytes(words: Iterator[int] | Sequence[int]) -> bytes:
    return b"".join(word.to_bytes(8, "big") for word in words)
