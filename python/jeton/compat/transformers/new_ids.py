"""Templates whose ids are those of another vocabulary.

``train_new_from_iterator`` of transformers trains a new vocabulary under the old template. It maps
the ids of a template that stands alone, and leaves those of one in a ``Sequence`` as they were.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from jeton._foreign import json_of

__all__ = ["with_ids_of_its_own"]


def with_ids_of_its_own(text: str) -> str:
    """Return a ``tokenizer.json`` whose template has the ids that its tokens have in it.

    Only ids that the vocabulary does not have are changed: a template may say what it likes.
    """
    if '"TemplateProcessing"' not in text:
        return text
    tree = json_of(text)
    ids = {token["content"]: token["id"] for token in tree.get("added_tokens") or ()}
    vocab = tree["model"].get("vocab") or {}
    names = vocab if isinstance(vocab, dict) else {piece[0]: i for i, piece in enumerate(vocab)}
    n_ids = 1 + max([*ids.values(), *names.values()], default=-1)
    is_changed = False
    for special in _special_tokens(tree.get("post_processor")):
        known = [ids.get(token, names.get(token)) for token in special["tokens"]]
        if any(number >= n_ids for number in special["ids"]) and None not in known:
            special["ids"], is_changed = known, True
    return json.dumps(tree, ensure_ascii=False) if is_changed else text


def _special_tokens(processor: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(processor, dict):
        return
    for member in processor.get("processors") or ():
        yield from _special_tokens(member)
    if processor.get("type") == "TemplateProcessing":
        yield from processor["special_tokens"].values()
