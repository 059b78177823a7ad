"""The errors of deniable: one tree, whose messages name the field, the problem and the fix.

::

    DeniableError
    ├── ParameterError (also ValueError)   a function argument or an option out of range
    │   └── SurveyError                    a file of many entries; carries every problem found
    ├── ReportError                        one report of a request; carries its code
    ├── DocumentError                      a tally or compiled survey that cannot be trusted
    ├── StoreError                         a database or key file that cannot be used
    ├── SourceError                        a place estimates are read from that gives none
    └── MissingExtraError                  a part whose optional dependencies are absent

What must never change: no message of any of these contains a person's true value.
"""

from __future__ import annotations

TYPE_CHECKING = False  # of `typing`: this is what an app loads first
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .problems import Problem


class DeniableError(Exception):
    """Everything deniable raises on purpose."""


class ParameterError(DeniableError, ValueError):
    """An argument is of the wrong type or out of range."""


class SurveyError(ParameterError):
    """A survey or a list of strings is not valid; ``problems`` holds every mistake in it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class ReportError(DeniableError):
    """One report is refused; ``code`` is one of :data:`deniable.protocol.report.CODES`."""

    def __init__(self, code: str, detail: str) -> None:
        self.code = code
        self.detail = detail
        super().__init__(f"{code}: {detail}")


class DocumentError(DeniableError):
    """A tally or a compiled survey is malformed or does not match its own hash."""


class StoreError(DeniableError):
    """A database, key file or device store cannot be opened or does not fit."""


class SourceError(DeniableError):
    """The place tallies are read from does not answer or holds none that fit."""


class MissingExtraError(DeniableError):
    """A part of deniable was started without its optional dependencies."""
