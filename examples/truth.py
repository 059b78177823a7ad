"""The estimates beside the truth, which no collector ever has."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Any

import click
from devices import Answers
from tabulate import tabulate

from deniable.protocol.parts import BETWEEN
from deniable.protocol.question import Question

Line = tuple[str, float, dict[str, Any], float]


def beside_the_truth(
    question: Question, estimate: dict[str, Any], rows: Sequence[Answers]
) -> float:
    """Print one question's estimates beside the truth; return the worst error in SEs."""
    found = shares if question.range is None else statistics
    return printed(question.id, found(question, estimate, rows))


def printed(name: str, lines: Iterable[Line]) -> float:
    """Print a table of estimates beside the truth; return the worst error in SEs."""
    table, worst = [], 0.0
    for shown, true, item, estimated in lines:
        error, off = item["standard_error"], None
        if error is not None:
            off = (estimated - true) / error
            worst = max(worst, abs(off))
        interval = f"{item['low']:.4f} … {item['high']:.4f}"
        table.append([name, shown, true, estimated, error, interval, off])
    headers = ["question", "value", "truth", "estimate", "SE", "95 % interval", "off by (SE)"]
    click.echo(tabulate(table, headers=headers, floatfmt=("", "", ".4f", ".4f", ".4f", "", "+.2f")))
    click.echo()
    return worst


def shares(question: Question, estimate: dict[str, Any], rows: Sequence[Answers]) -> Iterator[Line]:
    """Yield each value, its true share, its estimate and the share estimated."""
    truth = Counter(value for row in rows for value in held(question, row))
    for item in estimate.get("hitters") or estimate["estimates"]:
        shown = "yes" if item["value"] is True else item["value"]
        yield shown, truth[item["value"]] / len(rows), item, item["frequency"]


def held(question: Question, row: Answers) -> Sequence[Any]:
    """Return the values that are true of one person: several of a set, one otherwise."""
    answer = row[question.id]
    if isinstance(answer, list):
        return answer
    if isinstance(answer, dict):
        return [BETWEEN.join(answer[part.name] for part in question.parts)]
    if question.text is not None:
        return [question.text.normalised(str(answer))]
    return [answer]


def statistics(
    question: Question, estimate: dict[str, Any], rows: Sequence[Answers]
) -> Iterator[Line]:
    """Yield the mean and the quantiles of a number as devices clip it to its range."""
    if question.range is None:
        return
    low, high = float(question.range.low), float(question.range.high)
    numbers = sorted(min(max(float(str(row[question.id])), low), high) for row in rows)
    for item in estimate["statistics"]:
        if item["statistic"] == "mean":
            yield "mean", fmean(numbers), item, item["estimate"]
        else:
            place = math.ceil(item["level"] * len(numbers)) - 1
            yield f"{item['level']:g} quantile", numbers[place], item, item["estimate"]
