"""Tokenizers by name, loaded once, and loaded again when the digest of their files changes."""

from __future__ import annotations

import hashlib
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jeton._core import Tokenizer
from jeton._nearest import nearest
from jeton.errors import FormatError, JetonError, UnknownTokenizerError
from jeton.formats import load_file
from jeton.registry import TokenizerLike, load, place_of

_COMPILED = b"\x93JETO"
_MAX_FOLDER_FILES = 64
_FILES_OF_FOLDERS = ("*.json", "*.model", "*.tiktoken", "*.jinja", "vocab.*", "merges.txt")


@dataclass(frozen=True, slots=True)
class ServedTokenizer:
    """One tokenizer as it is served now.

    Attributes:
        name: Name that requests use.
        tokenizer: The tokenizer.
        fingerprint: SHA-256 of its canonical form.
        digest: SHA-256 of its files; empty: it was given as an object.
    """

    name: str
    tokenizer: Tokenizer
    fingerprint: str
    digest: str


@dataclass(frozen=True, slots=True)
class ReloadedTokenizer:
    """Outcome of a look at one tokenizer's files.

    Attributes:
        name: Its name.
        error: Reason why the old one still serves; empty: the new one does.
    """

    name: str
    error: str = ""


class ServedTokenizers:
    """The tokenizers of a service. Readers take no lock: a change replaces the whole table."""

    def __init__(self, given: Mapping[str, TokenizerLike], *, max_uploads: int = 0) -> None:
        self._given = dict(given)
        self._table = {name: self._load(name) for name in self._given}
        self._default = next(iter(self._table.values()))
        self._uploads: OrderedDict[str, ServedTokenizer] = OrderedDict()
        self._max_uploads = max_uploads
        self._lock = threading.Lock()

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the order given, uploaded ones last."""
        return (*self._table, *self._uploads)

    def all(self) -> tuple[ServedTokenizer, ...]:
        """Tokenizers in the order of their names."""
        return (*self._table.values(), *self._uploads.values())

    def get(self, name: str | None) -> ServedTokenizer:
        """Return a tokenizer; None: the default.

        Raises:
            UnknownTokenizerError: The service does not have it.
        """
        if name is None:
            return self._default
        found = self._table.get(name) or self._uploads.get(name)
        if found is None:
            raise UnknownTokenizerError(
                name,
                nearest=nearest(name, self.names),
                hint=f"this service has {', '.join(self.names)}",
            )
        return found

    def several(self, names: Iterable[str]) -> list[ServedTokenizer]:
        """Return tokenizers by their names."""
        return [self.get(name) for name in names]

    def upload(self, data: bytes) -> ServedTokenizer:
        """Load a tokenizer's file that a client sent; the one used longest ago makes room.

        Raises:
            FormatError: The bytes are no file of a known format.
        """
        if data.startswith(_COMPILED):
            raise FormatError("a compiled tokenizer is for its own machine\nhint: send its source")
        with tempfile.NamedTemporaryFile(prefix="jeton-upload-") as file:
            file.write(data)
            file.flush()
            try:
                tokenizer = load_file(file.name)
            except FormatError as error:
                # The temporary file's name would tell the client nothing.
                said = str(error).replace(file.name, "the file")
                raise FormatError(said, format=error.format, line=error.line) from None
        name = f"upload-{tokenizer.fingerprint[:12]}"
        served = ServedTokenizer(name, tokenizer, tokenizer.fingerprint, _sha256([data]))
        with self._lock:
            self._uploads[name] = served
            self._uploads.move_to_end(name)
            while len(self._uploads) > self._max_uploads:
                self._uploads.popitem(last=False)
        return served

    def reload(self) -> list[ReloadedTokenizer]:
        """Load the tokenizers again whose files have another digest.

        A file that does not load leaves the old tokenizer in place.
        """
        outcomes = []
        with self._lock:
            table = dict(self._table)
            for name, served in table.items():
                try:
                    if not served.digest or _digest(self._given[name]) == served.digest:
                        continue
                    table[name] = self._load(name)
                except (JetonError, OSError) as error:
                    outcomes.append(ReloadedTokenizer(name, str(error).split("\n")[0]))
                else:
                    outcomes.append(ReloadedTokenizer(name))
            self._table = table
            self._default = next(iter(table.values()))
        return outcomes

    def _load(self, name: str) -> ServedTokenizer:
        given = self._given[name]
        if isinstance(given, Tokenizer):
            return ServedTokenizer(name, given, given.fingerprint, "")
        # The digest first: a file that changes meanwhile is seen at the next look.
        digest = _digest(given)
        tokenizer = load(given)
        return ServedTokenizer(name, tokenizer, tokenizer.fingerprint, digest)


def _digest(given: TokenizerLike) -> str:
    """SHA-256 of the files of a tokenizer; empty: it has none."""
    if isinstance(given, Tokenizer):
        return ""
    place = place_of(given) or Path(given)
    if place.is_file():
        return _sha256([place.read_bytes()])
    if not place.is_dir():
        return ""
    files = sorted({file for pattern in _FILES_OF_FOLDERS for file in place.glob(pattern)})
    return _sha256(
        part
        for file in files[:_MAX_FOLDER_FILES]
        if file.is_file()
        for part in (file.name.encode(), file.read_bytes())
    )


def _sha256(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()
