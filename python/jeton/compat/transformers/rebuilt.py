"""Classes of ``transformers`` that build their tokenizer anew: where ids are not the file's."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

from transformers.tokenization_utils_tokenizers import TokenizersBackend

from jeton._core import Tokenizer, from_hf_json
from jeton.errors import JetonError, JetonWarning
from jeton.formats.classes import text_steps
from jeton.formats.reading import read
from jeton.probe import probe_texts

__all__ = ["warn_of_other_ids"]

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
    """How spaces are marked, which ``text_steps`` leaves out."""
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
