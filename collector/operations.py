"""What can be asked of a collector, as the table that ``openapi`` describes.

What must never change within ``/v1``: a path, an operation's id, and what a status means; more
may come.
"""

from __future__ import annotations

from dataclasses import dataclass

from . import definitions
from . import documents as docs


@dataclass(frozen=True)
class Operation:
    """One method of one path.

    Attributes
    ----------
    reply : type
        The struct of a 200, or ``str`` for plain text, or ``dict`` for any object.
    refusals : tuple of int
        Beside those that any request may meet.
    scope : str
        A token with it is needed, or with ``operator``; none if empty.
    """

    path: str
    id: str
    summary: str
    reply: type
    refusals: tuple[int, ...] = ()
    scope: str = ""
    method: str = "get"
    parameters: tuple[str, ...] = ()
    description: str = ""


OPERATIONS = (
    Operation(
        "/v1/reports",
        "postReports",
        "Count one device's reports of one period",
        docs.Outcome,
        (401, 404, 415, 422, 429, 503),
        method="post",
        description="Durable when answered with 200, and safe to repeat: a report that counted "
        "before is a duplicate, which is a success. A defect inside one report, an unknown field "
        "or a wrong type included, is that report's alone and is told in the reply; any other "
        "refuses the whole request.",
    ),
    Operation(
        "/v1/survey/{survey}",
        "getSurvey",
        "The newest edition of a survey, compiled",
        definitions.Survey,
        (404,),
        parameters=("survey",),
    ),
    Operation(
        "/v1/tallies/{survey}/{question}",
        "getTallies",
        "Released tallies of a question, oldest period first",
        docs.Tallies,
        (404,),
        "analyst",
        parameters=("survey", "question"),
    ),
    Operation(
        "/v1/batches/{survey}/{question}",
        "getBatches",
        "Released batches of a sealed question, part by part",
        docs.Batches,
        (404,),
        "analyst",
        parameters=("survey", "question"),
    ),
    Operation(
        "/v1/batches/{survey}/{question}/{id}",
        "getBatch",
        "One part of a released batch: sealed reports, in an order that says nothing",
        docs.Batch,
        (404,),
        "analyst",
        parameters=("survey", "question", "id"),
    ),
    Operation(
        "/v1/periods",
        "getPeriods",
        "Where every tally stands; never a count below min_crowd",
        docs.Periods,
        (404,),
        "analyst",
        parameters=("onlySurvey",),
    ),
    Operation(
        "/metrics",
        "getMetrics",
        "Meters in Prometheus' text form; no label tells a device",
        str,
        scope="metrics",
    ),
    Operation("/livez", "getLiveness", "Whether the process answers", str),
    Operation(
        "/readyz", "getReadiness", "Whether reports can be made durable", str, refusals=(503,)
    ),
    Operation("/openapi.json", "getDescription", "This description", dict),
)
