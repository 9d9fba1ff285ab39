"""Where the files of a folder contradict one another, and what is not applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jeton._foreign import json_of
from jeton.errors import JetonError
from jeton.formats.classes import rebuilt_differently
from jeton.formats.documents import read_object
from jeton.formats.folder_tokens import FolderToken, SpecialRoles
from jeton.formats.names import plain_name
from jeton.formats.reading import read

CLASS_REBUILDS = "tokenizer_class builds its own tokenizer"
"""How the sentence about such a class begins."""

_MAX_WARNINGS = 20


def contradictions(
    tokenizer_file: Path | None,
    *,
    config: Mapping[str, Any],
    added: Sequence[FolderToken],
    special: SpecialRoles,
    class_name: str | None = None,
) -> list[str]:
    """Sentences for the reader; the first few of many.

    Args:
        tokenizer_file: The folder's tokenizer; compared where it is a tokenizer.json.
        config: Content of tokenizer_config.json.
        added: Its added tokens.
        special: The special tokens.
        class_name: The class of transformers that the folder names.
    """
    warnings = list(_settings(config))
    if tokenizer_file is not None and plain_name(tokenizer_file) == "tokenizer.json":
        warnings += _against(tokenizer_file, config, added, special, class_name)
    if len(warnings) > _MAX_WARNINGS:
        more = len(warnings) - _MAX_WARNINGS
        warnings = [*warnings[:_MAX_WARNINGS], f"and {more:,} more contradictions"]
    return warnings


def _settings(config: Mapping[str, Any]) -> Iterator[str]:
    if config.get("fix_mistral_regex") is True:
        yield (
            "fix_mistral_regex is set; the split pattern of the tokenizer.json is used as it is, "
            "without that change"
        )
    if config.get("clean_up_tokenization_spaces") is True:
        yield "clean_up_tokenization_spaces is set; decode does not take spaces out after the fact"
    if config.get("split_special_tokens") is True:
        yield "split_special_tokens is set; allow_special says which special tokens count"


def _around(tree: Any, config: Mapping[str, Any], special: SpecialRoles) -> Iterator[str]:
    """Tokens around a text, where tokenizer.json and the settings differ."""
    names = _template_names(tree.get("post_processor") if isinstance(tree, dict) else None)
    for role, end in (("bos", 0), ("eos", -1)):
        stated = config.get(f"add_{role}_token")
        token = special.roles.get(role)
        if not isinstance(stated, bool) or token is None:
            continue
        does = bool(names) and names[end] == token.content
        if does != stated:
            yield (
                f"add_{role}_token is {str(stated).lower()}, but tokenizer.json "
                f"{'puts' if does else 'does not put'} {token.content!r} "
                f"{'before' if role == 'bos' else 'after'} a text, which counts"
            )


def _template_names(post_processor: object) -> list[str]:
    """Texts of the tokens around one text, and an empty one for the text itself."""
    if not isinstance(post_processor, Mapping):
        return []
    inside = post_processor.get("processors")
    if isinstance(inside, list):
        return next((names for item in inside if (names := _template_names(item))), [])
    single = post_processor.get("single")
    if isinstance(single, list):
        items = [item.get("SpecialToken") for item in single if isinstance(item, Mapping)]
        return [str(item.get("id", "")) if isinstance(item, Mapping) else "" for item in items]
    ends = [post_processor.get("cls"), post_processor.get("sep")]
    texts = [str(end[0]) for end in ends if isinstance(end, list) and end]
    return texts if len(texts) == 2 else []


def _against(
    tokenizer_file: Path,
    config: Mapping[str, Any],
    added: Sequence[FolderToken],
    special: SpecialRoles,
    class_name: str | None,
) -> Iterator[str]:
    try:
        tree = json_of(read(tokenizer_file))
    except (ValueError, RecursionError, JetonError):
        # Loading it says what is wrong.
        return
    listed = tree.get("added_tokens") if isinstance(tree, dict) else None
    yield from _around(tree, config, special)
    if isinstance(tree, dict):
        kind = (read_object(tokenizer_file.parent / "config.json") or {}).get("model_type")
        model_type = kind if isinstance(kind, str) else None
        rebuilt = rebuilt_differently(class_name, tree, model_type=model_type)
        if rebuilt is not None:
            yield f"{CLASS_REBUILDS} and gives other ids in transformers 5: {rebuilt}"
    if not isinstance(listed, list):
        return
    entries = [token for token in listed if isinstance(token, dict)]
    by_text = {token.get("content"): token for token in entries}
    by_id = {token.get("id"): token for token in entries}
    for token in added:
        listed_in = "tokenizer_config.json" if token.overrides else "added_tokens.json"
        other = by_text.get(token.content)
        if other is None:
            taken = by_id.get(token.id)
            if taken is not None:
                yield (
                    f"id {token.id} is {token.content!r} in {listed_in} and "
                    f"{taken.get('content')!r} in tokenizer.json, which counts"
                )
            continue
        if token.id is not None and other.get("id") != token.id:
            yield (
                f"{token.content!r} has the id {token.id} in {listed_in} and "
                f"{other.get('id')} in tokenizer.json, which counts"
            )
        differing = [n for n, flag in token.flags.items() if (other.get(n) is True) != flag]
        if differing and token.overrides:
            yield (
                f"{token.content!r} differs in {', '.join(differing)} between tokenizer.json and "
                "tokenizer_config.json, which counts"
            )
