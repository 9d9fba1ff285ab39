"""Canonical forms as trees: where two differ, and one with a part of the other.

The form is read as the JSON that it is: whatever keys a release writes, they are compared and
exchanged by their names, so that nothing here has to know what a component means.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from jeton._core import Tokenizer, from_canonical
from jeton.explaining.result import PartDifference

Path = tuple[str | int, ...]
"""A place in a tree: keys of objects and places in lists."""

MISSING = object()
"""Value at a place that a tree does not have."""

_MAX_STEPS = 64
"""Lists up to this length are lists of steps, compared item by item; longer ones are tables."""

_MAX_SUMMARY_CHARS = 100

_SHOWN_BEFORE_CHARS = 12
"""Characters shown of two long texts before the place where they part."""


def canonical_tree(tokenizer: Tokenizer) -> dict[str, Any]:
    """The canonical form, parsed."""
    tree: dict[str, Any] = json.loads(tokenizer.to_canonical())
    return tree


def tokenizer_of(tree: dict[str, Any]) -> Tokenizer:
    """The tokenizer that a tree describes.

    Raises:
        JetonError: There can be none.
    """
    return from_canonical(json.dumps(tree, ensure_ascii=False).encode("utf-8"))


def children(a: Any, b: Any) -> Iterator[tuple[str | int, Any, Any]]:
    """The parts of two values that differ, one level down; none where they have no parts alike."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(key for key in b if key not in a)]:
            left, right = a.get(key, MISSING), b.get(key, MISSING)
            if left is MISSING or right is MISSING or left != right:
                yield key, left, right
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b) <= _MAX_STEPS:
        for index, (left, right) in enumerate(zip(a, b, strict=True)):
            if left != right:
                yield index, left, right


def differing_parts(a: Any, b: Any) -> list[PartDifference]:
    """Every place where two trees differ, as deep as both have parts alike."""
    return [
        PartDifference(path_name(path), *_summaries(left, right))
        for path, left, right in _leaves(a, b, ())
    ]


def _summaries(a: Any, b: Any) -> tuple[str, str]:
    """Two different values in short, such that the difference is seen."""
    if isinstance(a, str) and isinstance(b, str):
        pairs = enumerate(zip(a, b, strict=False))
        parts_at = next((i for i, (x, y) in pairs if x != y), min(len(a), len(b)))
        start = max(0, parts_at - _SHOWN_BEFORE_CHARS)
        return _window(a, start), _window(b, start)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b) > _MAX_STEPS:
        n_different = sum(1 for left, right in zip(a, b, strict=True) if left != right)
        return f"{len(a):,} entries", f"{len(b):,} entries, {n_different:,} of them different"
    return summary(a), summary(b)


def _window(text: str, start: int) -> str:
    """The part of a text from a place on where it would be cut off before it."""
    if len(text) <= _MAX_SUMMARY_CHARS or not start:
        return summary(text)
    return "…" + summary(text[start:])


def _leaves(a: Any, b: Any, path: Path) -> Iterator[tuple[Path, Any, Any]]:
    if a == b:
        return
    found = list(children(a, b))
    # Objects of different kinds have too little in common to be compared key by key.
    if not found or kind(a) != kind(b):
        yield path, a, b
        return
    for key, left, right in found:
        yield from _leaves(left, right, (*path, key))


def kind(value: Any) -> Any:
    """Return a JSON object's `type`, if any."""
    return value.get("type") if isinstance(value, dict) else None


def get(tree: Any, path: Path) -> Any:
    """Return the value at a place."""
    for key in path:
        if isinstance(tree, dict):
            tree = tree.get(key, MISSING)
        elif isinstance(tree, list) and isinstance(key, int) and key < len(tree):
            tree = tree[key]
        else:
            return MISSING
    return tree


def replace(tree: Any, path: Path, value: Any) -> Any:
    """A tree with another value at a place, or without it for ``MISSING``; the rest is shared."""
    if not path:
        return value
    key, *rest = path
    copy: Any = dict(tree) if isinstance(tree, dict) else list(tree)
    if value is MISSING and not rest:
        del copy[key]
    else:
        # A key that is new has nothing below it: its path ends here.
        copy[key] = replace(copy[key], tuple(rest), value) if rest else value
    return copy


def path_name(path: Path) -> str:
    """A place as it is written: ``pretokenizer[0].pattern``."""
    name = ""
    for key in path:
        name += f"[{key}]" if isinstance(key, int) else f".{key}" if name else key
    return name


def summary(value: Any) -> str:
    """A value in short."""
    if value is MISSING:
        return "absent"
    if isinstance(value, list) and not value:
        return "none"
    if isinstance(value, list) and len(value) > _MAX_STEPS:
        return f"{len(value):,} entries"
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else value
    if isinstance(value, dict) and len(text) > _MAX_SUMMARY_CHARS:
        kind = value.get("type")
        text = f"{kind}, {len(value)} settings" if kind else f"{len(value)} settings"
    if isinstance(value, list) and len(text) > _MAX_SUMMARY_CHARS:
        return f"{len(value):,} entries"
    shown = text if len(text) <= _MAX_SUMMARY_CHARS else text[: _MAX_SUMMARY_CHARS - 1] + "…"
    return "none" if shown == "null" else shown
