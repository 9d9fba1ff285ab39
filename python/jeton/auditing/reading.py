"""Documents and request logs as one kind of portion, whatever they were read from.

A portion is a batch of texts of one input with the domain of each. Domains are numbered in the
order in which they appear, up to a limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch
from jeton.corpus import DocumentStream, InputFile
from jeton.corpus.inputs import STANDARD_INPUT

__all__ = [
    "MAX_DOMAINS",
    "OTHER_DOMAINS",
    "DocumentPortions",
    "DomainNames",
    "Domains",
    "Portion",
    "Portions",
]

MAX_DOMAINS = 1_000
"""Domains told apart. A folder may hold a million files, each its own domain: what comes later is
counted together, and no total changes."""

OTHER_DOMAINS = "(other domains)"
"""The name under which domains beyond the limit are counted together."""

MAX_DOMAINS_OF_ITSELF = 20
"""Without being asked, files or folders are taken for domains where there are 2 to 20 of them: as
many as a table shows on one page."""

Domains: TypeAlias = Literal["auto", "file", "folder", "none"]
"""What makes a domain: each input file, its folder, nothing; ``auto``: files or folders where
they are few."""


@dataclass(frozen=True, slots=True, eq=False)
class Portion:
    """Texts of one input.

    Attributes:
        source: Path of the input.
        texts: The documents, or what requests send.
        domains: int32 (n,), the number of each text's domain; -1: none. None: no text has one.
        overhead_tokens: int64 (n,), tokens that a chat format adds to those of the text. None: no
            text has any.
    """

    source: str
    texts: TextBatch
    domains: NDArray[np.int32] | None = None
    overhead_tokens: NDArray[np.int64] | None = None


class Portions(Protocol):
    """What an audit reads; the counts are final after the last portion."""

    has_domains: bool
    has_overhead: bool

    @property
    def domain_names(self) -> Sequence[str]:
        """Names of the domains, by number."""

    @property
    def skipped(self) -> tuple[InputFile, ...]:
        """Inputs that are not read."""

    @property
    def n_null_documents(self) -> int:
        """Rows without a text."""

    @property
    def n_cut_documents(self) -> int:
        """Documents that came in pieces."""

    def __iter__(self) -> Iterator[Portion]:
        """Portion after portion, in the order of the inputs."""


class DomainNames:
    """Numbers for the names of domains, in the order in which they appear.

    One number stands for all names beyond the limit.
    """

    def __init__(self, *, max_domains: int = MAX_DOMAINS) -> None:
        self._max_domains = max_domains
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        """How many numbers there are."""
        return len(self._numbers)

    @property
    def names(self) -> tuple[str, ...]:
        """The names by their numbers."""
        return tuple(self._numbers)

    def number(self, name: str) -> int:
        """The number of a name; a new one for a new name while there is room."""
        known = self._numbers.get(name)
        if known is not None:
            return known
        if len(self._numbers) >= self._max_domains:
            return self._numbers.setdefault(OTHER_DOMAINS, len(self._numbers))
        return self._numbers.setdefault(name, len(self._numbers))

    def numbers(self, names: Sequence[str]) -> NDArray[np.int64]:
        """The numbers of many names, int64 (n,)."""
        return np.array([self.number(name) for name in names], dtype=np.int64)


class DocumentPortions:
    """The documents of a stream; a domain is a file, a folder, or nothing."""

    has_overhead = False

    def __init__(self, stream: DocumentStream, *, domains: Domains = "auto") -> None:
        self._stream = stream
        self._kind = _kind_of(stream.files, domains)
        self._names = DomainNames()
        self.has_domains = self._kind != "none"

    @property
    def domain_names(self) -> tuple[str, ...]:
        """Names of the domains, by number."""
        return self._names.names

    @property
    def skipped(self) -> tuple[InputFile, ...]:
        """Inputs that are not read."""
        return self._stream.skipped

    @property
    def n_null_documents(self) -> int:
        """Rows without a text."""
        return self._stream.n_null_documents

    @property
    def n_cut_documents(self) -> int:
        """Documents that came in pieces."""
        return self._stream.n_cut_documents

    def __iter__(self) -> Iterator[Portion]:
        """Portion after portion, in the order of the inputs."""
        for file, batch in self._stream:
            domains = None
            if self._kind != "none":
                name = _folder(file.path) if self._kind == "folder" else file.path
                domains = np.full(len(batch), self._names.number(name), dtype=np.int32)
            yield Portion(file.path, batch, domains)


def _kind_of(files: Sequence[InputFile], domains: Domains) -> Literal["file", "folder", "none"]:
    if domains != "auto":
        return domains
    if 2 <= len(files) <= MAX_DOMAINS_OF_ITSELF:
        return "file"
    folders = {_folder(file.path) for file in files}
    return "folder" if 2 <= len(folders) <= MAX_DOMAINS_OF_ITSELF else "none"


def _folder(path: str) -> str:
    """The folder of a file as it was written; standard input and texts have none."""
    return path if path == STANDARD_INPUT else str(PurePath(path).parent)
