"""One file to a tokenizer: what it is decides how it is read.

BERT's vocab.txt, which does not say whether it wants text in lower case.

Rank files: the published ones are known by their content, others need a split pattern.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jeton import _published
from jeton._core import (
    ReadRanks,
    Tokenizer,
    from_canonical,
    from_claude,
    from_clip,
    from_compiled,
    from_hf_json,
    from_rwkv,
    from_sentencepiece,
    from_tekken,
    from_tiktoken,
    from_vocab_txt,
    published_patterns,
    sha256,
)
from jeton._published import PublishedVocabulary
from jeton.errors import FormatError
from jeton.formats.detection import FileFormat, detect, json_seen
from jeton.formats.folder_tokens import token_text
from jeton.formats.names import name_of_file
from jeton.formats.options import LoadOptions, Reference, refuse_misplaced
from jeton.formats.reading import SUPPORTED, load_gguf, read, read_object


def load_ranks(data: bytes, file: Path, *, options: LoadOptions, name: str) -> Tokenizer:
    """The tokenizer of a rank file.

    Raises:
        FormatError: It is damaged, or no pattern is known for it.
    """
    pattern, special_tokens = options.pattern, options.special_tokens
    if pattern is not None:
        tokenizer = from_tiktoken(
            data, pattern=pattern, special_tokens=special_tokens, name=name, path=str(file)
        )
    else:
        # Its digest, which tells whose it is, is made while it is read.
        ranks = ReadRanks(data)
        published = _published_for(data, ranks, file, name=name)
        tokenizer = ranks.tokenizer(
            pattern=published.pattern,
            special_tokens=published.special_tokens if special_tokens is None else special_tokens,
            normalizer=published.normalizer,
            name=name,
            path=str(file),
        )
    return as_reference(tokenizer, options.reference, name=name)


def as_reference(
    tokenizer: Tokenizer, reference: Reference | None, *, name: str | None
) -> Tokenizer:
    """A tokenizer of ranks as another library runs it.

    ``"hf"``: what ``tokenizers`` makes of the tokenizer.json that these ranks are written as: the
    ranks become a list of merges, and where a special token in the text is not allowed, the next
    one is looked for behind it and not within it.

    Raises:
        VocabularyError: The vocabulary cannot be written as a tokenizer.json.
    """
    if reference != "hf":
        return tokenizer
    return from_hf_json(tokenizer.to_hf_json(), name=name)


def _published_for(data: bytes, ranks: ReadRanks, file: Path, *, name: str) -> PublishedVocabulary:
    """The published vocabulary that a rank file is."""
    candidates = _published.vocabularies_of_file(ranks.sha256)
    if not candidates:
        # Equal ranks with other line ends, or without the last one.
        lines = [line.strip() for line in data.splitlines()]
        tidy = b"".join(line + b"\n" for line in lines if line)
        candidates = _published.vocabularies_of_file(sha256(tidy))
    if candidates:
        names = (name, name_of_file(file))
        return next((v for wanted in names for v in candidates if v.name == wanted), candidates[0])
    published = _published.published_vocabularies()
    known = published.get(name) or published.get(name_of_file(file))
    if known is None:
        raise FormatError(
            f"{file} is a rank file without a known split pattern\n"
            f"hint: pass pattern=, one of {', '.join(sorted(published_patterns()))}, "
            "or a regular expression",
            path=str(file),
            format=FileFormat.TIKTOKEN.value,
        )
    # Named like a published vocabulary, but something else: damaged, or cut short. The core
    # says best what is wrong with a line; where every line is fine, the content is still not
    # what the name promises, and its ids would be wrong without a sign.
    ranks.tokenizer(pattern=known.pattern, path=str(file))
    n_ranks = sum(1 for line in data.splitlines() if line.strip())
    raise FormatError(
        f"{file} is not the published {known.name}: it has {n_ranks:,} ranks and another SHA-256; "
        f"expected are {known.rank_file.n_ranks:,} ranks and {known.rank_file.sha256[:16]}...\n"
        f"hint: fetch or copy it again; pattern={known.pattern!r} loads it as it is",
        path=str(file),
        format=FileFormat.TIKTOKEN.value,
    )


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


_REFUSED = (FileFormat.OTHER_JSON, FileFormat.BINARY, FileFormat.TEXT)


def load_one(
    file: Path,
    *,
    options: LoadOptions,
    name: str | None,
    config: Mapping[str, Any] | None = None,
) -> tuple[Tokenizer, FileFormat]:
    """The tokenizer of a file, and what the file was.

    Args:
        file: The file, compressed or not.
        options: The caller's options.
        name: The tokenizer's name; None: after the file.
        config: The tokenizer_config.json that belongs to the file, where a folder is loaded.

    Raises:
        FormatError: It is in no supported format, or damaged.
        UsageError: An option does not apply to it.
        LimitError: It is too large.
        OSError: It cannot be read.
    """
    data = read(file)
    found = detect(data, path=str(file))
    label = name or name_of_file(file)
    if found in _REFUSED:
        raise _unsupported(data, file, found)
    refuse_misplaced(options, found, file)
    return _load(data, file, found, options=options, name=label, config=config), found


def _load(
    data: bytes,
    file: Path,
    found: FileFormat,
    *,
    options: LoadOptions,
    name: str,
    config: Mapping[str, Any] | None,
) -> Tokenizer:
    where = str(file)
    # Readers that bring others along are imported where they are needed.
    match found:
        case FileFormat.TIKTOKEN:
            from jeton.formats.single import load_ranks

            return load_ranks(data, file, options=options, name=name)
        case FileFormat.HF_JSON:
            return from_hf_json(data, name=name, path=where)
        case FileFormat.SENTENCEPIECE:
            return from_sentencepiece(data, name=name, path=where)
        case FileFormat.WORDPIECE_TXT:
            from jeton.formats.single import load_word_list

            lowercase = options.lowercase
            return load_word_list(data, file, name=name, lowercase=lowercase, config=config)
        case FileFormat.GPT2_VOCAB | FileFormat.GPT2_MERGES:
            from jeton.formats.pairs import load_pair

            prefix = options.add_prefix_space
            if prefix is None:
                prefix = (config or {}).get("add_prefix_space") is True
            return load_pair(data, file, found, add_prefix_space=prefix, name=name)
        case FileFormat.TEKKEN:
            from jeton.formats.single import as_reference

            tokenizer = from_tekken(data, name=name, path=where)
            return as_reference(tokenizer, options.reference, name=name)
        case FileFormat.CLAUDE:
            return from_claude(data, name=name, path=where)
        case FileFormat.CLIP:
            return from_clip(data, name=name, path=where)
        case FileFormat.RWKV:
            return from_rwkv(data, name=name, path=where)
        case FileFormat.GGUF:
            return load_gguf(data, file, name=name)
        case FileFormat.COMPILED:
            return from_compiled(data, name=name, path=where)
        case _:
            return from_canonical(data, name=name, path=where)


def _unsupported(data: bytes, file: Path, found: FileFormat) -> FormatError:
    if found is FileFormat.OTHER_JSON:
        what = f"{file} is not a tokenizer: {json_seen(data)}"
    else:
        what = f"{file} is not a tokenizer: it holds {found.value} that starts {data[:24]!r}"
    hint = f"supported are {SUPPORTED}"
    if file.name.startswith(("tokenizer_config", "special_tokens_map", "added_tokens", "config.")):
        hint = "give the path of the folder, which this file belongs to"
    return FormatError(f"{what}\nhint: {hint}", path=str(file), format=found.value)
