"""The analyst: from tallies to estimates with their errors, and what they cost.

Everything an analyst calls is here; ``deniable`` on the command line says the same. Importing
this package loads none of it: each name is imported when it is first used, and numpy, scipy and
requests only by what needs them.

====================  ==================================================================
:func:`estimate`      frequencies of a question, from a collector's store or address
:func:`difference`    between two periods, two segments or two answers
:func:`trend`         a question over time
:func:`plot`          a picture of any of these
:func:`periods`       what is released, pending or destroyed there
:func:`debias`        frequencies from counts of anywhere
:func:`users_needed`  how many devices a margin of error takes
:func:`total_epsilon` what T reports of one device give away: five answers
:func:`check_survey`  what a survey costs and can tell
:func:`diff`          what a new edition of a survey costs
:func:`simulate`      a survey rehearsed: devices drawn from a truth, and how far estimates are
====================  ==================================================================

Each returns a frozen result with ``records()``, flat rows for a data frame, and ``document()``,
the JSON that the command prints.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .accounting import total_epsilon
    from .bills import SurveyCheck, SurveyDiff
    from .difference_results import Difference, Differences
    from .differences import difference
    from .estimation import debias, estimate_tallies
    from .number_estimation import estimate_numbers
    from .number_results import NumberEstimates
    from .planning import UsersNeeded, users_needed
    from .plots import plot
    from .postprocess import post_process
    from .query import estimate, periods
    from .results import Estimate, Estimates, EstimateSeries
    from .simulated import SimulatedValue, Simulation
    from .simulations import simulate
    from .sources import PeriodStates, Source, open_source
    from .surveys import check_survey, diff
    from .totals import TotalEpsilon
    from .trend_results import Point, Trend
    from .trends import trend

__all__ = [
    "Difference",
    "Differences",
    "Estimate",
    "EstimateSeries",
    "Estimates",
    "NumberEstimates",
    "PeriodStates",
    "Point",
    "SimulatedValue",
    "Simulation",
    "Source",
    "SurveyCheck",
    "SurveyDiff",
    "TotalEpsilon",
    "Trend",
    "UsersNeeded",
    "check_survey",
    "debias",
    "diff",
    "difference",
    "estimate",
    "estimate_numbers",
    "estimate_tallies",
    "open_source",
    "periods",
    "plot",
    "post_process",
    "simulate",
    "total_epsilon",
    "trend",
    "users_needed",
]

_MODULES = {
    "accounting": ("total_epsilon",),
    "bills": ("SurveyCheck", "SurveyDiff"),
    "difference_results": ("Difference", "Differences"),
    "differences": ("difference",),
    "estimation": ("debias", "estimate_tallies"),
    "number_results": ("NumberEstimates",),
    "number_estimation": ("estimate_numbers",),
    "planning": ("UsersNeeded", "users_needed"),
    "plots": ("plot",),
    "postprocess": ("post_process",),
    "query": ("estimate", "periods"),
    "results": ("Estimate", "Estimates", "EstimateSeries"),
    "simulated": ("SimulatedValue", "Simulation"),
    "simulations": ("simulate",),
    "sources": ("PeriodStates", "Source", "open_source"),
    "surveys": ("check_survey", "diff"),
    "totals": ("TotalEpsilon",),
    "trend_results": ("Point", "Trend"),
    "trends": ("trend",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
