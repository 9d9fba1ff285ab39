"""Tokenizer classes of transformers: how each cuts text, and what it takes for granted.

A class that builds its tokenizer anew takes only the vocabulary from a tokenizer.json. Where the
file describes another normalizer or pre-tokenizer, transformers gives other ids than the file.
The table was read off transformers 5.23.0 (``python -m scripts.tokenizer_classes``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

# ByteLevel's own pattern (tokenizers 0.23.3), where `use_regex` is set.
_GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_SHOWN_CHARS = 60


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """Facts about a class of transformers.

    Attributes:
        steps: How it cuts text, as ``text_steps`` says it; None: it runs tokenizer.json as it is.
        padding_side: Its default.
        model_input_names: The columns that it gives.
    """

    steps: tuple[str, ...] | None
    padding_side: str
    model_input_names: tuple[str, ...]


@cache
def _document() -> dict[str, Any]:
    file = Path(__file__).with_name("tokenizer_classes.json")
    tree: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return tree


@cache
def _table() -> dict[str, ClassFacts]:
    tree = _document()
    return {
        name: ClassFacts(
            steps=None if entry.get("steps") is None else tuple(entry["steps"]),
            padding_side=entry.get("padding_side", "right"),
            model_input_names=tuple(
                entry.get("model_input_names", ("input_ids", "attention_mask"))
            ),
        )
        for name, entry in tree["classes"].items()
    }


def class_facts(name: str | None) -> ClassFacts | None:
    """The facts about a class, with or without ``Fast``; None where it is not known."""
    return None if name is None else _table().get(_own_name(name))


def _own_name(name: str) -> str:
    """The name of a class where models share it (``BartTokenizer`` is RoBERTa's), without Fast."""
    plain = name.removesuffix("Fast")
    own: str = _document()["other_names"].get(plain, plain)
    return own


def class_in_use(name: str | None, model_type: str | None) -> str | None:
    """The class that AutoTokenizer of transformers takes; None: one that runs the file as it is.

    Args:
        name: The class that tokenizer_config.json names.
        model_type: The kind of model (config.json): for some the named class is passed over.
    """
    if name is None or model_type in _document()["models_with_the_generic_class"]:
        return None
    instead: str = _document()["models_with_another_class"].get(model_type, name)
    return instead.removesuffix("Fast")


def text_steps(tree: Mapping[str, Any]) -> tuple[str, ...]:
    """The normalizer and the pre-tokenizer of a tokenizer.json, step by step, in one spelling.

    A difference only in spaces at the beginning is left out: settings decide it.
    """
    steps = [*_normalizers(tree.get("normalizer")), *_cuts(tree.get("pre_tokenizer"))]
    decoder = tree.get("decoder")
    if not steps and isinstance(decoder, Mapping) and decoder.get("type") == "ByteLevel":
        steps.append("bytes")
    return tuple(steps)


def rebuilt_differently(
    name: str | None, tree: Mapping[str, Any], *, model_type: str | None = None
) -> str | None:
    """How a class cuts text in place of a tokenizer.json, in words; None: it changes nothing.

    Args:
        name: The class that tokenizer_config.json names.
        tree: The tokenizer.json.
        model_type: The kind of model (config.json), which may pass the class over.
    """
    name = class_in_use(name, model_type)
    facts = class_facts(name)
    if facts is None or facts.steps is None or name is None:
        return None
    own, found = facts.steps, text_steps(tree)
    if _kind(own) == _kind(found):
        # Models of pieces bring their rules from the file.
        if _kind(own) != "ByteLevel" or own == found:
            return None
        only_own = [step for step in own if step not in found]
        only_found = [step for step in found if step not in own]
        if not only_own:
            what = _words(only_found)
            return f"{name} leaves out {what or 'the order'} of tokenizer.json"
        other = _words(only_found)
        return f"{name} builds {_words(only_own)}; tokenizer.json has {other or 'no such step'}"
    if _kind(found) == "" and _kind(own) == "Metaspace":
        # SentencePiece as tokenizer.json: normalizers do what Metaspace does.
        return None
    return f"{name} builds {_kind(own)}; tokenizer.json has {_kind(found) or 'no pre-tokenizer'}"


def _words(steps: list[str]) -> str:
    shown = [s if len(s) <= _SHOWN_CHARS else f"{s[:_SHOWN_CHARS]}..." for s in steps]
    return " and ".join(shown)


def _kind(steps: tuple[str, ...]) -> str:
    for step in steps:
        if step == "bytes":
            return "ByteLevel"
        if step in ("Metaspace", "BertPreTokenizer"):
            return step
    return ""


def _parts(part: object, inside: str) -> Iterator[Mapping[str, Any]]:
    if not isinstance(part, Mapping):
        return
    parts = part.get(inside)
    if isinstance(parts, list):
        for item in parts:
            yield from _parts(item, inside)
    else:
        yield part


def _normalizers(part: object) -> Iterator[str]:
    for step in _parts(part, "normalizers"):
        kind = str(step.get("type"))
        if kind == "Replace":
            yield f"Replace {_pattern(step)!r}"
        elif kind == "BertNormalizer" or kind not in ("Precompiled", "Prepend"):
            yield kind


def _cuts(part: object) -> Iterator[str]:
    for step in _parts(part, "pretokenizers"):
        kind = str(step.get("type"))
        if kind == "ByteLevel":
            if step.get("use_regex") is not False:
                yield f"a split by {_GPT2_PATTERN}"
            yield "bytes"
        elif kind == "Split":
            inverted = step.get("invert") is True
            keeps = (str(step.get("behavior")), inverted) in (
                ("Isolated", False),
                ("Removed", True),
            )
            how = "" if keeps else f" ({step.get('behavior')})"
            yield f"a split by {_pattern(step)}{how}"
        elif kind == "Digits":
            single = step.get("individual_digits") is True
            yield "Digits one by one" if single else "Digits"
        else:
            yield kind


def _pattern(step: Mapping[str, Any]) -> str:
    pattern = step.get("pattern")
    return str(next(iter(pattern.values()), "") if isinstance(pattern, Mapping) else pattern)
