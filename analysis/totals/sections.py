"""How totals of epsilon are laid out for people.

Every table names what its epsilons are of; bounds are rounded up. Only the layout is here, and
it may change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..accountants.compositions import Composition
from ..figures import at_most, percent_at_most, power_at_most
from ..reading import FALSE_POSITIVES, MEANINGLESS, NO_GUARANTEE
from ..render import Section
from .results import NO_BOUND, Row, TotalEpsilon

NOISE_NOTES = {
    "memoized": "the answer is randomized once, and the same permanent response is sent in every "
    "period.",
    "memoized_second_round": "each report is the permanent response, randomized anew.",
    "fresh": "each report is the answer, randomized anew with the whole epsilon of one unchanging "
    "answer.",
}

MARK = "*"
MARKED = f"{MARK} above {MEANINGLESS:g}, an epsilon of anything is {NO_GUARANTEE}."


def rows_section(
    title: str, rows: Sequence[Row], noises: tuple[str, ...], notes: Sequence[str] = ()
) -> Section:
    """Return the five rows, one column for each way to draw the noise."""
    shown = [(row.protects, *(_shown(row, noise) for noise in noises)) for row in rows]
    marked = any(cell.endswith(MARK) for line in shown for cell in line)
    every = ([MARKED] if marked else []) + list(notes)
    return Section(title, ("protects", *noises), shown, tuple(every))


def noise_notes(noises: Sequence[str]) -> list[str]:
    """Return what each column is."""
    return [f"{noise}: {NOISE_NOTES[noise]}" for noise in noises]


def unit_notes(rows: Sequence[Row]) -> list[str]:
    """Return what each row's epsilon is of."""
    return [f"{row.protects}: {row.unit}." for row in rows]


def _shown(row: Row, noise: str) -> str:
    epsilon = row.epsilon(noise)
    if epsilon is None:
        return NO_BOUND
    return at_most(epsilon) + (f" {MARK}" if epsilon > MEANINGLESS else "")


def readings_section(rows: Sequence[Row], noises: tuple[str, ...]) -> Section:
    """Return what each epsilon lets somebody do at best who attacks it."""
    columns = (
        "protects", "noise", "its epsilon", "odds times at most", "right at most",
        f"found at {100 * FALSE_POSITIVES:g} % false", "",
    )  # fmt: skip
    lines = [_reading(row, noise) for row in rows for noise in noises]
    notes = [
        "odds times at most: whatever is seen, the odds that it was one answer rather than "
        "another are at most so many times what they were before.",
        "right at most: the chance to tell which of two equally likely answers (or histories) it "
        "was, for somebody who knows all the rest.",
        f"found at {100 * FALSE_POSITIVES:g} % false: the share of those with the one answer who "
        f"can be found while {100 * FALSE_POSITIVES:g} % of those with the other are accused "
        "falsely.",
    ]
    readings = (row.reading("fresh") for row in rows if "fresh" in noises)
    fails = {reading.odds_fail for reading in readings if reading is not None}
    notes += [
        f"With a delta the odds of fresh noise may change by more with a probability of at most "
        f"2 delta = {fail:g}."
        for fail in sorted(fails)
        if 0 < fail < 1
    ]
    return Section(
        "What an epsilon of each lets an attacker do at best", columns, lines, tuple(notes)
    )


def _reading(row: Row, noise: str) -> tuple[str, ...]:
    reading = row.reading(noise)
    if reading is None:
        return (row.protects, noise, NO_BOUND, NO_BOUND, "100 %", "100 %", "")
    exponent = reading.odds_exponent
    return (
        row.protects,
        noise,
        at_most(reading.epsilon),
        NO_BOUND if exponent is None else power_at_most(exponent),
        percent_at_most(reading.success_cap),
        percent_at_most(reading.true_positive_cap),
        reading.verdict,
    )


def compositions_section(
    title: str, every: Sequence[Composition], remarks: Sequence[str]
) -> Section:
    """Return every composition of fresh reports, the least marked."""
    lines = [
        (
            one.method,
            "no answer" if one.epsilon is None else at_most(one.epsilon),
            f"{one.delta:g}",
            "least" if one.winner else "",
            one.name if one.epsilon is not None else one.why,
        )
        for one in every
    ]
    columns = ("method", "epsilon of all of them", "delta", "", "by")
    return Section(title, columns, lines, tuple(remarks))


def delta_remarks(
    every: Sequence[Composition],
    delta: float | None,
    devices: int | None,
    warnings: Sequence[str],
) -> Iterator[str]:
    """Return what is to be said of a delta."""
    if delta is not None and len(every) == 1:
        yield "A single report is composed with nothing; its epsilon needs no delta."
        return
    if delta is None:
        yield (
            "Basic composition never fails. The other methods give less, and may fail with a "
            "probability delta, which must be chosen (--delta)."
        )
        return
    yield (
        f"delta: the bound may fail with the probability {delta:g} for each person; each bound "
        "by itself."
    )
    if devices is None:
        yield "delta should be well below 1/number of devices (--devices checks that)."
    yield from (f"Warning: {warning}." for warning in warnings)


def sections_of_one(total: TotalEpsilon) -> tuple[Section, ...]:
    """Return the sections about one question's flags."""
    reports = "1 report" if total.days == 1 else f"{total.days:,} reports"
    title = f"Epsilon of {_whose(total.devices_per_person)} after {reports}, one a day"
    return (
        rows_section(
            f"{title}: {total.described}",
            total.rows,
            total.noises,
            (*noise_notes(total.noises), "", *unit_notes(total.rows)),
        ),
        readings_section(total.rows, total.noises),
        compositions_section(
            fresh_title(total.days, total.devices_per_person),
            total.compositions,
            tuple(delta_remarks(total.compositions, total.delta, total.devices, total.warnings)),
        ),
    )


def fresh_title(reports: int, devices: int) -> str:
    """Return the heading of the compositions of one question."""
    each = "" if devices == 1 else f" from each of {devices:,} devices"
    count = "1 report" if reports == 1 else f"{reports:,} reports"
    return f"Fresh noise, composed over {count}{each} about a value that never changes"


def _whose(devices: int) -> str:
    return "one device" if devices == 1 else f"one person's {devices:,} devices"
