"""The Rust core as Python sees it. ``Tokenizer`` is the core's own class."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__version__: str
__all__ = [
    "DecodeIterator",
    "DecodeStream",
    "DocumentReader",
    "Encoding",
    "PretokenCounts",
    "SentencePieceModel",
    "SentencePieceRules",
    "SpecialToken",
    "TermCounter",
    "TextBatch",
    "TextStats",
    "TokenBatch",
    "TokenStats",
    "Tokenizer",
    "__version__",
    "_raise_error_kind",
    "available_threads",
    "compile_charsmap",
    "compress_zstd",
    "decompress",
    "list_error_kinds",
    "published_patterns",
    "train_bpe",
]

_Text: TypeAlias = str | bytes

@final
class TextBatch:
    """Documents as one UTF-8 buffer and int64 offsets: what files, core and Python exchange.

    Document ``i`` is ``data[offsets[i]:offsets[i + 1]]``.
    """

    @staticmethod
    def from_texts(texts: Iterable[_Text] | Any, *, strict: bool = False) -> TextBatch:
        """Copy texts into a batch. Bytes that are not UTF-8 are replaced by U+FFFD and counted;
        ``strict=True`` raises ``InvalidTextError`` instead. A string array that speaks the Arrow
        C data interface (``__arrow_c_array__`` / ``__arrow_c_stream__``) is accepted too."""
    @property
    def data(self) -> NDArray[np.uint8]:
        """The bytes, uint8 (n_bytes,), read-only, zero copy."""
    @property
    def offsets(self) -> NDArray[np.int64]:
        """int64 (n_documents + 1,), read-only, zero copy."""
    @property
    def n_bytes(self) -> int: ...
    @property
    def n_replaced_documents(self) -> int:
        """Documents in which bytes that are not UTF-8 were replaced."""
    @property
    def n_replacements(self) -> int:
        """U+FFFD written in place of invalid bytes, over all documents."""
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> str: ...
    def __iter__(self) -> Iterator[str]: ...

@final
class DocumentReader:
    """Streams one file (``"-"``: standard input) as batches of documents; compressed or not.

    Compression (zstd, gzip, none) is detected from the first bytes. ``format="text"``: the file is
    one document (``documents="file"``) or one document a line (``documents="line"``; empty lines are
    skipped). ``format="jsonl"``: one JSON object a line, the text under ``field`` (dots descend:
    ``"message.content"``); blank lines are skipped.
    A text document above ``max_document_bytes`` is cut at line ends (counted in ``n_cut_documents``).

    Raises ``RecordError`` (path, line) for a line that does not parse, ``LimitError`` for a file that
    decompresses to more than ``max_decompressed_bytes`` or beyond 1000 times its size, ``InvalidTextError`` under ``strict``,
    ``OSError`` and its subclasses for the file itself.
    """

    def __new__(
        cls,
        path: str,
        *,
        format: Literal["text", "jsonl"],
        field: str = "text",
        documents: Literal["file", "line"] = "file",
        strict: bool = False,
        batch_bytes: int = 8_388_608,
        max_document_bytes: int = 67_108_864,
        max_decompressed_bytes: int | None = None,
    ) -> Self: ...
    @property
    def n_bytes_read(self) -> int:
        """Bytes taken from the file so far, as stored (compressed): for a progress bar."""
    @property
    def n_documents(self) -> int: ...
    @property
    def n_cut_documents(self) -> int: ...
    def __iter__(self) -> Iterator[TextBatch]: ...
    def __next__(self) -> TextBatch: ...

@final
class TokenBatch:
    """Ids of many texts: ``ids[offsets[i]:offsets[i + 1]]`` are those of text ``i``."""

    @property
    def ids(self) -> NDArray[np.uint32]:
        """uint32 (n_tokens,)"""
    @property
    def offsets(self) -> NDArray[np.int64]:
        """int64 (n_texts + 1,)"""
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> NDArray[np.uint32]: ...
    def __iter__(self) -> Iterator[NDArray[np.uint32]]: ...
    def to_lists(self) -> list[list[int]]: ...

@final
class Encoding:
    """Ids of one text with where each comes from. All arrays have shape (n_tokens,)."""

    @property
    def ids(self) -> NDArray[np.uint32]: ...
    @property
    def starts(self) -> NDArray[np.int64]:
        """First code point of each token in the original text."""
    @property
    def ends(self) -> NDArray[np.int64]:
        """One past the last code point of each token in the original text."""
    @property
    def starts_bytes(self) -> NDArray[np.int64]: ...
    @property
    def ends_bytes(self) -> NDArray[np.int64]: ...
    @property
    def word_ids(self) -> NDArray[np.int64]:
        """Index of the pretoken that a token belongs to; -1 for special tokens."""
    @property
    def special_tokens_mask(self) -> NDArray[np.bool_]:
        """Whether a token was put around the text (``add_special_tokens``). As in ``tokenizers``, a
        special token that stood in the text is not marked; ``Tokenizer.special_tokens_mask`` goes by id."""
    @property
    def type_ids(self) -> NDArray[np.uint32]:
        """Token-type ids, as the file's template has them."""
    def __len__(self) -> int: ...

