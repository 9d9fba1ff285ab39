"""One file to a tokenizer: what it is decides how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jeton._core import (
    Tokenizer,
    from_canonical,
    from_claude,
    from_clip,
    from_compiled,
    from_hf_json,
    from_rwkv,
    from_sentencepiece,
    from_tekken,
)
from jeton.errors import FormatError
from jeton.formats.detection import FileFormat, detect, json_seen
from jeton.formats.names import name_of_file
from jeton.formats.options import LoadOptions, refuse_misplaced
from jeton.formats.reading import SUPPORTED, load_gguf, read

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
            from jeton.formats.ranks import load_ranks

            return load_ranks(data, file, options=options, name=name)
        case FileFormat.HF_JSON:
            return from_hf_json(data, name=name, path=where)
        case FileFormat.SENTENCEPIECE:
            return from_sentencepiece(data, name=name, path=where)
        case FileFormat.WORDPIECE_TXT:
            from jeton.formats.bert import load_word_list

            lowercase = options.lowercase
            return load_word_list(data, file, name=name, lowercase=lowercase, config=config)
        case FileFormat.GPT2_VOCAB | FileFormat.GPT2_MERGES:
            from jeton.formats.pairs import load_pair

            prefix = options.add_prefix_space
            if prefix is None:
                prefix = (config or {}).get("add_prefix_space") is True
            return load_pair(data, file, found, add_prefix_space=prefix, name=name)
        case FileFormat.TEKKEN:
            from jeton.formats.ranks import as_reference

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
