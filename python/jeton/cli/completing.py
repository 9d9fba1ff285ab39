"""Names that the shell completes: tokenizers, models, GPUs; used for completion only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem


def is_completing() -> bool:
    """True if the shell asks for completions."""
    return "_JETON_COMPLETE" in os.environ


def _tokenizers() -> Iterable[str]:
    from jeton.registry import list_vocabularies

    return [entry.name for entry in list_vocabularies()]


def _models() -> Iterable[str]:
    from jeton.catalog import models

    return [facts.name for facts in models()]


def _gpus() -> Iterable[str]:
    from jeton.catalog import gpus

    return [name for facts in gpus() for name in (facts.name.lower(), *facts.aliases)]


_NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "T": _tokenizers,
    "TOKENIZER": _tokenizers,
    "M": _models,
    "MODEL": _models,
    "G": _gpus,
}
"""By the metavar of an option."""


def complete_names(command: click.Command) -> None:
    """Let the options and arguments of a command complete names."""
    for parameter in command.params:
        names = _NAMES.get((parameter.metavar or (parameter.name or "").upper()).strip("[]."))
        if names is not None:
            parameter._custom_shell_complete = _completer(names)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                complete_names(child)


def _completer(
    names: Callable[[], Iterable[str]],
) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    def complete(_ctx: click.Context, _param: click.Parameter, typed: str) -> list[CompletionItem]:
        found = [CompletionItem(name) for name in names() if name.startswith(typed.lower())]
        # Files are tokenizers and models too.
        return [*found, CompletionItem(typed, type="file")]

    return complete
