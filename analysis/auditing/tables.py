"""An audit for people: every epsilon under a heading that says of what it is."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.protocol.exact import canonical

from ..reading import MEANINGLESS, NO_GUARANTEE, read
from ..render import Section
from .longitudinal import Longitudinal
from .promise import epsilon_of

if TYPE_CHECKING:
    from .results import Audit, QuestionAudit

METHOD = (
    "exact: ln of the largest ratio of the probabilities of one response, rounded up; found by "
    "running the installed code on the outcomes of its draws, and compared as a rational.",
    "lower bound: proved by what fresh devices of the installed client sent, with the randomness "
    "of production. The event was chosen on half of the trials and tested on the other half "
    "(Clopper-Pearson).",
    "null control: the same with one answer on both sides; it must be 0.",
    "positive control: the same with a randomizer that is broken on purpose; it must exceed what "
    "is declared.",
    "ceiling: the largest lower bound that so many tests can give.",
    "could have seen: a true epsilon so large, through the event found, would have been found to "
    "exceed what is declared in 9 audits of 10. It may lie above the ceiling, for a lower bound is "
    "less than what is true.",
)


def sections(audit: Audit) -> Iterator[Section]:
    """Yield the parts of an audit, the verdicts last."""
    yield _reports(audit)
    yield _permanent(audit)
    yield _longitudinal(audit)
    yield _checks(audit)
    yield _verdicts(audit)


def _reports(audit: Audit) -> Section:
    title = f"Epsilon of one report, by question of {audit.survey}: declared, exact and measured"
    columns = ("question", "declared", "exact", "lower bound", "null control", "positive control",
               "ceiling")  # fmt: skip
    rows = [
        (
            each.question,
            canonical(each.promise.report),
            _exact(each.promise.exact_report, found=each.promise.found),
            *_sampled(each),
        )
        for each in audit.questions
    ]
    tests = max(each.measured.tests for each in audit.questions)
    who = (
        f"Audited: deniable {audit.deniable} on Python {audit.python}, from {audit.client}. "
        f"{audit.trials:,} trials on each side, {tests:,} of them tests; all lower bounds and "
        f"null controls hold at once with confidence {audit.confidence:.15g}; seed {audit.seed}."
    )
    return Section(title, columns, rows, (who, *METHOD))


def _sampled(each: QuestionAudit) -> tuple[str, ...]:
    """Write what trials showed; dashes if there were none."""
    shown = each.measured
    if not shown.tests:
        return ("-",) * 4
    bounds = (shown.lower_bound, shown.null_control, shown.positive_control, each.ceiling)
    return tuple(map(_down, bounds))


def _permanent(audit: Audit) -> Section:
    title = "Epsilon of all reports of one device about one answer that never changes"
    rows = [
        (
            each.question,
            canonical(each.promise.permanent),
            _exact(each.promise.exact_permanent, found=each.promise.found),
            each.promise.by,
        )
        for each in audit.questions
    ]
    return Section(title, ("question", "declared", "exact", "found by"), rows)


def _longitudinal(audit: Audit) -> Section:
    title = "Epsilon of T reports of one device, by enumeration of all of them: exact, rounded up"
    rows = [_history(each) for each in audit.questions]
    columns = ("question", "design", "unchanged answer", "one change")
    notes = (
        "unchanged answer: two answers that stay the same for T reports; it must stay within the "
        "epsilon declared of all reports.",
        "one change: what an answer that changes in the middle reveals at least, against one that "
        "stays. No epsilon above is promised for it.",
    )
    return Section(title, columns, rows, notes)


def _history(each: QuestionAudit) -> tuple[str, ...]:
    found = each.longitudinal
    if found is None:
        return (each.question, each.mechanism, "not enumerated", "not enumerated")
    design = f"{each.mechanism}, {found.k} values"
    if found.reduced:
        design += " (the question has more, or more bits)"
    stays = "; ".join(
        f"{_exact(ratio, found=True)} of {reports}" for reports, ratio in found.unchanging
    )
    return (each.question, design, stays, _change(found))


def _change(found: Longitudinal) -> str:
    if found.changed_days is None:
        return "not shown to exceed it"
    if found.changed is None:
        return f"no bound from {found.changed_days} reports on"
    return f"{epsilon_of(found.changed):.6g} of {found.changed_days} reports, or more"


def _checks(audit: Audit) -> Section:
    rows = [
        (check.check, check.question or "", _KEPT[check.kept], check.line) for check in audit.checks
    ]
    title = "What devices remember, and what links their requests"
    return Section(title, ("check", "question", "kept", "seen"), rows)


_KEPT = {True: "yes", False: "NO", None: "(no promise)"}


def _verdicts(audit: Audit) -> Section:
    rows = [(each.question, each.verdict.text) for each in audit.questions]
    notes = ["Epsilons are of one report, but where a verdict says otherwise."]
    notes += [
        f"violation: {check.check}: {check.line}." for check in audit.checks if check.kept is False
    ]
    notes += [
        f"{each.question}: an epsilon above {MEANINGLESS:g} of all reports about one answer is "
        f"{NO_GUARANTEE}, kept or not."
        for each in audit.questions
        if not read(float(each.promise.permanent)).meaningful
    ]
    return Section("Verdicts", ("question", "verdict"), rows, tuple(notes))


def _exact(ratio: Fraction | None, *, found: bool) -> str:
    if not found:
        return "not found"
    return "no bound" if ratio is None else f"{epsilon_of(ratio):.6g}"


def _down(epsilon: float) -> str:
    """Write a lower bound with three places, rounded down."""
    return f"{int(epsilon * 1000) / 1000:.3f}"
