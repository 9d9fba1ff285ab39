"""The forms in which encoded texts are given back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from jeton.compat.sentencepiece import errors, sentencepiece_pb2
from jeton.compat.sentencepiece._model import Model, Spelled, spell


@dataclass(frozen=True, slots=True)
class Options:
    """Options for the pieces of a text."""

    add_bos: bool = False
    add_eos: bool = False
    reverse: bool = False
    emit_unk_piece: bool = False

    def of_ids(self, ids: list[int], model: Model) -> list[int]:
        """Ids with these options."""
        if self.reverse:
            ids = ids[::-1]
        before = [model.bos_id] if self.add_bos else []
        after = [model.eos_id] if self.add_eos else []
        return [*before, *ids, *after] if before or after else ids

    def of_pieces(self, pieces: list[bytes], model: Model) -> list[bytes]:
        """Pieces with these options."""
        if self.emit_unk_piece:
            unknown = model.pieces[model.unk_id]
            is_unknown = [model.piece_to_id(piece) == model.unk_id for piece in pieces]
            pieces = [
                unknown if is_one else piece
                for piece, is_one in zip(pieces, is_unknown, strict=True)
            ]
        if self.reverse:
            pieces = pieces[::-1]
        before = [model.pieces[model.bos_id]] if self.add_bos else []
        after = [model.pieces[model.eos_id]] if self.add_eos else []
        return [*before, *pieces, *after]


def shaper(
    kind: Any, model: Model, options: Options, *, return_bytes: bool
) -> Callable[[bytes, list[Spelled]], Any]:
    """Return the function that makes a result of a text and its pieces."""

    def shape(text: bytes, found: list[Spelled]) -> Any:
        if kind in (int, "numpy"):
            ids = options.of_ids([piece.id for piece in found], model)
            return ids if kind is int else array_of(ids)
        if kind in (str, bytes):
            pieces = options.of_pieces([piece.piece for piece in found], model)
            return pieces if kind is bytes else [piece.decode("utf-8") for piece in pieces]
        if kind == "offset_mapping":
            return offset_mapping(text, found, return_bytes=return_bytes)
        return proto(text, found, serialized=kind != "proto")

    return shape


def array_of(ids: list[int]) -> npt.NDArray[np.int32]:
    """Ids as an array that cannot be written to, int32 (n_pieces,)."""
    array = np.array(ids, dtype=np.int32)
    array.flags.writeable = False
    return array


def offset_mapping(text: bytes, found: Sequence[Spelled], *, return_bytes: bool) -> dict[str, Any]:
    """Ids, pieces, and where each stands, in bytes or code points."""
    ids = [piece.id for piece in found]
    if return_bytes:
        return {
            "ids": ids,
            "pieces": [piece.piece for piece in found],
            "offsets": [(piece.begin, piece.end) for piece in found],
        }
    places = code_points(text)
    return {
        "ids": ids,
        "pieces": [piece.piece.decode("utf-8") for piece in found],
        "offsets": [(places[piece.begin], places[piece.end]) for piece in found],
    }


def code_points(text: bytes) -> list[int]:
    """The number of the character that each byte belongs to, and how many there are.

    In bytes that are no text a character is as long as its first byte says, as in sentencepiece.
    """
    if spell(text).origins is None:
        starts = (np.frombuffer(text, dtype=np.uint8) & 0xC0) != 0x80
        return [*(np.cumsum(starts) - 1).tolist(), int(starts.sum())]
    out: list[int] = []
    number = 0
    while len(out) < len(text):
        first = text[len(out)]
        length = 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
        out += [number] * min(length, len(text) - len(out))
        number += 1
    return [*out, number]


def proto(text: bytes, found: Iterable[Spelled], *, serialized: bool) -> Any:
    """A message of a text."""
    message = _message(text, found)
    return message.SerializeToString() if serialized else message


def nbest_proto(
    text: bytes, found: Iterable[tuple[list[Spelled], float]], *, serialized: bool
) -> Any:
    """A message of several segmentations of a text."""
    messages = sentencepiece_pb2.NBestSentencePieceText()
    for pieces, score in found:
        message = _message(text, pieces)
        message.score = score
        messages.nbests.append(message)
    return messages.SerializeToString() if serialized else messages


def _message(text: bytes, found: Iterable[Spelled]) -> sentencepiece_pb2.SentencePieceText:
    message = sentencepiece_pb2.SentencePieceText(text=_text(text))
    for piece in found:
        added = message.pieces.add(
            piece=_text(piece.piece), id=piece.id % 2**32, begin=piece.begin, end=piece.end
        )
        if piece.surface is not None:
            added.surface = _text(piece.surface)
    return message


def _text(data: bytes) -> str:
    """As a message holds text; bytes that are none come back as they were."""
    return data.decode("utf-8", errors="surrogateescape")


def normalizer_of(
    normalize: Callable[[bytes], tuple[bytes, list[int]]], *, with_offsets: bool
) -> Callable[[Any], Any]:
    """Return the function that normalizes one text, with offsets if they are asked for."""

    def one(text: Any) -> Any:
        data = errors.as_bytes(text)
        normalized, places = normalize(data)
        shown = normalized if isinstance(text, bytes) else normalized.decode("utf-8")
        if not with_offsets:
            return shown
        if isinstance(text, bytes):
            return shown, places
        sources, targets = code_points(data), code_points(normalized)
        out = [0] * (targets[-1] + 1)
        for target, place in zip(targets, places, strict=False):
            out[target] = sources[place]
        return shown, out

    return one
