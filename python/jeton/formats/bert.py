"""BERT's vocab.txt, which does not say whether it wants text in lower case."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jeton._core import Tokenizer, from_vocab_txt
from jeton.formats.documents import read_object
from jeton.formats.folder_tokens import token_text

_WORD = re.compile(rb"^(?:##)?[A-Za-z]{2,}\s*$", re.MULTILINE)
_CAPITAL = re.compile(rb"[A-Z]")

_CASED_SHARE = 0.01
"""Share of ASCII words with a capital from which on a vocabulary counts as cased. The published
ones have 0 (uncased English), 1 in 25,782 (SciBERT uncased), 28 % (multilingual cased) and 31 %
(cased English); counted 2026-11-21."""


def load_word_list(
    data: bytes,
    file: Path,
    *,
    name: str,
    lowercase: bool | None,
    config: Mapping[str, Any] | None = None,
) -> Tokenizer:
    """The tokenizer of a vocab.txt.

    Args:
        data: Content of the file.
        file: The file.
        name: The tokenizer's name.
        lowercase: True if text is put in lower case; None: what ``config`` says, else the words of
            the vocabulary.
        config: Content of the tokenizer_config.json of the file's folder; None: it is read where
            there is one.

    Raises:
        FormatError: The file, or the tokenizer_config.json beside it, is damaged.
        OSError: One of them cannot be read.
    """
    if config is None:
        config = {}
        if lowercase is None and _name_is_usual(file):
            config = read_object(file.with_name("tokenizer_config.json")) or {}
    return from_vocab_txt(
        data,
        lowercase=_lowercase(data, config) if lowercase is None else lowercase,
        strip_accents=_flag(config, "strip_accents"),
        handle_chinese_chars=_flag(config, "tokenize_chinese_chars") is not False,
        unk_token=token_text(config.get("unk_token")),
        name=name,
        path=str(file),
    )


def _name_is_usual(file: Path) -> bool:
    """True if a tokenizer_config.json beside the file is one about it."""
    return file.name.lower() in ("vocab.txt", "vocab.txt.zst", "vocab.txt.gz")


def is_lowercase(data: bytes) -> bool:
    """True if the words of a vocabulary are those of text in lower case.

    A vocabulary is cased where at least one in a hundred of its words of two or more ASCII letters
    has a capital.
    """
    words = _WORD.findall(data)
    cased = sum(1 for word in words if _CAPITAL.search(word))
    return cased < max(1, len(words) * _CASED_SHARE)


def _lowercase(data: bytes, config: Mapping[str, Any]) -> bool:
    stated = _flag(config, "do_lower_case")
    return is_lowercase(data) if stated is None else stated


def _flag(config: Mapping[str, Any], key: str) -> bool | None:
    value = config.get(key)
    return value if isinstance(value, bool) else None
