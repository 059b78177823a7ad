"""A survey: the questions an app asks, what they may cost together, and where it is read from.

``load_survey`` takes the TOML an author writes or the JSON ``compile_survey`` wrote, and checks
both by the same rules. A compiled survey must agree with what its own fields resolve to, so no
edited threshold gets past.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, cast

from .errors import SurveyError
from .exact import canonical, total
from .fields import ID, Fields
from .limits import (
    EPSILON_SUM,
    MAX_FINGERPRINT_BITS,
    MAX_QUESTIONS,
    MAX_SEGMENT,
    MAX_SEGMENTS,
)
from .problems import Problem
from .question import Question
from .question_fields import COMPILED_KEYS, QUESTION_KEYS, name_of, read_question
from .sealing import SealingKey
from .sealing_keys import read_sealing_keys, require_active

FORMAT = 1

Batch = Literal["survey", "question"]

_SURVEY_KEYS = ("format", "id", "max_epsilon", "segments", "batch", "linkable", "sealing_keys")


@dataclass(frozen=True)
class Survey:
    """A checked survey.

    Attributes
    ----------
    id : str
    max_epsilon : Decimal
        Ceiling per device: sum of epsilon over every question version it ever answered.
    segments : tuple of str
        Public labels a device may report under; a crowd is needed in each.
    batch : "survey" or "question"
        Whether one request carries a device's whole period or one question.
    linkable : bool
        Whether the author accepts that memoized answers together may recognise a device.
    questions : dict
        By id, in the survey's order.
    sealing_keys : tuple of SealingKey
        The analyst's public keys, of which one is active if any question is sealed.
    """

    id: str
    max_epsilon: Decimal
    segments: tuple[str, ...]
    batch: Batch
    linkable: bool
    questions: Mapping[str, Question]
    sealing_keys: tuple[SealingKey, ...] = ()

    @property
    def active_key(self) -> SealingKey | None:
        """The key that devices seal for."""
        return next((key for key in self.sealing_keys if key.state == "active"), None)

    def fingerprint_bits(self) -> dict[str, float]:
        """Return, by period kind, the bits one request may reveal about which device it is.

        A ``once`` question travels alone, and so does every question under
        ``batch = "question"``; then the largest single question counts.
        """
        bits: dict[str, float] = {}
        for question in self.questions.values():
            own = question.mechanism.fingerprint_bits
            before = bits.get(question.period, 0.0)
            alone = question.period == "once" or self.batch == "question"
            bits[question.period] = max(before, own) if alone else before + own
        return bits

    def document(self) -> dict[str, Any]:
        """Return the compiled survey: resolved, self-contained JSON for any language."""
        return {
            "format": FORMAT,
            "id": self.id,
            "max_epsilon": canonical(self.max_epsilon),
            "segments": list(self.segments),
            "batch": self.batch,
            "linkable": self.linkable,
            "sealing_keys": [key.document() for key in self.sealing_keys],
            "questions": [question.document() for question in self.questions.values()],
        }


def load_survey(path: str | Path) -> Survey:
    """Read and check a survey file, TOML as written or JSON as compiled.

    Raises
    ------
    SurveyError
        With every mistake found, or the one reason why the file cannot be read.
    """
    source = Path(path)
    try:
        text = source.read_text(encoding="utf-8")
    except OSError as exc:
        raise _file_error(source, f"cannot be read ({exc.strerror})", "check the path") from exc
    except UnicodeDecodeError as exc:
        raise _file_error(source, "is not UTF-8", "save it as UTF-8") from exc
    try:
        if source.suffix == ".json":
            document = json.loads(text, parse_float=Decimal)
        else:
            import tomllib  # an app that ships the compiled survey never loads it

            document = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError, ArithmeticError) as exc:
        form = "JSON" if source.suffix == ".json" else "TOML"
        raise _file_error(source, f"is not valid {form}: {exc}", "correct it") from exc
    return parse_survey(document) if source.suffix != ".json" else parse_compiled(document)


def compile_survey(survey: Survey) -> str:
    """Return the compiled survey as text, ready to ship inside an app."""
    return json.dumps(survey.document(), indent=1, ensure_ascii=False) + "\n"


def parse_survey(document: object) -> Survey:
    """Check the tables of a survey.toml.

    Raises
    ------
    SurveyError
        With every mistake found.
    """
    problems: list[Problem] = []
    top = Fields(document, "", ("survey", "questions"), problems)
    head = Fields(top.raw("survey"), "survey", _SURVEY_KEYS, problems)
    tables = top.raw("questions")
    if not isinstance(tables, Mapping):
        problems.append(Problem("questions", "missing", "add at least one [questions.NAME]"))
        tables = {}
    keyed = [(str(key), table) for key, table in tables.items()]
    return _assemble(head, keyed, problems, compiled=False)


def parse_compiled(document: object) -> Survey:
    """Check a compiled survey, and that it resolves to its own hashes and thresholds.

    Raises
    ------
    SurveyError
        With every mistake found.
    """
    problems: list[Problem] = []
    head = Fields(document, "", (*_SURVEY_KEYS, "questions"), problems)
    tables = head.raw("questions")
    if not isinstance(tables, list):
        problems.append(Problem("questions", "missing", "compile the survey again"))
        tables = []
    keyed = [(name_of(table), table) for table in tables]
    return _assemble(head, keyed, problems, compiled=True)


def _assemble(
    head: Fields,
    tables: list[tuple[str, object]],
    problems: list[Problem],
    *,
    compiled: bool,
) -> Survey:
    if head.integer("format", 1, 2**31) != FORMAT:
        head.problem("format", "unknown format", f"write format = {FORMAT}, or upgrade deniable")
    name = head.text("id")
    if name and not ID.fullmatch(name):
        head.problem("id", "must be like acme-editor", "use a-z, 0-9, - and _, 64 at most")
    batch = cast("Batch", head.one_of("batch", ("survey", "question"), "survey"))
    linkable = head.flag("linkable")
    segments = head.texts("segments", 0, MAX_SEGMENTS, limit=MAX_SEGMENT)
    max_epsilon = head.epsilon("max_epsilon", high=EPSILON_SUM) or EPSILON_SUM
    if not 1 <= len(tables) <= MAX_QUESTIONS:
        problems.append(Problem("questions", f"must be 1..{MAX_QUESTIONS}", "add or remove some"))
    known = COMPILED_KEYS if compiled else QUESTION_KEYS
    questions: dict[str, Question] = {}
    for key, table in tables:
        fields = Fields(table, f"questions.{key}", known, problems)
        if key in questions:
            fields.problem("id", "asked twice", "remove one")
        questions[key] = read_question(name, key, fields, linkable=linkable, compiled=compiled)
    path = "sealing_keys" if compiled else "survey.sealing_keys"
    keys = read_sealing_keys(head, path, problems)
    survey = Survey(name, max_epsilon, segments, batch, linkable, questions, keys)
    if not problems:
        _check_whole(survey, head)
    if problems:
        raise SurveyError(problems)
    return survey


def _check_whole(survey: Survey, head: Fields) -> None:
    """Check what no question can check alone: its key, the ceiling and the fingerprint."""
    sealed = (question.id for question in survey.questions.values() if question.sealed)
    require_active(survey.sealing_keys, sealed, head)
    spent = total(question.epsilon for question in survey.questions.values())
    if spent > survey.max_epsilon:
        head.problem(
            "max_epsilon",
            f"is less than the questions' epsilons together ({canonical(spent)})",
            "raise it, or ask less",
        )
    for kind, bits in survey.fingerprint_bits().items():
        if bits > MAX_FINGERPRINT_BITS and not survey.linkable and survey.batch == "survey":
            head.problem(
                "linkable",
                f"the {kind} answers of one request carry up to {bits:.1f} bits, more than "
                f"{MAX_FINGERPRINT_BITS:g}: together they may recognise a device",
                'write batch = "question", or linkable = true to accept it',
            )


def _file_error(path: Path, problem: str, fix: str) -> SurveyError:
    return SurveyError([Problem(str(path), problem, fix)])
