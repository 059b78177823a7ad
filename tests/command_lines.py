"""Whether a command line that a page or a file shows would be understood."""

from __future__ import annotations

import argparse
import importlib
import shlex

import click

MODULES = {
    "deniable": "deniable.analysis.cli",
    "deniable-collector": "deniable.collector.cli",
    "deniable-device": "deniable.client.device",
}


def unknown_words(line: str) -> list[str]:
    """The subcommands and options of a command line that do not exist."""
    script, *words = shlex.split(line)
    module = importlib.import_module(MODULES[script])
    if script == "deniable-device":
        return _unknown_to_argparse(module.build_parser(), words)
    command: click.Command = module.main
    context = click.Context(command, info_name=script)
    while isinstance(command, click.Group) and words:
        child = command.get_command(context, words[0])
        if child is None:
            return [word for word in words[:1] if set(words[0].split("|")) - set(command.commands)]
        command, words = child, words[1:]
    options = {name for parameter in command.params for name in parameter.opts}
    return [word for word in words if word.startswith("--") and word.split("=")[0] not in options]


def parsed(words: list[str]) -> dict[str, object]:
    """What the parameters of a ``deniable-collector`` command line are; it is not run.

    Raises click's own error if something is missing, unknown or of the wrong type.
    """
    command: click.Command = importlib.import_module(MODULES["deniable-collector"]).main
    context: click.Context | None = None
    while isinstance(command, click.Group):
        context = click.Context(command, parent=context, **command.context_settings)
        name, child, words = command.resolve_command(context, words)
        assert child is not None, name
        command = child
    return command.make_context(command.name, words, parent=context).params


def _unknown_to_argparse(parser: argparse.ArgumentParser, words: list[str]) -> list[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            named = set(words[0].split("|"))
            if not named <= set(action.choices):
                return sorted(named - set(action.choices))
            parser = action.choices[min(named)]
    known = {option for action in parser._actions for option in action.option_strings}
    return [word for word in words[1:] if word.startswith("--") and word not in known]
