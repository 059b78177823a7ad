"""What many devices would answer, drawn in bulk: reports of a mechanism, and tallies of a crowd.

Nothing here runs on a device, and nothing drawn here protects anybody: random numbers come from
a seeded generator, so that a rehearsal can be repeated. What must hold: the distribution is that
of the real client. Reports are drawn from the mechanism's integer thresholds, exactly. Tallies of
independent cells are binomial and multinomial draws whose probabilities are rounded to double
precision: their relative error of 1e-16 moves a mean of a billion devices by less than a
millionth of a device.
"""

from __future__ import annotations

from .changing import draw_changing
from .crowds import draw_tallies
from .registry import draw_reports, fold, simulator
from .reports import Population, Reports

__all__ = [
    "Population",
    "Reports",
    "draw_changing",
    "draw_reports",
    "draw_tallies",
    "fold",
    "simulator",
]
