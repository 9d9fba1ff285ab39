"""Work that the processor's methods share: options checked, one text or row done."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jeton._core import available_threads
from jeton.compat.sentencepiece import _results, errors
from jeton.compat.sentencepiece._model import Model, Spelled, spell
from jeton.compat.sentencepiece.errors import (
    NotLoadedError,
    ProtoOptionError,
    UndefinedPieceError,
    as_int,
)
from jeton.errors import UsageError

# ``ThreadPool``: how many threads a list may be encoded with.

_MAX_THREADS = 1024


class ThreadPool:
    """A number of threads. They are started for each call: the core keeps none waiting."""

    def __init__(self, num_threads: int) -> None:
        """Negative: as many as this process may use."""
        number = as_int(num_threads)
        self._num_threads = max(1, min(available_threads() if number < 0 else number, _MAX_THREADS))

    def num_threads(self) -> int:
        """The number."""
        return self._num_threads


# Seeds of drawn segmentations: one stream for the process, as sentencepiece has one.

_lock = threading.Lock()
# Not for secrets; without a seed it begins anywhere.
_stream = random.Random()


def set_seed(seed: int) -> None:
    """Begin the stream anew: the same draws for the same seed and calls."""
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed must be int, not {seed!r}")
    if not 0 <= seed < 2**32:
        raise TypeError(f"seed is {seed}; expected 0 to 2**32 - 1")
    with _lock:
        _stream.seed(seed)


def next_seed() -> int:
    """The seed of one draw."""
    with _lock:
        return _stream.getrandbits(64)


# Limits of sentencepiece 0.2.3 (sentencepiece_processor.cc).
_MAX_NBEST_SIZE = 512
ReturnType = Any  # int, str, bytes, or one of the names below
_RETURN_TYPES = (int, str, bytes, "proto", "serialized_proto", "numpy", "offset_mapping")
PROTOS = ("proto", "serialized_proto", "offset_mapping")


class CheckedOptions(_results.Options):
    """Options for the pieces of a text, checked against model and result."""

    def check(self, model: Model, kind: ReturnType) -> None:
        if kind in PROTOS:
            if self.add_bos or self.add_eos or self.reverse or self.emit_unk_piece:
                raise ProtoOptionError(
                    f"add_bos, add_eos, reverse and emit_unk_piece are not for return_type={kind!r}"
                )
            return
        for asked, found, what in (
            (self.add_bos, model.bos_id, "the beginning of a text (bos)"),
            (self.add_eos, model.eos_id, "the end of a text (eos)"),
            (self.emit_unk_piece and kind in (str, bytes), model.unk_id, "the unknown"),
        ):
            if asked and found == -1:
                raise UndefinedPieceError(f"the model has no control piece for {what}")


def given(value: Any, usual: Any) -> Any:
    return usual if value is None else value


def return_type_of(
    return_type: ReturnType, out_type: ReturnType, *, usual: ReturnType
) -> ReturnType:
    if out_type is not None:
        if return_type is not None:
            raise UsageError("out_type is the older name of return_type; give one of them")
        return_type = out_type
    kind = usual if return_type is None else return_type
    if kind not in _RETURN_TYPES:
        known = ", ".join(getattr(one, "__name__", repr(one)) for one in _RETURN_TYPES)
        raise UsageError(f"return_type is {kind!r}; expected one of {known}")
    return kind


def refuse_model_options(options: dict[str, Any], where: str) -> None:
    for name in ("model_file", "model_proto"):
        if name in options:
            raise UsageError(f"{name} is no option of {where}, which has it already")


def threads_of(num_threads: Any, thread_pool: Any) -> int | None:
    if not isinstance(num_threads, int):
        raise TypeError(f"num_threads must be int, not {num_threads!r}")
    if thread_pool is not None:
        if not isinstance(thread_pool, ThreadPool):
            raise NotLoadedError(f"thread_pool must be a ThreadPool, not {thread_pool!r}")
        return thread_pool.num_threads()
    return None if num_threads < 0 else max(1, num_threads)


def check_nbest(model: Model, size: int) -> None:
    if size > _MAX_NBEST_SIZE:
        raise ProtoOptionError(f"nbest_size is {size}; expected {_MAX_NBEST_SIZE} at most")


def drawer(model: Model, size: Any, alpha: Any) -> Callable[[bytes], list[Spelled]]:
    """Return the function that draws a segmentation, each with a seed of its own."""
    size, alpha = errors.as_int(size), float(alpha)
    check_nbest(model, size)
    if not (np.isfinite(alpha) and alpha >= 0):
        raise ProtoOptionError(f"alpha is {alpha}; expected a finite number of 0 or more")
    unigram = model.core.model_type == "unigram"
    if not unigram and model.core.model_type != "bpe":
        raise ProtoOptionError("segmentations are drawn by Unigram and BPE models only")
    if unigram and size in (0, 1):
        return model.encode
    if not unigram:
        alpha = min(alpha, 1.0)
    nbest = size if unigram and size > 1 else None
    return lambda text: model.sample(text, seed=next_seed(), nbest_size=nbest, alpha=alpha)


def ids_of_texts(
    model: Model,
    texts: list[bytes],
    options: CheckedOptions,
    threads: int | None,
    *,
    as_array: bool,
) -> list[Any]:
    """Ids alone: the core's own way."""
    valid = [spell(text) for text in texts]
    rows: list[list[int]]
    if any(text.origins is not None for text in valid):
        rows = [[piece.id for piece in model.encode(text)] for text in texts]
    elif len(valid) == 1:
        rows = [model.tokenizer.encode(valid[0].text)]
    else:
        batch = [text.text for text in valid]
        rows = model.tokenizer.encode_batch(batch, num_threads=threads).to_lists()
    out = [options.of_ids(row, model) for row in rows]
    return [_results.array_of(row) for row in out] if as_array else out


