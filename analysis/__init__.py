"""The analyst: from tallies to estimates with their errors, and what they cost.

Everything an analyst calls is here; ``deniable`` on the command line says the same. Importing
this package loads none of it: each name is imported when it is first used, and numpy, scipy and
requests only by what needs them.

============================  =====================================================================
:func:`estimate`              frequencies of a question, from a collector's store or address
:func:`crosstab`              the two parts of a joint question: pairs, conditionals, association
:func:`difference`            between two periods, two segments or two answers
:func:`trend`                 a question over time
:func:`heavy_hitters`         the frequent answers to a text question, which nobody named
:func:`plot`                  a picture of any of these
:func:`periods`               what is released, pending or destroyed there
:func:`debias`                frequencies from counts of anywhere
:func:`users_needed`          how many devices a margin of error takes
:func:`plan_shares`           which epsilon each question and report may have of a total
:func:`plan_margin`           which margin of error an epsilon and so many devices give
:func:`plan_epsilon`          which epsilon a margin and so many devices take
:func:`plan_local`            which local epsilon a central one after shuffling allows
:func:`plan_survey_shares`    the same for every question of a survey, with the lines to paste; also
                              :func:`plan_survey_margins` and :func:`plan_survey_local`
:func:`compare`               local, shuffled and central model side by side
:func:`total_epsilon`         what T reports of one device give away: five answers
:func:`survey_total_epsilon`  the same of every question of a survey, and together
:func:`shuffle_epsilon`       what a shuffled crowd adds to the noise, from both sides
:func:`explain`               one epsilon in words and numbers
:func:`check_survey`          what a survey costs and can tell
:func:`diff`                  what a new edition of a survey costs
:func:`simulate`              a survey rehearsed: devices drawn from a truth, estimates against it
:func:`audit`                 the installed client against what its survey promises
:func:`create_sealing_key`    a key that devices seal reports for; also :func:`sealing_key`
:func:`unseal`                released batches of sealed reports, opened and folded into tallies
============================  =====================================================================

Each returns a frozen result with ``records()``, flat rows for a data frame, and ``document()``,
the JSON that the command prints.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .auditing.audit import audit
    from .auditing.results import Audit
    from .bills import SurveyCheck, SurveyDiff
    from .changing.estimation import estimate_changing
    from .crosstabs.crosstab import crosstab, crosstab_tallies
    from .crosstabs.results import Crosstab, CrosstabCell
    from .difference_results import Difference, Differences
    from .differences import difference
    from .estimation import debias, estimate_tallies
    from .explaining import Explanation, explain
    from .lasso import estimate_selected
    from .models.comparison import compare
    from .models.results import Comparison, Model
    from .number_estimation import estimate_numbers
    from .number_results import NumberEstimates
    from .planning import UsersNeeded, users_needed
    from .plans.margin_results import MarginPlan
    from .plans.margins import plan_epsilon, plan_margin
    from .plans.share_results import EpsilonShares
    from .plans.shares import plan_shares
    from .plans.shuffled import plan_local
    from .plans.shuffled_results import LocalPlan
    from .plans.survey_results import QuestionPlan, SurveyPlan
    from .plans.surveys import plan_survey_margins, plan_survey_shares
    from .plans.surveys_shuffled import plan_survey_local
    from .plots import plot
    from .postprocess import post_process
    from .query import estimate, periods
    from .results import Estimate, Estimates, EstimateSeries
    from .sets.estimates import estimate_sets
    from .sets.results import SetEstimates
    from .shuffling.results import ShuffleEpsilon
    from .shuffling.shuffled import shuffle_epsilon
    from .simulated import SimulatedValue, Simulation
    from .simulations import simulate
    from .sources import PeriodStates, Source, open_source
    from .surveys import check_survey, diff
    from .texts.heavy_hitter_results import HeavyHitter, HeavyHitters
    from .texts.heavy_hitters import discover_texts, heavy_hitters
    from .texts.named import estimate_texts
    from .totals.accounting import total_epsilon
    from .totals.results import TotalEpsilon
    from .totals.survey_results import SurveyTotalEpsilon
    from .totals.surveys import survey_total_epsilon
    from .trend_results import Point, Trend
    from .trends import trend
    from .unsealing.results import BatchResult, Unsealed
    from .unsealing.sealing_keys import SealingKeyTable, create_sealing_key, sealing_key
    from .unsealing.unseal import unseal

__all__ = [
    "Audit",
    "BatchResult",
    "Comparison",
    "Crosstab",
    "CrosstabCell",
    "Difference",
    "Differences",
    "EpsilonShares",
    "Estimate",
    "EstimateSeries",
    "Estimates",
    "Explanation",
    "HeavyHitter",
    "HeavyHitters",
    "LocalPlan",
    "MarginPlan",
    "Model",
    "NumberEstimates",
    "PeriodStates",
    "Point",
    "QuestionPlan",
    "SealingKeyTable",
    "SetEstimates",
    "ShuffleEpsilon",
    "SimulatedValue",
    "Simulation",
    "Source",
    "SurveyCheck",
    "SurveyDiff",
    "SurveyPlan",
    "SurveyTotalEpsilon",
    "TotalEpsilon",
    "Trend",
    "Unsealed",
    "UsersNeeded",
    "audit",
    "check_survey",
    "compare",
    "create_sealing_key",
    "crosstab",
    "crosstab_tallies",
    "debias",
    "diff",
    "difference",
    "discover_texts",
    "estimate",
    "estimate_changing",
    "estimate_numbers",
    "estimate_selected",
    "estimate_sets",
    "estimate_tallies",
    "estimate_texts",
    "explain",
    "heavy_hitters",
    "open_source",
    "periods",
    "plan_epsilon",
    "plan_local",
    "plan_margin",
    "plan_shares",
    "plan_survey_local",
    "plan_survey_margins",
    "plan_survey_shares",
    "plot",
    "post_process",
    "sealing_key",
    "shuffle_epsilon",
    "simulate",
    "survey_total_epsilon",
    "total_epsilon",
    "trend",
    "unseal",
    "users_needed",
]

_MODULES = {
    "auditing.audit": ("audit",),
    "auditing.results": ("Audit",),
    "bills": ("SurveyCheck", "SurveyDiff"),
    "changing.estimation": ("estimate_changing",),
    "crosstabs.crosstab": ("crosstab", "crosstab_tallies"),
    "crosstabs.results": ("Crosstab", "CrosstabCell"),
    "difference_results": ("Difference", "Differences"),
    "differences": ("difference",),
    "estimation": ("debias", "estimate_tallies"),
    "explaining": ("Explanation", "explain"),
    "lasso": ("estimate_selected",),
    "models.comparison": ("compare",),
    "models.results": ("Comparison", "Model"),
    "number_estimation": ("estimate_numbers",),
    "number_results": ("NumberEstimates",),
    "planning": ("UsersNeeded", "users_needed"),
    "plans.margin_results": ("MarginPlan",),
    "plans.margins": ("plan_epsilon", "plan_margin"),
    "plans.share_results": ("EpsilonShares",),
    "plans.shares": ("plan_shares",),
    "plans.shuffled": ("plan_local",),
    "plans.shuffled_results": ("LocalPlan",),
    "plans.survey_results": ("QuestionPlan", "SurveyPlan"),
    "plans.surveys": ("plan_survey_margins", "plan_survey_shares"),
    "plans.surveys_shuffled": ("plan_survey_local",),
    "plots": ("plot",),
    "postprocess": ("post_process",),
    "query": ("estimate", "periods"),
    "results": ("Estimate", "Estimates", "EstimateSeries"),
    "sets.estimates": ("estimate_sets",),
    "sets.results": ("SetEstimates",),
    "shuffling.results": ("ShuffleEpsilon",),
    "shuffling.shuffled": ("shuffle_epsilon",),
    "simulated": ("SimulatedValue", "Simulation"),
    "simulations": ("simulate",),
    "sources": ("PeriodStates", "Source", "open_source"),
    "surveys": ("check_survey", "diff"),
    "texts.heavy_hitter_results": ("HeavyHitter", "HeavyHitters"),
    "texts.heavy_hitters": ("discover_texts", "heavy_hitters"),
    "texts.named": ("estimate_texts",),
    "totals.accounting": ("total_epsilon",),
    "totals.results": ("TotalEpsilon",),
    "totals.survey_results": ("SurveyTotalEpsilon",),
    "totals.surveys": ("survey_total_epsilon",),
    "trend_results": ("Point", "Trend"),
    "trends": ("trend",),
    "unsealing.results": ("BatchResult", "Unsealed"),
    "unsealing.sealing_keys": ("SealingKeyTable", "create_sealing_key", "sealing_key"),
    "unsealing.unseal": ("unseal",),
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
