"""What a picture of a result shows: bars, lines and points, each with its interval.

What must never change: no estimate without its interval, and no epsilon without its unit.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from deniable.protocol.errors import ParameterError

from .difference_results import Differences
from .number_results import NumberEstimates
from .results import Estimates, EstimateSeries, text, with_units
from .trend_results import Trend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_BARS: Final = 60
MOST_LINES: Final = 8

Plottable = Estimates | NumberEstimates | EstimateSeries | Trend | Differences

_COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31",
)  # fmt: skip
_MARKERS = "osD^vPX*"
INK, _FADED, FAINT = "#222222", "#555555", "#BBBBBB"
_WIDTH = 8.0
_LONGEST = 32


def draw(figure: Figure, result: Plottable) -> None:
    """Draw a result into an empty figure, and size it.

    Raises
    ------
    ParameterError
        If it holds several periods of estimates.
    """
    axes = figure.add_subplot()
    if isinstance(result, EstimateSeries):
        if len(result) > 1:
            raise ParameterError("a plot shows one period; of several, plot a trend")
        result = result.periods[0]
    if isinstance(result, Trend):
        remarks = _lines(figure, axes, result)
    elif isinstance(result, Differences):
        remarks = _points(figure, axes, result)
    elif isinstance(result, NumberEstimates):
        remarks = _statistics(figure, axes, result)
    else:
        remarks = _bars(figure, axes, result)
    title = result.title()
    epsilons = with_units(result.epsilon, result.epsilon_first, result.epsilon_unit)
    spent = f"{result.mechanism}, epsilon {epsilons}."
    figure.suptitle(_wrap(title, 76), x=0.01, ha="left", fontsize=12, fontweight="bold")
    axes.set_title(_wrap(spent, 100), loc="left", fontsize=9, color=_FADED)
    lines = "\n".join(_wrap(line, 130) for line in remarks)
    figure.supxlabel(lines, x=0.01, ha="left", fontsize=8, color=_FADED)


def _bars(figure: Figure, axes: Axes, result: Estimates) -> list[str]:
    """Draw one bar for each value, in the order of the question; of many the largest."""
    shown = list(result.estimates)
    remarks = []
    if len(shown) > MOST_BARS:
        shown = sorted(shown, key=lambda one: -one.frequency)[:MOST_BARS]
        remarks.append(f"The {MOST_BARS} largest of {len(result.estimates):,} values.")
    rows = range(len(shown))
    raw = result.post_process == "none"
    axes.barh(rows, [one.frequency for one in shown], color="#9EC5E0", height=0.7)
    _intervals(
        axes,
        rows,
        [(one.low, one.high) for one in shown],
        [one.frequency for one in shown] if raw else [(one.low + one.high) / 2 for one in shown],
        raw,
    )
    _name_rows(figure, axes, [text(one.value) for one in shown])
    axes.set_xlabel("frequency")
    together = "all at once" if result.simultaneous else "each by itself"
    what = "raw and unbiased" if raw else f"after {result.post_process} (biased), intervals raw"
    remarks.append(f"Frequencies {what}; {100 * result.confidence:g} % intervals, {together}.")
    return remarks


def _points(figure: Figure, axes: Axes, result: Differences) -> list[str]:
    """Draw one point for each difference, about a line at 0."""
    shown = list(result.differences)
    remarks = []
    if len(shown) > MOST_BARS:
        shown = sorted(shown, key=lambda one: -abs(one.difference))[:MOST_BARS]
        remarks.append(f"The {MOST_BARS} largest of {len(result.differences):,} differences.")
    rows = range(len(shown))
    axes.axvline(0, color="#888888", linewidth=1)
    _intervals(
        axes, rows, [(one.low, one.high) for one in shown], [one.difference for one in shown], True
    )
    _name_rows(figure, axes, ["" if one.value is None else text(one.value) for one in shown])
    axes.set_xlabel(f"{result.quantity}, B - A")
    together = "all at once" if result.simultaneous else "each by itself"
    remarks.append(f"{100 * result.confidence:g} % intervals, {together}.")
    remarks.append(f"Errors {result.correlation}")
    return remarks


def _statistics(figure: Figure, axes: Axes, result: NumberEstimates) -> list[str]:
    """Draw one point for the mean, and one for each quantile."""
    shown = result.statistics
    ends = [(one.low, one.high) for one in shown]
    _intervals(axes, range(len(shown)), ends, [one.estimate for one in shown], True)
    names = ["mean" if one.level is None else f"quantile {one.level:g}" for one in shown]
    _name_rows(figure, axes, names)
    axes.set_xlabel("in the units of the question")
    together = "all at once" if result.simultaneous else "each by itself"
    return [f"{100 * result.confidence:g} % intervals, {together}.", *result.notes]


def _lines(figure: Figure, axes: Axes, result: Trend) -> list[str]:
    """Draw one line with a band for each answer; of many those that are largest at last."""
    series = list(result.series.items())
    remarks = []
    if len(series) > MOST_LINES:
        series = sorted(series, key=lambda one: -one[1][-1].estimate)[:MOST_LINES]
        remarks.append(
            f"The {MOST_LINES} of {len(result.series):,} values that are largest at the end."
        )
    periods = sorted({point.period for point in result.points})
    place = {period: i for i, period in enumerate(periods)}
    drawn = []
    for i, (value, points) in enumerate(series):
        x = [place[point.period] for point in points]
        colour = _COLOURS[i]
        axes.fill_between(
            x, [p.low for p in points], [p.high for p in points], color=colour, alpha=0.18, lw=0
        )
        line = axes.errorbar(
            x,
            [p.estimate for p in points],
            yerr=_reach([(p.low, p.high) for p in points], [p.estimate for p in points]),
            color=colour,
            marker=_MARKERS[i],
            markersize=5,
            elinewidth=0.8,
        )
        drawn.append((line, _short(text(value))))
    figure.set_size_inches(_WIDTH, 4.8)
    _name_periods(axes, periods)
    axes.set_ylabel(result.quantity)
    lines, labels = zip(*drawn, strict=True)
    figure.legend(lines, labels, loc="outside right upper", frameon=False)
    kind = "Raw frequencies" if result.quantity == "frequency" else "Means"
    remarks.append(f"{kind}; {100 * result.confidence:g} % intervals, each by itself.")
    remarks.append(
        "The noise of remembered answers is shared by the periods: steps are more certain than "
        "the intervals suggest, levels are not."
    )
    return remarks


def _intervals(
    axes: Axes,
    rows: Sequence[int],
    ends: Sequence[tuple[float, float]],
    centres: Sequence[float],
    marked: bool,
) -> None:
    axes.errorbar(
        centres,
        rows,
        xerr=_reach(ends, centres),
        fmt="o" if marked else "none",
        color=_COLOURS[0],
        ecolor=INK,
        elinewidth=1.2,
        capsize=3,
        markersize=5,
    )


def _reach(
    ends: Sequence[tuple[float, float]], centres: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Return how far the intervals reach below and above; never less than nothing."""
    pairs = list(zip(ends, centres, strict=True))
    below = [max(0.0, centre - low) for (low, _), centre in pairs]
    return below, [max(0.0, high - centre) for (_, high), centre in pairs]


def _name_rows(figure: Figure, axes: Axes, names: Sequence[str]) -> None:
    """Put the names beside the rows, the first at the top, and size the figure for them."""
    figure.set_size_inches(_WIDTH, 2.2 + 0.28 * max(3, len(names)))
    axes.set_yticks(range(len(names)), [_short(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0)


def _name_periods(axes: Axes, periods: Sequence[str]) -> None:
    """Name at most a dozen periods, evenly."""
    step = -(-len(periods) // 12)
    ticks = range(0, len(periods), step)
    axes.set_xticks(ticks, [periods[i] for i in ticks], rotation=30, ha="right")
    axes.set_xlim(-0.5, len(periods) - 0.5)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"


def _wrap(line: str, width: int) -> str:
    return textwrap.fill(line, width)
