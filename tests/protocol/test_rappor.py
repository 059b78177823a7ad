"""RAPPOR: its filters frozen, its probabilities exact, and the faults of others put in."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product

import conformance
import pytest
from enumeration import exp_between

from deniable.protocol.draws import Draws, KeyedDraws, _Stream
from deniable.protocol.errors import ParameterError, ReportError
from deniable.protocol.exact import SCALE, ceil_threshold, exp_quotient
from deniable.protocol.limits import MAX_CELLS
from deniable.protocol.mechanisms import Law, Mechanism, Options, bloom, build, rivals
from deniable.protocol.mechanisms.bloom import bloom_filter, positions
from deniable.protocol.mechanisms.rappor import Rappor
from deniable.protocol.response import Response

SECRET = bytes(range(32))

FILTERS = [
    (94, 63),
    (89, 126),
    (32, 58),
    (66, 71),
    (82, 117),
    (113, 18),
    (120, 17),
    (88, 30),
    (84, 103),
]
"""Of cohorts 0, 1 and 63, each for symbols 0, 1 and 4095: 2 of 128 bits."""

RESPONSES = [(0, 220), (0, 2056), (1, 1527), (1, 1758), (0, 2002), (2, 1160), (2, 789), (0, 1687)]
"""Cohort and permanent bits of devices 0..7 whose value is 2."""


def make(k: int, epsilon: str, first: str | None = None, **options: int) -> Rappor:
    made = build("rappor", k, Decimal(epsilon), None if first is None else Decimal(first), options)
    assert isinstance(made, Rappor)
    return made


def disjoint(mechanism: Rappor, cohort: int) -> bool:
    """Whether two symbols' filters have no bit in common."""
    masks = [
        bloom_filter(cohort, symbol, mechanism.bits, mechanism.hashes)
        for symbol in range(mechanism.k)
    ]
    return any(not a & b for a, b in combinations(masks, 2))


# The filters.


def by_hand(cohort: int, symbol: int, bits: int, hashes: int) -> list[int]:
    """Words of SHA-256 alone; the last few below 2^64 are not used."""
    fields = (b"deniable/1", b"bloom", str(cohort).encode(), str(symbol).encode())
    message = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
    blocks = b"".join(
        hashlib.sha256(message + counter.to_bytes(8, "big")).digest() for counter in range(16)
    )
    words = [int.from_bytes(blocks[at : at + 8], "big") for at in range(0, len(blocks), 8)]
    found: list[int] = []
    for word in words:
        if word < 2**64 // bits * bits and word % bits not in found and len(found) < hashes:
            found.append(word % bits)
    return found


@pytest.mark.parametrize(("bits", "hashes"), [(4, 2), (7, 3), (128, 1), (1000, 8), (16, 8)])
def test_filters_are_made_of_the_first_words(bits: int, hashes: int) -> None:
    for cohort, symbol in product((0, 1, 12, 4095), (0, 3, 21, 4095)):
        found = positions(cohort, symbol, bits, hashes)
        assert list(found) == by_hand(cohort, symbol, bits, hashes)
        assert len(set(found)) == hashes
        assert bloom_filter(cohort, symbol, bits, hashes).bit_count() == hashes


def test_filters_are_frozen() -> None:
    found = [positions(cohort, symbol, 128, 2) for cohort in (0, 1, 63) for symbol in (0, 1, 4095)]
    assert found == FILTERS


def test_a_word_that_would_bias_the_modulus_is_drawn_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """2^64 - 1 is past the last full multiple of 6; by a modulus it would be position 3."""

    class Given(_Stream):
        def __init__(self, *fields: bytes) -> None:
            words = iter([2**64 - 1, 5, 5, 8])
            super().__init__(lambda: next(words).to_bytes(8, "big"))

    monkeypatch.setattr(bloom, "PublicDraws", Given)
    assert positions(0, 0, 6, 2) == (5, 2)


