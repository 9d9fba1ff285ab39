"""Tokenizers to files; the suffix chooses the format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jeton import _core
from jeton._core import Tokenizer
from jeton._files import write_whole
from jeton.errors import UsageError
from jeton.formats.names import card_path, is_folder_name

__all__ = ["save_file"]


def save_file(
    tokenizer: Tokenizer,
    path: str | Path,
    *,
    training_card: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Save a tokenizer; the suffix chooses the format. Each file is written whole or not at all.

    Args:
        tokenizer: What to save.
        path: ``X.tiktoken``, ``X.jeton.json`` (canonical form) or ``X.json`` (tokenizer.json),
            each also with ``.zst``; a folder, or a name without suffix, becomes a folder with
            ``tokenizer.json``.
        training_card: Written beside it: ``training_card.json`` in a folder, else
            ``X.card.json``.

    Returns:
        The files that were written.

    Raises:
        UsageError: The suffix names no format.
        OSError: The file cannot be written.
    """
    target = Path(path)
    main = target / "tokenizer.json" if is_folder_name(target) else target
    data = _to_bytes(tokenizer, main)
    # Made only once there is something to put into it.
    main.parent.mkdir(parents=True, exist_ok=True)
    write_whole(main, data)
    written = [main]
    if training_card is not None:
        text = json.dumps(training_card, ensure_ascii=False, indent=2) + "\n"
        written.append(card_path(target))
        write_whole(written[-1], text.encode())
    return written


def _to_bytes(tokenizer: Tokenizer, path: Path) -> bytes:
    name = path.name.lower()
    plain = name.removesuffix(".zst")
    if plain.endswith(".tiktoken"):
        data = tokenizer.to_tiktoken()
    elif plain.endswith(".jeton.json"):
        data = tokenizer.to_canonical()
    elif plain.endswith(".json"):
        data = tokenizer.to_hf_json()
    else:
        raise UsageError(
            f"cannot tell the format to save from the name {path.name!r}\n"
            "hint: use .json, .tiktoken or .jeton.json, each also with .zst, or a folder"
        )
    return _core.compress_zstd(data) if plain != name else data
