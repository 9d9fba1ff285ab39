"""Adapter of a library that is timed: one small class each, without cleverness.

An adapter does what the library's documentation tells a user to do for speed. It may not cache
results, and what it returns is turned into one flat form outside the timed part.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Adapter", "Flat", "Unsupported", "VocabularyFiles"]


class Unsupported(Exception):
    """The library cannot do this, and says why in the message. Reported, not an error."""


@dataclass(frozen=True, slots=True)
class VocabularyFiles:
    """One vocabulary in every form that a library may ask for.

    Attributes:
        name: its published name, for libraries that carry vocabularies themselves.
        rank_file: an uncompressed ``.tiktoken`` file, or None where it is not one.
        hf_json: an uncompressed ``tokenizer.json``, or None where none can be made.
        pattern: the split pattern of the rank file.
        reference: the adapter whose ids are right by definition.
        sp_model: a SentencePiece ``.model``, or None.
        has_own_pattern: whether the pattern is another than the published one, so that a library
            that knows the vocabulary by name must not use what it knows.
    """

    name: str
    rank_file: Path | None
    hf_json: Path | None
    pattern: str | None
    reference: str
    sp_model: Path | None = None
    has_own_pattern: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Write the request as JSON has it, for another process."""
        return {
            name: str(value) if isinstance(value, Path) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> VocabularyFiles:
        """Undo ``to_dict``."""
        paths = {name: data[name] for name in ("rank_file", "hf_json", "sp_model")}
        return cls(**{**data, **{k: None if v is None else Path(v) for k, v in paths.items()}})


@dataclass(frozen=True, slots=True)
class Flat:
    """Ids of many texts in one array: text ``i`` has ``ids[offsets[i]:offsets[i + 1]]``.

    Attributes:
        ids: uint32 (n_tokens,)
        offsets: int64 (n_texts + 1,)
    """

    ids: NDArray[np.uint32]
    offsets: NDArray[np.int64]

    @classmethod
    def from_rows(cls, rows: Sequence[Any]) -> Flat:
        """Join one sequence of ids per text."""
        arrays = [np.asarray(row, dtype=np.uint32).reshape(-1) for row in rows]
        return cls.from_lengths(
            np.concatenate(arrays) if arrays else np.zeros(0, np.uint32),
            [len(array) for array in arrays],
        )

    @classmethod
    def from_lengths(cls, ids: Any, lengths: Any) -> Flat:
        """Build from flat ids and the number of ids of each text."""
        offsets = np.zeros(len(lengths) + 1, np.int64)
        np.cumsum(np.asarray(lengths, dtype=np.int64), out=offsets[1:])
        return cls(np.asarray(ids, dtype=np.uint32), offsets)

    @classmethod
    def from_buffers(cls, ids: Any, offsets: Any) -> Flat:
        """View the bytes of two flat buffers, little-endian, of 32 and of 64 bits."""
        return cls(
            np.frombuffer(ids, dtype="<u4"), np.frombuffer(offsets, dtype="<u8").astype(np.int64)
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, index: int) -> NDArray[np.uint32]:
        """Return the ids of one text."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def wrong_rows(self, reference: Flat) -> int:
        """Count the texts whose ids are not those of the reference."""
        if len(self) != len(reference):
            return max(len(self), len(reference))
        if np.array_equal(self.offsets, reference.offsets) and np.array_equal(
            self.ids, reference.ids
        ):
            return 0
        return sum(
            not np.array_equal(self.row(index), reference.row(index)) for index in range(len(self))
        )


class Adapter(ABC):
    """A library under test. Special tokens are off: text that looks like one stays text.

    The ``*_call`` methods return the library's own function wherever it has one, so that 100 bytes
    are not measured together with a function of ours around it.
    """

    name: ClassVar[str]
    distribution: ClassVar[str]
    """The name under which the library is installed, for its version."""
    bundled: ClassVar[bool] = False
    """True if it carries its vocabularies itself and reads no file."""
    has_arrays: ClassVar[bool] = False
    """True if ``array_call`` gives arrays; else lists stand in for them."""
    carried: ClassVar[tuple[str, ...]] = ()
    """The vocabularies that a library which is ``bundled`` has."""
    count_name: ClassVar[str | None] = None
    decode_name: ClassVar[str | None] = None
    decode_batch_name: ClassVar[str | None] = None
    """Methods of what ``load`` has made that do just this, where it has them."""

    _tokenizer: Any
    """Tokenizer that ``load`` has made."""

    @abstractmethod
    def load(self, files: VocabularyFiles) -> None:
        """Load a vocabulary from its file where the library can read one.

        Raises:
            Unsupported: the library cannot load this vocabulary.
        """

    def save_compiled(self, files: VocabularyFiles, folder: Path) -> None:
        """Make what ``load_compiled`` reads, after ``load``; nothing where it is in the library."""
        return

    def load_compiled(self, files: VocabularyFiles, folder: Path) -> None:
        """Load the vocabulary in the library's own form, compiled into it or made before.

        Raises:
            Unsupported: the library has no such form.
        """
        if not self.bundled:
            raise Unsupported(f"{self.name} has no compiled form of a vocabulary")
        self.load(files)

    def must_carry(self, files: VocabularyFiles) -> None:
        """Refuse what a library that reads no files does not have."""
        if files.name not in self.carried or files.has_own_pattern:
            raise Unsupported(
                f"{self.name} has its own vocabularies only, and this is not one of them"
            )

    def _method(self, name: str | None, lacking: str) -> Callable[[Any], Any]:
        if name is None:
            raise Unsupported(f"{self.name} {lacking}")
        method: Callable[[Any], Any] = getattr(self._tokenizer, name)
        return method

    @abstractmethod
    def list_call(self) -> Callable[[str], list[int]]:
        """The function from one text to a Python list."""

    def array_call(self) -> Callable[[str], Any]:
        """The function from one text to an array, or to what this library has nearest to one."""
        return self.list_call()

    def document_call(self) -> Callable[[str], Any]:
        """The function for one very long text, on all threads where the library can."""
        return self.array_call()

    def count_call(self) -> Callable[[str], int]:
        """The function from one text to its number of tokens, without making ids."""
        return self._method(self.count_name, "does not count without encoding")

    def offsets_call(self) -> Callable[[str], Any]:
        """The function from one text to ids with offsets."""
        raise Unsupported(f"{self.name} gives no offsets")

    def offsets_of(self, result: Any) -> tuple[Any, Any]:
        """The ids and the starts of what ``offsets_call`` gave; not timed."""
        raise Unsupported(f"{self.name} gives no offsets")

    def decode_input(self, ids: NDArray[np.uint32]) -> Any:
        """Ids in the form that the library decodes fastest; not timed."""
        return ids.tolist()

    def decode_call(self) -> Callable[[Any], Any]:
        """The function from ids (as ``decode_input`` gives them) to text, str or bytes."""
        return self._method(self.decode_name, "does not decode")

    def decode_batch_call(self) -> Callable[[list[Any]], Any]:
        """The function from many ids to a sequence of texts, str or bytes."""
        return self._method(self.decode_batch_name, "has no batch for decoding")

    def encode_list(self, text: str) -> list[int]:
        """Encode one text into a Python list."""
        return self.list_call()(text)

    def encode_array(self, text: str) -> Any:
        """Encode one text into an array, as the library gives it."""
        return self.array_call()(text)

    def encode_batch(self, texts: list[str]) -> Any:
        """Encode many texts in the library's fastest way, on all threads."""
        raise Unsupported(f"{self.name} has no batch")

    def encode_batch_lists(self, texts: list[str]) -> list[list[int]]:
        """Encode many texts into Python lists, on all threads."""
        raise Unsupported(f"{self.name} has no batch of lists")

    def encode_batch_bytes(self, texts: list[bytes]) -> Any:
        """Encode many texts that are UTF-8 bytes; the bytes are text, not yet checked."""
        return self.encode_batch([text.decode() for text in texts])

    def encode_arrow(self, column: Any) -> Any:
        """Encode a string column of Arrow (``pyarrow.Array``)."""
        return self.encode_batch(column.to_pylist())

    def padded(self, texts: list[str], pad_id: int, max_length: int) -> Any:
        """Encode into one matrix int (n_texts, longest row), cut at ``max_length``, filled."""
        raise Unsupported(f"{self.name} does not pad")

    def flatten(self, result: Any) -> Flat:
        """Turn what ``encode_batch`` returned into its flat form; not timed."""
        return Flat.from_rows(result)

    def count_batch(self, texts: list[str]) -> Any:
        """Count the tokens of many texts, one number each, without making ids."""
        raise Unsupported(f"{self.name} does not count without encoding")

    def cache_bytes(self) -> tuple[int, int] | None:
        """Bytes in the library's caches and their documented limit; None where it does not say."""
        return None

    def version(self) -> str:
        """Return the installed version, or ``absent``."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return "absent"
