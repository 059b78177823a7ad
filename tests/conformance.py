"""What every mechanism must satisfy, exactly. Each check raises AssertionError where one fails.

All values of the domain, all outputs and all setups are enumerated, so domains must be small.
Probabilities are rationals throughout; no check has a tolerance except :func:`check_tightness`,
whose bound is stated there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from itertools import combinations_with_replacement, product
from typing import TypeVar

from enumeration import exp_between
from instances import answers, asked, domain, hash_row, truth

from deniable.protocol.mechanisms import FrequencyOracle, Law, Mechanism, Scale
from deniable.protocol.mechanisms.dyadic import Dyadic
from deniable.protocol.mechanisms.rappor import Rappor
from deniable.protocol.mechanisms.sketch import Sketch
from deniable.protocol.proofs.branches import outcomes
from deniable.protocol.response import Response

K = TypeVar("K", bound=Hashable)

BILLIONTH = Fraction(1, 10**9)
MILLIONTH = Fraction(1, 10**6)


@lru_cache(maxsize=64)
def setups(mechanism: Mechanism) -> dict[int, Fraction]:
    """Return the public setups a device may be assigned, with their probabilities."""
    return outcomes(mechanism.assign)


def memo(mechanism: Mechanism, setup: int, value: int) -> bytes:
    """Return the memo key of a value."""
    key = mechanism.memo(setup, mechanism.symbol(value))
    assert key is not None
    return key


@lru_cache(maxsize=64)
def laws(mechanism: Mechanism, setup: int, rounds: int) -> list[Law]:
    """Return the stated output distribution of each value."""
    return [mechanism.law(setup, memo(mechanism, setup, v), rounds) for v in domain(mechanism)]


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


def reports(mechanism: Mechanism) -> list[tuple[Fraction, list[Law]]]:
    """Return the distributions of a report, all rounds included, with the odds of each setup."""
    rounds = 1 if mechanism.epsilon_first is None else 2
    return [(weight, laws(mechanism, setup, rounds)) for setup, weight in setups(mechanism).items()]


def check_estimates(mechanism: Mechanism) -> None:
    """What is estimated from the reports is unbiased, for each true value."""
    if isinstance(mechanism, FrequencyOracle):
        check_marginals(mechanism)
        check_joint(mechanism)
    elif isinstance(mechanism, Scale):
        check_scores(mechanism)
    else:
        assert mechanism.decoder in {"bloom", "tree"}, "has a check of its own"


def check_marginals(mechanism: FrequencyOracle) -> None:
    """A report covers a value with its share; it supports the true one with p, another with q."""
    assert mechanism.p > mechanism.q
    given = reports(mechanism)
    moved = [
        abs(mechanism.supports(symbol, y) - mechanism.q) / (mechanism.p - mechanism.q)
        for _, each in given
        for symbol, y in product(asked(mechanism), each[0])
        if mechanism.covers(symbol, y)
    ]
    assert mechanism.leverage == max(moved) / mechanism.coverage
    for value, symbol in product(domain(mechanism), asked(mechanism)):
        told = _told(mechanism, given, value, symbol)
        assert sum(covered for covered, _, _ in told) == mechanism.coverage
        for covered, found, true in told:
            assert found == true * mechanism.p + (covered - true) * _other(mechanism)


def _told(
    mechanism: FrequencyOracle,
    given: Sequence[tuple[Fraction, list[Law]]],
    value: int,
    symbol: int,
) -> list[tuple[Fraction, Fraction, Fraction]]:
    """Return of each hash row P(a report covers a symbol, .. and supports it, .. and is of it)."""
    rows: dict[int, list[Fraction]] = {}
    for setup, (weight, each) in zip(setups(mechanism), given, strict=True):
        sums = rows.setdefault(hash_row(mechanism, setup), [Fraction(0)] * 3)
        for y, mass in each[value].items():
            if mechanism.covers(symbol, y):
                sums[0] += weight * mass
                sums[1] += weight * mass * mechanism.supports(symbol, y)
                sums[2] += weight * mass * truth(mechanism, setup, value, symbol)
    return [(covered, found, true) for covered, found, true in rows.values()]


def _other(mechanism: FrequencyOracle) -> Fraction:
    """Return P(a report supports a symbol it is not made of), collisions of texts left out."""
    if not isinstance(mechanism, Sketch):
        return mechanism.q
    collision = Fraction(1, mechanism.k)
    return (mechanism.q - collision * mechanism.p) / (1 - collision)


def check_joint(mechanism: FrequencyOracle) -> None:
    """Two values are supported at once as often as ``joint`` says, where it says."""
    if mechanism.joint is None:
        return
    given = reports(mechanism)
    for value, one, two in product(domain(mechanism), asked(mechanism), asked(mechanism)):
        true = [truth(mechanism, 0, value, symbol) for symbol in (one, two)]
        if one != two and set(true) <= {0, 1}:
            found = sum(
                weight * mass
                for weight, each in given
                for y, mass in each[value].items()
                if mechanism.supports(one, y) and mechanism.supports(two, y)
            )
            assert found == mechanism.joint[0 if any(true) else 1]


def check_scores(mechanism: Scale) -> None:
    """The score of a report is i/(k-1) in the mean, and varies as ``score_variance`` says."""
    given, moved = reports(mechanism), [Fraction(0)]
    for value in range(mechanism.k):
        place = Fraction(value, mechanism.k - 1)
        scored = [
            (weight * mass, mechanism.score(y.out))
            for weight, each in given
            for y, mass in each[value].items()
        ]
        assert sum(mass * score for mass, score in scored) == place
        spread = sum(mass * (score - place) ** 2 for mass, score in scored)
        assert spread == mechanism.score_variance(place)
        moved.extend(abs(score - place) for _, score in scored)
    assert mechanism.leverage == max(moved)


def check_draws(mechanism: Mechanism) -> None:
    """The code that draws has exactly the stated distribution, in both rounds."""
    pairs = product(setups(mechanism), domain(mechanism))
    first: dict[tuple[int, bytes], Law] = {}
    for setup, key in dict.fromkeys((s, memo(mechanism, s, value)) for s, value in pairs):
        first[setup, key] = outcomes(partial(mechanism.permanent, setup, key))
        assert first[setup, key] == mechanism.law(setup, key, 1)
    again = {
        permanent: outcomes(partial(mechanism.instant, permanent))
        for permanent in {permanent for law in first.values() for permanent in law}
    }
    for (setup, key), law in composed(first, again).items():
        assert law == mechanism.law(setup, key, 2)


def composed(first: Mapping[K, Law], again: Mapping[Response, Law]) -> dict[K, Law]:
    """Return the distributions of reports whose permanent responses are drawn from ``first``."""
    (masses, one), (chances, two) = whole_numbers(first), whole_numbers(again)
    found: dict[K, Law] = {}
    for key, law in masses.items():
        sums: Counter[Response] = Counter()
        for permanent, mass in law.items():
            for response, chance in chances[permanent].items():
                sums[response] += mass * chance
        found[key] = {response: Fraction(total, one * two) for response, total in sums.items()}
    return found


def whole_numbers(laws: Mapping[K, Law]) -> tuple[dict[K, dict[Response, int]], int]:
    """Return all probabilities over one denominator, and that: exact sums without fractions."""
    whole = math.lcm(*(mass.denominator for law in laws.values() for mass in law.values()))
    return {
        key: {y: mass.numerator * (whole // mass.denominator) for y, mass in law.items()}
        for key, law in laws.items()
    }, whole


def check_variance(mechanism: Mechanism) -> None:
    """``exact_variance`` is that of the estimator, and nowhere larger than at the worst place."""
    for at in (Fraction(0), Fraction(1, mechanism.k), Fraction(2, 3), Fraction(1)):
        if isinstance(mechanism, FrequencyOracle):
            for sampled in (False, True):
                expected = _variance_by_hand(mechanism, at, sampled)
                assert mechanism.exact_variance(at, sampled=sampled) == expected
        assert mechanism.variance(float(at)) >= 0
    for sampled in (False, True):
        top = mechanism.worst(sampled=sampled)
        places = [Fraction(i, 10) for i in range(11)]
        places += [at for at in (top - MILLIONTH, top + MILLIONTH) if 0 <= at <= 1]
        most = mechanism.exact_variance(top, sampled=sampled)
        assert most >= max(mechanism.exact_variance(at, sampled=sampled) for at in places)
    worst, at = mechanism.worst_variance_iid()
    assert math.isclose(worst, mechanism.variance_iid(at), rel_tol=1e-12)


def _variance_by_hand(mechanism: FrequencyOracle, f: Fraction, sampled: bool) -> Fraction:
    """From each device's own chance to cover the value, and to support it."""
    p, q, share = mechanism.p, mechanism.q, mechanism.coverage

    def about(chance: Fraction, centre: Fraction) -> Fraction:
        return chance * (1 - centre) ** 2 + (1 - chance) * centre**2

    centre = q + f * (p - q)
    if not sampled and share == 1:
        mean = f * about(p, p) + (1 - f) * about(q, q)
    else:
        mean = f * about(p, centre) + (1 - f) * about(q, centre)
    found = mean / share / (p - q) ** 2
    return found if sampled or share == 1 else found - f * (1 - f)


