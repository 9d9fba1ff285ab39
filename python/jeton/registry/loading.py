"""``load`` a tokenizer by name or path."""

from __future__ import annotations

import os
import weakref
from _thread import allocate_lock  # `threading` takes 0.5 ms to import
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jeton._core import Tokenizer
from jeton.errors import UnknownTokenizerError
from jeton.registry.index import (
    CacheChoice,
    Sources,
    compiled_dir,
    look_up,
    read_entry,
    said_of,
    state_of,
)

# The other modules are imported where they are needed. A compiled tokenizer loads in some
# milliseconds, and should not wait ten times as long for the readers of files. For the same reason
# no pattern is compiled before it is needed, and no class made that only type checkers see.
if TYPE_CHECKING:
    from typing import TypedDict

    from jeton.formats import Reference

    class _Options(TypedDict):
        """Keywords of ``load_file`` that go through unchanged."""

        pattern: str | None
        special_tokens: Mapping[str, int] | None
        lowercase: bool | None
        add_prefix_space: bool | None
        reference: Reference | None


FILE_SUFFIXES = (".json", ".tiktoken", ".model", ".txt", ".gguf", ".jetonc")


# Files that are loaded twice share one tokenizer, as long as somebody holds it: a vocabulary of
# 200,000 tokens is large, and its word cache is worth sharing too.
_loaded: weakref.WeakValueDictionary[tuple[object, ...], Tokenizer] = weakref.WeakValueDictionary()
_loaded_lock = allocate_lock()


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
        lowercase: True if a WordPiece vocab.txt wants text in lower case; None: what a
            tokenizer_config.json beside it says, else what its words look like.
        add_prefix_space: True if a vocab.json with merges.txt wants a space before a text.
        reference: The library whose ids to give, where another one than the file's own may run it
            (``"hf"`` for rank files).
        cache: True if compiled tokenizers are kept in the user's cache, so that the next load takes
            some milliseconds (docs/guides/loading.md); a path: in this folder. The environment
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
        path = _user_path(name_or_path)
        cached = None if os.path.lexists(path) else _in_hub_cache(name_or_path)
        if cached is not None:
            return _load(cached, options=options, name=str(name_or_path), cache=cache)
        other = _of_model(name_or_path, path, download=download)
        if other is not None:
            return load(other, download=download, cache=cache, **options)
        if not os.path.lexists(path):
            _refuse_hub_name(name_or_path)
            from jeton.formats.homes import missing_path

            raise missing_path(path)
        return _load(path, options=options, name=None, cache=cache)
    name = name_or_path
    from jeton.registry.finding import find

    found = find(name)
    if found is not None:
        place, path = found
        # The newest version of a bundled tokenizer says which one it is.
        from jeton.formats.names import name_of_file

        label = name_of_file(path) if place == "bundled" else name
        return _load(path, options=options, name=label, cache=cache)
    if name and Path(name).exists():
        return load(Path(name), download=download, cache=cache, **options)
    cached = _in_hub_cache(name)
    if cached is not None:
        return _load(cached, options=options, name=name, cache=cache)
    from jeton import _published

    if name in _published.published_vocabularies():
        if not download:
            raise _not_at_hand(name)
        from jeton.registry import fetching

        return _load(fetching.fetch(name), options=options, name=name, cache=cache)
    other = _of_model(name, None, download=download)
    if other is not None:
        return load(other, download=download, cache=cache, **options)
    from jeton._nearest import nearest
    from jeton.registry.model_families import known_model
    from jeton.registry.places import known_names

    known = known_model(name)
    raise UnknownTokenizerError(name, nearest=(known,) if known else nearest(name, known_names()))


def _is_path(text: str) -> bool:
    separators = {os.sep, os.altsep or os.sep}
    return any(s in text for s in separators) or _has_file_suffix(text) or text in (".", "~")


def _has_file_suffix(text: str) -> bool:
    plain = text.lower().removesuffix(".zst").removesuffix(".gz")
    return plain.endswith(FILE_SUFFIXES)


def _user_path(path: str | os.PathLike[str]) -> Path:
    if not str(path).startswith("~"):
        return Path(path)
    from jeton.formats.names import user_path

    return user_path(path)


def _in_hub_cache(name: str | os.PathLike[str]) -> Path | None:
    """A model of this name in the local Hugging Face cache; None where it is not there."""
    from jeton.formats.homes import cached_repository

    return cached_repository(name) if isinstance(name, str) else None


