"""Proof that a GGUF file is what a change of vocabulary makes of its base.

Tokens are matched by their bytes in the metadata, not by the change that wrote the file: a row of a
token that both files have is equal byte for byte, in every type.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from jeton.adapt.weights.gguf_applying import BlockMatrix, is_table
from jeton.adapt.weights.matrices import OpenFiles
from jeton.adapt.weights.verification import Verification, Verifier
from jeton.checkpoint.copying import BLOCK_BYTES, read_exactly
from jeton.checkpoint.gguf_file import GgufFile, StoredTensor, read_gguf_file

_TOKENS, _MERGES = "tokenizer.ggml.tokens", "tokenizer.ggml.merges"
_SCORES, _KINDS = "tokenizer.ggml.scores", "tokenizer.ggml.token_type"
_ID = re.compile(r"tokenizer\.ggml\.\w+_token_id")
_UNUSED = 5
"""Kind of entries behind the vocabulary, of llama.h."""


def verify_gguf(
    output: str | os.PathLike[str], *, base: str | os.PathLike[str] | None = None
) -> Verification:
    """Compare a file that ``apply`` wrote with its base, and its parts with one another.

    Args:
        output: The file.
        base: The file it was made of; None compares only its own parts.

    Raises:
        FormatError: A file is damaged.
        OSError: A file cannot be read.
    """
    file = read_gguf_file(output)
    found = _GgufVerifier()
    found.own_parts(file)
    if base is not None:
        other = read_gguf_file(base)
        found.metadata(file, other)
        with OpenFiles() as files:
            found.tensors(file, other, files)
    return found.result()


class _GgufVerifier(Verifier):
    """Compares a file with its base, and its parts with one another."""

    def own_parts(self, file: GgufFile) -> None:
        """Compares the vocabulary of a file with its tables and special ids."""
        tokens = _tokens(file)
        n = len(tokens)
        if not n:
            self.note(_TOKENS, "there are none")
        for key in (_SCORES, _KINDS):
            if key in file.values and (length := len(file.values[key].numbers())) != n:
                self.note(key, f"has {length:,} entries; there are {n:,} tokens")
        for tensor in file.tensors.values():
            if is_table(tensor.name) and tensor.shape[0] != n:
                self.note(tensor.name, f"has {tensor.shape[0]:,} rows; there are {n:,} tokens")
        for key, value in file.values.items():
            number = value.number
            if _ID.fullmatch(key) and number is not None and number >= n:
                self.note(key, f"is {number:,}; there are {n:,} tokens")
        size = file.values.get(f"{file.architecture}.vocab_size")
        if size is not None and size.number is not None and size.number != n:
            self.note("vocab_size", f"is {size.number:,}; there are {n:,} tokens")
        known = set(tokens)
        for place, merge in enumerate(_merges(file)):
            left, space, right = merge.partition(b" ")
            missing = [part for part in (left, right, left + right) if part not in known]
            if not space or missing:
                words = (missing or [merge])[0].decode("utf-8", "replace")
                self.note(_MERGES, f"merge {place:,} needs {words!r}, which is no token")

    def metadata(self, file: GgufFile, base: GgufFile) -> None:
        """Compares special ids by their tokens, the order of merges, and all other keys."""
        tokens, old_tokens = _tokens(file), _tokens(base)
        changed = {_TOKENS, _MERGES, _SCORES, _KINDS, f"{base.architecture}.vocab_size"}
        for key, value in base.values.items():
            there = file.values.get(key)
            if there is None:
                self.note(key, "is missing")
            elif _ID.fullmatch(key):
                new, old = there.number, value.number
                if new is None or old is None or new >= len(tokens) or old >= len(old_tokens):
                    continue
                if tokens[new] != old_tokens[old]:
                    self.note(key, f"is {new:,}, another token than the base's {old:,}")
            elif key not in changed and there != value:
                self.note(key, "differs from the base")
        for key in file.values.keys() - base.values.keys():
            self.note(key, "is not in the base")
        place = {merge: number for number, merge in enumerate(_merges(base))}
        common = [place[merge] for merge in _merges(file) if merge in place]
        if common != sorted(common):
            self.note(_MERGES, "merges of the base stand in another order")

    def tensors(self, file: GgufFile, base: GgufFile, files: OpenFiles) -> None:
        """Compares every tensor of the base with the file's."""
        new, old = _matched(_entries(file), _entries(base))
        for name in file.tensors.keys() - base.tensors.keys():
            self.note(name, "is not in the base")
        for name, tensor in base.tensors.items():
            there = file.tensors.get(name)
            if there is None:
                self.note(name, "is missing")
            elif there.type_name != tensor.type_name or there.shape[1:] != tensor.shape[1:]:
                shapes = f"{there.type_name} {list(there.shape)}"
                self.note(name, f"is {shapes}; expected {tensor.type_name} {list(tensor.shape)}")
            elif is_table(name):
                self._rows(file, there, base, tensor, (new, old), files)
            else:
                self._bytes(file, there, base, tensor, files)

    def _rows(
        self,
        file: GgufFile,
        there: StoredTensor,
        base: GgufFile,
        tensor: StoredTensor,
        matched: tuple[NDArray[np.int64], NDArray[np.int64]],
        files: OpenFiles,
    ) -> None:
        new, old = matched
        is_inside = (new < there.shape[0]) & (old < tensor.shape[0])
        new, old = new[is_inside], old[is_inside]
        self._n_tables += 1
        self._n_kept += len(new)
        self._n_new += there.shape[0] - len(new)
        self._n_bytes += there.n_bytes
        ours, theirs = BlockMatrix(file, there), BlockMatrix(base, tensor)
        step = max(1, BLOCK_BYTES // max(ours.row_bytes, 1))
        for start in range(0, len(new), step):
            some, others = new[start : start + step], old[start : start + step]
            a = np.frombuffer(ours.take(files, some), dtype=np.uint8)
            b = np.frombuffer(theirs.take(files, others), dtype=np.uint8)
            if not np.array_equal(a, b):
                place = int((a != b).argmax()) // ours.row_bytes
                self.note(
                    there.name,
                    f"row {int(some[place]):,} differs from row {int(others[place]):,} of the base",
                )
                return

    def _bytes(
        self,
        file: GgufFile,
        there: StoredTensor,
        base: GgufFile,
        tensor: StoredTensor,
        files: OpenFiles,
    ) -> None:
        self._n_copied += 1
        self._n_bytes += there.n_bytes
        if there.shape != tensor.shape:
            self.note(there.name, f"has the shape {list(there.shape)}")
            return
        for at in range(0, there.n_bytes, BLOCK_BYTES):
            n = min(BLOCK_BYTES, there.n_bytes - at)
            ours = read_exactly(files[file.path], there.offset + at, n)
            if ours != read_exactly(files[base.path], tensor.offset + at, n):
                self.note(there.name, "has other bytes than in the base")
                return


def _tokens(file: GgufFile) -> list[bytes]:
    value = file.values.get(_TOKENS)
    return [] if value is None else value.texts()


def _merges(file: GgufFile) -> list[bytes]:
    value = file.values.get(_MERGES)
    return [] if value is None else value.texts()


def _entries(file: GgufFile) -> list[bytes | None]:
    """Tokens by id; None for entries that stand for rows without a token."""
    kinds = file.values[_KINDS].numbers() if _KINDS in file.values else []
    return [
        None if id < len(kinds) and kinds[id] == _UNUSED and token.startswith(b"[PAD") else token
        for id, token in enumerate(_tokens(file))
    ]


def _matched(
    new: Iterable[bytes | None], old: Iterable[bytes | None]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ids of one token in both files, for tokens that each file has once."""
    new, old = list(new), list(old)
    once = {token for token, n in Counter(old).items() if n == 1 and token is not None}
    once &= {token for token, n in Counter(new).items() if n == 1 and token is not None}
    places = {token: id for id, token in enumerate(old) if token in once}
    pairs = [(id, places[token]) for id, token in enumerate(new) if token in once and token]
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]
