"""What tests of sealed reports share: keys, a survey that seals, and batches as released."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from deniable.analysis.unsealing.private_keys import PrivateKey, generate, write
from deniable.client.sealing import Sealer
from deniable.protocol.question import Question
from deniable.protocol.response import Response, decode_base64url
from deniable.protocol.sealed_batch import MAX_PART, SealedBatch
from deniable.protocol.sealing import SealedResponse, SealingKey
from deniable.protocol.survey import Survey, parse_survey

PERIOD = "2026-11-30"
SUITES = ("x25519", "mlkem768-x25519")


@cache
def key(name: str = "k1", suite: str = "x25519") -> PrivateKey:
    """A private key; the same one in every test."""
    return generate(suite, name)


def public(private: PrivateKey, state: Any = "active") -> SealingKey:
    """Its public half, as a survey carries it."""
    return SealingKey(private.id, private.suite, private.public, state)


def sealed_question(**changes: object) -> dict[str, Any]:
    """A sealed daily yes/no question, but for what is changed."""
    return {
        "version": 1,
        "ask": "Are you well?",
        "type": "boolean",
        "epsilon": Decimal(2),
        "epsilon_first": Decimal(1),
        "period": "day",
        "min_crowd": 10,
        "expires": date(2990, 1, 1),
        "sealed": True,
        **changes,
    }


def sealing_survey(
    *keys: SealingKey, head: dict[str, Any] | None = None, **questions: dict[str, Any]
) -> Survey:
    """A survey that asks the sealed `well`, or other questions, sealed for `k1` or other keys."""
    return parse_survey(
        {
            "survey": {
                "format": 1,
                "id": "acme",
                "max_epsilon": Decimal(100),
                "segments": ["beta", "stable"],
                "sealing_keys": [one.document() for one in keys or (public(key()),)],
                **(head or {}),
            },
            "questions": questions or {"well": sealed_question()},
        }
    )


def seal(
    survey: Survey,
    question: Question,
    responses: Iterable[Response],
    period: str = PERIOD,
    segment: str | None = None,
) -> list[SealedResponse]:
    """What devices of a survey send, sealed as the client does it."""
    sealer = Sealer(survey)
    assert sealer.ready()
    sealed = []
    for response in responses:
        name, wire = sealer.seal(question, period, segment, response)
        assert isinstance(wire, list)
        sealed.append(SealedResponse(name, decode_base64url(str(wire[1]))))
    return sealed


def some_responses(question: Question, count: int, seed: int = 1) -> list[Response]:
    """Responses of devices whose answers are spread evenly."""
    rng = random.Random(seed)
    shape = question.mechanism.shape
    responses: list[Response] = []
    while len(responses) < count:
        out = rng.randrange(shape.width if shape.kind == "symbol" else 1 << shape.width)
        response = Response(out, rng.randrange(shape.rows))
        if shape.weight in (None, out.bit_count()):
            responses.append(response)
    return responses


def batch(
    question: Question,
    reports: Sequence[SealedResponse],
    period: str = PERIOD,
    segment: str | None = None,
    week: str | None = None,
) -> list[SealedBatch]:
    """The parts of a batch, as a collector releases it."""
    ordered = sorted(reports, key=lambda report: report.ciphertext)
    parts = -(-len(ordered) // MAX_PART)
    return [
        SealedBatch(
            question, period, segment, len(ordered),
            tuple(ordered[part * MAX_PART : (part + 1) * MAX_PART]), part, parts, week,
        )
        for part in range(parts)
    ]  # fmt: skip


def write_parts(path: Path, parts: Iterable[SealedBatch]) -> Path:
    """Write parts into one file."""
    path.write_text(json.dumps({"parts": [part.document() for part in parts]}), "utf-8")
    return path


def write_key(path: Path, private: PrivateKey) -> Path:
    """Write a private key."""
    write(path, private)
    return path


def write_example(folder: Path) -> None:
    """Write `key.json` and `parts.json`: one batch of twenty reports to `well`."""
    survey = sealing_survey()
    question = survey.questions["well"]
    reports = seal(survey, question, some_responses(question, 20))
    write_key(folder / "key.json", key())
    write_parts(folder / "parts.json", batch(question, reports))
