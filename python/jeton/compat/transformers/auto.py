"""``AutoTokenizer``: what ``transformers`` would load, over Jeton's core."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import transformers
from transformers.tokenization_utils_tokenizers import TokenizersBackend

from jeton._core import Tokenizer, from_hf_json
from jeton.compat.transformers.backend import from_transformers
from jeton.errors import JetonError, JetonWarning
from jeton.formats.classes import text_steps
from jeton.formats.reading import read
from jeton.probe import probe_texts

# Classes of ``transformers`` that build their tokenizer anew: where ids are not the file's.

# Digits in a row, capitals behind an apostrophe, several spaces: where patterns differ first.
_TEXTS = ("2031", "120045981", "DON'T stop", "a  b", "\n\n  if x:", "e\u0301")


def warn_of_other_ids(tokenizer: Any, folder: str | os.PathLike[str], subfolder: str) -> None:
    """Warn where a class gives a text other ids than the tokenizer.json that it was loaded from.

    Args:
        tokenizer: A tokenizer over the core.
        folder: The folder that it was loaded from; the hub's names are not looked at.
        subfolder: The folder in it.
    """
    file = Path(folder) / subfolder / "tokenizer.json"
    peer: Any = tokenizer.peer_class
    if peer is TokenizersBackend or "__init__" not in peer.__dict__ or not file.is_file():
        return
    try:
        data = read(file)
        tree = json.loads(data)
        built = json.loads(tokenizer.backend_tokenizer.to_str())
        if text_steps(tree) == text_steps(built) and _form(tree) == _form(built):
            return
        ours, theirs = tokenizer.backend_tokenizer.tokenizer, from_hf_json(data)
        text = _differing(ours, theirs)
    except (JetonError, ValueError, RecursionError, OSError):
        return  # loading has succeeded; what cannot be compared is not judged
    if text is None:
        return
    was, now = theirs.encode(text), ours.encode(text)
    warnings.warn(
        f"{peer.__name__} of transformers builds its own tokenizer, and gives other ids than "
        f"{file}: {text!r} is {_short(now)} with the class and {_short(was)} with the file\n"
        'hint: "tokenizer_class": "PreTrainedTokenizerFast" in tokenizer_config.json, or '
        "JetonTokenizer.from_pretrained, runs the file as it is",
        JetonWarning,
        stacklevel=3,
    )


def _form(tree: dict[str, Any]) -> str:
    """Marks for spaces, which ``text_steps`` leaves out."""
    return json.dumps([tree.get("normalizer"), tree.get("pre_tokenizer")], sort_keys=True)


def _differing(one: Tokenizer, two: Tokenizer) -> str | None:
    for text in (*_TEXTS, *sorted(probe_texts(), key=len)):
        try:
            if one.encode(text) != two.encode(text):
                return text
        except JetonError:
            continue
    return None


def _short(ids: list[int]) -> str:
    return str(ids) if len(ids) <= 8 else f"[{', '.join(map(str, ids[:8]))}, ...]"


# Names of vocabularies at hand, for which nothing has to be fetched.

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


class AutoTokenizer:
    """Loads a tokenizer; which class it is of, the files say."""

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: str | os.PathLike[str], *inputs: Any, **kwargs: Any
    ) -> Any:
        """Load a folder, a vocabulary at hand, or what ``transformers`` finds under a name.

        Args:
            pretrained_model_name_or_path: A folder that ``save_pretrained`` wrote, or a name.
            inputs: As in ``transformers``.
            kwargs: As in ``transformers``.

        Returns:
            A ``JetonBackend``, and an instance of the class that ``transformers`` would load.

        Raises:
            UsageError: The class of the tokenizer has no backend that the core could stand in for.
            OSError: The error of ``transformers`` if there are no files.

        A class of ``transformers`` that builds its tokenizer anew may give other ids than the
        folder's tokenizer.json. Where it does, a ``JetonWarning`` shows a text and says how to get
        the file's ids.

        A name without a folder is looked for among the vocabularies at hand (``jeton vocab list``)
        before the hub is asked. A ``JetonWarning`` says so: a vocabulary has no chat template.
        """
        loaded = None if inputs else load_at_hand(pretrained_model_name_or_path, kwargs)
        if loaded is not None:
            return from_transformers(loaded)
        loaded = transformers.AutoTokenizer.from_pretrained(
            pretrained_model_name_or_path, *inputs, **kwargs
        )
        ours = from_transformers(loaded)
        warn_of_other_ids(ours, pretrained_model_name_or_path, kwargs.get("subfolder") or "")
        return ours

    @staticmethod
    def register(*arguments: Any, **options: Any) -> None:
        """Make a class known, as ``transformers.AutoTokenizer.register`` does."""
        transformers.AutoTokenizer.register(*arguments, **options)
