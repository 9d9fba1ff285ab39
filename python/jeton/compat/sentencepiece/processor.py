"""``SentencePieceProcessor``: encoding and decoding with sentencepiece's interface."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from jeton.compat.sentencepiece import _results, errors
from jeton.compat.sentencepiece._model import Model
from jeton.compat.sentencepiece._work import (
    PROTOS,
    CheckedOptions,
    NamedMethods,
    ReturnType,
    ThreadPool,
    check_nbest,
    decode_one,
    drawer,
    given,
    ids_of_texts,
    is_batch,
    is_pieces,
    refuse_model_options,
    return_type_of,
    threads_of,
)
from jeton.compat.sentencepiece.errors import (
    ModelNotFoundError,
    NotLoadedError,
    ProtoOptionError,
)
from jeton.errors import UsageError

__all__ = ["SentencePieceProcessor"]

_MAX_MODEL_BYTES = 1 << 29


class SentencePieceProcessor(NamedMethods):
    """A model with the interface of ``sentencepiece.SentencePieceProcessor`` (0.2.3).

    Every method has two names, ``EncodeAsIds`` and ``encode_as_ids``. Options that are not given to
    a method are those given here.
    """

    def __init__(
        self,
        model_file: str | os.PathLike[str] | None = None,
        model_proto: Any = None,
        out_type: ReturnType = None,
        add_bos: bool = False,  # noqa: FBT001, FBT002 - sentencepiece's signature, here and below
        add_eos: bool = False,  # noqa: FBT001, FBT002
        reverse: bool = False,  # noqa: FBT001, FBT002
        emit_unk_piece: bool = False,  # noqa: FBT001, FBT002
        enable_sampling: bool = False,  # noqa: FBT001, FBT002
        nbest_size: int = -1,
        alpha: float = 0.1,
        num_threads: int = -1,
        return_type: ReturnType = None,
    ) -> None:
        self._model: Model | None = None
        self._return_type = return_type_of(return_type, out_type, usual=int)
        self._add_bos = add_bos
        self._add_eos = add_eos
        self._reverse = reverse
        self._emit_unk_piece = emit_unk_piece
        self._enable_sampling = enable_sampling
        self._nbest_size = nbest_size
        self._alpha = alpha
        self._num_threads = num_threads
        if model_file or model_proto:
            self.Load(model_file=model_file, model_proto=model_proto)

    @classmethod
    def from_file(cls, model_file: str | os.PathLike[str], **kwargs: Any) -> Self:
        """A processor for the model in a file."""
        refuse_model_options(kwargs, "from_file")
        processor = cls(**kwargs)
        processor.LoadFromFile(model_file)
        return processor

    @classmethod
    def from_proto(cls, model_proto: Any, **kwargs: Any) -> Self:
        """A processor for a model in memory."""
        refuse_model_options(kwargs, "from_proto")
        processor = cls(**kwargs)
        processor.LoadFromSerializedProto(model_proto)
        return processor

    # Loading

    def Load(
        self, model_file: str | os.PathLike[str] | None = None, model_proto: Any = None
    ) -> bool:
        """Load a model from a file or from memory. Returns True."""
        if model_file and model_proto:
            raise UsageError("model_file and model_proto exclude one another")
        if model_proto:
            return self.LoadFromSerializedProto(model_proto)
        if model_file:
            return self.LoadFromFile(model_file)
        raise UsageError("either model_file or model_proto must be given")

    def LoadFromFile(self, filename: str | os.PathLike[str]) -> bool:
        """Load a model from a file. Returns True.

        Raises:
            ModelNotFoundError: It cannot be read (an ``OSError`` and a ``RuntimeError``).
            ModelFormatError: It is no model (a ``ValueError`` and a ``RuntimeError``).
        """
        if not isinstance(filename, (str, os.PathLike)):
            raise TypeError(f"a path must be str, not {type(filename).__name__}")
        path = Path(filename)
        try:
            with path.open("rb") as file:
                data = file.read(_MAX_MODEL_BYTES + 1)
        except (OSError, ValueError) as error:
            number = getattr(error, "errno", None) or 2
            raise ModelNotFoundError(number, os.strerror(number), str(filename)) from None
        self._model = Model(data, path=str(path))
        return True

    def LoadFromSerializedProto(self, serialized: Any) -> bool:
        """Load a model from its bytes, or from a message of a model. Returns True."""
        if hasattr(serialized, "SerializeToString"):
            serialized = serialized.SerializeToString()
        if not isinstance(serialized, bytes):
            raise TypeError(f"a model must be bytes, not {type(serialized).__name__}")
        self._model = Model(serialized)
        return True

    # Encoding

    def Encode(
        self,
        input: Any,  # noqa: A002 - sentencepiece's name, here and below
        add_bos: bool | None = None,  # noqa: FBT001
        add_eos: bool | None = None,  # noqa: FBT001
        reverse: bool | None = None,  # noqa: FBT001
        emit_unk_piece: bool | None = None,  # noqa: FBT001
        enable_sampling: bool | None = None,  # noqa: FBT001
        nbest_size: int | None = None,
        alpha: float | None = None,
        num_threads: int | None = None,
        thread_pool: ThreadPool | None = None,
        return_type: ReturnType = None,
        out_type: ReturnType = None,
        return_bytes: bool | None = None,  # noqa: FBT001
    ) -> Any:
        """Encode a text, or a list of texts.

        Args:
            input: ``str`` or ``bytes``, or a list of them.
            add_bos: Put the piece for the beginning in front.
            add_eos: Put the piece for the end behind.
            reverse: Turn the order of the pieces round.
            emit_unk_piece: Write the unknown piece where text has none, not the text.
            enable_sampling: Draw a segmentation.
            nbest_size: Among how many of the best; negative: among all.
            alpha: How much the better ones are preferred; in BPE, how often a merge is left out.
            num_threads: Threads for a list; negative: as many as there are.
            thread_pool: Threads to use instead.
            return_type: ``int``, ``str``, ``bytes``, ``"proto"``, ``"serialized_proto"``,
                ``"numpy"`` or ``"offset_mapping"``.
            out_type: The older name of ``return_type``.
            return_bytes: True if ``"offset_mapping"`` counts bytes; by default, if it was given
                bytes.
        """
        kind = return_type_of(return_type, out_type, usual=self._return_type)
        if return_bytes is not None and kind != "offset_mapping":
            raise UsageError("return_bytes is for return_type='offset_mapping' only")
        options = CheckedOptions(
            add_bos=bool(given(add_bos, self._add_bos)),
            add_eos=bool(given(add_eos, self._add_eos)),
            reverse=bool(given(reverse, self._reverse)),
            emit_unk_piece=bool(given(emit_unk_piece, self._emit_unk_piece)),
        )
        sampling = given(enable_sampling, self._enable_sampling)
        size = given(nbest_size, self._nbest_size)
        strength = given(alpha, self._alpha)
        if sampling is True and (size in (None, 0, 1) or strength is None):
            raise UsageError(
                f"enable_sampling needs alpha, and nbest_size above 1 or -1 for all; it is {size}"
            )
        threads = threads_of(given(num_threads, self._num_threads), thread_pool)
        many = isinstance(input, list)
        texts = errors.as_texts(input) if many else [errors.as_bytes(input)]
        if return_bytes is None:
            first = input[0] if many and input else input
            return_bytes = isinstance(first, bytes)
        model = self._loaded()
        options.check(model, kind)
        if kind in (int, "numpy") and not sampling:
            out = ids_of_texts(model, texts, options, threads, as_array=kind == "numpy")
        else:
            draw = drawer(model, size, strength) if sampling else model.encode
            shape = _results.shaper(kind, model, options, return_bytes=bool(return_bytes))
            out = [shape(text, draw(text)) for text in texts]
        return out if many else out[0]

    def NBestEncode(
        self,
        input: Any,  # noqa: A002
        add_bos: bool | None = None,  # noqa: FBT001
        add_eos: bool | None = None,  # noqa: FBT001
        reverse: bool | None = None,  # noqa: FBT001
        emit_unk_piece: bool | None = None,  # noqa: FBT001
        nbest_size: int | None = None,
        return_type: ReturnType = None,
        out_type: ReturnType = None,
    ) -> Any:
        """The best segmentations of a text, or of each of a list, best first.

        Raises:
            ProtoOptionError: The model is not a Unigram model (a ``RuntimeError``).
        """
        kind = return_type_of(return_type, out_type, usual=self._return_type)
        options = CheckedOptions(
            add_bos=bool(given(add_bos, self._add_bos)),
            add_eos=bool(given(add_eos, self._add_eos)),
            reverse=bool(given(reverse, self._reverse)),
            emit_unk_piece=bool(given(emit_unk_piece, self._emit_unk_piece)),
        )
        size = max(errors.as_int(given(nbest_size, self._nbest_size)), 1)
        if kind == "offset_mapping":
            raise UsageError(f"return_type is {kind!r}, which NBestEncode does not have")
        many = isinstance(input, list)
        texts = [errors.as_bytes(text) for text in (input if many else [input])]
        model = self._loaded()
        options.check(model, kind)
        check_nbest(model, size)
        if model.core.model_type != "unigram":
            raise ProtoOptionError("the best segmentations are known of Unigram models only")
        out = []
        for text in texts:
            # A single one has no score there.
            found = model.nbest(text, size) if size > 1 else [(model.encode(text), 0.0)]
            if kind in PROTOS:
                out.append(_results.nbest_proto(text, found, serialized=kind != "proto"))
            else:
                shape = _results.shaper(kind, model, options, return_bytes=False)
                out.append([shape(text, pieces) for pieces, _ in found])
        return out if many else out[0]

    def ParallelEncode(
        self,
        input: Any,  # noqa: A002
        add_bos: bool | None = None,  # noqa: FBT001
        add_eos: bool | None = None,  # noqa: FBT001
        reverse: bool | None = None,  # noqa: FBT001
        emit_unk_piece: bool | None = None,  # noqa: FBT001
        chunk_len: int | None = None,
        num_threads: int | None = None,
        thread_pool: ThreadPool | None = None,
        return_type: ReturnType = None,
        out_type: ReturnType = None,
    ) -> Any:
        """`Encode`, whose result it has: sentencepiece cuts a long text and joins the parts."""
        kind = return_type_of(return_type, out_type, usual=self._return_type)
        threads_of(given(num_threads, self._num_threads), thread_pool)
        if not isinstance(chunk_len, int) or chunk_len <= 0:
            raise UsageError(f"chunk_len is {chunk_len}; expected 1 or more")
        if kind == "offset_mapping":
            raise UsageError(f"return_type is {kind!r}, which ParallelEncode does not have")
        return self.Encode(
            input,
            add_bos=add_bos,
            add_eos=add_eos,
            reverse=reverse,
            emit_unk_piece=emit_unk_piece,
            enable_sampling=False,
            num_threads=num_threads,
            thread_pool=thread_pool,
            return_type=kind,
        )

    # Decoding

    def Decode(
        self,
        input: Any,  # noqa: A002
        return_type: ReturnType = None,
        out_type: ReturnType = None,
        num_threads: int | None = None,
        thread_pool: ThreadPool | None = None,
        return_bytes: bool | None = None,  # noqa: FBT001
    ) -> Any:
        """The text of ids or pieces: of one, of a sequence, or of a list of sequences.

        Raises:
            PieceIdError: The model does not have an id (an ``IndexError``).
        """
        kind = return_type_of(return_type, out_type, usual=str)
        if return_bytes is not None and kind != "offset_mapping":
            raise UsageError("return_bytes is for return_type='offset_mapping' only")
        threads_of(given(num_threads, self._num_threads), thread_pool)
        if kind in (int, "numpy"):
            raise UsageError(f"return_type is {kind!r}, which Decode does not have")
        if input is None or (isinstance(input, (str, bytes)) and not input):
            input = []  # noqa: A001
        elif not errors.is_sequence(input):
            input = [input]  # noqa: A001
        model = self._loaded()
        if not is_batch(input):
            return decode_one(model, input, kind, return_bytes=bool(return_bytes))
        first: Any = next((row for row in input if errors.is_sequence(row) and len(row)), [])
        pieces = is_pieces(first)
        as_bytes = pieces and isinstance(first[0], bytes)
        return [
            decode_one(model, row, kind, return_bytes=bool(return_bytes) or as_bytes, pieces=pieces)
            for row in input
        ]

    # About the vocabulary

    def GetPieceSize(self) -> int:
        """How many pieces the model has; 0 without a model."""
        return 0 if self._model is None else len(self._model)

    def PieceToId(self, piece: Any) -> Any:
        """The id of a piece, or of each of a sequence; the unknown piece's if there is none."""
        find = self._loaded().piece_to_id
        if isinstance(piece, (str, bytes)):
            return find(errors.as_bytes(piece))
        return [find(one) for one in errors.as_texts(piece)]

    def IdToPiece(self, id: Any) -> Any:  # noqa: A002
        """The piece of an id, or of each of a sequence."""
        return self._of_ids(id, lambda model, one: model.texts[one])

    def GetScore(self, id: Any) -> Any:  # noqa: A002
        """The score of an id, or of each of a sequence."""
        return self._of_ids(id, lambda model, one: model.scores[one])

    def IsUnknown(self, id: Any) -> Any:  # noqa: A002
        """True if an id is that of the unknown piece."""
        return self._of_ids(id, lambda model, one: model.kinds[one] == 2)

    def IsControl(self, id: Any) -> Any:  # noqa: A002
        """True if an id is that of a piece that is never made from text (``<s>``)."""
        return self._of_ids(id, lambda model, one: model.kinds[one] == 3)

    def IsUnused(self, id: Any) -> Any:  # noqa: A002
        """True if an id is that of a piece that is switched off."""
        return self._of_ids(id, lambda model, one: model.kinds[one] == 5)

    def IsByte(self, id: Any) -> Any:  # noqa: A002
        """True if an id is that of a byte."""
        return self._of_ids(id, lambda model, one: model.kinds[one] == 6)

    def unk_id(self) -> int:
        """The id of the unknown piece; -1 if there is none."""
        return -1 if self._model is None else self._model.unk_id

    def bos_id(self) -> int:
        """The id of the piece for the beginning; -1 if there is none."""
        return -1 if self._model is None else self._model.bos_id

    def eos_id(self) -> int:
        """The id of the piece for the end; -1 if there is none."""
        return -1 if self._model is None else self._model.eos_id

    def pad_id(self) -> int:
        """The id of the piece that fills batches; -1 if there is none."""
        return -1 if self._model is None else self._model.pad_id

    def Normalize(self, input: Any, with_offsets: bool | None = None) -> Any:  # noqa: A002, FBT001
        """The text as the model sees it; with the place that each character of it comes from.

        Places count code points for ``str``, bytes for ``bytes``, and end with that of the end.
        """
        model = self._loaded()
        texts = input if isinstance(input, list) else [input]
        normalize = _results.normalizer_of(model.normalize, with_offsets=bool(with_offsets))
        out = [normalize(text) for text in texts]
        return out if isinstance(input, list) else out[0]

    def serialized_model_proto(self) -> bytes:
        """The model, as it was loaded; empty without one."""
        return b"" if self._model is None else self._model.data

    @property
    def tokenizer(self) -> Any:
        """Model as a ``jeton.Tokenizer``."""
        return self._loaded().tokenizer

    # The second names

    load = Load
    load_from_file = LoadFromFile
    load_from_serialized_proto = LoadFromSerializedProto
    encode = Encode
    nbest_encode = NBestEncode
    parallel_encode = ParallelEncode
    decode = Decode
    get_piece_size = GetPieceSize
    piece_to_id = PieceToId
    id_to_piece = IdToPiece
    get_score = GetScore
    is_unknown = IsUnknown
    is_control = IsControl
    is_unused = IsUnused
    is_byte = IsByte
    normalize = Normalize
    Tokenize = tokenize = Encode
    Detokenize = detokenize = Decode
    piece_size = vocab_size = GetPieceSize

    def __len__(self) -> int:
        return self.GetPieceSize()

    def __getitem__(self, piece: Any) -> Any:
        return self.PieceToId(piece)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_model", None)
        state["model_proto"] = self.serialized_model_proto()
        return state

    def __setstate__(self, state: Any) -> None:
        # The model alone is what sentencepiece pickled once.
        state = dict(state) if isinstance(state, dict) else {"model_proto": state}
        SentencePieceProcessor.__init__(self)
        model = state.pop("model_proto")
        if model:
            self.LoadFromSerializedProto(model)
        self.__dict__.update(state)

    def _loaded(self) -> Model:
        if self._model is None:
            raise NotLoadedError("the processor has no model\nhint: Load(model_file=...)")
        return self._model

    def _of_ids(self, ids: Any, fact: Callable[[Model, int], Any]) -> Any:
        model = self._loaded()
        if hasattr(ids, "__index__") and not hasattr(ids, "__len__"):
            number = errors.as_int(ids)
            model.check([number])
            return fact(model, number)
        numbers = errors.as_ids(ids)
        model.check(numbers)
        return [fact(model, number) for number in numbers]
