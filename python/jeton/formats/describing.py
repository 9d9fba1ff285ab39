"""Description of a tokenizer, step by step, in words: for people who look at a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jeton._core import Tokenizer
from jeton.errors import JetonError
from jeton.formats.detection import FileFormat, detect
from jeton.formats.homes import find_tokenizer_file
from jeton.formats.reading import read


@dataclass(frozen=True, slots=True)
class Steps:
    """The components of a tokenizer by name, in the order in which they act.

    Attributes:
        normalizer: The steps that change the text.
        pretokenizer: The steps that cut it.
        decoder: The steps that make text of tokens; ``bytes`` where their bytes are joined.
        truncation: The file's truncation, which ``encode`` does not apply; None: it has none.
        padding: The file's padding, which ``encode`` does not apply; None: it has none.
        dropout: The file's share of merges that are left out at random; None: it has none.
    """

    normalizer: tuple[str, ...]
    pretokenizer: tuple[str, ...]
    decoder: tuple[str, ...]
    truncation: Mapping[str, Any] | None
    padding: Mapping[str, Any] | None
    dropout: float | None


def describe_steps(tokenizer: Tokenizer) -> Steps:
    """Name the components, as the canonical form has them."""
    tree: dict[str, Any] = json.loads(tokenizer.to_canonical())
    model: dict[str, Any] = tree.get("model", {})
    normalizer = [*_names(tree.get("normalizer")), *_of_sentencepiece(model)]
    decoder = tree.get("decoder")
    if decoder is not None:
        decoding = _names(decoder)
    else:
        decoding = ["sentencepiece" if model.get("type") == "sentencepiece" else "bytes"]
    return Steps(
        normalizer=tuple(normalizer),
        pretokenizer=tuple(_names(tree.get("pretokenizer"))),
        decoder=tuple(decoding),
        truncation=tree.get("truncation"),
        padding=tree.get("padding"),
        dropout=tree.get("dropout"),
    )


def format_of(path: str | Path) -> FileFormat | None:
    """Format of a file, or of the tokenizer's file in a folder; None where it cannot be told."""
    file = Path(path)
    try:
        inside = find_tokenizer_file(file) if file.is_dir() else file
        return None if inside is None else detect(read(inside), path=str(inside))
    except (JetonError, OSError):
        return None


def _names(steps: object) -> list[str]:
    names = []
    for step in steps if isinstance(steps, list) else []:
        if not isinstance(step, Mapping):
            names.append(str(step))
            continue
        name = str(step.get("type", "unnamed"))
        detail = _DETAILS.get(name)
        names.append(f"{name} ({detail(step)})" if detail is not None else name)
    return names


def _split(step: Mapping[str, Any]) -> str:
    return f"{step.get('behavior')}{', inverted' if step.get('invert') else ''}"


def _replace(step: Mapping[str, Any]) -> str:
    pattern = step.get("pattern")
    text = next(iter(pattern.values()), "") if isinstance(pattern, Mapping) else pattern
    return f"{_short(text)} by {_short(step.get('content'))}"


def _bert(step: Mapping[str, Any]) -> str:
    return ", ".join(k for k, v in step.items() if k != "type" and v is True) or "nothing set"


def _form(step: Mapping[str, Any]) -> str:
    return f"{step.get('form')}, Unicode {step.get('unicode')}"


_DETAILS = {"split": _split, "replace": _replace, "bert": _bert, "form": _form}


def _of_sentencepiece(model: Mapping[str, Any]) -> list[str]:
    """The normalization that a SentencePiece model carries itself."""
    rules = model.get("normalizer")
    if model.get("type") != "sentencepiece" or not isinstance(rules, Mapping):
        return []
    names = ["charsmap"] if rules.get("charsmap") else []
    names += [
        name
        for name in ("remove_extra_whitespaces", "add_dummy_prefix", "escape_whitespaces")
        if rules.get(name) is True
    ]
    return names


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 24 else f"{text[:21]}..."
