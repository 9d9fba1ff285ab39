"""Names of vocabularies at hand, for which nothing has to be fetched."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import transformers

from jeton.errors import JetonError, JetonWarning

__all__ = ["load_at_hand"]

# Arguments that ask for one state of a repository.
_OF_A_REPOSITORY = ("revision", "force_download", "subfolder", "code_revision")


def load_at_hand(name: str | os.PathLike[str], kwargs: dict[str, Any]) -> Any:
    """A tokenizer of ``transformers`` from a vocabulary that Jeton finds without the network.

    Args:
        name: The argument of ``from_pretrained``.
        kwargs: Its arguments.

    Returns:
        The tokenizer; None for folders, for models in the local cache of the hub, which
        ``transformers`` finds by itself, and for names that nothing at hand has.
    """
    from jeton.formats.homes import cached_repository
    from jeton.registry import place_of

    if not isinstance(name, str) or Path(name).exists():
        return None
    if any(kwargs.get(option) for option in _OF_A_REPOSITORY) or cached_repository(name):
        return None
    try:
        place = place_of(name)
    except JetonError:
        return None
    return None if place is None else _loaded(name, place, kwargs)


def _loaded(name: str, place: Path, kwargs: dict[str, Any]) -> Any:
    from jeton.registry import load

    with tempfile.TemporaryDirectory() as folder:
        try:
            load(name).save(folder)
        except JetonError:
            return None  # no tokenizer.json holds it
        found = transformers.AutoTokenizer.from_pretrained(folder, **kwargs)
    found.name_or_path = name
    found.init_kwargs["name_or_path"] = name
    for key, value in list(found.init_kwargs.items()):
        if key.endswith("_file") and str(value).startswith(folder):
            del found.init_kwargs[key]
    warnings.warn(
        f"{name!r} is the vocabulary {place}, and nothing was fetched: chat template, class and "
        "limits of a model on the hub are not there\n"
        "hint: give the folder of the model, or revision='main' for the one on the hub",
        JetonWarning,
        stacklevel=4,
    )
    return found
