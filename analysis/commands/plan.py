"""``deniable plan``: which flags are given decides what is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..plans.margins import plan_epsilon, plan_margin
from ..plans.shares import plan_shares
from ..plans.shuffled import plan_local
from ..plans.surveys import SHARINGS, plan_survey_margins, plan_survey_shares
from ..plans.surveys_shuffled import plan_survey_local
from ..render import Result
from . import options

_QUESTION = ("values", "mechanism", "options")
_SURE = ("confidence", "sigmas", "frequency", "fixed_population")


@dataclass(frozen=True)
class Combination:
    """Flags that ask one question.

    Attributes
    ----------
    answer : callable
        Takes them under their own names, and a survey's path first if there is one.
    needed, allowed : tuple of str
    """

    answer: Callable[..., Result]
    needed: tuple[str, ...]
    allowed: tuple[str, ...]

    @property
    def flags(self) -> str:
        """The flags that are needed, for people."""
        return " ".join(_flag(name) for name in self.needed)


FLAGS = (
    Combination(
        plan_shares,
        ("total_epsilon", "days", "questions"),
        ("devices_per_person", "changes", "delta", "second_round", *_QUESTION),
    ),
    Combination(plan_margin, ("epsilon", "devices"), ("epsilon_first", *_SURE, *_QUESTION)),
    Combination(plan_epsilon, ("margin", "devices"), ("second_round", *_SURE, *_QUESTION)),
    Combination(plan_local, ("central_epsilon", "delta", "crowd"), ("fake_share", *_QUESTION)),
)
"""What can be asked of one question."""

SURVEY_FLAGS = (
    Combination(
        plan_survey_shares,
        ("total_epsilon",),
        ("days", "changes", "devices_per_person", "sharing"),
    ),
    Combination(plan_survey_margins, ("devices",), _SURE),
    Combination(plan_survey_margins, ("margin", "devices"), _SURE),
    Combination(plan_survey_local, ("central_epsilon", "delta", "crowd"), ("fake_share",)),
)
"""What can be asked of all questions of a survey."""


@click.command(name="plan")
@click.option(
    "--total-epsilon",
    type=options.NUMBER,
    metavar="E",
    help="Of one person, from all reports of all their devices about all questions.",
)
@click.option(
    "--days",
    type=options.WHOLE,
    metavar="T",
    help="Reports of one device about one question, one a day (or a week, or a month); with "
    "--survey calendar days, in which each question is answered once in each of its periods.",
)
@click.option("--questions", type=options.WHOLE, metavar="Q", help="How many are asked, all alike.")
@click.option(
    "--devices-per-person",
    type=options.WHOLE,
    metavar="M",
    help="Each randomizes for itself; 1 unless given.",
)
@click.option(
    "--changes",
    type=options.WHOLE,
    metavar="C",
    help="How often an answer changes at most, everybody knowing when; never unless given.",
)
@click.option(
    "--epsilon",
    type=options.NUMBER,
    metavar="E",
    help="Permanent epsilon: of all reports about one unchanging answer.",
)
@options.epsilon_first
@click.option(
    "--second-round",
    is_flag=True,
    help="Randomize each report anew; epsilon of one report is then half of epsilon.",
)
@click.option("--devices", type=options.WHOLE, metavar="N", help="That report in one period.")
@click.option(
    "--margin",
    type=options.NUMBER,
    metavar="M",
    help="Half the width of the interval of one frequency, such as 0.01; of a mean as a "
    "share of its range.",
)
@click.option(
    "--central-epsilon",
    type=options.NUMBER,
    metavar="C",
    help="Of one device in the shuffled reports of one period, whose sender nobody can tell.",
)
@click.option(
    "--delta",
    type=options.NUMBER,
    metavar="D",
    help="Allow a bound to fail with this probability, such as 1e-6.",
)
@click.option(
    "--crowd", type=options.WHOLE, metavar="N", help="Devices whose reports are shuffled."
)
@click.option(
    "--fake-share",
    type=options.NUMBER,
    metavar="S",
    help="Of the crowd that hides nobody, such as 0.1; none unless given.",
)
@options.values
@options.mechanism
@options.mechanism_options
@options.level
@click.option(
    "--frequency",
    type=options.NUMBER,
    metavar="F",
    help="The true frequency, if it is roughly known; otherwise the worst there is.",
)
@click.option(
    "--fixed-population",
    is_flag=True,
    help="The devices that report are the whole population: only the noise varies.",
)
@click.option(
    "--survey",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Plan every question of a survey, and print the lines to paste into it.",
)
@click.option(
    "--share",
    "sharing",
    type=click.Choice(SHARINGS),
    default="equal",
    show_default=True,
    help="How the questions of a survey share the total: equally, or in proportion to "
    "their present epsilons.",
)
@options.form
@click.pass_context
def command(
    context: click.Context,
    /,
    survey: Path | None,
    chosen: tuple[tuple[str, int], ...],
    form: str,
    **flags: Decimal | int | str | bool | None,
) -> None:
    """Tell what is unknown from what is known, before anybody is asked.

    \b
    --total-epsilon E --days T --questions Q   epsilon of each question and report
    --epsilon E --devices N                    margin of error
    --margin M --devices N                     least epsilon
    --central-epsilon C --delta D --crowd N    local epsilon, if reports are shuffled

    With --survey FILE the same for every question: --total-epsilon E; --devices N; --margin M
    --devices N; --central-epsilon C --delta D --crowd N.
    """
    names = {name for name in flags if _given(context, name)}
    asked: dict[str, Any] = {name: flags[name] for name in names}
    if chosen:
        asked["options"] = dict(chosen)
    if survey is None:
        options.emit(_combination(FLAGS, set(asked)).answer(**asked), form)
    else:
        options.emit(_combination(SURVEY_FLAGS, set(asked)).answer(survey, **asked), form)


def _given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is not ParameterSource.DEFAULT


def _combination(known: tuple[Combination, ...], given: set[str]) -> Combination:
    """Return the combination whose flags were given, no less and no more."""
    for each in known:
        if set(each.needed) <= given <= {*each.needed, *each.allowed}:
            return each
    for each in sorted(known, key=lambda each: -len(each.needed)):
        if set(each.needed) <= given:
            over = " ".join(sorted(_flag(n) for n in given - {*each.needed, *each.allowed}))
            raise click.UsageError(f"{over} cannot be given with {each.flags}; {_listed(known)}")
    raise click.UsageError(_listed(known))


def _listed(known: tuple[Combination, ...]) -> str:
    return f"give one of: {'; '.join(each.flags for each in known)}"


def _flag(name: str) -> str:
    return "--" + {"sharing": "share", "options": "option"}.get(name, name).replace("_", "-")
