"""The joint law of all reports of a device whose answer changes, and what they reveal together.

A history says what a device went through: for each period t its symbol, None where it was on but
nothing was recorded; periods left out passed without it. Which of the three it was is taken for
public, and so is the setup; the symbols are what is to be protected.

The code is run: the memo keys come from ``step`` (from ``memo``, of a mechanism without a horizon),
the responses from ``permanent`` and ``instant``. Responses of one stream share their draws, which
start anew for each, as on a device; those of different streams are independent. What must never
change: nothing here reads ``law``, ``gap``, ``p`` or a threshold; a code that asks one stream two
different questions is refused; and a silence is an output like any other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import product

from ..draws import Draws
from ..mechanisms.base import Mechanism
from ..mechanisms.dyadic import Dyadic, Memory
from ..response import Response
from .branches import outcomes
from .walks import Ratio, Unclear, largest_ratio, most_of

History = Mapping[int, int | None]
"""By period, in 1..T; those that are not there passed without the device."""

Reports = tuple[Response | None, ...]
"""In the order of the periods of a history; None where the device is silent."""

JointLaw = dict[Reports, Fraction]

Keys = tuple[bytes | None, ...]


class Tape:
    """Draws that are made once and start anew for each who reads them.

    Raises
    ------
    Unclear
        If a reader asks another question than the first one did.
    """

    def __init__(self, draws: Draws) -> None:
        self._draws = draws
        self._asked: list[tuple[str, int]] = []
        self._answers: list[int] = []
        self._at = 0

    def rewound(self) -> Tape:
        """Start anew."""
        self._at = 0
        return self

    def chance(self, threshold: int) -> bool:
        """Answer as before, or draw."""
        return bool(self._answer(("chance", threshold), self._draws.chance))

    def below(self, n: int) -> int:
        """Answer as before, or draw."""
        return self._answer(("below", n), self._draws.below)

    def _answer(self, question: tuple[str, int], draw: Callable[[int], int]) -> int:
        if self._at == len(self._asked):
            self._asked.append(question)
            self._answers.append(draw(question[1]))
        if self._asked[self._at] != question:
            raise Unclear("responses that share their draws ask them different questions")
        self._at += 1
        return self._answers[self._at - 1]


def memo_keys(mechanism: Mechanism, setup: int, history: History) -> Keys:
    """Return the memo key of each period's report, None where there is none."""
    if not isinstance(mechanism, Dyadic):
        return tuple(
            None if value is None else mechanism.memo(setup, mechanism.symbol(value))
            for value in history.values()
        )
    keys: list[bytes | None] = []
    memory: Memory | None = None
    for t, symbol in history.items():
        key, memory = mechanism.step(setup, memory, symbol, t)
        keys.append(key)
    return tuple(keys)


def joint_law(mechanism: Mechanism, setup: int, keys: Keys) -> JointLaw:
    """Return the exact distribution of the reports with these memo keys, all together."""
    remembered: list[tuple[dict[bytes | None, Response], Fraction]] = [({}, Fraction(1))]
    for of in _streams(mechanism, keys).values():
        shared = _shared(mechanism, setup, of).items()
        remembered = [
            ({**before, **dict(responses)}, mass * chance)
            for before, mass in remembered
            for responses, chance in shared
        ]
    law: JointLaw = defaultdict(Fraction)
    for permanent, mass in remembered:
        for reports, chance in _second_round(mechanism, [permanent.get(key) for key in keys]):
            law[reports] += mass * chance
    return dict(law)


def history_ratio(mechanism: Mechanism, histories: Iterable[History]) -> Ratio:
    """Return the largest ratio of the probabilities of all reports under two histories.

    Of any two that agree in what is public, in any setup; None if there is no bound.
    """
    patterns: dict[tuple[tuple[int, bool], ...], list[History]] = defaultdict(list)
    for history in histories:
        patterns[tuple((t, symbol is None) for t, symbol in history.items())].append(history)
    setups = sorted(outcomes(mechanism.assign))
    return most_of(
        _ratio(mechanism, setup, alike) for setup in setups for alike in patterns.values()
    )


def _ratio(mechanism: Mechanism, setup: int, histories: Iterable[History]) -> Ratio:
    keys = {memo_keys(mechanism, setup, history) for history in histories}
    return largest_ratio([joint_law(mechanism, setup, each) for each in keys])


def _streams(mechanism: Mechanism, keys: Keys) -> dict[bytes, list[bytes]]:
    """Return the different memo keys of each stream, in their order."""
    found: dict[bytes, list[bytes]] = defaultdict(list)
    for key in dict.fromkeys(keys):
        if key is not None:
            found[mechanism.stream(key)].append(key)
    return found


def _shared(
    mechanism: Mechanism, setup: int, keys: list[bytes]
) -> dict[tuple[tuple[bytes, Response], ...], Fraction]:
    """Return the joint law of the responses to memo keys that share their draws."""

    def draw(draws: Draws) -> tuple[tuple[bytes, Response], ...]:
        tape = Tape(draws)
        return tuple((key, mechanism.permanent(setup, key, tape.rewound())) for key in keys)

    return outcomes(draw)


def _second_round(
    mechanism: Mechanism, permanent: list[Response | None]
) -> Iterator[tuple[Reports, Fraction]]:
    """Yield what the reports can be, each made anew of its permanent response."""
    if mechanism.second is None:
        yield tuple(permanent), Fraction(1)
        return
    laws: list[dict[Response | None, Fraction]] = [
        {None: Fraction(1)} if one is None else {**outcomes(partial(mechanism.instant, one))}
        for one in permanent
    ]
    for drawn in product(*(law.items() for law in laws)):
        mass = Fraction(1)
        for _, chance in drawn:
            mass *= chance
        yield tuple(response for response, _ in drawn), mass