def test_every_position_is_as_likely() -> None:
    """Of 12 000 filters of 2 in 6 bits, each bit is in 4000, give or take 7 x 51.6."""
    counts = [0] * 6
    for symbol in range(12000):
        for at in positions(0, symbol, 6, 2):
            counts[at] += 1
    assert all(abs(count - 4000) < 7 * math.sqrt(12000 * 2 / 9) for count in counts)


def test_the_permanent_response_belongs_to_the_filter() -> None:
    """Symbols that share a filter in a cohort share the memo key, and nothing tells them apart."""
    mechanism = make(5, "2", bits=4, cohorts=2, hashes=1)
    for cohort in range(2):
        masks = [bloom_filter(cohort, symbol, 4, 1) for symbol in range(5)]
        keys = [mechanism.memo(cohort, symbol) for symbol in range(5)]
        assert keys == [mask.to_bytes(1, "little") for mask in masks]
        assert len(set(keys)) < 5
    assert mechanism.classes == 5


def test_permanent_responses_are_frozen() -> None:
    mechanism = make(5, "0.5", bits=12, hashes=2, cohorts=3)
    found = []
    for device in range(8):
        fields = (b"acme-editor", b"dark_mode", str(device).encode())
        cohort = mechanism.assign(KeyedDraws(SECRET, b"setup", *fields))
        key = mechanism.memo(cohort, 2)
        assert key is not None
        response = mechanism.permanent(cohort, key, KeyedDraws(SECRET, b"permanent", *fields))
        assert response == Response(words_by_hand(mechanism, key, fields), cohort)
        found.append((response.row, response.out))
    assert found == RESPONSES


def words_by_hand(mechanism: Rappor, key: bytes, fields: tuple[bytes, ...]) -> int:
    mask = int.from_bytes(key, "little")
    stream = KeyedDraws(SECRET, b"permanent", *fields)
    words = [stream.below(SCALE) for _ in range(mechanism.bits)]
    keep = mechanism.thresholds["keep"]
    return sum(
        (word < (keep if mask >> bit & 1 else SCALE - keep)) << bit
        for bit, word in enumerate(words)
    )


# What leaves the device.

SETTINGS: list[tuple[int, str, Options]] = [
    (k, epsilon, options)
    for k, epsilon in product((3, 4), ("0.1", "2", "16"))
    for options in (
        {"bits": 4, "hashes": 1, "cohorts": 2},
        {"bits": 5, "hashes": 2, "cohorts": 1},
        {"bits": 4, "hashes": 2, "cohorts": 3},
    )
] + [(3, "2", {"bits": 6, "hashes": 2, "cohorts": 2}), (2, "2", {"bits": 6, "hashes": 3})]


def label(settings: tuple[int, str, Options]) -> str:
    k, epsilon, options = settings
    return f"k{k}-{epsilon}-" + "-".join(f"{name}{value}" for name, value in options.items())


def family(settings: tuple[int, str, Options]) -> Iterator[Rappor]:
    k, epsilon, options = settings
    options = {"cohorts": 1, **options}
    yield make(k, epsilon, **options)
    for part in ("0.01", "0.5", "0.999"):
        yield make(k, epsilon, str(Decimal(epsilon) * Decimal(part)), **options)


@pytest.mark.parametrize("settings", SETTINGS, ids=label)
def test_every_filter_conforms(settings: tuple[int, str, Options]) -> None:
    for mechanism in family(settings):
        assert list(conformance.faults(mechanism)) == []
        apart = [disjoint(mechanism, cohort) for cohort in range(mechanism.cohorts)]
        if any(apart) and mechanism.epsilon <= 8:
            conformance.check_tightness(mechanism)
        if apart[0] and mechanism.second is not None and mechanism.bits == 4:
            conformance.check_chains(mechanism)


def test_some_settings_are_tight() -> None:
    assert any(disjoint(next(family(settings)), 0) for settings in SETTINGS)