def check_lifetime(mechanism: Mechanism) -> None:
    """No more memo keys than ``classes`` says, and no more entropy than ``fingerprint_bits``."""
    mean: dict[Response, Fraction] = {}
    for setup, weight in setups(mechanism).items():
        keys = {memo(mechanism, setup, value) for value in domain(mechanism)}
        if mechanism.classes is not None and not isinstance(mechanism, Dyadic):
            assert len(keys) <= mechanism.classes
        for law in laws(mechanism, setup, 1):
            for y, mass in law.items():
                mean[y] = mean.get(y, Fraction(0)) + weight * mass / len(domain(mechanism))
    entropy = -sum(float(mass) * math.log2(mass) for mass in mean.values())
    assert entropy <= mechanism.fingerprint_bits + 1e-12


def check_histories(mechanism: Mechanism) -> None:
    """Memo keys are the answers, or ``merges`` says that they are not.

    Only then do public changes of the answer tell no more than as many epsilons as there are
    answers: a history of two answers, changed on a known day, against another.
    """
    most = exp_between(2 * Fraction(mechanism.epsilon))[0]
    ratios, distinct = [Fraction(1)], True
    for setup in setups(mechanism):
        keys = [memo(mechanism, setup, value) for value in domain(mechanism)]
        distinct = distinct and len(set(keys)) == len(keys)
        given = laws(mechanism, setup, 1)
        for law in given:
            ratios += [
                max(law[y] / other[y] for y in law) for other in given if law.keys() == other.keys()
            ]
    assert mechanism.merges or distinct
    assert not distinct or max(ratios) ** 2 <= most


