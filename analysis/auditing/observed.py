"""What an audited environment says, as data: read from its answers, and refused if it is not so.

What must never change: a response stays in its wire form, lists made tuples, so that it can be
counted and compared.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

Value = bool | str | Fraction | tuple[str, ...]
"""An answer: a number is exact; of a set its items, of a joint question a choice of each part."""

Answers = Mapping[str, object]
"""The answers of one period, by question."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as the audited environment resolved it.

    Attributes
    ----------
    values : tuple
        What can be recorded: all answers in the order of symbols, or some of them.
    mechanism : str
        Its name, with the options in force.
    rounds : int
        1 if reports repeat the permanent response, 2 if each has noise of its own.
    askable : bool
        False if it expired so long ago that no device could answer it for an audit.
    """

    id: str
    k: int
    values: tuple[Value, ...]
    mechanism: str
    rounds: int
    epsilon: Decimal
    epsilon_first: Decimal | None
    period: str
    hash: str
    askable: bool


@dataclass(frozen=True, slots=True)
class Description:
    """What is audited: versions, the folder the client was loaded from, and its questions."""

    deniable: str
    python: str
    client: str
    questions: tuple[Asked, ...]

    def asked(self, names: Container[str]) -> tuple[Asked, ...]:
        """Return those of the questions that devices can be asked."""
        return tuple(each for each in self.questions if each.askable and each.id in names)


@dataclass(frozen=True, slots=True)
class Device:
    """A device that lived.

    Attributes
    ----------
    secret : bytes
    reports : mapping
        By question, its report of every day; None where it sent none.
    """

    secret: bytes
    reports: Mapping[str, tuple[Hashable, ...]]


@dataclass(frozen=True, slots=True)
class History:
    """A device that went through a horizon: its secret, and what it reported of which period."""

    secret: bytes
    reports: Mapping[int, Hashable]


@dataclass(frozen=True, slots=True)
class Leakage:
    """The largest ratios of the probabilities of one output, from the installed code.

    Attributes
    ----------
    permanent, report : Fraction or None
        Of the permanent response, and of one report; None where there is no bound, as ``by``
        explains.
    by : str
        How they were found.
    """

    permanent: Fraction | None
    report: Fraction | None
    by: str


@dataclass(frozen=True, slots=True)
class Day:
    """What a device answers on a day, and what happens to it before.

    Attributes
    ----------
    events : tuple of str
        Of "restart", "copy" (of its store; both live on), "upgrade" (to a newer edition of the
        survey) and "processes" (several answer at the same time).
    """

    answers: Answers
    events: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """A request as a collector received it.

    Attributes
    ----------
    line : int
        0 for the device, 1 for its first copy, and so on.
    day : int
        On which day of its life it was sent.
    due : bool
        Whether it names a period of that day; if not, it is late, or carries defaults.
    of : int or None
        The first day of its life that lies in the period it names; None if none does.
    period, device, reports : str, str, mapping
        As far as they can be read: the pseudonym, and the wire form of a response by question.
    path : str
    headers : tuple of (str, str)
    body : bytes
        As it came.
    """

    line: int
    day: int
    period: str
    device: str
    reports: Mapping[str, Hashable]
    due: bool
    of: int | None
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True, slots=True)
class Life:
    """What one device, and the copies of its store, sent.

    Attributes
    ----------
    everything : tuple of Request
        All of them.
    secrets : tuple of tuple of bytes
        On every day, the secret in each store.
    """

    everything: tuple[Request, ...]
    secrets: tuple[tuple[bytes, ...], ...]

    @property
    def requests(self) -> tuple[Request, ...]:
        """Those of the day's own periods, without late defaults."""
        return tuple(request for request in self.everything if request.due)
