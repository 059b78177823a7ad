"""Known answers to questions whose answers are too many for a list: sets, texts, and histories.

What must never change: an entry, once it was published. A new case is a new entry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, Final

from .derivation import next_response, permanent_response
from .mechanisms.rows import bucket, row
from .question import Question
from .vector_draws import SECRETS
from .vector_survey import survey

_FOLDED: Final = (
    "hello",
    " HELLO\t",
    "\uff28\uff45\uff4c\uff4co",
    "hellos",
    "\ufb01t",
    "zzzzzzzzzzzz",
    "zzzzzzzzzzzzz",
    "",
    "a\u0000",
    "\u202ea",
)
_EXACT: Final = ("a", "A", "é", "e\u0301", "Aaé日日", "日", "日a", "aé", "éa", " a", "aaaaaa")
_ANSWERS: Final[Mapping[str, tuple[Any, ...]]] = {
    "tools": (
        [],
        ["ink"],
        ["e\u0301"],
        ["gum", "brush"],
        ["brush", "gum", "brush"],
        ["brush", "crayon", "é"],
        ["brush", "crayon", "é", "gum"],
        ["日本", "ink", "gum", "é", "crayon", "brush"],
    ),
    "tools_wide": ([], ["t0", "t99"], [f"t{n}" for n in range(0, 100, 7)]),
    "one_tool": ([], ["a"], ["c"], ["a", "c"]),
    **dict.fromkeys(["page", "term", "word"], _FOLDED),
    **dict.fromkeys(["page_twice", "term_twice", "word_twice"], _EXACT),
    "both": (["dunkel", "free"], ["hell", "team"], {"plan": "pro", "theme": "hell"}),
}
_NUMBERS: Final = (0, 1, 2**61 - 1, 2**61, 27**12 - 1)

_SHORT: Final = (
    (True, False, None, None, True, True, False, True, False, True, False, True),
    (False, False, False, True, True, True, True, None, None, False, False, False),
)
_SEVERAL: Final = tuple(
    hashlib.sha256(f"deniable test vectors {n}".encode()).digest() for n in range(8)
)


def chosen(question: Question) -> tuple[Any, ...]:
    """Return answers to a question that are known, as an app may give them."""
    return _ANSWERS.get(question.id, ())


def answered() -> Iterator[dict[str, Any]]:
    """Yield answers with their symbols and permanent responses."""
    for secret, name in product(SECRETS, _ANSWERS):
        question = survey().questions[name]
        for answer in chosen(question):
            symbol = question.encode(answer)
            response = permanent_response(secret, question, symbol)
            yield {
                "secret": secret.hex(),
                "question": name,
                "answer": answer,
                "symbol": str(symbol),
                "response": response and question.mechanism.shape.pack(response),
            }


def rows() -> Iterator[dict[str, Any]]:
    """Yield hash rows of texts, and the buckets of some numbers in them."""
    for family, number, width in product(("cms", "hcms", "pem"), (0, 1, 253), (20, 128)):
        yield {
            "family": family,
            "row": number,
            "parameters": [str(one) for one in row(family, number)],
            "width": width,
            "buckets": [[str(one), bucket(family, number, one, width)] for one in _NUMBERS],
        }


def histories() -> Iterator[dict[str, Any]]:
    """Yield what devices report while their answers change, and what they remember at the end.

    A period may be left out, and in another nothing may be recorded.
    """
    for secret, answers in product(_SEVERAL, _SHORT):
        yield _history("changing", secret, dict(enumerate(answers, start=1)))
    late = {t: t % 5 < 2 for t in (5, 6, 9, 12)}
    for secret in _SEVERAL:
        yield _history("changing", secret, late)
    often = {t: t // 3 % 2 == 0 for t in (*range(1, 33), *range(200, 232), 256, 365)}
    for secret in _SEVERAL:
        yield _history("changing_long", secret, often)
    for secret, tops in product(_SEVERAL, ((0, 1, 3, 3, 8, 10), (5, 4, None, 9, 2, 10))):
        yield _history("rising", secret, dict(enumerate(tops, start=1)))


def _history(name: str, secret: bytes, answers: Mapping[int, Any]) -> dict[str, Any]:
    question, memory, steps = survey().questions[name], None, []
    for t, answer in answers.items():
        symbol = None if answer is None else question.encode(answer)
        response, memory = next_response(secret, question, memory, symbol, t)
        steps.append([t, answer, response and question.mechanism.shape.pack(response)])
    kept = memory and [memory.base, memory.latest, memory.used, memory.seen]
    return {"secret": secret.hex(), "question": name, "steps": steps, "memory": kept}
