"""Rank files: read, cached as tiktoken caches them, and written.

The cache is a folder of files named by the SHA-1 of their address: ``$TIKTOKEN_CACHE_DIR``, else
``$DATA_GYM_CACHE_DIR``, else ``data-gym-cache`` among temporary files. Empty: there is none.
A cached file counts only if it has the expected SHA-256, where one is expected.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import tempfile
import urllib.request
from contextlib import suppress
from pathlib import Path

from jeton._files import write_whole
from jeton.compat.tiktoken._building import VocabularySizeError
from jeton.errors import FormatError, MissingExtraError, VocabularyError

__all__ = [
    "check_hash",
    "data_gym_to_mergeable_bpe_ranks",
    "dump_tiktoken_bpe",
    "load_tiktoken_bpe",
    "read_file",
    "read_file_cached",
]

_TIMEOUT_SECONDS = 30.0
"""Without an answer for this long, a download is given up."""

_MAX_FILE_BYTES = 1 << 29
"""Largest file downloaded: a hundred times the largest published one."""


def read_file(blobpath: str) -> bytes:
    """The bytes of a file, or of what an address of HTTP gives.

    Other addresses (``gs://``, ``az://``) need the package ``blobfile``.
    """
    if "://" not in blobpath:
        return Path(blobpath).read_bytes()
    if blobpath.startswith(("http://", "https://")):
        request = urllib.request.Request(blobpath, headers={"User-Agent": "jeton"})
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
            data: bytes = response.read(_MAX_FILE_BYTES + 1)
        if len(data) > _MAX_FILE_BYTES:
            raise VocabularyError(f"{blobpath} has more than {_MAX_FILE_BYTES} bytes")
        return data
    try:
        import blobfile
    except ImportError as error:
        raise _no_blobfile(blobpath) from error
    content: bytes = blobfile.read_bytes(blobpath)
    return content


def check_hash(data: bytes, expected_hash: str) -> bool:
    """True if the SHA-256 of the data is this one, in hexadecimal."""
    return hashlib.sha256(data).hexdigest() == expected_hash


def read_file_cached(blobpath: str, expected_hash: str | None = None) -> bytes:
    """`read_file`, from the cache if it is there.

    Raises:
        VocabularyError: The received file does not have the expected SHA-256 (a ``ValueError``).
        OSError: It cannot be read, or a cache that was asked for cannot be written.
    """
    cached = cached_file(blobpath, expected_hash)
    if cached is not None:
        return cached
    data = read_file(blobpath)
    if expected_hash and not check_hash(data, expected_hash):
        raise VocabularyError(
            f"{blobpath} has the SHA-256 {hashlib.sha256(data).hexdigest()}, not {expected_hash}; "
            "is it cut off?"
        )
    folder, chosen = _cache_folder()
    if folder is None:
        return data
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / _cache_name(blobpath), data)
    except OSError:
        if chosen:
            raise
    return data


def cached_file(blobpath: str, expected_hash: str | None = None) -> bytes | None:
    """Contents of the cache for an address; a file with another digest is removed."""
    folder, _ = _cache_folder()
    if folder is None:
        return None
    path = folder / _cache_name(blobpath)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    if expected_hash is None or check_hash(data, expected_hash):
        return data
    with suppress(OSError):
        path.unlink()
    return None


def load_tiktoken_bpe(tiktoken_bpe_file: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """Token bytes and ranks of a ``.tiktoken`` file.

    Raises:
        FormatError: A line is not a token in base64 and a rank (a ``ValueError``).
    """
    ranks: dict[bytes, int] = {}
    lines = read_file_cached(tiktoken_bpe_file, expected_hash).splitlines()
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token)] = int(rank)
        except (ValueError, binascii.Error) as error:
            raise FormatError(
                f"{tiktoken_bpe_file}: line {number}: {line[:80]!r} is not a token in base64 and a "
                "rank",
                path=str(tiktoken_bpe_file),
                format="tiktoken",
                line=number,
            ) from error
    return ranks


def dump_tiktoken_bpe(bpe_ranks: dict[bytes, int], tiktoken_bpe_file: str) -> None:
    """Write a ``.tiktoken`` file, by rank. A path; other addresses need ``blobfile``."""
    rows = sorted(bpe_ranks.items(), key=lambda row: row[1])
    data = b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in rows)
    if "://" not in str(tiktoken_bpe_file):
        write_whole(tiktoken_bpe_file, data)
        return
    try:
        import blobfile
    except ImportError as error:
        raise _no_blobfile(tiktoken_bpe_file) from error
    with blobfile.BlobFile(tiktoken_bpe_file, "wb") as file:
        file.write(data)


def data_gym_to_mergeable_bpe_ranks(
    vocab_bpe_file: str,
    encoder_json_file: str,
    vocab_bpe_hash: str | None = None,
    encoder_json_hash: str | None = None,
    clobber_one_byte_tokens: bool = False,  # noqa: FBT001, FBT002 - tiktoken's signature
) -> dict[bytes, int]:
    """Ranks from GPT-2's two files, ``vocab.bpe`` and ``encoder.json``.

    Raises:
        VocabularySizeError: The files contradict one another (an ``AssertionError``).
    """
    printable = [byte for byte in range(256) if chr(byte).isprintable() and chr(byte) != " "]
    others = [byte for byte in range(256) if byte not in printable]
    alphabet = {chr(byte): byte for byte in printable}
    alphabet |= {chr(256 + place): byte for place, byte in enumerate(others)}

    def to_bytes(text: str) -> bytes:
        return bytes(alphabet[character] for character in text)

    ranks = {bytes([byte]): rank for rank, byte in enumerate([*printable, *others])}
    lines = read_file_cached(vocab_bpe_file, vocab_bpe_hash).decode().split("\n")
    for rank, line in enumerate(lines[1:-1], len(ranks)):
        left, right = line.split()
        ranks[to_bytes(left) + to_bytes(right)] = rank
    listed = json.loads(read_file_cached(encoder_json_file, encoder_json_hash))
    encoder = {
        to_bytes(token): token_id
        for token, token_id in listed.items()
        if token not in ("<|endoftext|>", "<|startoftext|>")
    }
    if clobber_one_byte_tokens:
        ranks |= {token: token_id for token, token_id in encoder.items() if len(token) == 1}
    if ranks != encoder:
        raise VocabularySizeError(
            f"{vocab_bpe_file} and {encoder_json_file} contradict one another: the ids of the "
            "second are not the order of the first"
        )
    return ranks


def _cache_folder() -> tuple[Path | None, bool]:
    """The folder, None if there is to be none; and whether somebody chose it."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        chosen = os.environ.get(variable)
        if chosen is not None:
            return (Path(chosen) if chosen else None), True
    return Path(tempfile.gettempdir()) / "data-gym-cache", False


def _cache_name(blobpath: str) -> str:
    return hashlib.sha1(blobpath.encode(), usedforsecurity=False).hexdigest()


def _no_blobfile(address: str) -> MissingExtraError:
    error = MissingExtraError(f"the address {address}", extra="blobfile")
    error.args = (f"the address {address} needs the package blobfile\nhint: pip install blobfile",)
    return error
