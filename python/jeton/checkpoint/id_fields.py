"""Ids of tokens inside the small JSON files of a model directory.

A field is known by its name, as transformers 5.23.0, vLLM and PEFT have them (notes of 2026-11-21).
An id may stand alone, in a list, in lists of lists, beside a number, or be the key of an object.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_ONE_OR_MORE = re.compile(
    r"(?:.+_)?token_ids?|(?:.+_)?token_(?:index|indices)|padding_idx|pad_idx|forced_\w+_id"
    r"|(?:begin_)?suppress_tokens|trainable_token_indices|vocab_offset|bad_words_ids"
    r"|force_words_ids|stop_token_ids|(?:.+_)?tokens?_ids|(?:bos|eos|pad|unk)_id"
)
"""Fields whose integers are ids, however deep in lists."""
_ONE_ID = re.compile(r"(?:.+_)?(?<!num_)(?<!max_)token_id")
"""Fields of a role: an id, a list of ids, or null."""
_NOT_IDS = frozenset({"num_token_id", "max_token_id", "mm_token_type_ids", "return_token_type_ids"})
_MAPS_TO_IDS = re.compile(r"lang_to_id|task_to_id|lang_code_to_id|token_to_id")
"""Fields with an object from texts to ids."""
_KEYED_BY_ID = re.compile(r"added_tokens_decoder|logit_bias")
"""Fields with an object whose keys are ids."""
_PAIRS = {"forced_decoder_ids": 1, "sequence_bias": 0}
"""Fields with lists of two, of which the item at this place is an id, or a list of them."""

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class IdPlace:
    """An id and where it stands.

    Attributes:
        path: Keys and places in lists from the root of the file.
        id: The id.
        is_listed: True if it is one of several, so that the others may stay without it.
    """

    path: Path
    id: int
    is_listed: bool

    @property
    def words(self) -> str:
        """The place as one text, ``text_config.eos_token_id[1]``."""
        text = ""
        for step in self.path:
            text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
        return text


class _Gone:
    """Stands for an id that has no successor."""


GONE = _Gone()


def id_places(document: Mapping[str, Any]) -> list[IdPlace]:
    """Returns all ids of a document that are not negative, in its order."""
    found: list[IdPlace] = []

    def note(place: IdPlace) -> int:
        found.append(place)
        return place.id

    _followed(document, (), note)
    return found


def no_ids(document: Mapping[str, Any], path: str = "") -> list[tuple[str, object]]:
    """Returns the fields that want one id or a list and have text or a fraction, with the value."""
    found: list[tuple[str, object]] = []
    for key, value in document.items():
        words = f"{path}.{key}" if path else key
        if _ONE_ID.fullmatch(key) and isinstance(value, str | float | bool):
            found.append((words, value))
        elif isinstance(value, Mapping):
            found += no_ids(value, words)
    return found


def follow_ids(
    document: Mapping[str, Any], follow: Callable[[IdPlace], int | _Gone]
) -> dict[str, Any]:
    """Returns the document with each id as ``follow`` says; entries that are gone are left out.

    An object keyed by ids stays in the order of its new ids.
    """
    followed = _followed(document, (), follow)
    assert isinstance(followed, dict)
    return followed


def _followed(value: Any, path: Path, follow: Callable[[IdPlace], Any]) -> Any:
    """Follows the ids below a value that is no id itself."""
    if isinstance(value, Mapping):
        return {key: _field(key, item, (*path, key), follow) for key, item in value.items()}
    if isinstance(value, list):
        return [_followed(item, (*path, i), follow) for i, item in enumerate(value)]
    return value


def _field(key: str, value: Any, path: Path, follow: Callable[[IdPlace], Any]) -> Any:
    if key in _PAIRS and isinstance(value, list):
        return _pairs(value, _PAIRS[key], path, follow)
    if _KEYED_BY_ID.fullmatch(key) and isinstance(value, Mapping):
        return _keyed(value, path, follow)
    if _MAPS_TO_IDS.fullmatch(key) and isinstance(value, Mapping):
        return dict(_kept(value.items(), path, follow))
    if key not in _NOT_IDS and _ONE_OR_MORE.fullmatch(key):
        if isinstance(value, Mapping):
            # PEFT: the ids of each module by its name.
            return {name: _ids(item, (*path, name), follow) for name, item in value.items()}
        return _ids(value, path, follow)
    return _followed(value, path, follow)


def _ids(value: Any, path: Path, follow: Callable[[IdPlace], Any]) -> Any:
    """Follows a value whose integers are ids."""
    if _is_id(value):
        return follow(IdPlace(path, value, is_listed=False))
    if not isinstance(value, list):
        return value
    kept = []
    for place, item in enumerate(value):
        if _is_id(item):
            new = follow(IdPlace((*path, place), item, is_listed=True))
        else:
            new = _ids(item, (*path, place), follow)
            if isinstance(item, list) and len(new) < len(item):
                # A word of which one id is gone is another word.
                new = GONE
        if new is not GONE:
            kept.append(new)
    return kept


def _kept(items: Any, path: Path, follow: Callable[[IdPlace], Any]) -> Iterator[tuple[str, Any]]:
    for key, item in items:
        new = follow(IdPlace((*path, key), item, is_listed=True)) if _is_id(item) else item
        if new is not GONE:
            yield key, new


def _keyed(
    value: Mapping[str, Any], path: Path, follow: Callable[[IdPlace], Any]
) -> dict[str, Any]:
    kept: list[tuple[int, str, Any]] = []
    for key, item in value.items():
        if not key.isascii() or not key.isdigit():
            kept.append((-1, key, item))
            continue
        new = follow(IdPlace((*path, key), int(key), is_listed=True))
        if new is not GONE:
            kept.append((new, str(new), item))
    return {key: item for _, key, item in sorted(kept, key=lambda entry: entry[0])}


def _pairs(value: list[Any], place: int, path: Path, follow: Callable[[IdPlace], Any]) -> list[Any]:
    kept = []
    for i, pair in enumerate(value):
        if not isinstance(pair, list) or len(pair) != 2:
            kept.append(pair)
            continue
        inner = pair[place]
        if _is_id(inner):
            new = follow(IdPlace((*path, i, place), inner, is_listed=True))
        else:
            new = _ids(inner, (*path, i, place), follow)
            if isinstance(inner, list) and len(new) < len(inner):
                new = GONE
        if new is not GONE:
            kept.append([new, pair[1]] if place == 0 else [pair[0], new])
    return kept


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
