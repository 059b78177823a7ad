"""Reads how a question is perturbed: its mechanism by name, with options, and both epsilons."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import cast

from .errors import ParameterError
from .exact import canonical
from .fields import Fields
from .horizon import Horizon
from .limits import EPSILON_MAX, EPSILON_MIN, MAX_CELLS, MAX_RESPONSE_BYTES
from .mechanisms import MECHANISMS, NO_OPTIONS, Mechanism, Options, build, choose, named
from .mechanisms.base import Asks
from .question import QuestionType, given_options
from .type_fields import Answers

_COMPILED = ("name", "k", "derivation", "options", "shape", "thresholds")


def read_mechanism(
    fields: Fields, kind: QuestionType, answers: Answers, *, linkable: bool, compiled: bool
) -> Mechanism:
    """Read the mechanism and resolve it; mistakes are noted, and the result is then void."""
    asks = _asks(kind, answers.horizon)
    epsilon = fields.epsilon("epsilon") or EPSILON_MAX
    first = _first(fields, asks, epsilon)
    name, options = _named(fields, asks, compiled) if answers.typed else ("auto", NO_OPTIONS)
    if not answers.known:
        return choose(2, EPSILON_MIN)
    given = given_options(answers.max_items, answers.text, answers.horizon)
    try:
        if name == "auto":
            made = _chosen(answers.k, epsilon, first, asks, linkable, tuple(given.items()))
        else:
            own = {option: given[option] for option in MECHANISMS[name].given}
            made = _built(name, answers.k, epsilon, first, tuple({**options, **own}.items()))
    except ParameterError as exc:
        fields.problem("mechanism", str(exc), "correct it")
        return choose(2, EPSILON_MIN)
    if made.shape.size > MAX_RESPONSE_BYTES:
        fields.problem("mechanism", f"responses exceed {MAX_RESPONSE_BYTES} bytes", "lower k")
    if made.shape.cells > MAX_CELLS:
        fields.problem("mechanism", f"tallies exceed {MAX_CELLS} counts", "lower k or its options")
    return made


def has_second_round(asks: Asks) -> bool:
    """Return whether a mechanism that serves such questions takes ``epsilon_first``."""
    return any(MECHANISMS[name].two_rounds for name in named(asks))


def _first(fields: Fields, asks: Asks, epsilon: Decimal) -> Decimal | None:
    """Read ``epsilon_first``, if there is one."""
    if not fields.has("epsilon_first"):
        return None
    if not has_second_round(asks):
        problem = "no mechanism for such a question has a second round"
        fields.problem("epsilon_first", problem, "remove it")
        return None
    first = fields.epsilon("epsilon_first")
    if first is not None and first >= epsilon:
        problem = f"must be less than epsilon ({canonical(epsilon)})"
        fields.problem("epsilon_first", problem, "lower it")
        return None
    return first


def _asks(kind: QuestionType, horizon: Horizon | None) -> Asks:
    """Return what kind of mechanism serves a question."""
    if horizon is not None:
        return "counter" if kind == "number" else "trajectory"
    if kind in ("set", "text", "number"):
        return cast("Asks", kind)
    return "choice"


@lru_cache(maxsize=64)
def _chosen(
    k: int,
    epsilon: Decimal,
    first: Decimal | None,
    asks: Asks,
    linkable: bool,
    given: tuple[tuple[str, int], ...],
) -> Mechanism:
    """Return what "auto" means; questions often ask for the same, and it takes milliseconds."""
    return choose(k, epsilon, first, asks=asks, linkable=linkable, given=dict(given))


@lru_cache(maxsize=64)
def _built(
    name: str, k: int, epsilon: Decimal, first: Decimal | None, options: tuple[tuple[str, int], ...]
) -> Mechanism:
    """Return a mechanism of this name, as :func:`_chosen` does."""
    return build(name, k, epsilon, first, dict(options))


def _named(fields: Fields, asks: Asks, compiled: bool) -> tuple[str, Options]:
    """Read a word of an author, or a table with options, or the table the compiler made."""
    known = named(asks)
    raw = fields.raw("mechanism")
    if not isinstance(raw, Mapping) and not compiled:
        return fields.one_of("mechanism", ("auto", *known), "auto"), NO_OPTIONS
    name = raw.get("name") if isinstance(raw, Mapping) else None
    if not isinstance(name, str) or name not in known:
        if compiled:
            fields.problem("mechanism", "names none that is known here", "upgrade, or recompile")
        else:
            fields.problem("mechanism.name", "unknown", f"use one of {', '.join(known)}")
        return "auto", NO_OPTIONS
    cls = MECHANISMS[name]
    bounds = cls.options if compiled else _open(cls)
    if compiled:
        table = fields.table("mechanism", _COMPILED).table("options", tuple(bounds))
    else:
        table = fields.table("mechanism", ("name", *bounds))
    options = {
        option: table.integer(option, allowed.start, allowed.stop - 1)
        for option, allowed in bounds.items()
        if table.has(option)
    }
    return name, options if table.sound else NO_OPTIONS


def _open(cls: type[Mechanism]) -> dict[str, range]:
    """Return the options that an author may set."""
    return {name: bounds for name, bounds in cls.options.items() if name not in cls.given}
