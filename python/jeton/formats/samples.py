"""Samples that a saved tokenizer carries: texts with their ids, verified whenever it is loaded.

The canonical form has them in itself; for every other file they lie beside it, in
``NAME.jeton-samples.json`` (``tokenizer.jeton-samples.json`` beside a tokenizer.json). They are no
part of the fingerprint.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jeton._core import Tokenizer
from jeton.errors import EncodeError, FormatError, UsageError
from jeton.formats.names import samples_path
from jeton.formats.reading import read_object

SCHEMA = "jeton.samples/1"

_DEFAULT_SAMPLES = (
    "Hello, world!",
    "It's 2026: the patient received 12.5 mg; isn't that 3,000,000 µg?\n",
    "  def f(x):\r\n\treturn x  # two spaces before",
    "naïve café e\u0301 \ufb01 \u00df \u0130",
    "中文字符 日本語のテキスト 한국어",
    "Привет مرحبا שלום नमस्ते",
    "\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2581 \u3000",
    "<|endoftext|> </s> [MASK]",
)
"""Texts for whoever wants samples and has none: what normalizers, patterns and models treat
differently, in a few lines."""

_MAX_SAMPLES = 10_000
"""Most samples that a file may carry: they are encoded at every load."""


def make_samples(tokenizer: Tokenizer, *, texts: Sequence[str] | bool) -> list[dict[str, Any]]:
    """Texts with their ids. Special tokens are not added, and look-alikes are text.

    Args:
        tokenizer: Whose ids.
        texts: The texts; True: a few that tokenizers treat differently.

    Raises:
        UsageError: ``texts`` is no list of texts, or one cannot be encoded.
    """
    if texts is False:
        return []
    chosen: Sequence[str] = _DEFAULT_SAMPLES if texts is True else texts
    if isinstance(chosen, str) or not all(isinstance(text, str) for text in chosen):
        raise UsageError("samples must be a list of texts, or True\nhint: samples=['Hello']")
    if len(chosen) > _MAX_SAMPLES:
        raise UsageError(f"{len(chosen):,} samples; at most {_MAX_SAMPLES:,} can be carried")
    made = []
    for text in chosen:
        try:
            made.append({"text": text, "ids": tokenizer.encode(text)})
        except EncodeError as error:
            if texts is True:
                continue  # a vocabulary without an unknown token knows some texts only
            raise UsageError(f"the sample {text[:40]!r} cannot be encoded: {error}") from error
    return made


def written_samples(samples: Sequence[dict[str, Any]]) -> bytes:
    """The bytes of a file of samples."""
    value = {"schema_version": SCHEMA, "samples": list(samples)}
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode("utf-8")


def verify_samples(tokenizer: Tokenizer, file: Path) -> int:
    """Compare a tokenizer with the samples beside its file.

    Returns:
        The number of samples; 0 where there are none.

    Raises:
        FormatError: A sample gets other ids, or the file of samples is damaged.
        OSError: It cannot be read.
    """
    path = samples_path(file)
    value = read_object(path)
    if value is None:
        return 0
    samples = value.get("samples")
    if value.get("schema_version") != SCHEMA or not isinstance(samples, list):
        raise FormatError(
            f"{path} is no file of samples: expected {SCHEMA!r} and a list of samples\n"
            f"hint: remove it to load {file.name} without samples",
            path=str(path),
        )
    if len(samples) > _MAX_SAMPLES:
        raise FormatError(
            f"{path} has {len(samples):,} samples; the limit is {_MAX_SAMPLES:,}", path=str(path)
        )
    for number, sample in enumerate(samples):
        _verify(tokenizer, number, sample, path=path, file=file)
    return len(samples)


def _verify(tokenizer: Tokenizer, number: int, sample: Any, *, path: Path, file: Path) -> None:
    text = sample.get("text") if isinstance(sample, dict) else None
    expected = sample.get("ids") if isinstance(sample, dict) else None
    if not isinstance(text, str) or not isinstance(expected, list):
        raise FormatError(f"{path}: sample {number} is not a text with its ids", path=str(path))
    try:
        found: object = tokenizer.encode(text)
    except EncodeError as error:
        found = f"an error ({error})"
    if found != expected:
        raise FormatError(
            f"{file} is not the tokenizer that it was saved as: sample {number}, {text[:40]!r}, "
            f"gets {_short(found)} and not {_short(expected)}\n"
            f"hint: fetch or convert it again, or load it with the options that it was made "
            f"with; the samples are in {path.name}",
            path=str(file),
        )


def _short(ids: object) -> str:
    text = str(ids)
    return text if len(text) <= 80 else text[:80] + "..."
