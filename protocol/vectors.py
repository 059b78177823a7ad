"""Known answers for a client in any language: what every implementation must compute.

``python -m deniable.protocol.vectors FILE`` writes them; ``protocol/test_vectors.json`` is the
copy that is kept. docs/wire.md says what each value is made from. No number in the file exceeds
2^53: thresholds and 64-bit words are text.

What must never change: an entry, once it was published. A value that differs means that devices
in the field would draw a second permanent response. New entries may be added.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .derivation import permanent_response, pseudonym
from .draws import DERIVATION, PublicDraws
from .errors import ParameterError
from .limits import BODY_SIZES
from .periods import KINDS, ONCE, Period, parse_period, period_at
from .question import Question, canonical_json
from .report import device_name, report_document, request_document
from .response import Response, Wire
from .vector_draws import SECRETS, below, buckets, field_tables, take, words
from .vector_kinds import answered, chosen, histories, rows
from .vector_survey import survey

_MOMENTS = (
    "2001-01-01T00:00:00Z",
    "2019-12-30T00:00:00Z",
    "2020-12-31T23:59:59Z",
    "2021-01-03T23:59:59Z",
    "2021-01-04T00:00:00Z",
    "2024-02-29T12:00:00Z",
    "2026-11-30T12:00:00Z",
    "2026-11-30T23:59:59Z",
    "2026-12-31T00:00:00Z",
    "2027-01-01T00:00:00Z",
    "2100-02-28T23:59:59Z",
)


def document() -> dict[str, Any]:
    """Return all vectors."""
    return {
        "derivation": DERIVATION,
        "survey": survey().document(),
        "hashes": list(_hashes()),
        "words": list(words()),
        "below": list(below()),
        "fields": [field_tables(g) for g in (2, 3, 4, 5, 7, 8, 9, 16, 25, 27, 49, 64)],
        "buckets": list(buckets()),
        "answers": list(_answers()),
        "permanent": list(_permanent()),
        "rows": list(rows()),
        "answered": list(answered()),
        "histories": list(histories()),
        "reports": list(_reports()),
        "pseudonyms": list(_pseudonyms()),
        "periods": [_period(moment) for moment in _MOMENTS],
        "closes": list(_closes()),
        "requests": list(_requests()),
        "padding": [[n, padded(n)] for n in (1, 1023, 1024, 1025, 4096, 4097, 16385, 65536)],
    }


def text() -> str:
    """Return the file: one entry a line."""
    return "{\n" + ",\n".join(_lines(document())) + "\n}\n"


def _lines(top: Mapping[str, Any]) -> Iterator[str]:
    for key, value in top.items():
        entries = value if isinstance(value, list) else None
        shown = canonical_json(value)
        if entries is not None:
            shown = "[\n" + ",\n".join(canonical_json(entry) for entry in entries) + "\n]"
        yield f"{json.dumps(key)}:{shown}"


def padded(length: int) -> int:
    """Return how many bytes a body of so many is sent as.

    >>> padded(1024), padded(1025)
    (1024, 4096)
    """
    return next(size for size in BODY_SIZES if size >= length)


def _hashes() -> Iterator[dict[str, Any]]:
    for question in survey().questions.values():
        canonical = canonical_json(question.privacy_document())
        yield {"question": question.id, "canonical": canonical, "hash": question.hash}


def _answers() -> Iterator[dict[str, Any]]:
    """Yield answers as an app may give them, and their symbols; texts are composed first."""
    for name, answer in (
        ("coin", False),
        ("coin", True),
        ("mood", "très bon"),
        ("mood", "tre\u0300s bon"),
        ("mood", "\ufb03"),
        ("plan", "team"),
    ):
        symbol = survey().questions[name].encode(answer)
        yield {"question": name, "answer": answer, "symbol": symbol}


def _permanent() -> Iterator[dict[str, Any]]:
    for secret in SECRETS:
        for question in _listed():
            wires = [_answer(secret, question, s) for s in range(question.mechanism.k)]
            yield {"secret": secret.hex(), "question": question.id, "responses": wires}


def _listed() -> list[Question]:
    """Return the questions that have so few answers, each by itself, that all are known."""
    every = survey().questions.values()
    return [q for q in every if q.max_items is None and q.text is None and q.horizon is None]


def _answer(secret: bytes, question: Question, symbol: int) -> Wire:
    return question.mechanism.shape.pack(_response(secret, question, symbol))


def _response(secret: bytes, question: Question, symbol: int) -> Response:
    response = permanent_response(secret, question, symbol)
    if response is None:
        raise ParameterError(f"{question.id}: a mechanism that keeps silent has no known answers")
    return response


def _reports() -> Iterator[dict[str, Any]]:
    """Yield second rounds, with the fresh words that they take, in order."""
    for question in survey().questions.values():
        mechanism = question.mechanism
        for symbol in _symbols(question) if question.epsilon_first else ():
            permanent = _response(SECRETS[0], question, symbol)
            fields = (b"fresh", question.id.encode(), str(symbol).encode())
            most = mechanism.k if mechanism.shape.kind == "bits" else 2
            yield {
                "question": question.id,
                "permanent": mechanism.shape.pack(permanent),
                "fresh": take(PublicDraws(*fields), most),
                "response": mechanism.shape.pack(
                    mechanism.instant(permanent, PublicDraws(*fields))
                ),
            }


def _symbols(question: Question) -> Sequence[int]:
    """Return symbols of answers that are known."""
    if question.text is None:
        return range(min(6, question.mechanism.k))
    return list(dict.fromkeys(map(question.encode, chosen(question))))


def _pseudonyms() -> Iterator[dict[str, Any]]:
    for secret in SECRETS:
        for period, alone in _signed():
            name = device_name(pseudonym(secret, "vectors", period, alone))
            own = None if alone is None else list(alone)
            yield {"secret": secret.hex(), "period": period, "alone": own, "device": name}


def _signed() -> Iterable[tuple[str, tuple[str, int] | None]]:
    yield from ((key, None) for key in ("2026-11-30", "2026-W49", "2026-11"))
    yield "once", ("bits_twice", 1)
    yield "2026-11-30", ("plan", 3)


def _period(moment: str) -> dict[str, Any]:
    at = datetime.fromisoformat(moment)
    named = {kind: _bounds(period_at(kind, at)) for kind in KINDS if kind != "once"}
    return {"moment": moment, **named}


def _bounds(period: Period) -> list[str]:
    return [period.key, _moment(period.start), _moment(period.end)]


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _closes() -> Iterator[dict[str, Any]]:
    """Yield until when reports count, and whether the question is still asked in the period."""
    for name, key in (
        ("coin", "2026-11-30"),
        ("coin_twice", "2027-06-30"),
        ("coin", "2027-07-01"),
        ("mood", "2026-W53"),
        ("bits", "2027-06"),
        ("bits", "2027-07"),
        ("bits_twice", "once"),
    ):
        question = survey().questions[name]
        period = ONCE if key == "once" else parse_period(key)
        closes, asked = _moment(question.closes(period)), question.asks_in(period)
        yield {"question": name, "period": key, "closes": closes, "asked": asked}


def _requests() -> Iterator[dict[str, Any]]:
    """Yield whole requests: what goes in, and the body before and after padding."""
    for period, names, segment, alone in (
        ("2026-11-30", ["coin", "power", "prime"], None, None),
        ("2026-11", ["bits"], "bêta", None),
        ("once", ["bits_twice"], "stable", ("bits_twice", 1)),
    ):
        device = device_name(pseudonym(SECRETS[2], "vectors", period, alone))
        reports = []
        for question in map(survey().questions.__getitem__, names):
            wire = _answer(SECRETS[2], question, 1)
            reports.append(report_document(question.id, question.version, question.wire_hash, wire))
        body = canonical_json(request_document("vectors", period, segment, device, reports))
        given = {"period": period, "segment": segment, "device": device, "reports": reports}
        yield {**given, "body": body, "size": padded(len(body.encode()))}


def main(arguments: list[str]) -> int:
    """Write the vectors to the file that is named, or to standard output."""
    if len(arguments) > 1:
        sys.stderr.write("usage: python -m deniable.protocol.vectors [FILE]\n")
        return 2
    if not arguments:
        sys.stdout.write(text())
        return 0
    try:
        Path(arguments[0]).write_text(text(), encoding="utf-8")
    except OSError as exc:
        sys.stderr.write(f"FILE cannot be written ({exc.strerror}); check its path\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
