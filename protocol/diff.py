"""What a new edition of a survey costs those who answered the old one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from .exact import total
from .horizon import Horizon
from .question import Question
from .sealing import SealingKey
from .survey import Survey
from .text_form import TextForm


@dataclass(frozen=True, slots=True)
class Change:
    """One difference.

    Attributes
    ----------
    question : str
        Its id; empty for the survey itself.
    change : str
        What differs, in words.
    new_epsilon : Decimal
        Permanent epsilon that a device which answered the old edition spends on top.
    refused : bool
        Devices and collectors that know the old edition will refuse this one.
    """

    question: str
    change: str
    new_epsilon: Decimal
    refused: bool = False

    def record(self) -> dict[str, Any]:
        """Return the change as JSON."""
        return {
            "question": self.question,
            "change": self.change,
            "new_epsilon": float(self.new_epsilon),
            "refused": self.refused,
        }


def diff_surveys(old: Survey, new: Survey) -> tuple[Change, ...]:
    """Compare two editions of a survey; an empty result means nothing changed for anyone."""
    if old.id != new.id:
        spent = total(question.epsilon for question in new.questions.values())
        return (Change("", f"another survey: {old.id} became {new.id}", spent),)
    changes = _survey_changes(old, new)
    for name, question in new.questions.items():
        before = old.questions.get(name)
        if before is None:
            changes.append(Change(name, "added", question.epsilon))
        else:
            changes.extend(_question_changes(before, question))
    changes.extend(
        Change(name, "removed: no longer asked, what was spent stays spent", Decimal(0))
        for name in old.questions
        if name not in new.questions
    )
    return tuple(changes)


def _survey_changes(old: Survey, new: Survey) -> list[Change]:
    changes = []
    if new.max_epsilon > old.max_epsilon:
        text = "max_epsilon rose: devices keep the first ceiling they saw"
        changes.append(Change("", text, Decimal(0)))
    elif new.max_epsilon < old.max_epsilon:
        changes.append(Change("", "max_epsilon fell: devices obey it at once", Decimal(0)))
    for field in ("segments", "batch", "linkable"):
        if getattr(old, field) != getattr(new, field):
            changes.append(Change("", f"{field} changed", Decimal(0)))
    return [*changes, *_key_changes(old.sealing_keys, new.sealing_keys)]


def _key_changes(old: Sequence[SealingKey], new: Sequence[SealingKey]) -> Iterator[Change]:
    """Yield what becomes of the keys that reports are sealed for."""
    known, kept = ({key.id: key for key in keys} for keys in (old, new))
    for name, key in kept.items():
        before = known.get(name)
        if before is None:
            yield _of_key(name, f"added, {key.state}")
        elif (before.suite, before.public) != (key.suite, key.public):
            yield _of_key(name, "became another key; give that one another id")
        elif before.state != key.state:
            yield _of_key(name, f"{before.state} became {key.state}" + _refuses(before, key))
    for name, key in known.items():
        if name not in kept:
            yield _of_key(name, "removed" + _refuses(key, None))


def _of_key(name: str, text: str) -> Change:
    return Change("", f"sealing key {name}: {text}", Decimal(0))


def _refuses(before: SealingKey, after: SealingKey | None) -> str:
    """Say what a collector does with the reports of devices that know the old edition only."""
    ends = before.live and not (after and after.live)
    return ": reports sealed for it are refused from now on" if ends else ""


def _question_changes(old: Question, new: Question) -> list[Change]:
    if new.version < old.version:
        return [Change(new.id, f"version fell to {new.version}", Decimal(0), refused=True)]
    if new.version > old.version:
        text = f"version {old.version} became {new.version}"
        details = (Change(new.id, what, Decimal(0)) for what in _differences(old, new))
        return [Change(new.id, text, new.epsilon), *details]
    if new.hash != old.hash:
        what = f"changed under version {old.version}"
        if said := "; ".join(_differences(old, new)):
            what += f" ({said})"
        return [Change(new.id, f"{what}; raise the version", Decimal(0), refused=True)]
    changes = []
    if new.min_crowd < old.min_crowd:
        text = f"min_crowd fell from {old.min_crowd} to {new.min_crowd}; it may only rise"
        changes.append(Change(new.id, text, Decimal(0), refused=True))
    elif new.min_crowd > old.min_crowd:
        text = f"min_crowd rose from {old.min_crowd} to {new.min_crowd}"
        changes.append(Change(new.id, text, Decimal(0)))
    for field in ("grace", "owner", "expires"):
        before, after = getattr(old, field), getattr(new, field)
        if before != after:
            changes.append(Change(new.id, f"{field}: {before} became {after}", Decimal(0)))
    return changes


def _differences(old: Question, new: Question) -> Iterator[str]:
    """Say what differs of that which only some questions have."""
    if new.sealed != old.sealed:
        yield "answers are sealed now" if new.sealed else "answers are no longer sealed"
    if new.type != old.type:
        yield f"type: {old.type} became {new.type}"
    elif new.type in ("choice", "set") and new.choices != old.choices:
        yield _choices(old, new)
    for name in ("max_items", "text", "parts", "horizon"):
        before, after = getattr(old, name), getattr(new, name)
        if before == after:
            continue
        one, two = _shown(before), _shown(after)
        yield f"{name} changed" if one == two else f"{name}: {one} became {two}"
    if new.horizon != old.horizon and new.horizon is not None:
        yield "epsilon is of all periods of the horizon together"


def _choices(old: Question, new: Question) -> str:
    """Say how the choices differ."""
    if set(new.choices) == set(old.choices):
        return "choices: in another order"
    one, two = len(old.choices), len(new.choices)
    return "choices changed" if one == two else f"choices: {one} became {two}"


def _shown(field: object) -> str:
    """Write what only some questions have, in a few words."""
    if isinstance(field, TextForm):
        fold = ", folded" if field.fold else ""
        return f"{field.max_length} of {len(field.alphabet)} letters{fold}"
    if isinstance(field, Horizon):
        changes = "" if field.changes is None else f", {field.changes} changes at most"
        return f"{field.periods} periods from {field.start}{changes}"
    if isinstance(field, tuple) and field:
        return " and ".join(f"{part.name} of {len(part.choices)} choices" for part in field)
    return str(field) if isinstance(field, int) else "none"