@final
class DecodeStream:
    """Ids to text as they come, as ``Tokenizer.decode_stream`` gives it.

    All pushes and the flush together are what ``decode`` gives for all ids, and no push breaks a
    character: what later ids can change is held back. That is little (the bytes of a character, an
    end-of-word suffix, white space that is stripped at the end), but for: a run of byte tokens of a
    ``tokenizer.json``, which is text or U+FFFD as a whole and comes when it ends or breaks; and what is
    applied to the whole text and so comes with the flush (a regular expression or ``ByteLevel`` behind ``Fuse``,
    a SentencePiece model's charsmap for decoding). Not for use by several threads at once.
    """

    def push(self, ids: int | Sequence[int] | NDArray[Any]) -> str:
        """The text that is final with this id or these, possibly none.

        Raises ``UnknownTokenIdError`` for an id without a token; no id of that call is taken then."""
    def flush(self) -> str:
        """The rest, as it is if no more ids come. The next push begins a new text."""

@final
class DecodeIterator:
    """Pieces of text, as ``Tokenizer.decode_iter`` gives them."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> str: ...

@final
class SpecialToken:
    @property
    def content(self) -> str: ...
    @property
    def id(self) -> int: ...
    @property
    def special(self) -> bool:
        """False: an added token that ordinary text may contain and that is always matched."""

@final
class TextStats:
    """What a text is before any tokenizer sees it. Mergeable: ``a.merge(b) == b.merge(a)``."""

    def __new__(cls) -> Self: ...
    def add(self, batch: TextBatch, *, num_threads: int | None = None) -> None: ...
    def merge(self, other: TextStats) -> TextStats: ...
    @property
    def n_documents(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...
    @property
    def n_chars(self) -> int: ...
    @property
    def n_words(self) -> int:
        """Maximal runs of characters that are not Unicode White_Space (the splitter ``whitespace``)."""
    @property
    def n_replaced_documents(self) -> int: ...
    @property
    def n_replacements(self) -> int: ...
    @property
    def n_whitespace_bytes(self) -> int:
        """Bytes of White_Space characters that follow another White_Space character: removable runs."""
    @property
    def bytes_per_document(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """(lengths ascending, number of documents of each length)."""

@final
class TokenStats:
    """What one tokenizer makes of texts. Mergeable integers only."""

    def __new__(cls, vocab_size: int) -> Self: ...
    def merge(self, other: TokenStats) -> TokenStats: ...
    @property
    def n_documents(self) -> int: ...
    @property
    def n_tokens(self) -> int: ...
    @property
    def n_round_trip_failures(self) -> int:
        """Documents whose ids do not decode to the text (after the tokenizer's own normalization)."""
    @property
    def n_normalized_documents(self) -> int:
        """Documents that the tokenizer's normalization changed."""
    @property
    def id_counts(self) -> NDArray[np.uint64]:
        """uint64 (vocab_size,): how often each id was produced."""
    @property
    def tokens_per_document(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """(lengths ascending, number of documents of each length): an exact histogram."""

@final
class TermCounter:
    """Counts given terms in text: whole words, ASCII case ignored, longest term first."""

    def __new__(cls, terms: Sequence[str]) -> Self: ...
    def add(self, batch: TextBatch, *, num_threads: int | None = None) -> None: ...
    @property
    def counts(self) -> NDArray[np.uint64]:
        """uint64 (n_terms,), in the order of ``terms``."""

@final
class Tokenizer:
    """An immutable tokenizer. Safe to share between threads, to fork with and to pickle."""

    @staticmethod
    def from_tiktoken(
        data: bytes,
        *,
        pattern: str,
        special_tokens: Mapping[str, int] | None = None,
        normalizer: Literal["nfc"] | None = None,
        name: str | None = None,
        path: str | None = None,
    ) -> Tokenizer:
        """From the bytes of a ``.tiktoken`` rank file. ``pattern``: a published name
        (see ``published_patterns()``) or a regular expression."""
    @staticmethod
    def from_hf_json(data: bytes, *, name: str | None = None, path: str | None = None) -> Tokenizer:
        """From the bytes of a ``tokenizer.json``."""
    @staticmethod
    def from_sentencepiece(
        data: bytes, *, name: str | None = None, path: str | None = None
    ) -> Tokenizer:
        """From the bytes of a SentencePiece ``.model``."""
    @staticmethod
    def from_vocab_txt(
        data: bytes,
        *,
        lowercase: bool = True,
        strip_accents: bool | None = None,
        handle_chinese_chars: bool = True,
        clean_text: bool = True,
        unk_token: str | None = None,
        name: str | None = None,
        path: str | None = None,
    ) -> Tokenizer:
        """From the bytes of BERT's ``vocab.txt``; the keywords are what the file does not say.

        ``strip_accents`` is as ``lowercase`` unless it is given.
        """
    @staticmethod
    def from_rwkv(data: bytes, *, name: str | None = None, path: str | None = None) -> Tokenizer:
        """From the bytes of RWKV's list of tokens."""
    @staticmethod
    def from_tekken(data: bytes, *, name: str | None = None, path: str | None = None) -> Tokenizer:
        """From the bytes of Mistral's ``tekken.json``."""
    @staticmethod
    def from_claude(data: bytes, *, name: str | None = None, path: str | None = None) -> Tokenizer:
        """From the bytes of the JSON of Anthropic's old public tokenizer."""
    @staticmethod
    def from_clip(data: bytes, *, name: str | None = None, path: str | None = None) -> Tokenizer:
        """From the bytes of CLIP's merges, decompressed."""
    @staticmethod
    def from_gguf(data: bytes, *, name: str | None = None, path: str | None = None) -> Tokenizer:
        """From the bytes of a GGUF file, or as much of its beginning as its header takes."""
    @staticmethod
    def gguf_header_bytes(data: bytes, *, path: str | None = None) -> tuple[int, bool]:
        """Bytes that a GGUF file's header takes, and whether that is all.

        Of a beginning that is too short: the least that more of it takes, and False.
        """
    @staticmethod
    def from_gpt2_files(
        vocab: bytes,
        merges: bytes,
        *,
        add_prefix_space: bool = False,
        special_tokens: Sequence[str] | None = None,
        unk_token: str | None = None,
        before: Sequence[str] | None = None,
        after: Sequence[str] | None = None,
        name: str | None = None,
        path: str | None = None,
    ) -> Tokenizer:
        """From GPT-2's ``vocab.json`` and ``merges.txt``.

        ``before`` and ``after`` are special tokens that ``add_special_tokens`` puts around a text.
        """
    @staticmethod
    def from_canonical(
        data: bytes, *, name: str | None = None, path: str | None = None
    ) -> Tokenizer:
        """From the canonical written form, as ``to_canonical`` gives it."""
    def to_canonical(self) -> bytes: ...
    def to_tiktoken(self) -> bytes: ...
    def to_hf_json(self) -> bytes: ...
    def to_bytes(self, format: str, *, lossy: bool = False) -> bytes:
        """The one file that the tokenizer is in a format, one of ``jeton.formats.FORMATS``.

        What the format does not hold is an error that lists it all, or with ``lossy`` a warning.
        """
    def write_format(self, format: str) -> dict[str, Any]:
        """The tokenizer in a format: its ``files`` by role, the ``losses``, what makes it impossible
        (``obstacles``; then there are no files), the ``options`` to read it with, and what was
        ``read``. For ``jeton.formats``, which makes errors and warnings of it."""
    @staticmethod
    def file_formats() -> list[str]:
        """Names of the formats of ``write_format``."""
    def encode(
        self,
        text: _Text,
        *,
        add_special_tokens: bool = False,
        allow_special: Iterable[str] | Literal["all"] | None = None,
    ) -> list[int]: ...
    def encode_array(
        self,
        text: _Text,
        *,
        add_special_tokens: bool = False,
        allow_special: Iterable[str] | Literal["all"] | None = None,
    ) -> NDArray[np.uint32]: ...
    def encode_batch(
        self,
        texts: TextBatch | Iterable[_Text],
        *,
        num_threads: int | None = None,
        add_special_tokens: bool = False,
        allow_special: Iterable[str] | Literal["all"] | None = None,
    ) -> TokenBatch: ...
    def encode_with_offsets(
        self,
        text: _Text,
        *,
        add_special_tokens: bool = False,
        allow_special: Iterable[str] | Literal["all"] | None = None,
        trim_offsets: bool = True,
    ) -> Encoding:
        """Ids with where each comes from.

        ``trim_offsets=False`` leaves white space in the ranges where the file wants it left out.
        """
    def sample(
        self,
        text: _Text,
        *,
        seed: int,
        method: Literal["dropout", "uniform", "unigram", "nbest"] | None = None,
        dropout: float | None = None,
        alpha: float | None = None,
        nbest: int | None = None,
        add_special_tokens: bool = False,
        allow_special: Iterable[str] | Literal["all"] | None = None,
    ) -> list[int]:
        """Ids of a segmentation that is drawn, the same for the same seed (0 to 2**64 - 1).

        ``sampling_methods`` lists what the tokenizer has; the first is used unless a parameter belongs to
        another. ``"dropout"``: BPE leaves merges out with the probability ``dropout`` (0 to 1; the file's own,
        or else 0.1), for good in SentencePiece models, with another chance in all others.
        ``"uniform"``: all segmentations of a pretoken into tokens alike; a pretoken that has none is
        encoded. ``"unigram"``: by probability to the power of ``alpha`` (0 or more; else 1). ``"nbest"``: the same
        among the ``nbest`` best (1 to 1024) of each pretoken, or of the text in a SentencePiece model.

        Raises ``UsageError`` for a method that the tokenizer does not have and for parameters out of range.
        """
    def sample_batch(
        self,
        texts: TextBatch | Iterable[_Text],
        *,
        seed: int,
        method: Literal["dropout", "uniform", "unigram", "nbest"] | None = None,
        dropout: float | None = None,
        alpha: float | None = None,
        nbest: int | None = None,
        num_threads: int | None = None,
        add_special_tokens: bool = False,
        allow_special: Iterable[str] | Literal["all"] | None = None,
    ) -> TokenBatch:
        """``sample`` for many texts. The draw of a text depends on the seed, its place in the batch and
        the text alone, never on ``num_threads``; that of the first is what ``sample`` gives."""
    @property
    def sampling_methods(self) -> list[str]:
        """The values of ``method`` that ``sample`` takes, the usual one first; empty where every text has one
        segmentation."""
    def nbest(self, text: _Text, n: int) -> list[tuple[list[int], float]]:
        """The ``n`` best segmentations (1 to 1024) with their scores (natural logarithms), best first.

        Of the whole text: where a pre-tokenizer cuts it, all combinations of the pretokens' segmentations
        count, and scores are sums. A SentencePiece model's list is that of ``sentencepiece``. Raises
        ``UsageError`` for models that are not Unigram models.
        """
    def count(
        self, text: _Text, *, allow_special: Iterable[str] | Literal["all"] | None = None
    ) -> int: ...
    def count_batch(
        self,
        texts: TextBatch | Iterable[_Text],
        *,
        num_threads: int | None = None,
        allow_special: Iterable[str] | Literal["all"] | None = None,
    ) -> NDArray[np.int64]: ...
    def decode(
        self,
        ids: Sequence[int] | NDArray[Any],
        *,
        skip_special_tokens: bool = False,
        errors: Literal["replace", "strict"] = "replace",
    ) -> str: ...
    def decode_bytes(
        self, ids: Sequence[int] | NDArray[Any], *, skip_special_tokens: bool = False
    ) -> bytes: ...
    def decode_stream(self, *, skip_special_tokens: bool = False) -> DecodeStream:
        """Decoding for ids that come one by one."""
    def decode_iter(
        self, ids: Iterable[int], *, skip_special_tokens: bool = False
    ) -> DecodeIterator:
        """The pieces of text, none empty, of ids that an iterator gives; each as soon as it is certain."""
    def special_tokens_mask(self, ids: Sequence[int] | NDArray[Any]) -> NDArray[np.bool_]:
        """Whether each id is that of a special token, wherever it came from: bool (n_tokens,)."""
    def normalize(self, text: _Text) -> str:
        """The text as the model sees it, after normalization."""
    def pretokenize(self, text: _Text) -> list[str]:
        """The pretokens of the normalized text (pieces of it; a piece that cuts a character cannot occur)."""
    def encode_pretoken(self, pretoken: bytes) -> list[int]:
        """The ids of bytes that are taken as one pretoken: no special tokens, no normalization, no split.

        They need not be UTF-8 where the model works on bytes. Raises ``UsageError`` for SentencePiece models.
        """
    def measure(
        self, batch: TextBatch, *, num_threads: int | None = None, round_trip: bool = True
    ) -> TokenStats: ...
    def id_to_bytes(self, id: int) -> bytes: ...
    def bytes_to_id(self, token_bytes: bytes) -> int | None: ...
    def token_lengths(self) -> NDArray[np.uint32]:
        """Bytes of each id, uint32 (vocab_size,); 0 for ids without a token."""
    @property
    def name(self) -> str | None: ...
    @property
    def vocab_size(self) -> int:
        """One past the highest id: the rows that an embedding needs."""
    @property
    def n_tokens(self) -> int:
        """Ids that have a token (vocab_size less the holes)."""
    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical form, 64 hexadecimal digits."""
    @property
    def special_tokens(self) -> dict[str, int]: ...
    @property
    def added_tokens(self) -> list[SpecialToken]: ...
    @property
    def algorithm(self) -> str: ...
    @property
    def split_pattern(self) -> str | None: ...
    @property
    def reference(self) -> str:
        """Whose ids these equal: ``tiktoken``, ``hf``, ``sentencepiece`` or ``jeton``."""
    def save(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        lossy: bool = False,
        samples: Sequence[str] | bool | None = None,
        training_card: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a file or a folder; the suffix, or ``format``, chooses the format.

        What the format does not hold is an error that lists it all, or with ``lossy`` a warning.
        ``samples`` are texts whose ids are verified at every load (see
        ``jeton.formats.save_file``).
        """
    def with_name(self, name: str) -> Tokenizer: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class SentencePieceModel:
    """A SentencePiece model as its own library shows it, for what stands in for that library.

    Places are bytes. Spans are (id, start, end) in the normalized text; the bytes of one character share its range.
    """

    def __new__(cls, data: bytes, *, path: str | None = None) -> Self: ...
    @property
    def tokenizer(self) -> Tokenizer:
        """The same model as a tokenizer; nothing is copied."""
    @property
    def model_type(self) -> Literal["unigram", "bpe", "word", "char"]: ...
    def pieces(self) -> list[tuple[bytes, float, int]]:
        """Bytes, score and kind of each id; kinds are numbered as in the file, 1 (normal) to 6 (byte)."""
    @property
    def unk_surface(self) -> str:
        """What the unknown id decodes to."""
    @property
    def byte_fallback(self) -> bool: ...
    @property
    def add_dummy_prefix(self) -> bool: ...
    @property
    def remove_extra_whitespaces(self) -> bool: ...
    @property
    def bos_id(self) -> int | None: ...
    @property
    def eos_id(self) -> int | None: ...
    @property
    def pad_id(self) -> int | None: ...
    def normalize(self, text: _Text) -> tuple[str, NDArray[np.int64]]:
        """The normalized text, and the byte that each of its bytes and its end come from."""
    def denormalize(self, text: _Text) -> str:
        """What becomes of decoded text in the end."""
    def encode_normalized(self, text: _Text) -> list[tuple[int, int, int]]:
        """The spans of a text that is normalized."""
    def nbest_normalized(
        self, text: _Text, n: int
    ) -> list[tuple[list[tuple[int, int, int]], float]]:
        """The ``n`` best segmentations (1 to 1024) of a text that is normalized, with their scores."""
    def sample_normalized(
        self, text: _Text, *, seed: int, nbest_size: int | None, alpha: float
    ) -> list[tuple[int, int, int]]:
        """A drawn segmentation of a text that is normalized: among the ``nbest_size`` best, or among all."""

@final
class SentencePieceRules:
    """SentencePiece's normalizer by itself."""

    def __new__(
        cls,
        *,
        charsmap: bytes,
        add_dummy_prefix: bool,
        remove_extra_whitespaces: bool,
        escape_whitespaces: bool,
        kept: Sequence[bytes] | None = None,
        whitespace_as_suffix: bool = False,
    ) -> Self: ...
    def normalize(self, text: _Text) -> tuple[str, NDArray[np.int64]]:
        """The normalized text, and the byte that each of its bytes and its end come from."""
    def rules(self) -> list[tuple[str, str]]:
        """What becomes what, sorted."""

def compile_charsmap(rules: Sequence[tuple[str, str]]) -> bytes:
    """Rules as a precompiled charsmap, as a SentencePiece model holds it; empty for none."""

@final
class PretokenCounts:
    """Weighted pretokens: what every trainer starts from. Mergeable."""

    def __new__(cls, *, pattern: str, normalizer: Literal["nfc"] | None = None) -> Self: ...
    def add(self, batch: TextBatch, *, num_threads: int | None = None) -> None: ...
    def merge(self, other: PretokenCounts) -> None: ...
    def __len__(self) -> int: ...
    @property
    def n_pretokens(self) -> int: ...
    @property
    def n_bytes(self) -> int: ...
    @property
    def n_documents(self) -> int: ...
    def items(self) -> list[tuple[bytes, int]]:
        """All pretokens with their counts, by falling count, then by bytes."""

def train_bpe(
    counts: PretokenCounts,
    *,
    vocab_size: int,
    min_frequency: int = 1,
    special_tokens: Sequence[str] | None = None,
    max_token_bytes: int | None = None,
    tie_rule: Literal["hf", "bytes"] = "hf",
    on_progress: Callable[[int, int], None] | None = None,
    name: str | None = None,
) -> Tokenizer:
    """Train byte-level BPE. ``on_progress(done, total)`` is called now and then; Ctrl-C works."""

def published_patterns() -> dict[str, str]:
    """Names of the published split patterns and the patterns themselves."""

def available_threads() -> int: ...
def decompress(data: bytes, *, max_bytes: int = ..., path: str | None = None) -> bytes:
    """zstd or gzip by magic number; anything else is returned as it is. ``LimitError`` above max_bytes."""

def compress_zstd(data: bytes, *, level: int = 19) -> bytes: ...
def list_error_kinds() -> list[str]:
    """Every kind of error of the core, for the test that enumerates them."""

def _raise_error_kind(kind: str) -> None:
    """Raise a sample error of the kind: for the test that enumerates them."""
