"""What every mechanism must satisfy, exactly. Each check raises AssertionError where one fails.

All values of the domain, all outputs and all setups are enumerated, so domains must be small.
Probabilities are rationals throughout; no check has a tolerance except :func:`check_tightness`,
whose bound is stated there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product

from enumeration import exp_between, outcomes

from deniable.protocol.mechanisms import Law, Mechanism
from deniable.protocol.response import Response

BILLIONTH = Fraction(1, 10**9)


@lru_cache(maxsize=64)
def setups(mechanism: Mechanism) -> dict[int, Fraction]:
    """Return the public setups a device may be assigned, with their probabilities."""
    return outcomes(mechanism.assign)


def memo(mechanism: Mechanism, setup: int, value: int) -> bytes:
    """Return the memo key of a value that has not changed for as long as anyone looks back."""
    key = mechanism.memo(setup, [mechanism.symbol(value)] * (mechanism.reach + 1), mechanism.reach)
    assert key is not None
    return key


@lru_cache(maxsize=64)
def laws(mechanism: Mechanism, setup: int, rounds: int) -> list[Law]:
    """Return the stated output distribution of each value."""
    return [mechanism.law(setup, memo(mechanism, setup, v), rounds) for v in range(mechanism.k)]


def realised(given: Sequence[Law]) -> Fraction:
    """Return the largest ratio of one output's probabilities under two values."""
    outputs = given[0].keys()
    assert all(law.keys() == outputs for law in given), "an output that is proof"
    return max(max(law[y] for law in given) / min(law[y] for law in given) for y in outputs)


def declared(mechanism: Mechanism) -> Iterator[tuple[int, Fraction]]:
    """Yield (rounds, epsilon) of each promise the mechanism makes."""
    yield 1, Fraction(mechanism.epsilon)
    if mechanism.epsilon_first is not None:
        yield 2, Fraction(mechanism.epsilon_first)


def check_laws(mechanism: Mechanism) -> None:
    """Probabilities are positive, sum to one, and fall on the same wire forms for each value."""
    for setup, rounds in product(setups(mechanism), (1, 2)):
        given = laws(mechanism, setup, rounds)
        for law in given:
            assert sum(law.values()) == 1
            assert min(law.values()) > 0
            assert law.keys() == given[0].keys()
        for response in given[0]:
            wire = mechanism.shape.pack(response)
            assert mechanism.shape.unpack(wire) == response


def check_epsilons(mechanism: Mechanism) -> None:
    """No output is more than e^epsilon times likelier under one value than under another."""
    for setup, (rounds, epsilon) in product(setups(mechanism), declared(mechanism)):
        assert realised(laws(mechanism, setup, rounds)) <= exp_between(epsilon)[0]


def check_tightness(mechanism: Mechanism) -> None:
    """The realised epsilon is at least (1 - 1e-9) of the declared one: no accuracy is wasted."""
    for rounds, epsilon in declared(mechanism):
        best = max(realised(laws(mechanism, setup, rounds)) for setup in setups(mechanism))
        assert best >= exp_between(epsilon * (1 - BILLIONTH))[1]


def check_marginals(mechanism: Mechanism) -> None:
    """A report supports its true value with probability p, and any other with q < p."""
    assert mechanism.p > mechanism.q
    rounds = 1 if mechanism.epsilon_first is None else 2
    given = [
        (weight, laws(mechanism, setup, rounds)) for setup, weight in setups(mechanism).items()
    ]
    for value, asked in product(range(mechanism.k), repeat=2):
        found = sum(
            weight * mass
            for weight, each in given
            for response, mass in each[value].items()
            if mechanism.supports(asked, response)
        )
        assert found == (mechanism.p if asked == value else mechanism.q)


