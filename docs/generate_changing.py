"""Write the table and the picture of answers that change in docs/mechanisms.md.

``python docs/generate_changing.py`` writes the table anew (`make docs` runs it) and
``python docs/generate_changing.py --picture`` simulates, with a fixed seed, and draws
docs/changing.png, which takes a minute and needs matplotlib. A test fails while the table is out of
date. The words around it are written by hand.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from deniable.analysis.changing.levels import expected_errors, levels_of, newest_errors
from deniable.analysis.changing.memoized import best_memoized
from deniable.analysis.changing.rows import rows_of
from deniable.protocol.mechanisms import build
from deniable.protocol.mechanisms.dyadic import Dyadic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "mechanisms.md"
PICTURE = ROOT / "docs" / "changing.png"
BEGIN, END = "<!-- begin changing -->\n", "<!-- end changing -->\n"
SPANS = (30, 365)
EPSILONS = ("1", "2", "4")
MANY = 10**6
EPSILON, CHANGES, DEVICES, RUNS, SEED = "2", 2, 10_000, 200, 7
COLOURS = 48


def mechanism(periods: int, epsilon: str, changes: int | None) -> Dyadic:
    """The trajectory with so many changes, or the counter."""
    if changes is None:
        made = build("counter", 101, Decimal(epsilon), options={"periods": periods})
    else:
        options = {"periods": periods, "changes": changes}
        made = build("trajectory", 2, Decimal(epsilon), options=options)
    if not isinstance(made, Dyadic):
        raise AssertionError("both have levels")
    return made


def rows() -> Iterator[tuple[str, ...]]:
    """One row for each horizon, epsilon and number of changes."""
    for periods in SPANS:
        for epsilon in EPSILONS:
            for changes in (1, 2, 8, None):
                made = mechanism(periods, epsilon, changes)
                newest, all_told = newest_errors(made, MANY), expected_errors(made, MANY)
                other = best_memoized(float(epsilon), periods, rising=changes is None)
                error = 1 / (2 * other.gap * MANY**0.5)
                yield (
                    str(periods),
                    epsilon,
                    "only rises" if changes is None else str(changes),
                    f"{newest.max():.2g}",
                    f"{all_told.max():.2g}",
                    f"{sorted(all_told)[periods // 2]:.2g}",
                    f"{error:.2g}",
                    f"{other.permanent:.2f}, {other.first:.2g}",
                    f"{error / newest.max():.3g}",
                )


def table() -> str:
    """All of them."""
    columns = (
        "periods", "epsilon", "changes", "newest, worst", "all released, worst", "median",
        "second round", "its epsilons", "ratio",
    )  # fmt: skip
    aligned = ("right",) * len(columns)
    return tabulate(list(rows()), columns, "github", disable_numparse=True, colalign=aligned)


def update(page: str) -> str:
    """The page with the table written anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}\n{END}{after}"


def answers(periods: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """A trajectory of each device: three in ten begin with yes, most change once or twice."""
    import numpy as np

    found = np.zeros((DEVICES, periods), dtype=np.int8)
    found[:] = (rng.random(DEVICES) < 0.3)[:, np.newaxis]
    for _ in range(CHANGES):
        at = rng.integers(1, periods + periods // 4, DEVICES)
        found ^= np.arange(periods) >= at[:, np.newaxis]
    return found


def truth(periods: int) -> Array:
    """The share of yes in each period: each change has come with probability s."""
    import numpy as np

    s = np.arange(periods) / (periods + periods // 4 - 1)
    odd = 2 * s * (1 - s)
    return 0.3 * (1 - odd) + 0.7 * odd


def with_horizon(periods: int, given: NDArray[np.int8], rng: np.random.Generator) -> Array:
    """The estimate of every period, from one epsilon for all of them."""
    from deniable.analysis.simulation import draw_changing

    made = mechanism(periods, EPSILON, CHANGES)
    tallies = draw_changing(made, given, rng).tolist()
    return levels_of(made, rows_of(made, dict(enumerate(tallies, 1)))).estimates


def with_second_round(periods: int, given: NDArray[np.int8], rng: np.random.Generator) -> Array:
    """The estimate of every period, from memoized answers with a second round."""
    import numpy as np

    best = best_memoized(float(EPSILON), periods)
    keep = 1 / (1 + np.exp(-best.permanent))
    again = (1 + best.gap / (2 * keep - 1)) / 2
    permanent = np.array([0, 1], dtype=np.int8) ^ (rng.random((DEVICES, 2)) >= keep)
    remembered = np.take_along_axis(permanent, given.astype(np.int64), axis=1)
    reports = remembered ^ (rng.random(given.shape) >= again)
    found: Array = (reports.mean(axis=0) - (1 - best.gap) / 2) / best.gap
    return found


def simulated(
    periods: int, way: Callable[[int, NDArray[np.int8], np.random.Generator], Array]
) -> Array:
    """The root of the mean squared error of every period, over many runs."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    squares = np.zeros(periods)
    for _ in range(RUNS):
        squares += (way(periods, answers(periods, rng), rng) - truth(periods)) ** 2
    return np.sqrt(squares / RUNS)


def draw(axes: Any, periods: int) -> None:
    """Draw one horizon: theory as lines, simulation as points."""
    t = range(1, periods + 1)
    made = mechanism(periods, EPSILON, CHANGES)
    other = best_memoized(float(EPSILON), periods)
    error = 1 / (2 * other.gap * DEVICES**0.5)
    dot = {"linestyle": "none", "marker": ".", "markersize": 3 if periods < 100 else 1.5}
    axes.plot(t, simulated(periods, with_second_round), color="#E69F00", **dot)
    axes.plot(t, [error] * periods, color="#D55E00", label="memoization with a second round")
    axes.plot(
        t, newest_errors(made, DEVICES), color="#56B4E9", linewidth=0.8,
        label="horizon, while the period is the newest",
    )  # fmt: skip
    axes.plot(t, simulated(periods, with_horizon), color="#0072B2", **dot)
    axes.plot(
        t, expected_errors(made, DEVICES), color="#0072B2", linewidth=0.8,
        label="horizon, once all are released",
    )  # fmt: skip
    axes.set_yscale("log")
    axes.set_xlabel("period")
    axes.set_title(f"{periods} periods", loc="left", fontsize=10)
    axes.grid(color="#E6E6E6")


def picture(path: Path) -> None:
    """Draw the picture: both horizons side by side."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, sharey=True)
    draw(left, SPANS[0])
    draw(right, SPANS[1])
    left.set_ylabel(f"error of a frequency, {DEVICES:,} devices")
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper left", ncols=3, fontsize=8)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=110, metadata={"Software": None})
    Image.open(stream).convert("RGB").quantize(COLOURS).save(path, optimize=True)


def main(arguments: list[str]) -> None:
    if arguments == ["--picture"]:
        picture(PICTURE)
        print(f"{PICTURE.relative_to(ROOT)}: drawn anew")
        return
    before = PAGE.read_text(encoding="utf-8")
    page = update(before)
    PAGE.write_text(page, encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {'already current' if page == before else 'written anew'}")


if __name__ == "__main__":
    main(sys.argv[1:])
