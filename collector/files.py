"""The files that ``serve`` is given and reads again when it is told to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from deniable.protocol.errors import ParameterError
from deniable.protocol.survey import Survey, load_survey

from .app_key import AppKeys


@dataclass(frozen=True, slots=True)
class Files:
    """What ``serve`` was given and reads again.

    Attributes
    ----------
    surveys : tuple of Path
    app_keys : str or None
    """

    surveys: tuple[Path, ...]
    app_keys: str | None = None

    def load_surveys(self) -> tuple[Survey, ...]:
        """Read every survey.

        Raises
        ------
        ParameterError
            If one is not valid, or two have one id; it names the file.
        """
        loaded: dict[str, Path] = {}
        surveys = []
        for path in self.surveys:
            survey = _load(path)
            if survey.id in loaded:
                text = f"is given twice, in {loaded[survey.id]} too; keep its newest edition"
                raise ParameterError(f"{path}: survey {survey.id} {text}")
            loaded[survey.id] = path
            surveys.append(survey)
        return tuple(surveys)

    def load_app_keys(self) -> AppKeys | None:
        """Read the app keys, if there are any.

        Raises
        ------
        ParameterError
        """
        return None if self.app_keys is None else AppKeys.load(self.app_keys)


def _load(path: Path) -> Survey:
    try:
        return load_survey(path)
    except ParameterError as exc:
        mistakes = str(exc).splitlines()
        named = [line if line.startswith(str(path)) else f"{path}: {line}" for line in mistakes]
        raise ParameterError("\n".join(named)) from exc
