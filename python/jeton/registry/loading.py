"""``load`` a tokenizer by name or path, ``add`` one to the cache."""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from jeton._core import Tokenizer
from jeton.errors import UnknownTokenizerError, UsageError
from jeton.formats.names import name_of_file
from jeton.registry.compiled import (
    CacheChoice,
    Sources,
    compiled_dir,
    load_through,
    sources_of,
)
from jeton.registry.finding import cache_dir, find

# What follows is imported where it is needed: who loads a compiled tokenizer, which takes some
# milliseconds, should not wait ten times as long for the readers of files. For the same
# reason no pattern is compiled before it is needed, and no class made that only type checkers see.
if TYPE_CHECKING:
    from typing import TypedDict

    from jeton.formats import Reference
    from jeton.registry.places import VocabularyEntry

    class _Options(TypedDict):
        """Keywords of ``load_file`` that go through unchanged."""

        pattern: str | None
        special_tokens: Mapping[str, int] | None
        lowercase: bool | None
        add_prefix_space: bool | None
        reference: Reference | None


__all__ = ["add", "load"]

_FILE_SUFFIXES = (".json", ".tiktoken", ".model", ".txt", ".gguf", ".jetonc")
_NAME = r"[A-Za-z0-9][A-Za-z0-9._+-]*"


# Files that are loaded twice share one tokenizer, as long as somebody holds it: a vocabulary of
# 200,000 tokens is large, and its word cache is worth sharing too.
_loaded: weakref.WeakValueDictionary[tuple[object, ...], Tokenizer] = weakref.WeakValueDictionary()
_loaded_lock = Lock()


def load(
    name_or_path: str | os.PathLike[str],
    *,
    download: bool = False,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    lowercase: bool | None = None,
    add_prefix_space: bool | None = None,
    reference: Reference | None = None,
    cache: CacheChoice = True,
) -> Tokenizer:
    """Load a tokenizer by its name, or from a file or folder.

    A string with a path separator or a file suffix is a path. Any other string is a name
    first, so that a stray file in the working directory cannot change what a name means, and a
    path where there is no such name.

    Args:
        name_or_path: ``"cl100k_base"``, ``"jeton-general-32k"``, ``"my/tokenizer.json"`` ...
        download: Fetch a published vocabulary that is not at hand.
        pattern: Split pattern of a rank file that is not a published one.
        special_tokens: Special tokens of a rank file, text to id.
        lowercase: Whether a WordPiece vocab.txt wants text in lower case; None: what a
            tokenizer_config.json beside it says, else what its words look like.
        add_prefix_space: Whether a vocab.json with merges.txt wants a space before a text.
        reference: Whose ids to give, where another library than the file's own may run it
            (``"hf"`` for rank files).
        cache: Whether compiled tokenizers are kept in the user's cache, so that the next load
            takes some milliseconds (docs/loading.md); a path: in this folder. The environment
            variable ``JETON_COMPILED_CACHE=0`` switches the user's cache off.

    Raises:
        UnknownTokenizerError: No such name; the nearest names are offered.
        FormatError: The file is damaged or in no supported format.
        UsageError: An option does not apply to the format of the file.
        OSError: The file cannot be read, or the download failed.
    """
    options: _Options = {
        "pattern": pattern,
        "special_tokens": special_tokens,
        "lowercase": lowercase,
        "add_prefix_space": add_prefix_space,
        "reference": reference,
    }
    if not isinstance(name_or_path, str) or _is_path(name_or_path):
        return _load(Path(name_or_path), options=options, name=None, cache=cache)
    name = name_or_path
    found = find(name)
    if found is not None:
        place, path = found
        # The newest version of a bundled tokenizer says which one it is.
        label = name_of_file(path) if place == "bundled" else name
        return _load(path, options=options, name=label, cache=cache)
    if name and Path(name).exists():
        return _load(Path(name), options=options, name=None, cache=cache)
    from jeton import _published

    if name in _published.published_vocabularies():
        if not download:
            raise _not_at_hand(name)
        from jeton.registry import fetching

        return _load(fetching.fetch(name), options=options, name=name, cache=cache)
    from jeton._nearest import nearest
    from jeton.registry.places import known_names

    raise UnknownTokenizerError(name, nearest=nearest(name, known_names()))


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
    from jeton._files import write_whole
    from jeton.formats import load_file, save_file
    from jeton.registry.places import VocabularyEntry

    source = Path(path)
    label = name or name_of_file(source.resolve())
    if not re.fullmatch(_NAME, label) or label.lower().endswith(_FILE_SUFFIXES):
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


def _is_path(text: str) -> bool:
    plain = text.lower().removesuffix(".zst").removesuffix(".gz")
    separators = {os.sep, os.altsep or os.sep}
    return any(s in text for s in separators) or plain.endswith(_FILE_SUFFIXES) or text == "."


def _not_at_hand(name: str) -> UnknownTokenizerError:
    from jeton.registry.places import how_to_get

    error = UnknownTokenizerError(name)
    # The class builds the message for names that mean nothing; this one does mean something.
    error.args = (
        f"tokenizer {name!r} is published, but not at hand\n"
        f"hint: `{how_to_get(name)}` brings it; $JETON_VOCAB_DIR may name a folder that has it",
    )
    return error


def _load(path: Path, *, options: _Options, name: str | None, cache: CacheChoice) -> Tokenizer:
    special_tokens = options["special_tokens"]
    said = (
        *(value for option, value in sorted(options.items()) if option != "special_tokens"),
        None if special_tokens is None else tuple(sorted(special_tokens.items())),
        name,
    )

    def load(sources: Sources) -> Tokenizer:
        folder = compiled_dir(cache)
        if folder is None:
            return _load_file(path, options=options, name=name)
        return load_through(
            path,
            sources=sources,
            key=said,
            folder=folder,
            load=lambda: _load_file(path, options=options, name=name),
        )

    if path.is_dir():
        try:
            sources = sources_of(path)
        except OSError:
            # Whatever it is, who reads the folder says it best.
            return _load_file(path, options=options, name=name)
        return load(sources)
    sources = sources_of(path)
    if sources[0][1] is None:
        path.stat()  # says why
    states = [(place, s.st_mtime_ns, s.st_size, s.st_ino) for place, s in sources if s is not None]
    key = (os.path.realpath(path), *states, *said)
    with _loaded_lock:
        tokenizer = _loaded.get(key)
    if tokenizer is None:
        tokenizer = load(sources)
        with _loaded_lock:
            tokenizer = _loaded.setdefault(key, tokenizer)
    return tokenizer


def _load_file(path: Path, *, options: _Options, name: str | None) -> Tokenizer:
    from jeton.formats import load_file

    return load_file(path, name=name, **options)


def _stored_suffix(source: Path) -> str | None:
    """The suffix under which a copy is found again; None: keep the canonical form instead."""
    from jeton.formats import FileFormat
    from jeton.formats.describing import format_of

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