@pytest.mark.parametrize("hashes", [1, 2, 3, 8])
@pytest.mark.parametrize(("epsilon", "first"), [("1", "0.3"), ("2", "1"), ("8", "7.9")])
def test_probabilities_are_those_of_the_paper(hashes: int, epsilon: str, first: str) -> None:
    """In its own letters: f up, q = P(1|1) down and p = P(1|0) up, all below one part in 2^64."""
    mechanism = make(4, epsilon, first, hashes=hashes)
    f = 2 * (1 - Fraction(mechanism.keep, SCALE))
    q = Fraction(mechanism.keep_again or 0, SCALE)
    p = 1 - q
    q_star = f * (p + q) / 2 + (1 - f) * q
    p_star = f * (p + q) / 2 + (1 - f) * p
    assert (q_star, p_star) == (mechanism.p, mechanism.q)
    infinite = ((1 - f / 2) / (f / 2)) ** (2 * hashes)
    one = (q_star * (1 - p_star) / (p_star * (1 - q_star))) ** hashes
    for realised, declared in ((infinite, epsilon), (one, first)):
        assert realised <= exp_between(Fraction(declared))[0]
        assert realised >= exp_between(Fraction(declared) * (1 - Fraction(1, 10**15)))[1]


@pytest.mark.parametrize(("epsilon", "first"), [("0.5", None), ("2", "1"), ("3.7", "0.01")])
def test_one_hash_has_the_thresholds_of_symmetric_unary_encoding(
    epsilon: str, first: str | None
) -> None:
    unary = build("sue", 4, Decimal(epsilon), None if first is None else Decimal(first))
    names = {"true_bit": "keep", "bit_again": "keep_again"}
    thresholds = {names[n]: t for n, t in unary.thresholds.items() if n in names}
    assert make(4, epsilon, first).thresholds == thresholds


@pytest.mark.parametrize("divisor", [1, 2, 3, 6, 7, 16])
@pytest.mark.parametrize("number", ["1e-17", "1", "3.7", "16"])
def test_exponentials_of_quotients_are_enclosed(number: str, divisor: int) -> None:
    found = exp_quotient(Decimal(number), divisor)
    low, high = exp_between(Fraction(number) / divisor)
    assert found.low <= low <= high <= found.high
    assert found.high - found.low < Fraction(1, 10**54) * found.low


# Faults of others.


class NeverCleared(Rappor):
    """A bit of the filter always survives, so a zero is proof."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        made = super().permanent(setup, memo, keyed)
        return Response(made.out | int.from_bytes(memo, "little"), made.row)


class NeverClearedAndSaysSo(NeverCleared):
    """The same with a distribution to match."""

    def law(self, setup: int, memo: bytes, rounds: int) -> Law:
        mask, law = int.from_bytes(memo, "little"), {}
        for y, mass in super().law(setup, memo, rounds).items():  # type: ignore[arg-type]
            kept = Response(y.out | mask, y.row)
            law[kept] = law.get(kept, Fraction(0)) + mass
        return law


class QuantisedOnOneSide(Rappor):
    """The device perturbs with 8-bit coins, the proof and the decoder know the exact f."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        coarse = replace(self, keep=round(self.keep / 2**56) * 2**56)
        return Rappor.permanent(coarse, setup, memo, keyed)