def check_draws(mechanism: Mechanism) -> None:
    """The code that draws has exactly the stated distribution, in both rounds."""
    again: dict[Response, Law] = {}
    for setup, value in product(setups(mechanism), range(mechanism.k)):
        key = memo(mechanism, setup, value)
        first = outcomes(partial(mechanism.permanent, setup, key))
        assert first == mechanism.law(setup, key, 1)
        for permanent in first.keys() - again.keys():
            again[permanent] = outcomes(partial(mechanism.instant, permanent))
        assert compose(first, again) == mechanism.law(setup, key, 2)


def compose(first: Law, again: Mapping[Response, Law]) -> Law:
    """Return the distribution of a report whose permanent response is drawn from ``first``."""
    law: Law = {}
    for permanent, mass in first.items():
        for response, chance in again[permanent].items():
            law[response] = law.get(response, Fraction(0)) + mass * chance
    return law


def check_variance(mechanism: Mechanism) -> None:
    """``variance`` is that of the estimator, from each report's own chance to support.

    Floats: within 1e-12 in proportion, from p, q and p - q rounded once each.
    """
    p, q = mechanism.p, mechanism.q
    for f in (Fraction(0), Fraction(1, mechanism.k), Fraction(2, 3), Fraction(1)):
        each = f * p * (1 - p) + (1 - f) * q * (1 - q)
        assert math.isclose(mechanism.variance(float(f)), each / (p - q) ** 2, rel_tol=1e-12)
        sampled = each + f * (1 - f) * (p - q) ** 2
        assert math.isclose(mechanism.variance_iid(float(f)), sampled / (p - q) ** 2, rel_tol=1e-12)
    worst, at = mechanism.worst_variance_iid()
    assert worst == mechanism.variance_iid(at)
    assert worst >= max(mechanism.variance_iid(f / 100) for f in range(101)) * (1 - 1e-12)


def check_lifetime(mechanism: Mechanism) -> None:
    """As many memo keys as ``classes`` says, and at least the entropy of a permanent response."""
    for setup in setups(mechanism):
        keys = {memo(mechanism, setup, value) for value in range(mechanism.k)}
        assert mechanism.classes is None or len(keys) == mechanism.classes
        given = laws(mechanism, setup, 1)
        mean = [sum(law.get(y, Fraction(0)) for law in given) / mechanism.k for y in given[0]]
        entropy = -sum(float(mass) * math.log2(mass) for mass in mean)
        assert entropy <= mechanism.fingerprint_bits + 1e-12


def check_chains(mechanism: Mechanism) -> None:
    """``chains`` and ``flips`` say what several reports, and a change of the value, reveal."""
    assert mechanism.second is not None
    p2, q2 = mechanism.second
    r = p2 / q2
    setup = next(iter(setups(mechanism)))
    first = laws(mechanism, setup, 1)
    again = {s: outcomes(partial(mechanism.instant, s)) for s in first[0]}
    changed = max(again[s][y] / again[t][y] for s, t in product(again, repeat=2) for y in again[s])
    assert changed == r**mechanism.flips
    for reports in (1, 2):
        told = [_repeated(law, again, reports) for law in first[:2]]
        assert max(told[0][ys] / told[1][ys] for ys in told[0]) == math.prod(
            ((a * r**reports + 1 - a) / (b * r**reports + 1 - b) for a, b in mechanism.chains),
            start=Fraction(1),
        )


def _repeated(
    first: Law, again: Mapping[Response, Law], reports: int
) -> dict[tuple[Response, ...], Fraction]:
    """Return the distribution of several reports built on one permanent response."""
    outputs = {y for law in again.values() for y in law}
    return {
        ys: sum((m * math.prod(again[s][y] for y in ys) for s, m in first.items()), Fraction(0))
        for ys in product(outputs, repeat=reports)
    }


CHECKS = (
    check_laws,
    check_epsilons,
    check_marginals,
    check_draws,
    check_variance,
    check_lifetime,
)
"""Those that hold for every mechanism and epsilon; tightness and chains have their own grids."""


def faults(mechanism: Mechanism) -> Iterator[str]:
    """Name the checks that a mechanism fails."""
    for check in CHECKS:
        try:
            check(mechanism)
        except AssertionError:
            yield check.__name__
