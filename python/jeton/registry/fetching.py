"""Download a published vocabulary, checked against its SHA-256.

``add`` a tokenizer to the user's cache.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from jeton._files import write_whole
from jeton._nearest import nearest
from jeton._published import RankFile, published_vocabularies
from jeton.errors import UnknownTokenizerError, UsageError, VocabularyError
from jeton.formats import FileFormat, load_file, save_file
from jeton.formats.describing import format_of
from jeton.formats.names import name_of_file
from jeton.registry.finding import cache_dir, find
from jeton.registry.loading import FILE_SUFFIXES
from jeton.registry.places import VocabularyEntry, known_names

_TIMEOUT_SECONDS = 30.0
"""Without an answer for this long, a download is given up."""

_PIECE_BYTES = 1 << 16
_BY_HAND = (
    "hint: HTTPS_PROXY names a proxy; or download the address elsewhere, then "
    "`jeton vocab add FILE --name {}`"
)


def fetch(name: str, *, _address: str | None = None) -> Path:
    """Download a published vocabulary into the cache and return its file.

    A file that is already there and has the right digest is kept. Nothing appears under the
    name before the digest is right.

    Args:
        name: The name of a published vocabulary.
        _address: Another address, for tests.

    Raises:
        UnknownTokenizerError: No such published vocabulary.
        VocabularyError: It has no public address, or what came is not what was published.
        OSError: The network or the disk failed.
    """
    published = published_vocabularies().get(name)
    if published is None:
        names = [v.name for v in published_vocabularies().values() if v.rank_file.url]
        hint = ""
        if name in known_names():
            hint = "it is at hand but not published; `jeton.load` finds it"
        raise UnknownTokenizerError(name, nearest=nearest(name, names), hint=hint)
    file = published.rank_file
    address = _address or file.url
    if address is None:
        raise VocabularyError(
            f"{name} has no public address that may be used without agreeing to terms\n"
            f"hint: get the file from its publisher, then `jeton vocab add FILE --name {name}`"
        )
    target = cache_dir() / f"{file.name}.tiktoken"
    if target.is_file() and hashlib.sha256(target.read_bytes()).hexdigest() == file.sha256:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # Beside the target, so that the last step is a rename; gone with the folder if anything fails.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as folder:
        part = Path(folder) / target.name
        _download(address, part, file)
        part.replace(target)
    return target


def _download(address: str, part: Path, file: RankFile) -> None:
    digest = hashlib.sha256()
    n_bytes = 0
    try:
        request = urllib.request.Request(address, headers={"User-Agent": "jeton"})
        with (
            urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response,
            part.open("wb") as out,
        ):
            while piece := response.read(_PIECE_BYTES):
                n_bytes += len(piece)
                if n_bytes > file.n_bytes:
                    break
                digest.update(piece)
                out.write(piece)
    except urllib.error.HTTPError as error:
        raise ConnectionError(
            f"cannot download {file.name}: {address} answered {error.code} {error.reason}\n"
            f"{_BY_HAND.format(file.name)}"
        ) from None
    except urllib.error.URLError as error:
        raise ConnectionError(
            f"cannot download {file.name} from {address}: {error.reason}\n"
            f"{_BY_HAND.format(file.name)}"
        ) from None
    except (http.client.HTTPException, TimeoutError) as error:
        raise ConnectionError(
            f"cannot download {file.name} from {address}: {error or type(error).__name__}\n"
            f"{_BY_HAND.format(file.name)}"
        ) from None
    if n_bytes != file.n_bytes or digest.hexdigest() != file.sha256:
        came = f"more than {file.n_bytes:,}" if n_bytes > file.n_bytes else f"{n_bytes:,}"
        raise VocabularyError(
            f"{address} is not the published {file.name}: {came} bytes came with another SHA-256; "
            f"expected are {file.n_bytes:,} bytes and {file.sha256}\n"
            "hint: nothing was kept; try again, or check the network for a proxy"
        )


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
