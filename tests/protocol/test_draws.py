"""Random draws: the bytes they must be made of for ever, and that they are exact."""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Iterator, Sequence
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.protocol.draws import DERIVATION, FreshDraws, KeyedDraws, _Stream, length_prefixed
from deniable.protocol.exact import SCALE

SECRET = bytes(range(32))
HALF = 1 << 63

PINNED = [
    "7b2011e24271e567",
    "ba1604c5628c5664",
    "a266fc24dcb89daf",
    "04195d1d05035d52",
    "bfca5e3716f644cd",
    "f914246183a660bf",
    "f765fd5e1f3df704",
    "8f33b20bf0bd4930",
    "b2a194feb60ad0e5",
    "c7e566f247cb87f6",
]
"""The first ten words of SECRET, permanent, acme-editor, dark_mode, 1."""


def words(secret: bytes, *fields: bytes) -> Iterator[int]:
    """The derivation of ``deniable/1``, written a second time."""
    message = b""
    for field in (b"deniable/1", *fields):
        message += len(field).to_bytes(4, "big") + field
    counter = 0
    while True:
        block = hmac.new(secret, message + counter.to_bytes(8, "big"), hashlib.sha512).digest()
        yield from (int.from_bytes(block[at : at + 8], "big") for at in range(0, 64, 8))
        counter += 1


def word(draws: _Stream) -> int:
    """The next word, found by asking for a uniform number of all there are."""
    return draws.below(SCALE)


class Scripted(_Stream):
    """Draws from given words; asking for more is an error."""

    def __init__(self, script: Sequence[int]) -> None:
        blocks = iter([b"".join(each.to_bytes(8, "big") for each in script)])
        super().__init__(lambda: next(blocks))


@given(st.binary(min_size=32, max_size=32), st.lists(st.binary(max_size=40), max_size=5))
def test_keyed_words_follow_the_derivation(secret: bytes, fields: list[bytes]) -> None:
    draws = KeyedDraws(secret, *fields)
    expected = list(islice(words(secret, *fields), 20))
    assert [word(draws) for _ in range(20)] == expected
    assert len(set(expected)) == 20, "no word comes twice, in a block or across blocks"


def test_the_derivation_is_frozen() -> None:
    assert DERIVATION == "deniable/1"
    draws = KeyedDraws(SECRET, b"permanent", b"acme-editor", b"dark_mode", b"1")
    assert [f"{word(draws):016x}" for _ in range(10)] == PINNED


@given(st.lists(st.tuples(st.sampled_from(("chance", "below")), st.integers(2, SCALE - 1))))
def test_each_decision_takes_the_next_word(calls: list[tuple[str, int]]) -> None:
    draws, stream = KeyedDraws(SECRET, b"mixed"), words(SECRET, b"mixed")
    for name, argument in calls:
        if name == "chance":
            assert draws.chance(argument) == (next(stream) < argument)
        else:
            full = SCALE // argument * argument
            accepted = next(each for each in stream if each < full)
            assert draws.below(argument) == accepted % argument
    assert word(draws) == next(stream)


def test_chance_compares_strictly() -> None:
    draws = Scripted([6, 7, 8, 0, SCALE - 1])
    assert [draws.chance(7) for _ in range(3)] == [True, False, False]
    assert draws.chance(0) is False
    assert draws.chance(SCALE) is True


def test_below_redraws_what_would_be_uneven() -> None:
    n = 3 * 2**62
    assert Scripted([n - 1]).below(n) == n - 1
    assert Scripted([n, SCALE - 1, 5]).below(n) == 5
    assert Scripted([SCALE - 1]).below(2) == 1, "a divisor of 2^64 rejects nothing"
    assert Scripted([SCALE - 1, SCALE - 2]).below(3) == (SCALE - 2) % 3
    draws = Scripted([7])
    assert draws.below(1) == 0
    assert word(draws) == 7, "a choice of one takes no word"


def test_below_takes_as_many_words_as_reach_a_large_number() -> None:
    """The first word is the highest; the numbers past the last full multiple are redrawn."""
    assert Scripted([5]).below(SCALE) == 5
    assert Scripted([3, 5]).below(SCALE**2) == 3 * SCALE + 5
    assert Scripted([0, 7]).below(SCALE + 1) == 7
    last = SCALE - 1
    full = SCALE**2 - SCALE**2 % (SCALE + 1)
    high, low = divmod(full - 1, SCALE)
    assert Scripted([high, low]).below(SCALE + 1) == SCALE, "the last that counts"
    assert Scripted([*divmod(full, SCALE), last, last, 0, 9]).below(SCALE + 1) == 9
    assert Scripted([1, 2, 3]).below(SCALE**2 + 1) == (SCALE**2 + 2 * SCALE + 3) % (SCALE**2 + 1)


