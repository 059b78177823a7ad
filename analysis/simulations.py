"""A survey rehearsed: devices drawn from a known truth, their tallies, and what is estimated."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from os import PathLike
from typing import SupportsIndex

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import Scale
from deniable.protocol.question import Question, Value
from deniable.protocol.ranges import Range
from deniable.protocol.survey import load_survey
from deniable.protocol.tally import Tally

from . import inputs
from .changing.rehearsal import rehearsed
from .estimation import estimate_tallies
from .estimators import Level, Raw
from .extras import extra
from .inputs import Number
from .means import estimate_mean
from .sets.rehearsal import set_answers
from .simulated import SimulatedValue, Simulation
from .texts.named import estimate_texts
from .texts.rehearsal import most_frequent, not_all
from .truth import Truth, read_truth

MAX_DEVICES = 10**12
MAX_PERIODS = 3660
MAX_RUNS = 10**6
START = date(2026, 1, 1)
"""In the first simulated period, unless another day is asked for."""

_SEEDS = 2**63


def simulate(
    survey: str | PathLike[str],
    truth: str | PathLike[str],
    *,
    devices: SupportsIndex,
    periods: SupportsIndex = 1,
    repeat: SupportsIndex = 1,
    questions: Sequence[str] = (),
    start: date = START,
    seed: SupportsIndex | None = None,
    confidence: Number = 0.95,
    simultaneous: bool = False,
) -> Simulation:
    """Rehearse a survey: what so many devices would report, and what is estimated from it.

    Devices are drawn from the rows of the truth by their weights, and answer all questions and
    periods with that row, which does not change; their tallies are distributed as those of real
    clients, memoized noise included.

    Parameters
    ----------
    survey : str or path
        Of a survey, TOML or compiled.
    truth : str or path
        Of a CSV file, see :mod:`deniable.analysis.truth`.
    devices : int
        At most 10^12.
    periods : int
        Of each question: so many days, weeks or months on end; a ``once`` question has one, and
        one with a horizon its first so many.
    repeat : int
        Runs, each of other devices; errors and coverage are those of all of them.
    questions : sequence of str
        Those to simulate; all of the survey if empty.
    start : date
        In the first period.
    seed : int, optional
        In 0..2^63 - 1; otherwise one is drawn.
    confidence, simultaneous
        As for :func:`deniable.analysis.debias`.

    Returns
    -------
    Simulation

    Raises
    ------
    SurveyError
        With every mistake of the survey.
    ParameterError
        If the truth is malformed, naming row and column, or an option is out of range.
    MissingExtraError
        If numpy is absent.
    """
    count = inputs.integer("devices", devices, 1, MAX_DEVICES)
    length = inputs.integer("periods", periods, 1, MAX_PERIODS)
    runs = inputs.integer("repeat", repeat, 1, MAX_RUNS)
    chosen = secrets.randbelow(_SEEDS) if seed is None else seed
    number = inputs.integer("seed", chosen, 0, _SEEDS - 1)
    chance = inputs.between("confidence", confidence, "0", "1")
    with extra():
        import numpy as np

        from .simulation.survey import Crowd
    checked = load_survey(inputs.path("survey", survey))
    known = read_truth(truth, checked, questions)
    crowd = Crowd(checked, known, count, length, start, np.random.default_rng(number))
    tables: dict[tuple[str, str, Value | int], _Errors] = {}
    first: tuple[Tally, ...] = ()
    for _ in range(runs):
        drawn = list(crowd.draw())
        first = first or tuple(tally for tally, _ in drawn)
        changing = rehearsed((tally for tally, _ in drawn), Level(float(1 - chance)))
        for tally, population in drawn:
            expected = known.shares(tally.question)
            answers = _answers(tally, chance, simultaneous, changing, expected)
            for one in _compare(tally, expected, population, answers):
                key = (one.question, one.period, one.value)
                tables.setdefault(key, _Errors(one)).add(one)
    answered = {question: table.runs for (question, _, _), table in tables.items()}
    for name in known.symbols:
        if name not in answered:
            raise ParameterError(
                f"{name}: no device answers it; draw more devices, or fill in its column"
            )
    return Simulation(
        survey=checked.id,
        devices=count,
        periods=length,
        runs=runs,
        seed=number,
        confidence=float(chance),
        simultaneous=simultaneous,
        values=tuple(table.summary() for table in tables.values()),
        tallies=first,
        notes=(*_notes(known, first), *_silent(answered, runs)),
    )


def _silent(answered: Mapping[str, int], runs: int) -> Iterator[str]:
    """Say of which questions some runs have no answer."""
    for question, counted in answered.items():
        if counted < runs:
            yield f"{question}: in {runs - counted} of {runs} runs no device answered it."


@dataclass
class _Errors:
    """The errors of one value, over the runs."""

    first: SimulatedValue
    runs: int = 0
    covered: int = 0
    errors: float = 0.0
    squares: float = 0.0

    def add(self, one: SimulatedValue) -> None:
        error = one.estimate - one.truth
        self.runs += 1
        self.covered += one.covered
        self.errors += error
        self.squares += error**2

    def summary(self) -> SimulatedValue:
        return replace(
            self.first,
            coverage=self.covered / self.runs,
            mean_error=self.errors / self.runs,
            rms_error=math.sqrt(self.squares / self.runs),
        )


@dataclass(frozen=True, slots=True)
class _Answer:
    """What is estimated: of which value, how, and what it is of a population with known shares."""

    value: Value | int
    raw: Raw
    of: Callable[[Mapping[int, float]], float]


def _answers(
    tally: Tally,
    chance: Decimal,
    simultaneous: bool,
    changing: Mapping[tuple[str, str], Raw],
    expected: Mapping[int, float],
) -> Iterator[_Answer]:
    """Estimate each frequency, or the mean of a number."""
    question = tally.question
    if question.horizon is not None:
        place = changing.get((question.id, tally.period))
        if place is not None:
            grid = question.range
            yield _Answer(True, place, _share(1)) if grid is None else _mean(grid, place)
        return
    if question.range is not None and isinstance(question.mechanism, Scale):
        level = Level(float(1 - chance))
        yield _mean(question.range, estimate_mean(question.mechanism, tally.cells, level))
        return
    if question.type == "set":
        yield from (_Answer(*one) for one in set_answers(tally, chance, simultaneous))
        return
    if question.text is None:
        made = estimate_tallies([tally], confidence=chance, simultaneous=simultaneous)
    else:
        strings = most_frequent(question.text, expected)
        made = estimate_texts([tally], strings, confidence=chance, simultaneous=simultaneous)
    for one in made.estimates:
        raw = Raw(one.frequency, one.standard_error, one.low, one.high)
        yield _Answer(one.value, raw, _share(_symbol(question, one.value)))


def _symbol(question: Question, value: Value | int) -> int:
    """Return the symbol of what was estimated; a pair goes by its text."""
    return question.choices.index(str(value)) if question.parts else question.encode(value)


def _share(symbol: int) -> Callable[[Mapping[int, float]], float]:
    return lambda shares: shares.get(symbol, 0.0)


def _mean(grid: Range, place: Raw) -> _Answer:
    """Return the mean of the numbers of which ``place`` is the mean place."""
    low, width = float(grid.low), float(grid.width)

    def of(shares: Mapping[int, float]) -> float:
        places = math.fsum(share * i for i, share in shares.items()) / grid.steps
        return low + width * places

    ends = (place.frequency, place.low, place.high)
    mean, lower, upper = (low + width * end for end in ends)
    return _Answer("mean", Raw(mean, width * place.standard_error, lower, upper), of)


def _compare(
    tally: Tally,
    expected: Mapping[int, float],
    population: Mapping[int, int],
    answers: Iterable[_Answer],
) -> Iterator[SimulatedValue]:
    """Set each estimate of a tally beside the truth."""
    n = sum(population.values())
    shares = {symbol: people / n for symbol, people in population.items()}
    for one in answers:
        truth, raw = one.of(expected), one.raw
        error = raw.frequency - truth
        covered = raw.low <= truth <= raw.high
        yield SimulatedValue(
            question=tally.question.id,
            period=tally.period,
            n=n,
            mechanism=tally.question.mechanism.name,
            value=one.value,
            truth=truth,
            drawn=one.of(shares),
            estimate=raw.frequency,
            standard_error=raw.standard_error,
            low=raw.low,
            high=raw.high,
            sigmas=error / raw.standard_error,
            covered=covered,
            coverage=float(covered),
            mean_error=error,
            rms_error=abs(error),
        )


def _notes(truth: Truth, tallies: Sequence[Tally]) -> Iterator[str]:
    """Say what a reader must know of these tallies."""
    plain = {(t.question.id, t.period) for t in tallies if t.question.horizon is None}
    if len(plain) > len({question for question, _ in plain}):
        yield (
            "Answers do not change, and their noise is remembered: the errors of a question's "
            "periods are alike, and the same without a second round."
        )
    for question in {t.question.id: t.question for t in tallies}.values():
        if question.text is not None:
            yield from not_all(question.id, truth.shares(question))
    if truth.ignored:
        yield f"No question of the survey: the columns {', '.join(truth.ignored)}; ignored."
    for name in {t.question.id: None for t in tallies}:
        yield from _not_released([t for t in tallies if t.question.id == name])


def _not_released(tallies: Sequence[Tally]) -> Iterator[str]:
    """Say which tallies of a question would be destroyed."""
    question = tallies[0].question
    small = [t.n for t in tallies if t.n < question.min_crowd]
    if not small:
        return
    what = "nothing"
    if len(small) < len(tallies):
        what = f"{len(tallies) - len(small):,} of {len(tallies):,} tallies only"
    why = f"for min_crowd is {question.min_crowd:,}"
    if question.horizon is not None:
        why += f", and as few as {min(small):,} devices report in a period"
    yield f"{question.id}: a collector would release {what}, {why}."
