"""A loaded model: pieces by id, texts to pieces, pieces to texts, as sentencepiece 0.2.3 does it.

All text here is bytes. Ids come from the core; where only ids or decoded text are asked for, the
core's tokenizer does it alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from jeton._core import SentencePieceModel
from jeton.compat.sentencepiece.errors import ModelFormatError, PieceIdError, as_ids
from jeton.errors import FormatError

_UNKNOWN, _CONTROL, _UNUSED, _BYTE = 2, 3, 5, 6
_SPACE = "\u2581".encode()
_REPLACEMENT = "\ufffd".encode()
# Bytes that are no text, as Python's "surrogateescape" writes them.
_ESCAPED = re.compile("[\udc80-\udcff]")


class Spelled(NamedTuple):
    """A piece of a text. ``surface`` is None where sentencepiece leaves it out; places in bytes."""

    piece: bytes
    id: int
    surface: bytes | None
    begin: int
    end: int


class Valid(NamedTuple):
    """A text as UTF-8, with a mark for each byte that is part of no character.

    ``origins``: for each byte of ``text`` and its end, the byte that was given; None: the same.
    """

    text: str
    origins: list[int] | None
    mark: str

    def replaced(self, text: str) -> str:
        """A text that may have marks, with U+FFFD for them, which has as many bytes."""
        return text if self.origins is None else text.replace(self.mark, "\ufffd")


def spell(data: bytes) -> Valid:
    """Bytes as text.

    The mark is not U+FFFD, which rules may replace: sentencepiece applies none to what is no text.
    It is a noncharacter that the text does not have.
    """
    try:
        return Valid(data.decode("utf-8"), None, "")
    except UnicodeDecodeError:
        pass
    mark = next((m for m in map(chr, range(0xFDD0, 0xFDF0)) if m.encode() not in data), "\ufffd")
    escaped = data.decode("utf-8", errors="surrogateescape")
    origins: list[int] = []
    at = 0
    for character in escaped:
        if "\udc80" <= character <= "\udcff":
            origins += [at] * len(_REPLACEMENT)
            at += 1
        else:
            length = len(character.encode())
            origins += range(at, at + length)
            at += length
    text = _ESCAPED.sub(mark, escaped)
    return Valid(text, [*origins, len(data)], mark)


class Normalizer(Protocol):
    """Normalizer of text that says where each byte comes from."""

    def normalize(self, text: str) -> tuple[str, npt.NDArray[np.int64]]:
        """The normalized text, and the origins of its bytes and its end."""


def normalize(normalizer: Normalizer, data: bytes) -> tuple[bytes, list[int]]:
    """The normalized text, and where each byte of it and its end come from, in bytes.

    If a text is all spaces to strip, nothing comes of it, not even an end.
    """
    text = spell(data)
    normalized, origins = normalizer.normalize(text.text)
    places: list[int] = origins.tolist()
    if not normalized:
        _, behind = normalizer.normalize(text.text + "a")
        if behind[0] == len(text.text.encode()):
            return b"", []
    if text.origins is not None:
        places = [text.origins[place] for place in places]
    return text.replaced(normalized).encode(), places


class Model:
    """A model and its tables.

    Attributes:
        core: The core's model.
        tokenizer: The model as a tokenizer.
        data: The file.
        pieces: Bytes of each id.
        scores: Score of each id.
        kinds: Kind of each id, as the file numbers them.
        unk_id: Id of the unknown piece, -1 if there is none; as the three below.
    """

    def __init__(self, data: bytes, *, path: str | None = None) -> None:
        try:
            self.core = SentencePieceModel(data, path=path)
        except FormatError as error:
            raise ModelFormatError(
                str(error), path=path, format=error.format, offset=error.offset
            ) from None
        self.tokenizer = self.core.tokenizer
        self.data = data
        rows = self.core.pieces()
        self.pieces = [piece for piece, _, _ in rows]
        self.scores = [score for _, score, _ in rows]
        self.kinds = [kind for _, _, kind in rows]
        self.texts = [piece.decode("utf-8", errors="replace") for piece in self.pieces]
        reserved: dict[bytes, int] = {}
        normal: dict[bytes, int] = {}
        for piece_id, (piece, _, kind) in enumerate(rows):
            table = reserved if kind in (_UNKNOWN, _CONTROL, _BYTE) else normal
            table.setdefault(piece, piece_id)
        self._ids = normal | reserved
        self.unk_id = self.kinds.index(_UNKNOWN) if _UNKNOWN in self.kinds else -1

        def known(piece_id: int | None) -> int:
            return -1 if piece_id is None else piece_id

        self.bos_id, self.eos_id = known(self.core.bos_id), known(self.core.eos_id)
        self.pad_id = known(self.core.pad_id)

    def __len__(self) -> int:
        return len(self.pieces)

    def piece_to_id(self, piece: bytes) -> int:
        """The id of a piece; that of the unknown piece if there is no such piece."""
        return self._ids.get(piece, self.unk_id)

    def check(self, ids: Sequence[int]) -> None:
        """Refuse ids that the model does not have."""
        for piece_id in ids:
            if not 0 <= piece_id < len(self.pieces):
                raise PieceIdError(
                    f"piece id {piece_id} is out of range; the ids of this model are below "
                    f"{len(self.pieces)}",
                    id=piece_id,
                    vocab_size=len(self.pieces),
                )

    # Text to pieces

    def encode(self, data: bytes) -> list[Spelled]:
        """The pieces of a text."""
        text, normalized, origins = self._normalized(data)
        spans = self.core.encode_normalized(normalized)
        return self._spelled(data, text, normalized, origins, spans)

    def nbest(self, data: bytes, n: int) -> list[tuple[list[Spelled], float]]:
        """The best segmentations of a text and their scores."""
        text, normalized, origins = self._normalized(data)
        found = self.core.nbest_normalized(normalized, n)
        return [(self._spelled(data, text, normalized, origins, s), score) for s, score in found]

    def sample(
        self, data: bytes, *, seed: int, nbest_size: int | None, alpha: float
    ) -> list[Spelled]:
        """The pieces of a drawn segmentation."""
        text, normalized, origins = self._normalized(data)
        spans = self.core.sample_normalized(
            normalized, seed=seed, nbest_size=nbest_size, alpha=alpha
        )
        return self._spelled(data, text, normalized, origins, spans)

    def _spelled(
        self,
        data: bytes,
        text: Valid,
        normalized: str,
        origins: npt.NDArray[np.int64],
        spans: list[tuple[int, int, int]],
    ) -> list[Spelled]:
        target = normalized.encode()
        places: list[int] = origins.tolist()
        if text.origins is not None:
            places = [text.origins[place] for place in places]
        out: list[Spelled] = []
        of_character = 0
        for piece_id, start, end in spans:
            begin, stop = places[start], places[end]
            if self.kinds[piece_id] == _BYTE:
                # The bytes of a character share its range; only the last stands for it.
                of_character += 1
                last = of_character == end - start
                surface = data[begin:stop] if last else None
                stop = stop if last else begin
                of_character = 0 if last else of_character
                out.append(Spelled(self.pieces[piece_id], piece_id, surface, begin, stop))
            else:
                piece = target[start:end]
                out.append(Spelled(piece, piece_id, data[begin:stop], begin, stop))
        return out

    def _normalized(self, data: bytes) -> tuple[Valid, str, npt.NDArray[np.int64]]:
        text = spell(data)
        normalized, origins = self.core.normalize(text.text)
        return text, text.replaced(normalized), origins

    def normalize(self, data: bytes) -> tuple[bytes, list[int]]:
        """The normalized text, and where each byte of it and its end come from, in bytes."""
        return normalize(self.core, data)

    # Pieces to text

    def decode_pieces(self, pieces: Sequence[bytes]) -> tuple[bytes, list[Spelled]]:
        """The text of pieces, and what each stands for in it."""
        ids = [self.piece_to_id(piece) for piece in pieces]
        core = self.core
        strips = core.add_dummy_prefix or core.remove_extra_whitespaces
        out: list[Spelled] = []
        text = bytearray()
        waiting: list[tuple[bytes, int]] = []
        at_start, stripped = True, False
        for piece, piece_id in zip(pieces, ids, strict=True):
            if piece_id >= 0 and self.kinds[piece_id] == _BYTE:
                waiting.append((piece, piece_id))
                continue
            self._put_bytes(waiting, text, out)
            if stripped or text:
                at_start = False
            begin = len(text)
            stripped = False
            if piece_id >= 0 and self.kinds[piece_id] == _CONTROL:
                shown = b""
            elif piece_id == self.unk_id:
                is_own = piece_id >= 0 and self.pieces[piece_id] == piece
                shown = core.unk_surface.encode() if is_own else piece
            else:
                rest = piece
                if at_start and strips and rest.startswith(_SPACE):
                    rest = rest[len(_SPACE) :]
                    stripped = not core.remove_extra_whitespaces
                shown = rest.replace(_SPACE, b" ")
            text += shown
            out.append(Spelled(piece, piece_id, shown, begin, len(text)))
        self._put_bytes(waiting, text, out)
        return self._denormalized(bytes(text)), out

    def _put_bytes(
        self, waiting: list[tuple[bytes, int]], text: bytearray, out: list[Spelled]
    ) -> None:
        """Byte pieces in a row: the last of a character stands for it."""
        if not waiting:
            return
        data = bytes(int(piece[3:5], 16) for piece, _ in waiting)
        valid = spell(data)
        # Where characters end, in bytes of `data`.
        ends: list[tuple[int, bytes]] = []
        at = 0
        for character in valid.text:
            is_marked = character == valid.mark
            shown = _REPLACEMENT if is_marked else character.encode()
            at += 1 if is_marked else len(shown)
            ends.append((at, shown))
        cuts = [end for end, _ in ends]
        for number, (piece, piece_id) in enumerate(waiting):
            end, shown = ends[bisect_right(cuts, number)]
            surface = shown if number + 1 == end else b""
            begin = len(text)
            text += surface
            out.append(Spelled(piece, piece_id, surface, begin, len(text)))
        waiting.clear()

    def decode_ids(self, ids: Sequence[int]) -> bytes:
        """The text of ids."""
        if type(ids) is list:
            try:
                return self.tokenizer.decode(ids).encode()
            except ValueError:
                # Which one it is, and of which class, is told below.
                pass
        numbers = as_ids(ids)
        self.check(numbers)
        return self.tokenizer.decode(numbers).encode()

    def _denormalized(self, text: bytes) -> bytes:
        try:
            return self.core.denormalize(text.decode("utf-8")).encode()
        except UnicodeDecodeError:
            return text
