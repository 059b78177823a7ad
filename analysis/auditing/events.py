"""Which event tells two answers apart best: chosen on some devices, to be tested on others.

An event is a set of responses. Candidates look at a response from many sides: what it supports,
its row and symbol, each bit, pairs of bits (which see noise that bits share), all bits weighed
together, and the whole of it where it repeats. Of each side, the classes of responses are taken
in the order of their likelihood ratio, for either direction. Each such event is made from one
half of the devices, and the best of them is found on the other.

What must never change: nothing here sees the devices that the chosen event is tested on. So it
may try as many events as it likes, and the test is of one.

References
----------
Neyman, Pearson. On the problem of the most efficient tests of statistical hypotheses. 1933.
Wilson. Probable inference, the law of succession, and statistical inference. JASA 1927.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from .samples import Bits, Codes, Sample
from .weights import weighed

Floats = NDArray[np.float64]
Pair = tuple[Sample, Sample]

_TOP_BITS = 16
"""Bits that are paired with all others: those that tell most by themselves."""

_SUBSETS = tuple(range(1, 15))
"""The unions of the four outcomes of two bits, as masks, but for none and all of them."""


@dataclass(frozen=True)
class Event:
    """A set of responses.

    Attributes
    ----------
    name : str
        In words, for people.
    code : callable
        From a sample to the class of each response.
    classes : frozenset
        The classes that belong to it.
    """

    name: str
    code: Callable[[Sample], Codes]
    classes: frozenset[int]

    def count(self, sample: Sample) -> int:
        """Return how many responses belong to it."""
        return int(np.isin(self.code(sample), list(self.classes)).sum())


@dataclass(frozen=True)
class Choice:
    """The best event, whether it is likelier under the other answer, and its promised epsilon."""

    event: Event
    reverse: bool
    score: float


_NOTHING = Choice(
    Event("none: all responses were alike", lambda sample: sample.rows, frozenset()),
    reverse=False,
    score=float("-inf"),
)


def choose(one: Sample, other: Sample, symbols: tuple[int, int], alpha: float) -> Choice:
    """Return the event that promises most to tell two answers apart.

    Parameters
    ----------
    one, other : Sample
        Of devices that gave the one answer, and the other; not those it is tested on.
    symbols : (int, int)
        The two answers.
    alpha : float
        Of the test to come.

    Returns
    -------
    Choice
        ``reverse`` if it is likelier under the other answer.
    """
    deviations = float(-special.ndtri(alpha / 2))
    (learn_one, rank_one), (learn_other, rank_other) = one.halves, other.halves
    found = [
        Choice(event, reverse, _promise(event, rank, deviations))
        for reverse, learn, rank in (
            (False, (learn_one, learn_other), (rank_one, rank_other)),
            (True, (learn_other, learn_one), (rank_other, rank_one)),
        )
        for event in _candidates(learn, symbols, deviations)
    ]
    return max(found, key=lambda choice: choice.score, default=_NOTHING)


def _promise(event: Event, pair: Pair, deviations: float) -> float:
    """Return how good an event is on devices it was not made from."""
    hits, misses = (np.array([event.count(sample)], float) for sample in pair)
    return float(_scores(hits, misses, pair, deviations)[0])


def _candidates(pair: Pair, symbols: tuple[int, int], deviations: float) -> Iterator[Event]:
    """Yield of each side the event that is the likeliest under the first answer.

    An event that holds for all responses, or for none, tells nothing and is none.
    """
    shape = pair[0].mechanism.shape
    sides: list[tuple[str, Callable[[Sample], Codes]]] = [
        (f"supports {symbols[0]} or {symbols[1]}", lambda sample: sample.supports(*symbols)),
        ("response", _whole(pair)),
    ]
    if shape.rows > 1:
        sides.append(("row", lambda sample: sample.rows))
    if shape.kind == "symbol":
        sides.append(("symbol", lambda sample: sample.cells))
    else:
        yield from _bit_events(pair, deviations)
    for name, code in sides:
        yield from _best_union(name, code, pair, deviations)


def _whole(pair: Pair) -> Callable[[Sample], Codes]:
    """Number the responses of both samples; one that is in neither is none of them."""
    numbers = {
        wire: number for number, wire in enumerate(dict.fromkeys(pair[0].wires + pair[1].wires))
    }
    return lambda sample: np.array([numbers.get(wire, -1) for wire in sample.wires], np.int64)


def _best_union(
    name: str, code: Callable[[Sample], Codes], pair: Pair, deviations: float
) -> Iterator[Event]:
    """Take classes in the order of their likelihood ratio, as many as promise most, never all."""
    codes = [code(sample) for sample in pair]
    classes, places = np.unique(np.concatenate(codes), return_inverse=True)
    hits, misses = (
        np.bincount(part, minlength=len(classes)).astype(float)
        for part in np.split(places, [len(codes[0])])
    )
    if len(classes) == 1:
        return
    order = np.argsort(-(hits + 0.5) / (misses + 0.5), kind="stable")
    scores = _scores(np.cumsum(hits[order]), np.cumsum(misses[order]), pair, deviations)
    best = int(np.argmax(scores[:-1]))
    chosen = frozenset(int(each) for each in classes[order[: best + 1]])
    yield Event(f"{name} in {_listed(chosen)}", code, chosen)


def _bit_events(pair: Pair, deviations: float) -> Iterator[Event]:
    """Yield the best event of any two bits, and that of all bits weighed together."""
    yield from _pair_events(pair, deviations)
    matrices = pair[0].bits, pair[1].bits
    score, cuts = weighed(*matrices)
    above = [np.array([(score(bits) >= cut).sum() for cut in cuts], float) for bits in matrices]
    scores = _telling(above[0], above[1], pair, deviations)
    if np.isneginf(scores).all():
        return
    cut = float(cuts[int(np.argmax(scores))])
    yield Event(
        "all bits, weighed",
        lambda sample: (score(sample.bits) >= cut).astype(np.int64),
        frozenset({1}),
    )


def _pair_events(pair: Pair, deviations: float) -> Iterator[Event]:
    """Yield the best event of any two bits, which are not the same."""
    matrices = pair[0].bits, pair[1].bits
    singles = np.abs(np.subtract(*(np.log((bits.sum(0) + 0.5) / len(bits)) for bits in matrices)))
    top = np.argsort(-singles, kind="stable")[:_TOP_BITS]
    width = matrices[0].shape[1]
    left = np.concatenate([np.repeat(top, width), np.arange(width - 1)])
    right = np.concatenate([np.tile(np.arange(width), len(top)), np.arange(1, width)])
    differ = left != right
    tables = [_outcomes(bits, top, left, right) for bits in matrices]
    scores = np.array(
        [
            _telling(_members(tables[0], subset), _members(tables[1], subset), pair, deviations)
            for subset in _SUBSETS
        ]
    )
    scores[:, ~differ] = -np.inf
    if np.isneginf(scores).all():
        return
    which, place = np.unravel_index(int(np.argmax(scores)), scores.shape)
    yield _two_bits(int(left[place]), int(right[place]), _SUBSETS[int(which)])


def _outcomes(bits: Bits, top: Codes, left: Codes, right: Codes) -> Floats:
    """Count the four outcomes of each pair of bits: neither, the right, the left, both."""
    numbers = bits.astype(np.float32)
    both = np.concatenate(
        [(numbers[:, top].T @ numbers).ravel(), (numbers[:, :-1] * numbers[:, 1:]).sum(0)]
    ).astype(float)
    sums = bits.sum(0, dtype=np.int64).astype(float)
    lefts, rights = sums[left], sums[right]
    return np.array([len(bits) - lefts - rights + both, rights - both, lefts - both, both])


def _members(table: Floats, subset: int) -> Floats:
    kept = [outcome for outcome in range(4) if subset >> outcome & 1]
    return np.asarray(table[kept].sum(0), np.float64)


def _two_bits(left: int, right: int, subset: int) -> Event:
    outcomes = frozenset(outcome for outcome in range(4) if subset >> outcome & 1)
    shown = ", ".join(f"{outcome:02b}" for outcome in sorted(outcomes))
    return Event(
        f"bits {left} and {right} are {shown}",
        lambda sample: 2 * sample.bits[:, left].astype(np.int64) + sample.bits[:, right],
        outcomes,
    )


def _telling(hits: Floats, misses: Floats, pair: Pair, deviations: float) -> Floats:
    """Return the scores, without those of events that hold for all responses or for none."""
    together = hits + misses
    some = (together > 0) & (together < len(pair[0]) + len(pair[1]))
    return np.where(some, _scores(hits, misses, pair, deviations), -np.inf)


def _scores(hits: Floats, misses: Floats, pair: Pair, deviations: float) -> Floats:
    """Return ln(TPR_lo / FPR_hi) by Wilson's limits, which are good enough to choose by."""
    low = _wilson(hits, len(pair[0]), -deviations)
    high = _wilson(misses, len(pair[1]), deviations)
    return np.log(np.maximum(low, 1e-300)) - np.log(np.maximum(high, 1e-300))


def _wilson(counts: Floats, trials: int, deviations: float) -> Floats:
    square = deviations**2
    spread = np.sqrt(np.maximum(counts * (trials - counts) / trials, 0) + square / 4)
    limit: Floats = (counts + square / 2 + deviations * spread) / (trials + square)
    return limit


def _listed(classes: Iterable[int]) -> str:
    every = sorted(classes)
    shown = ", ".join(str(each) for each in every[:6])
    return f"{{{shown}{', …' if len(every) > 6 else ''}}}"
