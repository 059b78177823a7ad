"""The black box: what devices of the installed client send, and what epsilon that proves.

Devices answer every question once, so a survey of many questions takes no more of them. Half of
the trials choose an event for each question, the other half are of devices that are made
afterwards and test it. A report that was due and did not come is a response like any other, and
so is one that no collector would take: whatever tells answers apart counts.

What must never change: each figure is one test of one event that was chosen without its devices,
so nothing that is tried out while choosing inflates it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from deniable.protocol.question import Question
from deniable.protocol.specimens import specimens

from .bounds import could_have_seen, epsilon_lower
from .events import Choice, choose
from .findings import Finding
from .memo import refused
from .samples import Sample
from .sharing import broken_half, chooses, compared

if TYPE_CHECKING:
    from .devices import Devices

Progress = Callable[[int], None]
Samples = Mapping[str, Sample]
Sender = tuple[int, Sequence[Hashable]]
Symbols = Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Measured:
    """What the trials of one question showed.

    Attributes
    ----------
    one, other : int
        The symbols compared; the event is likelier under the one.
    event : str
        In words.
    hits, misses : int
        In how many tests it happened under the one, and under the other.
    tests : int
        On each side.
    lower_bound, null_control, positive_control : float
        Epsilons that are proved: of a report, of the same answer on both sides, and of a
        randomizer broken on purpose.
    visible : float or None
        The least epsilon that would have been shown to be above what is declared.
    """

    one: int
    other: int
    event: str
    hits: int
    misses: int
    tests: int
    lower_bound: float
    null_control: float
    positive_control: float
    visible: float | None


NOTHING = Measured(0, 1, "not audited", 0, 0, 0, 0.0, 0.0, 0.0, None)
"""Of a question that no device could be asked."""


class Trials:
    """The trials of several questions.

    Parameters
    ----------
    devices : Devices
        Of the client that is audited.
    questions : sequence of Question
    half : int
        Devices on each side that choose, and that test. If more than two answers are compared,
        the 2 half that choose are shared among them.
    alpha : float
        With which probability each lower bound may be wrong.
    seed : int
        Chooses the answers to compare where a question has many.
    progress : callable
        Told how many more devices are done.
    """

    def __init__(
        self,
        devices: Devices,
        questions: Sequence[Question],
        *,
        half: int,
        alpha: float,
        seed: int,
        progress: Progress,
    ) -> None:
        self._devices = devices
        self._questions = {question.id: question for question in questions}
        self._half = half
        self._alpha = alpha
        self._progress = progress
        self._values = {
            asked.id: asked.values
            for asked in devices.describe().questions
            if asked.id in self._questions
        }
        self._symbols = compared(self._questions, seed)
        self._codes = {
            name: [question.encode(value) for value in specimens(question)]
            for name, question in self._questions.items()
        }
        self._sent: dict[str, list[Sender]] = {name: [] for name in self._questions}

    def run(self) -> dict[str, Measured]:
        """Return what the trials of each question show."""
        groups = max(map(len, self._symbols.values()))
        groups_of = [
            {name: symbols[group % len(symbols)] for name, symbols in self._symbols.items()}
            for group in range(groups)
        ]
        first = [self._sample(answers, chooses(self._half, groups)) for answers in groups_of]
        pooled = {name: self._pooled(name, first) for name in self._questions}
        choices = {name: self._choose(name, by_symbol) for name, by_symbol in pooled.items()}
        ones = {name: choice[1] for name, choice in choices.items()}
        others = {name: choice[2] for name, choice in choices.items()}
        tests = [self._sample(answers, self._half) for answers in (ones, others, ones)]
        nulls = {
            name: choose(
                *by_symbol[ones[name]].times,
                self._pair(name, ones[name], others[name]),
                self._alpha,
            )
            for name, by_symbol in pooled.items()
        }
        broken = self._broken(ones, others)
        return {
            name: self._measured(name, choices[name], nulls[name], tests, broken[name])
            for name in self._questions
        }

    def _pair(self, name: str, one: int, other: int) -> tuple[int, int]:
        """Return the symbols of two answers, by their places."""
        return self._codes[name][one], self._codes[name][other]

    def _sample(
        self, answers: Mapping[str, int], count: int, *, broken: bool = False
    ) -> dict[str, Sample]:
        values = {name: self._values[name][symbol] for name, symbol in answers.items()}
        said = self._devices.sample(count, values, broken=broken, progress=self._progress)
        if not broken:
            for name, responses in said.items():
                self._sent[name].append((answers[name], responses))
        return {
            name: Sample(self._questions[name].mechanism, responses)
            for name, responses in said.items()
        }

    def _pooled(self, name: str, groups: Sequence[Samples]) -> dict[int, Sample]:
        """Return the responses to one question by symbol; with few, several groups gave each."""
        symbols = self._symbols[name]
        return {
            symbol: sum(
                (group[name] for group in groups[at + len(symbols) :: len(symbols)]),
                start=groups[at][name],
            )
            for at, symbol in enumerate(symbols)
        }

    def _choose(self, name: str, by_symbol: Mapping[int, Sample]) -> tuple[Choice, int, int]:
        """Return the best event of any two answers, and the answers, the likelier one first."""
        found = [
            (
                choose(by_symbol[one], by_symbol[other], self._pair(name, one, other), self._alpha),
                one,
                other,
            )
            for one, other in combinations(by_symbol, 2)
        ]
        choice, one, other = max(found, key=lambda each: each[0].score)
        return (choice, other, one) if choice.reverse else (choice, one, other)

    def oddities(self) -> Iterator[Finding]:
        """Yield what is wrong with reports whatever they tell: some did not come, or are none."""
        for name, sent in self._sent.items():
            silent = {symbol for symbol, wires in sent if None in wires}
            wires = [wire for _, each in sent for wire in each if wire is not None]
            if silent and wires:
                shown = ", ".join(str(self._values[name][symbol]) for symbol in sorted(silent)[:4])
                line = f"devices that were asked sent nothing, of those that answer {shown}"
                yield Finding("responses", name, False, line)
            if not wires:
                yield Finding("responses", name, None, "no device sent a report: not audited")
            yield from refused(self._questions[name], wires)

    def _broken(self, ones: Mapping[str, int], others: Mapping[str, int]) -> dict[str, float]:
        """Return what is proved of a randomizer that is broken.

        It is easily told, so few devices do, unless so few cannot show what is declared.
        """
        few = broken_half(self._half)
        proved = self._broken_by(few, ones, others)
        missed = any(proved[name] <= _declared(each) for name, each in self._questions.items())
        return self._broken_by(self._half, ones, others) if missed and few < self._half else proved

    def _broken_by(
        self, count: int, ones: Mapping[str, int], others: Mapping[str, int]
    ) -> dict[str, float]:
        sides = (ones, others)
        made = [self._sample(answers, (count + 1) // 2, broken=True) for answers in sides]
        tests = [self._sample(answers, count, broken=True) for answers in sides]
        proved = {}
        for name in self._questions:
            pair = self._pair(name, ones[name], others[name])
            choice = choose(made[0][name], made[1][name], pair, self._alpha)
            proved[name] = self._bound(choice, tests[0][name], tests[1][name])
        return proved

    def _bound(self, choice: Choice, one: Sample, other: Sample) -> float:
        """Return the epsilon that the event proves, whichever answer it speaks for."""
        likely, rare = (other, one) if choice.reverse else (one, other)
        hits, misses = choice.event.count(likely), choice.event.count(rare)
        return epsilon_lower(hits, misses, len(likely), self._alpha)

    def _measured(
        self,
        name: str,
        chosen: tuple[Choice, int, int],
        null: Choice,
        tests: Sequence[Samples],
        broken: float,
    ) -> Measured:
        choice, one, other = chosen
        hits, misses = (choice.event.count(side[name]) for side in tests[:2])
        declared = _declared(self._questions[name])
        return Measured(
            one=one,
            other=other,
            event=choice.event.name,
            hits=hits,
            misses=misses,
            tests=self._half,
            lower_bound=epsilon_lower(hits, misses, self._half, self._alpha),
            null_control=self._bound(null, tests[0][name], tests[2][name]),
            positive_control=broken,
            visible=could_have_seen(hits / self._half, declared, self._half, self._alpha),
        )


def _declared(question: Question) -> float:
    return float(question.epsilon_first or question.epsilon)
