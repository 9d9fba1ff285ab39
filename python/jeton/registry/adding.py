"""``add`` a tokenizer to the user's cache."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from jeton._files import write_whole
from jeton.errors import UsageError
from jeton.formats import FileFormat, load_file, save_file
from jeton.formats.describing import format_of
from jeton.formats.names import name_of_file
from jeton.registry.finding import find
from jeton.registry.folders import cache_dir
from jeton.registry.loading import FILE_SUFFIXES
from jeton.registry.places import VocabularyEntry

_NAME = r"[A-Za-z0-9][A-Za-z0-9._+-]*"


def add(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
) -> VocabularyEntry:
    """Copy a vocabulary into the user's cache, so that its name works everywhere.

    The file is loaded first: what does not load is not added. A file that says everything
    about its tokenizer is copied as it is; a rank file with a pattern of its own is kept in the
    canonical form, which remembers the pattern.

    Args:
        path: A file or a folder, as for ``load``.
        name: The name to give it; by default the file's name without suffixes.
        pattern: Split pattern of a rank file that is not a published one.
        special_tokens: Special tokens of a rank file, text to id.

    Raises:
        UsageError: The name is not usable, or is that of a bundled tokenizer.
        FormatError: The file is damaged or in no supported format.
        OSError: The file cannot be read, or the cache cannot be written.
    """
    source = Path(path)
    label = name or name_of_file(source.resolve())
    if not re.fullmatch(_NAME, label) or label.lower().endswith(FILE_SUFFIXES):
        raise UsageError(
            f"{label!r} cannot be the name of a vocabulary\n"
            "hint: letters, digits and . _ + - without a file suffix; pass name="
        )
    found = find(label)
    if found is not None and found[0] == "bundled":
        raise UsageError(f"{label!r} is the name of a bundled tokenizer\nhint: pass another name=")
    tokenizer = load_file(source, pattern=pattern, special_tokens=special_tokens, name=label)
    folder = cache_dir()
    suffix = _stored_suffix(source)
    if suffix is None or pattern is not None or special_tokens is not None:
        target = folder / f"{label}.jeton.json.zst"
        save_file(tokenizer.with_name(label), target)
    else:
        target = folder / f"{label}{suffix}"
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(target, source.read_bytes())
    for other in _same_name(folder, label, keep=target):
        # An older copy in another format would win or confuse.
        other.unlink(missing_ok=True)
    return VocabularyEntry(
        name=label,
        where="cache",
        path=target,
        size_bytes=target.stat().st_size,
        available=True,
    )


def _stored_suffix(source: Path) -> str | None:
    """The suffix under which a copy is found again; None: keep the canonical form instead."""
    if source.is_dir() or format_of(source) in (FileFormat.GPT2_VOCAB, FileFormat.GPT2_MERGES):
        # Half of a pair says nothing alone.
        return None
    lower = source.name.lower()
    compressed = next((s for s in (".zst", ".gz") if lower.endswith(s)), "")
    plain = lower.removesuffix(compressed)
    for suffix in (".jeton.json", ".tiktoken", ".json"):
        if plain.endswith(suffix):
            return suffix + compressed
    return None


def _same_name(folder: Path, name: str, *, keep: Path) -> list[Path]:
    return [p for p in folder.iterdir() if p != keep and p.is_file() and name_of_file(p) == name]
