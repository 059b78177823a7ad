"""What many reports of one device reveal: proved of an answer that stays, shown of a change.

Everything is a rational, by enumeration of what the mechanism states (``Mechanism.law``) and of
its second round. A device remembers one permanent response for each memo key, so the likelihood
of T reports is, for each key, a sum over its permanent responses of products over the days.

What must never change: the two directions. Of the answer that stays the largest ratio over all
sequences of reports is found; of the one that changes, one pair of histories and one sequence is
shown, which proves that the ratio is at least so large.

References
----------
Erlingsson, Pihur, Korolova. RAPPOR: randomized aggregatable privacy-preserving ordinal response.
CCS 2014.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb
from typing import Any

from deniable.protocol.mechanisms import Mechanism
from deniable.protocol.proofs.branches import TooManyBranches, outcomes
from deniable.protocol.proofs.values import values_of
from deniable.protocol.response import Response

from .designs import designs
from .promise import epsilon_of, within

DAYS = (1, 2, 4)
"""Reports about one unchanging answer, of which all sequences are tried."""

_MOST_WORK = 60_000
_MOST_RESPONSES = 64
_LONGEST = 512
"""Days within which a change is looked for that exceeds the epsilon."""

Law = dict[Response, Fraction]


@dataclass(frozen=True, slots=True)
class Longitudinal:
    """What T reports reveal.

    Attributes
    ----------
    k : int
        Over how many values the design was enumerated.
    reduced : bool
        Whether the question has more, or other options.
    unchanging : tuple of (int, Fraction)
        T, and the largest ratio of likelihoods of two answers that stay the same for T
        reports; None if it is infinite.
    stays_within : bool
        Whether all of these are within e^epsilon.
    changed_days : int or None
        T, the fewest reports after which one change is shown to exceed it; None if none was found
        within 512.
    changed : Fraction or None
        The ratio that is shown then; None if it is infinite: a sequence that one of the
        histories rules out.
    """

    k: int
    reduced: bool
    unchanging: tuple[tuple[int, Fraction | None], ...]
    stays_within: bool
    changed_days: int | None
    changed: Fraction | None

    def document(self) -> dict[str, Any]:
        """Return it as JSON; epsilons are rounded up."""
        return {
            "values": self.k,
            "reduced": self.reduced,
            "unchanging": [
                {"reports": reports, "epsilon": None if ratio is None else epsilon_of(ratio)}
                for reports, ratio in self.unchanging
            ],
            "stays_within": self.stays_within,
            "change_exceeds_after_reports": self.changed_days,
            "change_epsilon": None if self.changed is None else epsilon_of(self.changed),
        }


def longitudinal(mechanism: Mechanism) -> Longitudinal | None:
    """Return what T reports by a mechanism reveal, or by the same over fewer values.

    Returns
    -------
    Longitudinal or None
        None if even that has more responses than can be enumerated.
    """
    for design in designs(mechanism):
        try:
            device = Device(design)
            unchanging = tuple(
                (reports, device.unchanging(reports))
                for reports in DAYS
                if device.work(reports) <= _MOST_WORK
            )
        except TooManyBranches:
            continue
        if not unchanging:
            continue
        days, ratio = device.changed()
        stays = all(each is not None and within(each, mechanism.epsilon) for _, each in unchanging)
        return Longitudinal(design.k, design != mechanism, unchanging, stays, days, ratio)
    return None


class Device:
    """The exact likelihoods of the reports of one device, in every setup it may have.

    Raises
    ------
    TooManyBranches
        If there are more responses than can be enumerated.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        if mechanism.shape.kind == "bits" and 2**mechanism.shape.width > _MOST_RESPONSES:
            raise TooManyBranches
        self._epsilon = mechanism.epsilon
        self._setups = [Remembered(mechanism, laws) for laws in _laws(mechanism)]

    def work(self, reports: int) -> int:
        """Return how many products it takes to try all sequences of reports."""
        return sum(setup.work(reports) for setup in self._setups)

    def unchanging(self, reports: int) -> Fraction | None:
        """Return the largest ratio over all setups, answers and sequences, None if infinite."""
        ratios = [setup.unchanging(reports) for setup in self._setups]
        known = [ratio for ratio in ratios if ratio is not None]
        return max(known) if len(known) == len(ratios) else None

    def changed(self) -> tuple[int | None, Fraction | None]:
        """Return the fewest days, a power of 2, that show a change, and by which ratio.

        One history changes from one answer to the other in the middle, the other never does. The
        sequences that are tried are alike within each half.
        """
        setup = max(self._setups, key=Remembered.answers)
        days = 2
        while days <= _LONGEST:
            ratio = setup.changed(days // 2)
            if ratio is None or within(ratio, self._epsilon) is False:
                return days, ratio
            days *= 2
        return None, None


class Remembered:
    """A device of one setup: the laws of what it remembers of each answer, and of its reports."""

    def __init__(self, mechanism: Mechanism, laws: Sequence[Law]) -> None:
        self._laws = laws
        permanents = {response: None for law in laws for response in law}
        if len(permanents) > _MOST_RESPONSES:
            raise TooManyBranches
        self._reports = {permanent: _instants(mechanism, permanent) for permanent in permanents}
        self.responses = sorted(
            {report for law in self._reports.values() for report in law},
            key=lambda response: response.out,
        )

    def answers(self) -> int:
        """Return how many answers are told apart."""
        return len(self._laws)

    def work(self, reports: int) -> int:
        """Return how many products it takes to try all sequences of reports."""
        sequences = comb(len(self.responses) + reports - 1, reports)
        return sequences * reports * sum(map(len, self._laws))

    def likelihood(self, law: Law, reports: Sequence[tuple[Response, int]]) -> Fraction:
        """Return the probability of so many reports of each kind, in one given order."""
        whole = Fraction(0)
        for permanent, mass in law.items():
            for report, times in reports:
                mass *= self._reports[permanent].get(report, Fraction(0)) ** times
            whole += mass
        return whole

    def unchanging(self, reports: int) -> Fraction | None:
        """Return the largest ratio over all sequences, None if infinite; order does not matter."""
        largest = Fraction(1)
        for sequence in combinations_with_replacement(self.responses, reports):
            counted = [(report, sequence.count(report)) for report in set(sequence)]
            found = [self.likelihood(law, counted) for law in self._laws]
            if not any(found):
                continue
            if not all(found):
                return None
            largest = max(largest, max(found) / min(found))
        return largest

    def changed(self, half: int) -> Fraction | None:
        """Return the ratio that a change in the middle of so many days twice shows, or more.

        Every day before it the response that speaks most for the first answer is sent, and every
        day after it the one that speaks most for another.
        """
        largest = Fraction(1)
        one = self._laws[0]
        for other in self._laws[1:]:
            before, after = self._telling(one, other), self._telling(other, one)
            stays = self.likelihood(one, [(before, half), (after, half)])
            early, late = [(before, half)], [(after, half)]
            changes = self.likelihood(one, early) * self.likelihood(other, late)
            if changes and not stays:
                return None
            if changes:
                largest = max(largest, changes / stays, stays / changes)
        return largest

    def _telling(self, one: Law, other: Law) -> Response:
        """Return the report that is likelier under one law than under another by most."""

        def odds(report: Response) -> tuple[bool, Fraction]:
            likely, less = (self.likelihood(law, [(report, 1)]) for law in (one, other))
            return (not less and bool(likely), likely / less if less else likely)

        return max(self.responses, key=odds)


def _laws(mechanism: Mechanism) -> Iterator[list[Law]]:
    """Yield the laws of the permanent responses of all memo keys, for each setup."""
    values, _ = values_of(mechanism)
    for setup in range(mechanism.shape.rows):
        found = [mechanism.memo(setup, symbol) for symbol in values]
        keys = dict.fromkeys(key for key in found if key is not None)
        yield [mechanism.law(setup, key, 1) for key in keys]


def _instants(mechanism: Mechanism, permanent: Response) -> Law:
    return outcomes(lambda draws: mechanism.instant(permanent, draws), limit=_MOST_RESPONSES**2)
