"""The methods of a processor that only choose what is returned."""

from __future__ import annotations

from typing import Any

__all__ = ["NamedMethods"]


class NamedMethods:
    """Methods named by their result. Each takes the options of the method that it calls."""

    # A subclass has these.
    Encode: Any
    NBestEncode: Any
    ParallelEncode: Any
    Decode: Any

    def EncodeAsPieces(self, input: Any, **kwargs: Any) -> Any:  # noqa: A002
        """`Encode` to pieces."""
        return self.Encode(input=input, return_type=str, **kwargs)

    def SampleEncodeAsPieces(
        self,
        input: Any,  # noqa: A002
        nbest_size: int | None = None,
        alpha: float | None = None,
        **kwargs: Any,
    ) -> Any:
        """A drawn segmentation: pieces."""
        return self.Encode(
            input=input,
            nbest_size=nbest_size,
            alpha=alpha,
            return_type=str,
            enable_sampling=True,
            **kwargs,
        )

    def NBestEncodeAsPieces(
        self,
        input: Any,  # noqa: A002
        nbest_size: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """The best segmentations: pieces."""
        return self.NBestEncode(input=input, nbest_size=nbest_size, return_type=str, **kwargs)

    def ParallelEncodeAsPieces(self, input: Any, **kwargs: Any) -> Any:  # noqa: A002
        """`ParallelEncode` to pieces."""
        return self.ParallelEncode(input=input, return_type=str, **kwargs)

    def EncodeAsIds(self, input: Any, **kwargs: Any) -> Any:  # noqa: A002
        """`Encode` to ids."""
        return self.Encode(input=input, return_type=int, **kwargs)

    def SampleEncodeAsIds(
        self,
        input: Any,  # noqa: A002
        nbest_size: int | None = None,
        alpha: float | None = None,
        **kwargs: Any,
    ) -> Any:
        """A drawn segmentation: ids."""
        return self.Encode(
            input=input,
            nbest_size=nbest_size,
            alpha=alpha,
            return_type=int,
            enable_sampling=True,
            **kwargs,
        )

    def NBestEncodeAsIds(
        self,
        input: Any,  # noqa: A002
        nbest_size: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """The best segmentations: ids."""
        return self.NBestEncode(input=input, nbest_size=nbest_size, return_type=int, **kwargs)

    def ParallelEncodeAsIds(self, input: Any, **kwargs: Any) -> Any:  # noqa: A002
        """`ParallelEncode` to ids."""
        return self.ParallelEncode(input=input, return_type=int, **kwargs)

    def EncodeAsNumpy(self, input: Any, **kwargs: Any) -> Any:  # noqa: A002
        """`Encode` to an array of ids, int32 (n_pieces,)."""
        return self.Encode(input=input, return_type="numpy", **kwargs)

    def SampleEncodeAsNumpy(
        self,
        input: Any,  # noqa: A002
        nbest_size: int | None = None,
        alpha: float | None = None,
        **kwargs: Any,
    ) -> Any:
        """A drawn segmentation: an array of ids, int32 (n_pieces,)."""
        return self.Encode(
            input=input,
            nbest_size=nbest_size,
            alpha=alpha,
            return_type="numpy",
            enable_sampling=True,
            **kwargs,
        )

    def NBestEncodeAsNumpy(
        self,
        input: Any,  # noqa: A002
        nbest_size: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """The best segmentations: an array of ids, int32 (n_pieces,)."""
        return self.NBestEncode(input=input, nbest_size=nbest_size, return_type="numpy", **kwargs)

    def ParallelEncodeAsNumpy(self, input: Any, **kwargs: Any) -> Any:  # noqa: A002
        """`ParallelEncode` to an array of ids, int32 (n_pieces,)."""
        return self.ParallelEncode(input=input, return_type="numpy", **kwargs)

    def EncodeAsProto(self, input: Any, **kwargs: Any) -> Any:  # noqa: A002
        """`Encode` to a message with pieces and places."""
        return self.Encode(input=input, return_type="proto", **kwargs)

    def SampleEncodeAsProto(
        self,
        input: Any,  # noqa: A002
        nbest_size: int | None = None,
        alpha: float | None = None,
        **kwargs: Any,
    ) -> Any:
        """A drawn segmentation: a message with pieces and places."""
        return self.Encode(
            input=input,
            nbest_size=nbest_size,
            alpha=alpha,
            return_type="proto",
            enable_sampling=True,
            **kwargs,
        )

    def NBestEncodeAsProto(
        self,
        input: Any,  # noqa: A002
        nbest_size: int | None = None,
        **kwargs: Any,
    ) -> Any:
        """The best segmentations: a message with pieces and places."""
        return self.NBestEncode(input=input, nbest_size=nbest_size, return_type="proto", **kwargs)

    def ParallelEncodeAsProto(self, input: Any, **kwargs: Any) -> Any:  # noqa: A002
        """`ParallelEncode` to a message with pieces and places."""
        return self.ParallelEncode(input=input, return_type="proto", **kwargs)

    def EncodeAsOffsetMapping(self, input: Any, **kwargs: Any) -> Any:  # noqa: A002
        """`Encode` to ids, pieces and places."""
        return self.Encode(input=input, return_type="offset_mapping", **kwargs)

    def DecodePieces(self, input: Any, return_type: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        """`Decode` of pieces."""
        return self.Decode(input=input, return_type=return_type, **kwargs)

    def DecodePiecesAsProto(self, input: Any, **kwargs: Any) -> Any:  # noqa: A002
        """`Decode` of pieces to a message with pieces and places."""
        return self.Decode(input=input, return_type="proto", **kwargs)

    def DecodeIds(self, input: Any, return_type: Any = None, **kwargs: Any) -> Any:  # noqa: A002
        """`Decode` of ids."""
        return self.Decode(input=input, return_type=return_type, **kwargs)

    def DecodeIdsAsProto(self, input: Any, **kwargs: Any) -> Any:  # noqa: A002
        """`Decode` of ids to a message with pieces and places."""
        return self.Decode(input=input, return_type="proto", **kwargs)

    # The second names

    encode_as_pieces = EncodeAsPieces
    sample_encode_as_pieces = SampleEncodeAsPieces
    nbest_encode_as_pieces = NBestEncodeAsPieces
    parallel_encode_as_pieces = ParallelEncodeAsPieces
    encode_as_ids = EncodeAsIds
    sample_encode_as_ids = SampleEncodeAsIds
    nbest_encode_as_ids = NBestEncodeAsIds
    parallel_encode_as_ids = ParallelEncodeAsIds
    encode_as_numpy = EncodeAsNumpy
    sample_encode_as_numpy = SampleEncodeAsNumpy
    nbest_encode_as_numpy = NBestEncodeAsNumpy
    parallel_encode_as_numpy = ParallelEncodeAsNumpy
    encode_as_proto = EncodeAsProto
    sample_encode_as_proto = SampleEncodeAsProto
    nbest_encode_as_proto = NBestEncodeAsProto
    parallel_encode_as_proto = ParallelEncodeAsProto
    encode_as_offset_mapping = EncodeAsOffsetMapping
    decode_pieces = DecodePieces
    decode_pieces_as_proto = DecodePiecesAsProto
    decode_ids = DecodeIds
    decode_ids_as_proto = DecodeIdsAsProto
