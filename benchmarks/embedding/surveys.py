"""The surveys that are answered: half yes/no, half with 16 choices, all with a second round."""

from __future__ import annotations

from pathlib import Path

from deniable.protocol.survey import Survey, compile_survey, load_survey

CHOICES = [f"choice {number}" for number in range(16)]


def toml(questions: int) -> str:
    """A survey as its author writes it."""
    choices = ", ".join(f'"{choice}"' for choice in CHOICES)
    parts = [
        f'[survey]\nformat = 1\nid = "bench"\nlinkable = true\nmax_epsilon = {float(questions)}\n'
    ]
    for number in range(questions):
        kind = f'type = "choice"\nchoices = [{choices}]' if number % 2 else 'type = "boolean"'
        parts.append(
            f'[questions.q{number}]\nversion = 1\nask = "Is the dark theme on?"\n{kind}\n'
            'epsilon = 1.0\nepsilon_first = 0.5\nperiod = "day"\ngrace = 3\nexpires = 2990-01-01\n'
        )
    return "\n".join(parts)


def write(folder: Path, questions: int, form: str) -> Path:
    """Write a survey as "toml" or, compiled, as "json"; return its file."""
    source = folder / f"{questions}.toml"
    source.write_text(toml(questions), encoding="utf-8")
    if form == "toml":
        return source
    compiled = source.with_suffix(".json")
    compiled.write_text(compile_survey(load_survey(str(source))), encoding="utf-8")
    return compiled


def answers(asked: Survey, turn: int = 0) -> dict[str, bool | str]:
    """An answer to every question, another one on another turn."""
    return {
        name: question.values[turn % len(question.values)]  # type: ignore[misc]
        for name, question in asked.questions.items()
    }