def is_batch(rows: Any) -> bool:
    if hasattr(rows, "ndim"):
        return bool(rows.ndim > 1)
    return len(rows) > 0 and errors.is_sequence(rows[0])


def is_pieces(row: Any) -> bool:
    if hasattr(row, "dtype") or len(row) == 0:
        return False
    return isinstance(row[0], (str, bytes))


def decode_one(
    model: Model,
    row: Any,
    kind: ReturnType,
    *,
    return_bytes: bool,
    pieces: bool | None = None,
) -> Any:
    if pieces is None:
        pieces = is_pieces(row)
        return_bytes = return_bytes or (pieces and isinstance(row[0], bytes))
    if not pieces:
        if kind in (str, bytes):
            text = model.decode_ids(row)
            return text if kind is bytes else text.decode("utf-8")
        ids = errors.as_ids(row)
        model.check(ids)
        spelled: Sequence[bytes] = [model.pieces[one] for one in ids]
    else:
        spelled = errors.as_texts(row)
    text, found = model.decode_pieces(spelled)
    if kind is bytes or (kind is str and return_bytes):
        return text
    if kind is str:
        return text.decode("utf-8")
    if kind == "offset_mapping":
        # Places are those before a denormalizer, which sentencepiece looks up in what it made of
        # the text, and fails where that became shorter.
        before = b"".join(piece.surface or b"" for piece in found)
        counted = text if len(text) >= len(before) else before
        mapping = _results.offset_mapping(counted, found, return_bytes=return_bytes)
        return {"text": text if return_bytes else text.decode("utf-8"), **mapping}
    return _results.proto(text, found, serialized=kind != "proto")


# The methods of a processor that only choose what is returned: one line for each name.

_Method = Callable[..., Any]

_PIECES = (str, "pieces")
_IDS = (int, "ids")
_NUMPY = ("numpy", "an array of ids, int32 (n_pieces,)")
_PROTO = ("proto", "a message with pieces and places")
_OFFSETS = ("offset_mapping", "ids, pieces and places")


def _encode(result: tuple[Any, str]) -> _Method:
    def method(self: Any, input: Any, **kwargs: Any) -> Any:  # noqa: A002
        return self.Encode(input=input, return_type=result[0], **kwargs)

    method.__doc__ = f"`Encode` to {result[1]}."
    return method