def _refuse_hub_name(name: str | os.PathLike[str]) -> None:
    """Say how to get a model of the hub. Names with a suffix are paths like any other.

    Raises:
        UnknownTokenizerError: It is the name of a model on the hub.
    """
    from jeton.formats.homes import is_repository_name

    if not isinstance(name, str) or not is_repository_name(name) or _has_file_suffix(name):
        return
    error = UnknownTokenizerError(name)
    error.args = (
        f"there is no file or folder {name!r}, and the local Hugging Face cache has no model of "
        f"this name\nhint: nothing is fetched; `hf download {name} --include '*token*'` brings it "
        "into the cache, where it is found by its name",
    )
    raise error


def _of_model(
    given: str | os.PathLike[str], path: Path | None, *, download: bool
) -> str | Path | None:
    """Further sources where a model was named, or its configuration; None: no model was."""
    if path is not None and path.exists():
        if path.name == "config.json" and path.is_file():
            return path.parent
        return _of_folder(path, download=download) if path.is_dir() else None
    if not isinstance(given, str) or given.lower().endswith(FILE_SUFFIXES):
        return None
    from jeton.registry.of_models import vocabulary_of_model

    return vocabulary_of_model(given, download=download)


def _of_folder(path: Path, *, download: bool) -> str | None:
    """The vocabulary of a folder that has no tokenizer and says which model it is of."""
    from jeton.formats.homes import adapted_model, find_tokenizer_file, resolve_folder

    folder = resolve_folder(path)
    if (folder / "tokenizer.json").is_file() or find_tokenizer_file(folder) is not None:
        return None
    from jeton.registry.of_models import vocabulary_of_config, vocabulary_of_model

    base = adapted_model(folder)
    if base is not None:
        return vocabulary_of_model(base, download=download)
    return vocabulary_of_config(folder)


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
    if not path.is_dir():
        tokenizer = _load_known(path, options=options, name=name, cache=cache)
        if path.suffix.lower() == ".gguf":
            _remember(tokenizer, path)
        return tokenizer
    from jeton.formats.homes import folder_label, resolve_folder

    folder = resolve_folder(path)
    if folder != path:
        # Its own name, not that of a revision.
        name = name or folder_label(path)
    tokenizer = _load_known(folder, options=options, name=name, cache=cache)
    _remember(tokenizer, folder)
    return tokenizer


def _remember(tokenizer: Tokenizer, path: Path) -> None:
    from jeton.formats.model_settings import remember

    remember(tokenizer, path)


def _load_known(
    path: Path, *, options: _Options, name: str | None, cache: CacheChoice
) -> Tokenizer:
    special_tokens = options["special_tokens"]
    choices = (
        *(value for option, value in sorted(options.items()) if option != "special_tokens"),
        None if special_tokens is None else tuple(sorted(special_tokens.items())),
        name,
    )
    folder = compiled_dir(cache)
    said = said_of(path, choices)
    if folder is not None and (known := look_up(path, said=said, folder=folder)) is not None:
        entry_name, sources = known
        key = _key(path, sources, choices)
        tokenizer = _held(key)
        if tokenizer is None:
            tokenizer = read_entry(folder, entry_name)
        if tokenizer is not None:
            return _hold(key, tokenizer)
    from jeton.registry.compiled import load_through, sources_of

    try:
        sources = sources_of(path)
    except OSError:
        # In any case the reader of the folder says it best.
        return _load_file(path, options=options, name=name)
    key = _key(path, sources, choices)
    if key is not None and state_of(path) is None:
        path.stat()  # says why
    tokenizer = _held(key)
    if tokenizer is not None:
        return tokenizer
    if folder is None:
        return _hold(key, _load_file(path, options=options, name=name))
    tokenizer = load_through(
        path,
        sources=sources,
        said=said,
        folder=folder,
        load=lambda: _load_file(path, options=options, name=name),
    )
    return _hold(key, tokenizer)


def _key(path: Path, sources: Sources, choices: tuple[object, ...]) -> tuple[object, ...] | None:
    """Key of a tokenizer among those that a caller holds; None: folders are read each time."""
    if path.is_dir():
        return None
    states = [(file, s.st_mtime_ns, s.st_size, s.st_ino) for file, s in sources if s is not None]
    return (os.path.abspath(path), *states, *choices)  # noqa: PTH100


def _held(key: tuple[object, ...] | None) -> Tokenizer | None:
    with _loaded_lock:
        return None if key is None else _loaded.get(key)


def _hold(key: tuple[object, ...] | None, tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer, or the one that another thread has loaded meanwhile."""
    with _loaded_lock:
        return tokenizer if key is None else _loaded.setdefault(key, tokenizer)


def _load_file(path: Path, *, options: _Options, name: str | None) -> Tokenizer:
    from jeton.formats import load_file

    return load_file(path, name=name, **options)
