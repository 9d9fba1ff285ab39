"""One tokenizer in every file format that a library may ask for, or why it has none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jeton._core import Tokenizer
from jeton.errors import JetonError

FORMATS = {
    "tiktoken": "tokenizer.tiktoken",
    "tokenizer.json": "tokenizer.json",
    "sentencepiece": "tokenizer.model",
}
"""Formats of the libraries, and their files."""


def write_formats(tokenizer: Tokenizer, folder: Path) -> dict[str, Any]:
    """Write the formats that hold the tokenizer exactly.

    Returns:
        Paths by format; ``FORMAT_why`` where there is none; ``own``: Jeton's own file; ``name``,
        ``pattern``, ``folder``.
    """
    own = folder / "own.jeton.json"
    tokenizer.save(own, format="jeton")
    files: dict[str, Any] = {
        "own": str(own),
        "name": tokenizer.name or "",
        "pattern": tokenizer.split_pattern,
        "folder": str(folder),
    }
    for format_name, file_name in FORMATS.items():
        path = folder / file_name
        try:
            # The pattern and the special tokens of a rank file stand beside it: no loss.
            tokenizer.save(path, format=format_name)
        except (JetonError, OSError) as error:
            path.unlink(missing_ok=True)
            files[f"{format_name}_why"] = (
                f"the tokenizer does not fit into its format ({str(error).splitlines()[0]})"
            )
        else:
            files[format_name] = str(path)
    return files