class NeighboursShareAWord(Rappor):
    """Bits 2i and 2i+1 are decided by the same draw."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        turned = 0
        for bit in range(0, self.bits, 2):
            turned |= (not keyed.chance(self.keep)) * (3 << bit)
        mask = int.from_bytes(memo, "little")
        return Response((mask ^ turned) % (1 << self.bits), setup)


class MoreCohortsThanItSays(Rappor):
    """A seed of the filters for each device, which is a name for it."""

    def assign(self, keyed: Draws) -> int:
        return keyed.below(8 * self.cohorts)


class CohortIsFree(Rappor):
    """Its fingerprint forgets that the cohort travels."""

    @property
    def fingerprint_bits(self) -> float:
        return super().fingerprint_bits - math.log2(self.cohorts)


class SecondRoundForgotten(Rappor):
    """Reports are the permanent response."""

    def instant(self, permanent: Response, fresh: Draws) -> Response:
        return permanent


MUTANTS: list[tuple[type[Rappor], set[str]]] = [
    (NeverCleared, {"check_draws"}),
    (NeverClearedAndSaysSo, {"check_laws", "check_epsilons"}),
    (QuantisedOnOneSide, {"check_draws"}),
    (NeighboursShareAWord, {"check_draws"}),
    (CohortIsFree, {"check_lifetime"}),
    (SecondRoundForgotten, {"check_draws"}),
]
PARAMETERS = (3, Decimal(2), Decimal(1), {"bits": 4, "hashes": 1, "cohorts": 2})


def test_without_a_fault_nothing_is_caught() -> None:
    assert list(conformance.faults(Rappor.resolve(*PARAMETERS))) == []


@pytest.mark.parametrize(
    ("mutant", "red"), MUTANTS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_faulty_filter_is_caught(mutant: type[Rappor], red: set[str]) -> None:
    parameters = PARAMETERS
    if mutant is CohortIsFree:
        parameters = (3, Decimal(16), Decimal(1), {"bits": 4, "hashes": 1, "cohorts": 2})
    assert red <= set(conformance.faults(mutant.resolve(*parameters)))


def test_a_seed_for_each_device_does_not_fit_on_the_wire() -> None:
    with pytest.raises(ReportError, match=r"row must be an integer 0\.\.1"):
        conformance.check_laws(MoreCohortsThanItSays.resolve(*PARAMETERS))


EPSILONS = ("0.1", "0.5", "1", "2", "3.7", "8")


def exceeds(mechanism: Mechanism) -> bool:
    return "check_epsilons" in conformance.faults(mechanism)


def altered(honest: Rappor, keep: int, keep_again: int | None) -> Rappor:
    return Rappor(
        honest.k, honest.epsilon, honest.epsilon_first,
        honest.bits, honest.hashes, honest.cohorts, keep, keep_again,
    )  # fmt: skip


def test_rounding_to_the_other_side_exceeds_epsilon() -> None:
    for epsilon in EPSILONS:
        honest = make(3, epsilon, bits=4, cohorts=1, hashes=1)
        root = exp_quotient(Decimal(epsilon), 2)
        assert not exceeds(honest)
        assert exceeds(altered(honest, ceil_threshold(root / (root + 1)), None))


def test_one_unit_more_in_the_second_round_exceeds_epsilon_first() -> None:
    exact = [make(3, epsilon, "0.05", bits=4, cohorts=1, hashes=1) for epsilon in EPSILONS]
    assert not any(map(exceeds, exact))
    again = [altered(one, one.keep, (one.keep_again or 0) + 1) for one in exact]
    assert any(map(exceeds, again))


def test_noise_of_one_filter_counted_for_two_exceeds_epsilon() -> None:
    """With e^{eps/h} instead of e^{eps/2h} only one of the two filters is paid for."""
    honest = make(3, "2", bits=5, cohorts=1, hashes=2)
    root = exp_quotient(Decimal(2), 2)
    assert exceeds(altered(honest, ceil_threshold(root / (root + 1)), None))


def test_questions_keyed_apart_share_no_noise() -> None:
    """Of 2000 devices, responses agree as often as chance has it, within 7 deviations.

    Masks keyed without the question, as in Python's RAPPOR, agree always.
    """
    mechanism = make(3, "1", bits=4, cohorts=1, hashes=1)
    key = mechanism.memo(0, 1)
    assert key is not None
    chance = float(sum(mass**2 for mass in mechanism.law(0, key, 1).values()))

    def agreement(*questions: bytes) -> float:
        pairs = [
            {
                mechanism.permanent(0, key, KeyedDraws(SECRET, question, str(device).encode()))
                for question in questions
            }
            for device in range(2000)
        ]
        return sum(len(pair) == 1 for pair in pairs) / 2000

    assert abs(agreement(b"dark_mode", b"font") - chance) < 7 * math.sqrt(chance / 2000)
    assert agreement(b"", b"") == 1


# Sizes.


@pytest.mark.parametrize(
    ("k", "epsilon", "first", "sizes"),
    [
        (2, "1", None, (8, 1, 8)),
        (16, "1", None, (8, 1, 16)),
        (16, "8", None, (32, 1, 8)),
        (100, "2", "1", (16, 1, 50)),
        (256, "2", None, (32, 1, 64)),
        (4096, "1", None, (512, 1, 63)),
        (4096, "8", None, (1024, 1, 31)),
    ],
)
def test_chosen_sizes_are_frozen(
    k: int, epsilon: str, first: str | None, sizes: tuple[int, int, int]
) -> None:
    mechanism = make(k, epsilon, first)
    assert (mechanism.bits, mechanism.hashes, mechanism.cohorts) == sizes
    assert mechanism.chosen == dict(zip(("bits", "hashes", "cohorts"), sizes, strict=True))
    assert make(k, epsilon, first, **mechanism.chosen) == mechanism


def test_chosen_sizes_fit_and_leave_room() -> None:
    for k, epsilon in product(
        (2, 3, 7, 20, 64, 129, 500, 1024, 2049, 4000, 4096), ("0.01", "1", "4", "16", "44")
    ):
        for hashes in (1, 2, 8):
            mechanism = make(k, epsilon, hashes=hashes)
            assert mechanism.shape.cells <= MAX_CELLS
            assert mechanism.cohorts * (mechanism.bits - 1) > 3.9 * k
            assert mechanism.bits >= 2 * hashes


def test_one_hash_has_the_least_variance() -> None:
    for epsilon, k in product(("0.1", "1", "4", "16"), (4, 256)):
        variances = [
            make(k, epsilon, bits=64, cohorts=64, hashes=h).variance(1 / k) for h in (1, 2, 4, 8)
        ]
        assert variances == sorted(variances)


def test_what_an_author_leaves_out_is_fitted_to_the_rest() -> None:
    assert make(100, "1", cohorts=1).bits == 1024
    assert make(20, "1", cohorts=4096).bits == 7
    assert make(100, "1", bits=128).cohorts == 8
    assert make(2, "1", hashes=8).bits == 16


@pytest.mark.parametrize(
    ("k", "options", "message"),
    [
        (4, {"bits": 3, "hashes": 2}, r"bits must be at least twice hashes \(2\)"),
        (
            4,
            {"bits": 1024, "cohorts": 4096},
            r"cohorts x \(bits \+ 1\) must be at most 32768 cells",
        ),
        (
            100,
            {"bits": 8, "cohorts": 14},
            r"at least the 100 values to tell apart; set more .*14 x 7",
        ),
        (4096, {"bits": 7, "cohorts": 4096}, "cohorts must be at most 256 for 4096 values and 1 "),
        (4096, {"bits": 8}, r"cohorts x \(bits - 1\) must be at least the 4096 values"),
        (4, {"bits": 1}, r"bits must be a whole number in 2\.\.1024: 1"),
        (4, {"hashes": 0}, r"hashes must be a whole number in 1\.\.8: 0"),
        (4, {"cohorts": 4097}, r"cohorts must be a whole number in 1\.\.4096: 4097"),
        (4, {"seed": 1}, "rappor has no option of that name; it has bits, hashes, cohorts: seed"),
    ],
)
def test_sizes_that_cannot_work_are_refused(k: int, options: dict[str, int], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make(k, "1", **options)


def test_the_choice_never_falls_on_an_approximate_variance() -> None:
    for linkable in (False, True):
        found = {one.mechanism.name: one for one in rivals(16, Decimal(8), linkable=linkable)}
        assert found["rappor"].against == "its variance is approximate"
