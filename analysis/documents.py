"""A file of tally documents, such as a simulation writes, as a place to read tallies from."""

from __future__ import annotations

from pathlib import Path

from deniable.protocol.errors import DocumentError, SourceError
from deniable.protocol.period_state import PeriodState
from deniable.protocol.tally import Tally, parse_tally

from .sources import parse_json, parse_states


class DocumentSource:
    """The released tallies in a JSON file ``{"tallies": [...]}``."""

    def __init__(self, path: Path) -> None:
        try:
            document = parse_json(path.read_text(encoding="utf-8-sig"))
        except OSError as exc:
            raise SourceError(f"{path} cannot be read ({exc.strerror}); check the path") from exc
        except UnicodeDecodeError as exc:
            raise DocumentError(f"{path} is not UTF-8; save it as UTF-8") from exc
        except DocumentError as exc:
            raise DocumentError(f"{path}: {exc}") from exc
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
