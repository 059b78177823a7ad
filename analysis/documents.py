"""A file of tally documents, such as a simulation writes, as a place to read tallies from."""

from __future__ import annotations

from pathlib import Path

from deniable.protocol.errors import DocumentError
from deniable.protocol.period_state import PeriodState
from deniable.protocol.tally import Tally, parse_tally

from .sources import parse_states, read_json


class DocumentSource:
    """The released tallies in a JSON file ``{"tallies": [...]}``."""

    def __init__(self, path: Path) -> None:
        document = read_json(path)
        found = document.get("tallies") if isinstance(document, dict) else None
        if not isinstance(found, list):
            raise DocumentError(f'{path} is no {{"tallies": [...]}}; give a file of tallies')
        self._tallies = tuple(_numbered(path, i, one) for i, one in enumerate(found))

    def states(self, survey: str | None = None) -> tuple[PeriodState, ...]:
        """Every tally is of a released period."""
        return parse_states(
            {
                "survey": tally.question.survey,
                "question": tally.question.id,
                "version": tally.question.version,
                "period": tally.period,
                "batch": tally.batch,
                "segment": tally.segment,
                "state": "released",
                "crowd": str(tally.n),
            }
            for tally in self._tallies
            if survey in (None, tally.question.survey)
        )

    def tallies(self, survey: str, question: str) -> tuple[Tally, ...]:
        """Return those of one question."""
        return tuple(
            tally
            for tally in self._tallies
            if (tally.question.survey, tally.question.id) == (survey, question)
        )


def _numbered(path: Path, number: int, document: object) -> Tally:
    """Check one tally, and say which it is if it is none."""
    try:
        return parse_tally(document)
    except DocumentError as exc:
        raise DocumentError(f"{path}: tallies[{number}]: {exc}") from exc