def _sample(result: tuple[Any, str]) -> _Method:
    def method(
        self: Any,
        input: Any,  # noqa: A002
        nbest_size: int | None = None,
        alpha: float | None = None,
        **kwargs: Any,
    ) -> Any:
        kwargs |= {"nbest_size": nbest_size, "alpha": alpha, "return_type": result[0]}
        return self.Encode(input=input, enable_sampling=True, **kwargs)

    method.__doc__ = f"A drawn segmentation: {result[1]}."
    return method


def _nbest(result: tuple[Any, str]) -> _Method:
    def method(
        self: Any,
        input: Any,  # noqa: A002
        nbest_size: int | None = None,
        **kwargs: Any,
    ) -> Any:
        return self.NBestEncode(input=input, nbest_size=nbest_size, return_type=result[0], **kwargs)

    method.__doc__ = f"The best segmentations: {result[1]}."
    return method


def _parallel(result: tuple[Any, str]) -> _Method:
    def method(self: Any, input: Any, **kwargs: Any) -> Any:  # noqa: A002
        return self.ParallelEncode(input=input, return_type=result[0], **kwargs)

    method.__doc__ = f"`ParallelEncode` to {result[1]}."
    return method


def _decode(source: str) -> _Method:
    def method(self: Any, input: Any, return_type: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        return self.Decode(input=input, return_type=return_type, **kwargs)

    method.__doc__ = f"`Decode` of {source}."
    return method


def _decode_to_proto(source: str) -> _Method:
    def method(self: Any, input: Any, **kwargs: Any) -> Any:  # noqa: A002
        return self.Decode(input=input, return_type="proto", **kwargs)

    method.__doc__ = f"`Decode` of {source} to a message with pieces and places."
    return method


class NamedMethods:
    """Methods named by their result. Each takes the options of the method that it calls."""

    # A subclass has these.
    Encode: Any
    NBestEncode: Any
    ParallelEncode: Any
    Decode: Any

    encode_as_pieces = EncodeAsPieces = _encode(_PIECES)
    encode_as_ids = EncodeAsIds = _encode(_IDS)
    encode_as_numpy = EncodeAsNumpy = _encode(_NUMPY)
    encode_as_proto = EncodeAsProto = _encode(_PROTO)
    encode_as_offset_mapping = EncodeAsOffsetMapping = _encode(_OFFSETS)
    sample_encode_as_pieces = SampleEncodeAsPieces = _sample(_PIECES)
    sample_encode_as_ids = SampleEncodeAsIds = _sample(_IDS)
    sample_encode_as_numpy = SampleEncodeAsNumpy = _sample(_NUMPY)
    sample_encode_as_proto = SampleEncodeAsProto = _sample(_PROTO)
    nbest_encode_as_pieces = NBestEncodeAsPieces = _nbest(_PIECES)
    nbest_encode_as_ids = NBestEncodeAsIds = _nbest(_IDS)
    nbest_encode_as_numpy = NBestEncodeAsNumpy = _nbest(_NUMPY)
    nbest_encode_as_proto = NBestEncodeAsProto = _nbest(_PROTO)
    parallel_encode_as_pieces = ParallelEncodeAsPieces = _parallel(_PIECES)
    parallel_encode_as_ids = ParallelEncodeAsIds = _parallel(_IDS)
    parallel_encode_as_numpy = ParallelEncodeAsNumpy = _parallel(_NUMPY)
    parallel_encode_as_proto = ParallelEncodeAsProto = _parallel(_PROTO)
    decode_pieces = DecodePieces = _decode("pieces")
    decode_pieces_as_proto = DecodePiecesAsProto = _decode_to_proto("pieces")
    decode_ids = DecodeIds = _decode("ids")
    decode_ids_as_proto = DecodeIdsAsProto = _decode_to_proto("ids")


for _name, _value in vars(NamedMethods).items():
    if _name[0].isupper():
        _value.__name__ = _name
        _value.__qualname__ = f"NamedMethods.{_name}"
