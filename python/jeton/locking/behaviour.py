"""Behaviour that a lock records: components of a tokenizer, and its cuts of probe texts.

The cuts are kept and not the ids: a change can then be shown in the text itself, without either
vocabulary, and they are a few kilobytes for the 500 texts of the probe.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from jeton._core import Tokenizer, __version__, compress_zstd, decompress
from jeton._foreign import json_of
from jeton.errors import EncodeError, FormatError
from jeton.registry.finding import place_of

_DIGEST_BYTES = 8
"""Bytes of the digest of one text's ids. Two different lists agree by chance in one of 10^19 cases.
"""

_CANNOT_ENCODE = b"\0" * _DIGEST_BYTES

_MAX_CUTS_BYTES = 64 << 20
"""Cuts that decompress to more are not of a list of short texts: guards against hostile files."""


@dataclass(frozen=True, slots=True)
class TextBehaviour:
    """Behaviour on one text.

    Attributes:
        digest: Digest of its ids; all zero for a text that cannot be encoded.
        lengths: Code points that each token covers, 0 for a token that ends inside the character
            that the token before it ends in.
    """

    digest: bytes
    lengths: tuple[int, ...]

    @property
    def n_tokens(self) -> int | None:
        """Its tokens; None if it cannot be encoded."""
        return None if self.digest == _CANNOT_ENCODE else len(self.lengths)

    def pieces(self, text: str) -> tuple[str, ...]:
        """The text as it is cut; what no token covers is with the token behind it."""
        pieces, start = [], 0
        for length in self.lengths:
            pieces.append(text[start : start + length])
            start += length
        return tuple(pieces)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Behaviour of a tokenizer on each of a list of texts, in their order."""

    texts: tuple[TextBehaviour, ...]

    @classmethod
    def of(cls, tokenizer: Tokenizer, texts: Sequence[str]) -> Behaviour:
        """Encode the texts, without special tokens."""
        return cls(tuple(_behaviour(tokenizer, text) for text in texts))

    @property
    def n_tokens(self) -> int:
        """Tokens of all texts that can be encoded."""
        return sum(text.n_tokens or 0 for text in self.texts)

    def to_plain(self) -> dict[str, Any]:
        """As JSON values."""
        lengths = json.dumps([list(text.lengths) for text in self.texts], separators=(",", ":"))
        return {
            "n_texts": len(self.texts),
            "n_tokens": self.n_tokens,
            "digests": _base64(b"".join(text.digest for text in self.texts)),
            "cuts": _base64(compress_zstd(lengths.encode("ascii"))),
        }

    @classmethod
    def from_plain(cls, plain: Any) -> Behaviour:
        """From JSON values.

        Raises:
            FormatError: They are none.
        """
        try:
            digests = base64.b64decode(plain["digests"], validate=True)
            packed = base64.b64decode(plain["cuts"], validate=True)
            cuts = json_of(decompress(packed, max_bytes=_MAX_CUTS_BYTES))
            n = len(cuts)
            if plain["n_texts"] != n or len(digests) != n * _DIGEST_BYTES:
                raise FormatError(f"the lock has {len(digests)} bytes of digests for {n} texts")
            texts = []
            for i, lengths in enumerate(cuts):
                if not all(type(length) is int and length >= 0 for length in lengths):
                    raise FormatError(f"the cuts of text {i} of the lock are damaged")
                digest = digests[i * _DIGEST_BYTES : (i + 1) * _DIGEST_BYTES]
                texts.append(TextBehaviour(digest, tuple(lengths)))
        except FormatError:
            raise
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise FormatError(f"the behaviour in the lock is damaged: {error}") from None
        return cls(tuple(texts))


def _behaviour(tokenizer: Tokenizer, text: str) -> TextBehaviour:
    try:
        encoding = tokenizer.encode_with_offsets(text)
    except EncodeError:
        return TextBehaviour(_CANNOT_ENCODE, ())
    ids = np.asarray(encoding.ids, dtype="<u4").tobytes()
    # Ends may go back where a tokenizer reorders; a cut is then where it has been already.
    ends = np.maximum.accumulate(encoding.ends) if len(encoding.ends) else encoding.ends
    lengths = np.diff(ends, prepend=0)
    return TextBehaviour(
        blake2b(ids, digest_size=_DIGEST_BYTES).digest(), tuple(int(n) for n in lengths)
    )


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


MAX_WRITTEN_CHARS = 2_000
"""Parts whose JSON is longer (vocabularies, merges) are kept as digest and size."""

_LIBRARIES = ("numpy", "sentencepiece", "tiktoken", "tokenizers", "transformers")
"""Libraries beside Jeton that give ids, or that such are built on."""

_FOLDER_FILES = (
    "*.model",
    "*.tiktoken",
    "added_tokens.json",
    "chat_template.*",
    "merges.txt",
    "special_tokens_map.json",
    "tekken.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "vocab.txt",
)
"""Files of a model's folder that decide ids, or what is put around them."""


@dataclass(frozen=True, slots=True)
class LockedFile:
    """One file of a tokenizer."""

    name: str
    sha256: str
    n_bytes: int


def components_of(tokenizer: Tokenizer) -> dict[str, Any]:
    """The parts of the canonical form, those of the model one by one, sorted by name."""
    tree: dict[str, Any] = json.loads(tokenizer.to_canonical())
    tree.pop("jeton", None)
    parts: dict[str, Any] = {}
    for name, value in tree.items():
        if name == "model" and isinstance(value, Mapping):
            for key, part in value.items():
                parts[f"model.{key}"] = _short(part)
        else:
            parts[name] = _short(value)
    return dict(sorted(parts.items()))


def files_of(asked: str) -> tuple[LockedFile, ...]:
    """The files that a name or path stands for, sorted by name; none where it has none."""
    path = place_of(asked)
    if path is None:
        return ()
    if path.is_dir():
        paths = sorted({p for pattern in _FOLDER_FILES for p in path.glob(pattern) if p.is_file()})
    else:
        paths = [path] if path.is_file() else []
    return tuple(_file(p) for p in paths)


def library_versions() -> dict[str, str]:
    """Versions of the libraries around tokenization that are installed; none is imported."""
    versions = {"jeton": __version__}
    for name in _LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _short(value: Any) -> Any:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    if len(text) <= MAX_WRITTEN_CHARS:
        return value
    n_items = len(value) if isinstance(value, list | dict) else 1
    return {
        "sha256": sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        "n_chars": len(text),
        "n_items": n_items,
    }


def _file(path: Path) -> LockedFile:
    digest = sha256()
    n_bytes = 0
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
            n_bytes += len(block)
    return LockedFile(path.name, digest.hexdigest(), n_bytes)