def check_losses(mechanism: Mechanism) -> None:
    """Odds of two values move by E, 1 or 1/E only, no more often than ``losses`` says.

    A set with too many items is answered as one drawn from it, which tells less.
    """
    if mechanism.losses is None:
        return
    gain, loss = mechanism.losses
    most = Fraction(0)
    assert gain + loss <= 1
    assert gain / loss <= exp_between(Fraction(mechanism.epsilon))[0]
    for setup in setups(mechanism):
        every = dict(enumerate(laws(mechanism, setup, 1)))
        given, whole = whole_numbers({value: every[value] for value in answers(mechanism)})
        for one, two in product(given.values(), repeat=2):
            speaks = dict.fromkeys((Fraction(1), gain / loss, loss / gain), Fraction(0))
            for (mass, other), outputs in Counter((one[y], two.get(y)) for y in one).items():
                ratio = Fraction(mass, other) if other else None
                assert ratio in speaks
                speaks[ratio] += Fraction(mass * outputs, whole)
            most = max(most, speaks[gain / loss])
            assert speaks[loss / gain] <= loss
    assert most <= gain
    assert most == gain or isinstance(mechanism, Rappor), "no two values attain it"


def check_chains(mechanism: Mechanism) -> None:
    """``chains`` and ``flips`` say what several reports, and a change of the value, reveal."""
    assert mechanism.second is not None
    p2, q2 = mechanism.second
    r = p2 / q2
    given = [laws(mechanism, setup, 1) for setup in setups(mechanism)]
    again = [
        {s: outcomes(partial(mechanism.instant, s)) for s in outputs}
        for outputs in {frozenset(each[0]) for each in given}
    ]
    assert {realised(list(each.values())) for each in again} == {r**mechanism.flips}
    for reports in (1, 2):
        found = max(
            _ratio(each, chances, reports)
            for each, chances in product(given, again)
            if each[0].keys() == chances.keys()
        )
        assert found == math.prod(
            ((a * r**reports + 1 - a) / (b * r**reports + 1 - b) for a, b in mechanism.chains),
            start=Fraction(1),
        )


def _ratio(given: Sequence[Law], again: Mapping[Response, Law], reports: int) -> Fraction:
    """Return the largest ratio of several reports' probabilities under two values.

    The probabilities are whole numbers over one denominator, which a ratio does not need; the
    order of reports built on one permanent response says nothing.
    """
    masses, chances = whole_numbers(dict(enumerate(given)))[0], whole_numbers(again)[0]
    most = Fraction(1)
    for ys in combinations_with_replacement(next(iter(chances.values())), reports):
        every = {s: math.prod(chance[y] for y in ys) for s, chance in chances.items()}
        told = [sum(mass * every[s] for s, mass in law.items()) for law in masses.values()]
        most = max(most, Fraction(max(told), min(told)))
    return most


CHECKS = (
    check_laws,
    check_epsilons,
    check_estimates,
    check_draws,
    check_variance,
    check_lifetime,
    check_histories,
    check_losses,
)
"""Those that hold for every mechanism and epsilon; tightness and chains have their own grids."""


def faults(mechanism: Mechanism) -> Iterator[str]:
    """Name the checks that a mechanism fails."""
    for check in CHECKS:
        try:
            check(mechanism)
        except AssertionError:
            yield check.__name__
