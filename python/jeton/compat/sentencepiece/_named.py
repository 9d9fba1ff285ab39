"""The methods of a processor that only choose what is returned: one line for each name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["NamedMethods"]

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