@given(st.integers(SCALE // 2, SCALE**5), st.binary(min_size=1, max_size=4))
def test_large_numbers_follow_the_derivation(n: int, field: bytes) -> None:
    draws, stream = KeyedDraws(SECRET, field), words(SECRET, field)
    size = -(-(n - 1).bit_length() // 64)
    while True:
        number = sum(next(stream) << 64 * (size - 1 - at) for at in range(size))
        if number < SCALE**size // n * n:
            break
    assert draws.below(n) == number % n
    assert word(draws) == next(stream)


def test_the_derivation_of_large_numbers_is_frozen() -> None:
    draws = KeyedDraws(SECRET, b"permanent", b"acme-editor", b"dark_mode", b"1")
    first, second, third = (int(each, 16) for each in PINNED[:3])
    n = SCALE**2 + 12345
    assert draws.below(n) == ((first << 128) + (second << 64) + third) % n


def test_below_is_uniform_where_a_modulus_is_not() -> None:
    """Words times 3/4: reducing without rejection doubles the odds of a third of the numbers.

    Of 6000 draws, 2000 are expected in each third; a count 8 standard deviations (292) off has
    odds below 1e-14. Without rejection the first third would hold 3000.
    """
    n = 3 * 2**62
    draws = KeyedDraws(SECRET, b"thirds")
    thirds = [draws.below(n) // 2**62 for _ in range(6000)]
    assert all(abs(thirds.count(third) - 2000) < 292 for third in range(3))
    large = [draws.below(n << 64) >> 126 for _ in range(6000)]
    assert all(abs(large.count(third) - 2000) < 292 for third in range(3))
    biased = [each % n // 2**62 for each in islice(words(SECRET, b"thirds"), 6000)]
    assert biased.count(0) > 2900


@pytest.mark.parametrize("n", [2, 3, 7, 100])
def test_below_is_uniform(n: int) -> None:
    """Chi-square with n - 1 degrees; its upper tail at d + 2 sqrt(d x) + 2 x is below e^-x."""
    draws = KeyedDraws(SECRET, b"uniform", str(n).encode())
    counts = [0] * n
    for _ in range(5000):
        counts[draws.below(n)] += 1
    chi_square = sum((count - 5000 / n) ** 2 / (5000 / n) for count in counts)
    degrees, x = n - 1, 9 * math.log(10)
    assert chi_square < degrees + 2 * math.sqrt(degrees * x) + 2 * x


def test_neighbouring_decisions_are_not_correlated() -> None:
    """Fuchsia's Cobalt once reused neighbouring random bits inside one report.

    For each lag, 4000 products of independent signs sum to a mean of 0 with standard deviation
    63.2; 443 is 7 of them, odds below 3e-12 each. Bits of one word reused give 4000.
    """
    draws = KeyedDraws(SECRET, b"neighbours")
    signs = [1 if draws.chance(HALF) else -1 for _ in range(4000)]
    for lag in range(1, 65):
        assert abs(sum(a * b for a, b in zip(signs, signs[lag:], strict=False))) < 443


def test_any_other_field_or_secret_gives_other_bytes() -> None:
    fields = [b"permanent", b"acme", b"dark", b"1", b"hash", b"0", b"1"]
    seen = {word(KeyedDraws(SECRET, *fields)), word(KeyedDraws(SECRET[::-1], *fields))}
    for at in range(len(fields)):
        seen.add(word(KeyedDraws(SECRET, *fields[:at], fields[at] + b"x", *fields[at + 1 :])))
        seen.add(word(KeyedDraws(SECRET, *fields[:at], *fields[at + 1 :])))
        seen.add(word(KeyedDraws(SECRET, *fields[:at], b"", *fields[at:])))
    seen.add(word(KeyedDraws(SECRET, b"".join(fields))))
    assert len(seen) == 3 + 3 * len(fields)


@given(st.lists(st.binary(max_size=9)), st.lists(st.binary(max_size=9)))
def test_length_prefixes_tell_all_sequences_apart(one: list[bytes], other: list[bytes]) -> None:
    assert (length_prefixed(*one) == length_prefixed(*other)) == (one == other)


@given(st.lists(st.binary(max_size=9)))
def test_length_prefixes_can_be_read_back(fields: list[bytes]) -> None:
    joined, found = length_prefixed(*fields), []
    while joined:
        end = 4 + int.from_bytes(joined[:4], "big")
        found.append(joined[4:end])
        joined = joined[end:]
    assert found == fields


def test_moving_a_boundary_between_fields_changes_everything() -> None:
    assert word(KeyedDraws(SECRET, b"ab", b"c")) != word(KeyedDraws(SECRET, b"a", b"bc"))


def test_a_keyed_stream_starts_again_and_a_fresh_one_never_does() -> None:
    again = [[word(KeyedDraws(SECRET, b"same")) for _ in range(3)] for _ in range(2)]
    assert again[0] == again[1]
    one, other = FreshDraws(), FreshDraws()
    fresh = [word(one) for _ in range(32)] + [word(other) for _ in range(32)]
    assert len(set(fresh)) == 64


def test_fresh_draws_are_fair() -> None:
    """Of 20000 fair coins, 10000 heads are expected with a deviation of 70.7; 7 are 495."""
    draws = FreshDraws()
    assert abs(sum(draws.chance(HALF) for _ in range(20000)) - 10000) < 495
