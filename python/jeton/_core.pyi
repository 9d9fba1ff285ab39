"""The Rust core as Python sees it. ``Tokenizer`` is the core's own class."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from jeton.estimating.bounds import TokenBounds

__version__: str
__all__ = [
    "AdmissionBooks",
    "BpeOptions",
    "CharacterTable",
    "ContinuedBpe",
    "CountsFile",
    "DecodeIterator",
    "DecodeStream",
    "DocumentReader",
    "EncodeIterator",
    "Encoding",
    "FewestTokens",
    "FrequentPretokens",
    "GgufHeader",
    "GrowingText",
    "Growth",
    "GuardedEncoding",
    "LearnedToken",
    "ModelInputs",
    "NearDuplicates",
    "NoncanonicalIds",
    "OutputHistory",
    "ParityBpe",
    "PrefixIndex",
    "PretokenCounts",
    "ReadRanks",
    "RefusedToken",
    "Segmentation",
    "SentencePieceModel",
    "SentencePieceRules",
    "SpecialToken",
    "SuperwordBpe",
    "Survey",
    "Surveyor",
    "TermCounter",
    "TextBatch",
    "TextScanner",
    "TextStats",
    "TokenBatch",
    "TokenStats",
    "Tokenizer",
    "TrimmedBpe",
    "__version__",
    "_raise_error_kind",
    "available_threads",
    "bucket_edges",
    "chunk_spans",
    "chunk_texts",
    "compile_charsmap",
    "compress_zstd",
    "continue_bpe",
    "counts_for",
    "decompress",
    "file_formats",
    "from_canonical",
    "from_claude",
    "from_clip",
    "from_compiled",
    "from_compiled_file",
    "from_gguf",
    "from_gpt2_files",
    "from_hf_json",
    "from_rwkv",
    "from_sentencepiece",
    "from_tekken",
    "from_tiktoken",
    "from_vocab_txt",
    "gguf_header_bytes",
    "list_error_kinds",
    "pack_best_fit",
    "pack_buckets",
    "pack_first_fit",
    "pack_sorted_batches",
    "pair_digests",
    "published_patterns",
    "quality_figures",
    "scan_boundaries",
    "scan_markdown",
    "sha256",
    "simulate_traffic",
    "text_digests",
    "text_quality",
    "train_bpe",
    "train_bpe_with",
    "train_characters",
    "train_fewest_tokens",
    "train_parity_bpe",
    "train_pieces",
    "train_sentencepiece",
    "train_superwords",
    "train_trimmed_bpe",
    "write_format",
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
    def n_bytes(self) -> int:
        """Bytes of all texts together."""
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
class TextScanner:
    """Finds the places of a text at which the guard has to look."""

    def __new__(
        cls,
        ranges: Sequence[tuple[int, int, int, int, int, int]],
        folds: Sequence[tuple[str, int]],
        markers: Sequence[str],
        phrases: Sequence[str],
    ) -> Self:
        """Make a scanner from properties of characters: for each range of code points its first one,
        class, script, joining type, flags and script bit, ascending. ``folds`` has characters with
        the ASCII character that they pass for, ``markers`` the texts of special tokens, ``phrases``
        words that are found as they are."""
    def candidates(self, text: str) -> list[tuple[int, int, int]]:
        """The candidates of a text: start and end in code points, and the code, by place and code."""

@final
class DocumentReader:
    """Streams one file (``"-"``: standard input) as batches of documents; compressed or not.

    Compression (zstd, gzip, none) is detected from the first bytes. ``format="text"``: the file is
    one document (``documents="file"``) or one document a line (``documents="line"``; empty lines
    are skipped). ``format="jsonl"``: one JSON object a line, the text under ``field`` (dots
    descend: ``"message.content"``); blank lines are skipped, and so are texts that are null
    (counted in ``n_null_documents``). ``skip_bad_records`` leaves out lines that do not parse or
    have no text (``n_bad_records``). A text document above ``max_document_bytes`` is cut at line
    ends (counted in ``n_cut_documents``). ``decompress_ahead``: a thread of its own decompresses a
    large file.

    Raises ``RecordError`` (path, line) for a line that does not parse, ``LimitError`` for a file
    that decompresses to more than ``max_decompressed_bytes`` or beyond 1000 times its size,
    ``InvalidTextError`` under ``strict``, ``OSError`` and its subclasses for the file itself.
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
        skip_bad_records: bool = False,
        decompress_ahead: bool = False,
    ) -> Self: ...
    @property
    def n_bytes_read(self) -> int:
        """Bytes taken from the file so far, as stored (compressed): for a progress bar."""
    @property
    def n_documents(self) -> int:
        """Documents handed out so far."""
    @property
    def n_cut_documents(self) -> int:
        """Documents above ``max_document_bytes``, which came in pieces."""
    @property
    def n_null_documents(self) -> int:
        """Records whose text is null, left out so far."""
    @property
    def n_bad_records(self) -> int:
        """Lines left out so far because they cannot be used."""
    @property
    def first_bad_record(self) -> str | None:
        """The error that the first of them would have been; ``None`` without one."""
    def __iter__(self) -> Iterator[TextBatch]: ...
    def __next__(self) -> TextBatch: ...

@final
class TokenBatch:
    """Ids of many texts: text ``i`` has ``ids[offsets[i]:offsets[i + 1]]``."""

    @property
    def ids(self) -> NDArray[np.uint32]:
        """uint32 (n_tokens,)"""
    @property
    def offsets(self) -> NDArray[np.int64]:
        """int64 (n_texts + 1,)"""
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> NDArray[np.uint32]: ...
    def __iter__(self) -> Iterator[NDArray[np.uint32]]: ...
    def to_lists(self) -> list[list[int]]:
        """The ids of each text as a list."""

@final
class Encoding:
    """Ids of one text with where each comes from. All arrays have shape (n_tokens,)."""

    @property
    def ids(self) -> NDArray[np.uint32]:
        """uint32 (n_tokens,)"""
    @property
    def starts(self) -> NDArray[np.int64]:
        """First code point of each token in the original text."""
    @property
    def ends(self) -> NDArray[np.int64]:
        """One past the last code point of each token in the original text."""
    @property
    def starts_bytes(self) -> NDArray[np.int64]:
        """First byte of each token in the original text, as UTF-8."""
    @property
    def ends_bytes(self) -> NDArray[np.int64]:
        """One past the last byte of each token in the original text."""
    @property
    def word_ids(self) -> NDArray[np.int64]:
        """Index of the pretoken that a token belongs to; -1 for special tokens."""
    @property
    def special_tokens_mask(self) -> NDArray[np.bool_]:
        """True if a token was put around the text (``add_special_tokens``). As in ``tokenizers``, a
        special token that stood in the text is not marked; ``Tokenizer.special_tokens_mask`` goes
        by id.
        """
    @property
    def type_ids(self) -> NDArray[np.uint32]:
        """Token-type ids, as the file's template has them."""
    def __len__(self) -> int: ...

@final
class ModelInputs:
    """Ids of a batch with all that a model takes beside them, as ``Tokenizer.model_inputs`` gives
    them.

    Arrays of tokens have the shape (n_rows, n_columns) if rows are padded, and else (n_ids,), rows
    one behind the other: row ``i`` is then ``[row_offsets[i]:row_offsets[i + 1]]``. They are NumPy
    arrays of the dtype that was asked for (int64 or int32) unless it is named, writable, made when
    they are first asked for and the same object each time. Any library that speaks DLPack takes
    them without a copy: ``torch.from_dlpack(inputs.input_ids)``, and ``torch.from_dlpack(inputs)``
    is the same.
    """

    @property
    def input_ids(self) -> NDArray[Any]:
        """The ids."""
    @property
    def attention_mask(self) -> NDArray[Any]:
        """1 for every id, 0 for padding."""
    @property
    def token_type_ids(self) -> NDArray[Any]:
        """Token types, as the template has them in every row; ``pad_type_id`` for padding."""
    @property
    def position_ids(self) -> NDArray[Any]:
        """0, 1, 2 ... for the ids of each row, on whatever side it is padded; 0 for padding."""
    @property
    def special_tokens_mask(self) -> NDArray[np.bool_]:
        """True if an id is the template's or padding. A special token that stood in the text is not
        marked.
        """
    @property
    def sequence_ids(self) -> NDArray[np.int8]:
        """0 and 1 for ids of the first and the second text; -1 for the template and padding."""
    @property
    def starts(self) -> NDArray[np.int64]:
        """First code point of each token in its own text; 0 for the template's and padding.

        Raises ``UsageError`` if the inputs were made without ``offsets=True``; so do the next two."""
    @property
    def ends(self) -> NDArray[np.int64]:
        """One past the last code point of each token in its own text; 0 for the template's and
        padding.
        """
    @property
    def word_ids(self) -> NDArray[np.int64]:
        """Index of the pretoken in its own text; -1 for special tokens, the template's and padding."""
    @property
    def overflow_to_sample(self) -> NDArray[np.int64]:
        """Text or pair that each row is from, int64 (n_rows,)."""
    @property
    def n_tokens(self) -> NDArray[np.int64]:
        """Tokens of each text or pair before truncation, without the template's, int64 (n_texts,)."""
    @property
    def n_truncated_tokens(self) -> NDArray[np.int64]:
        """Tokens of each text or pair that stand in no row, int64 (n_texts,)."""
    @property
    def lengths(self) -> NDArray[np.int64]:
        """Ids of each row without padding, int64 (n_rows,)."""
    @property
    def row_offsets(self) -> NDArray[np.int64]:
        """Where each row begins if they lie one behind the other, int64 (n_rows + 1,)."""
    @property
    def cu_seqlens(self) -> NDArray[np.int32]:
        """``row_offsets`` as int32, the way attention kernels for rows of unequal length take them."""
    @property
    def max_seqlen(self) -> int:
        """Ids of the longest row without padding."""
    @property
    def is_padded(self) -> bool:
        """True if rows are filled up to the same length."""
    def to_dict(
        self,
        names: Sequence[str] | None = None,
        *,
        convert: Callable[[NDArray[Any]], Any] | None = None,
    ) -> dict[str, Any]:
        """Arrays by name, ``input_ids`` and ``attention_mask`` unless others are named.

        ``convert`` is called with each array:
        ``model(**inputs.to_dict(convert=torch.from_dlpack))``.
        """
    def __dlpack__(self, **options: Any) -> Any:
        """``input_ids`` as a DLPack capsule."""
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __len__(self) -> int:
        """Rows."""
    def __iter__(self) -> Iterator[NDArray[Any]]: ...
    def __getitem__(self, index: int, /) -> NDArray[Any]:
        """The ids of a row without padding, as a view."""

@final
class NoncanonicalIds:
    """First place at which ids differ from the ids that the tokenizer gives to their text."""

    @property
    def position(self) -> int:
        """Index of the first id that differs."""
    @property
    def ids(self) -> list[int]:
        """The ids from there to the next place at which both spellings have written the same bytes (to
        the last difference, where decoding does not join bytes).
        """
    @property
    def canonical_ids(self) -> list[int]:
        """The ids that the tokenizer has there."""

@final
class DecodeStream:
    """Ids to text as they come, as ``Tokenizer.decode_stream`` gives it.

    All pushes and the flush together equal ``decode`` of all ids, and no push breaks a character.
    Text that later ids can change is held back. As a rule that is little: the bytes of a character,
    an end-of-word suffix, white space that is stripped at the end.

    Two kinds of text are held back longer. A run of byte tokens of a ``tokenizer.json`` is text or
    U+FFFD as a whole, and comes when the run ends or breaks. Steps that need the whole text come
    with the flush: a regular expression or ``ByteLevel`` behind ``Fuse``, and a SentencePiece
    model's charsmap for decoding. Not for use by several threads at once.
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
class GrowingText:
    """A text that grows, with its ids, as ``Tokenizer.grow`` gives it.

    At every moment ``ids`` equal ``encode(text)``, for every tokenizer. Growing encodes again only
    the tokens that later text can change: a few as a rule. The page
    ``docs/guides/growing-text.md`` says for which tokenizers it can be more. Not for use by several
    threads at once.
    """

    def append(self, text: _Text) -> Growth:
        """Puts text behind the text, and returns the change of the ids.

        Raises:
            EncodeError: The text cannot be encoded with it; then nothing has changed.
        """
    def replace(self, start: int, end: int, text: _Text) -> Growth:
        """Put text in the place of the characters ``start`` to ``end`` (code points, as in slices).

        Encodes again from a place shortly before ``start`` to one behind ``end`` from which on
        all is as it was. Returns and raises as ``append`` does. Places outside of the text are a
        ``ValueError``.
        """
    def truncate(self, n_chars: int) -> Growth:
        """Keep the first ``n_chars`` characters. Returns and raises as ``append`` does."""
    def fork(self) -> GrowingText:
        """A copy that grows by itself: the branches of a conversation. Costs a copy of text and ids."""
    @property
    def text(self) -> str:
        """The text so far."""
    @property
    def ids(self) -> NDArray[np.uint32]:
        """The ids of the text, as a new array: uint32 (n_tokens,)."""
    @property
    def stable_ids(self) -> NDArray[np.uint32]:
        """The ids at the beginning that no later ``append`` can change: safe to compute with already."""
    @property
    def n_stable(self) -> int:
        """How many they are. It never falls as the text grows."""
    @property
    def n_stable_chars(self) -> int:
        """Code points of the text that they stand for."""
    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer whose ids these are."""
    def __len__(self) -> int:
        """The number of ids."""
    def __copy__(self) -> GrowingText: ...
    def __deepcopy__(self, _memo: object) -> GrowingText: ...

@final
class EncodeIterator:
    """Ids of text that comes in pieces, as ``Tokenizer.encode_iter`` gives them."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> NDArray[np.uint32]: ...

@final
class AdmissionBooks:
    """The books of a server: who waits, who runs, and whose the memory is.

    Requests have numbers, which are used again once they have ended.
    """

    def __new__(
        cls,
        policy: Any,
        *,
        capacity_tokens: int,
        max_requests: int,
        page_tokens: int,
        context_tokens: int | None,
        watermark_share: float,
    ) -> Self: ...
    def offer(self, prompt_tokens: int, at_seconds: float, group: Sequence[str]) -> int:
        """Put a request into the queue; its number, -1: it is too long, -2: too large."""
    def decide(self) -> tuple[int, int, int, int | None] | None:
        """Start the next request that can start: its number, tokens reserved, to read, predicted."""
    def step(self, requests: Sequence[int]) -> list[int]:
        """Give each of these running requests a token; return those that lost their memory."""
    def finish(self, request: int) -> None:
        """Take a running request that is answered out, and learn from its length."""
    def cancel(self, request: int) -> None:
        """Take a request out whose client went away."""
    def is_running(self, request: int) -> bool:
        """True if a request runs."""
    @property
    def capacity_tokens(self) -> int:
        """Tokens that the cache holds, in whole pages."""
    @property
    def free_tokens(self) -> int:
        """Tokens of the pages that nobody has."""
    @property
    def n_waiting(self) -> int:
        """Requests that wait."""
    @property
    def n_running(self) -> int:
        """Requests that run."""
    @property
    def n_looks(self) -> int:
        """How often the memory's future peak was computed."""

@final
class OutputHistory:
    """Intervals of output lengths, learned from finished requests, by group and prompt length."""

    def __new__(cls, coverage: float, min_history: int) -> Self: ...
    def foresee(
        self, prompt_tokens: int, group: Sequence[str]
    ) -> tuple[int, int, int, int, int] | None:
        """Fewest and most tokens, one-sided bound, requests and fields of the history; None without."""
    def learn(self, prompt_tokens: int, output_tokens: int, group: Sequence[str]) -> None:
        """Take a finished request in."""
    def drifts(self) -> list[tuple[list[str], int, int, float, float, float, float, float]]:
        """Groups that have drifted of late, the largest change first."""
    def copy(self) -> Self:
        """Another one that knows as much."""
    @property
    def min_history(self) -> int:
        """Finished requests before a group is believed."""
    @property
    def n_groups(self) -> int:
        """Groups that are remembered."""

@final
class PrefixIndex:
    """Counts which beginnings documents share, block by block, in bounded memory (at most 160 MB).

    Documents are numbered in the order in which they are added, from 0. Ends of blocks may lie
    inside a character. Only whole blocks count, of a document the first 4,096.
    """

    def __new__(cls, block_bytes: int = 1024) -> Self: ...
    def add(self, batch: TextBatch, *, num_threads: int | None = None) -> None:
        """Take the documents of a batch in."""
    def shared_prefixes(
        self, min_documents: int = 2, limit: int = 1000
    ) -> list[tuple[int, int, int]]:
        """Beginnings that many documents share: ``(bytes, documents, first document)`` of each.

        A beginning is left out where a longer one is shared as often. The most repeated bytes
        come first: length times further documents.
        """
    @property
    def n_documents(self) -> int:
        """Documents so far."""
    @property
    def max_undercount(self) -> int:
        """Counts may be too small by so much, because beginnings were forgotten for want of room; 0:
        exact.
        """

@final
class ReadRanks:
    """The bytes of a ``.tiktoken`` rank file, read before it is known what they do not say: their
    digest, which is made meanwhile, tells whose they are."""

    def __new__(cls, data: bytes) -> Self: ...
    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes, in hexadecimal."""
    def tokenizer(
        self,
        *,
        pattern: str,
        special_tokens: Mapping[str, int] | None = None,
        normalizer: Literal["nfc"] | None = None,
        name: str | None = None,
        path: str | None = None,
    ) -> Tokenizer:
        """Returns the tokenizer as ``from_tiktoken`` makes it of the same bytes; once."""

@final
class SpecialToken:
    """A special or added token, with how it is found."""

    @property
    def content(self) -> str:
        """Text of the token."""
    @property
    def id(self) -> int:
        """Its id."""
    @property
    def special(self) -> bool:
        """False: an added token that ordinary text may contain and that is always matched."""
    @property
    def single_word(self) -> bool:
        """Found only where no word character touches it."""
    @property
    def lstrip(self) -> bool:
        """Takes the white space before it along."""
    @property
    def rstrip(self) -> bool:
        """Takes the white space behind it along."""
    @property
    def normalized(self) -> bool:
        """Found in the normalized text instead of the raw one."""

@final
class TextStats:
    """Measures of a text before any tokenizer sees it. Mergeable: ``a.merge(b) == b.merge(a)``."""

    def __new__(cls) -> Self: ...
    def add(self, batch: TextBatch, *, num_threads: int | None = None) -> None:
        """Count the documents of a batch."""
    def merge(self, other: TextStats) -> TextStats:
        """The sum of both counts."""
    @property
    def n_documents(self) -> int:
        """Documents."""
    @property
    def n_bytes(self) -> int:
        """Bytes of text, UTF-8."""
    @property
    def n_chars(self) -> int:
        """Code points."""
    @property
    def n_words(self) -> int:
        """Maximal runs of characters that are not Unicode White_Space (the splitter ``whitespace``)."""
    @property
    def n_replaced_documents(self) -> int:
        """Documents in which bytes that are not UTF-8 were replaced."""
    @property
    def n_replacements(self) -> int:
        """U+FFFD written in place of such bytes."""
    @property
    def n_whitespace_bytes(self) -> int:
        """Bytes of White_Space characters that follow another White_Space character: removable runs."""
    @property
    def n_space_bytes(self) -> int:
        """Bytes of all White_Space characters."""
    @property
    def n_digits(self) -> int:
        """Decimal digits of any script (General_Category Nd)."""
    @property
    def n_marks(self) -> int:
        """Combining marks (General_Category M): many in decomposed text."""
    @property
    def n_ascii_documents(self) -> int:
        """Documents that are ASCII throughout."""
    @property
    def script_chars(self) -> dict[str, int]:
        """Characters of each Unicode script that occurs: ``{"Common": 12, "Latin": 51}``."""
    @property
    def script_bytes(self) -> dict[str, int]:
        """Their bytes as UTF-8."""
    @property
    def bytes_per_document(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """(lengths ascending, number of documents of each length)."""

@final
class Surveyor:
    """Looks at texts in one pass for all that needs no tokenizer."""

    def __new__(cls, markers: Sequence[str], *, block_bytes: int, max_blocks: int) -> Self:
        """Look for ``markers`` (texts of at least 3 bytes), and at the beginnings of documents in
        steps of ``block_bytes``, at most ``max_blocks`` of each."""
    def survey(self, batch: TextBatch, *, num_threads: int | None = None) -> Survey:
        """Look at one batch."""

@final
class Survey:
    """Findings of a `Surveyor` in one batch."""

    @property
    def stats(self) -> TextStats:
        """Measures of the texts."""
    @property
    def digests(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """The digest of each document, as ``text_digests`` gives it."""
    @property
    def n_chars(self) -> NDArray[np.int64]:
        """int64 (n_documents,): code points of each document."""
    @property
    def marker_counts(self) -> NDArray[np.uint64]:
        """uint64 (n_markers,): occurrences, in the order in which the markers were given. Markers
        that begin with the same three bytes do not overlap; of two at one place the longer counts."""
    @property
    def n_marked_documents(self) -> int:
        """Documents with any marker."""
    @property
    def block_keys(self) -> NDArray[np.uint64]:
        """uint64 (n_blocks,): a key of each document's text up to the end of each of its whole
        blocks, document after document. XXH3 of 64 bits of the block, seeded with the key before."""
    @property
    def block_depths(self) -> NDArray[np.int64]:
        """int64 (n_blocks,): blocks of the document up to there, from 1."""

@final
class TokenStats:
    """Measures of the tokens that one tokenizer makes of texts. Mergeable integers only."""

    def __new__(cls, vocab_size: int) -> Self: ...
    def merge(self, other: TokenStats) -> TokenStats:
        """The sum of both counts, of one vocabulary."""
    @property
    def n_documents(self) -> int:
        """Documents."""
    @property
    def n_tokens(self) -> int:
        """Tokens of all documents."""
    @property
    def n_round_trip_failures(self) -> int:
        """Documents whose ids do not decode to the text after the tokenizer's own normalization, white
        space and U+2581 included.
        """
    @property
    def n_normalized_documents(self) -> int:
        """Documents that the tokenizer's normalization changed."""
    @property
    def n_unreturned_documents(self) -> int:
        """Documents whose ids do not decode to the document, whatever the cause."""
    @property
    def unreturned_by_cause(self) -> dict[str, int]:
        """Documents that do not come back, by the worst cause of each.

        Causes: ``white_space`` (and nothing else is lost), ``u2581`` (it came back as a space),
        ``normal_form`` (the normalizer changed characters), ``unknown``, ``other``.
        """
    @property
    def id_counts(self) -> NDArray[np.uint64]:
        """uint64 (vocab_size,): how often each id was produced."""
    @property
    def document_tokens(self) -> NDArray[np.uint32]:
        """uint32 (n_documents,): tokens of each document of the one batch that was measured with
        ``documents=True``; else empty, after a merge too.
        """
    @property
    def n_laid_out_documents(self) -> int:
        """Documents whose tokens could be laid along their text (with ``words=True``); the counts
        below are of these alone. Normalization that changes letters, and text without a token,
        leave a document out.
        """
    @property
    def n_letter_words(self) -> int:
        """Maximal runs of letters and the marks on them, of scripts that put spaces between words."""
    @property
    def n_letter_words_kept(self) -> int:
        """Letter words that exactly one token overlaps."""
    @property
    def n_letter_word_tokens(self) -> int:
        """Tokens that overlap a letter word, summed over the words."""
    @property
    def n_digits(self) -> int:
        """Decimal digits."""
    @property
    def n_digit_tokens(self) -> int:
        """Tokens in which a decimal digit begins."""
    @property
    def script_tokens(self) -> dict[str, int]:
        """Tokens by the script of their first character that has one, else ``"Common"``."""
    @property
    def script_bytes(self) -> dict[str, int]:
        """Bytes of the text that those tokens cover."""
    @property
    def tokens_per_document(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """(lengths ascending, number of documents of each length): an exact histogram."""

@final
class TermCounter:
    """Counts given terms in text: whole words, ASCII case ignored, longest term first."""

    def __new__(cls, terms: Sequence[str]) -> Self: ...
    def add(self, batch: TextBatch, *, num_threads: int | None = None) -> None:
        """Count the terms in the documents of a batch."""
    @property
    def counts(self) -> NDArray[np.uint64]:
        """uint64 (n_terms,), in the order of ``terms``."""

@final
class GgufHeader:
    """The length of a GGUF file's header."""

    @property
    def n_bytes(self) -> int:
        """Bytes of the header; if the beginning is too short, the least that it takes."""
    @property
    def is_whole(self) -> bool:
        """True if the given bytes told the whole length."""

@final
class Growth:
    """A change of a ``GrowingText``."""

    @property
    def n_kept(self) -> int:
        """Ids at the beginning that are as before; later ids have been replaced."""
    @property
    def ids(self) -> NDArray[np.uint32]:
        """All ids after those, uint32 (n_ids,)."""

@final
class GuardedEncoding:
    """The ids of a text in which only trusted parts may hold control tokens."""

    @property
    def encoding(self) -> Encoding:
        """The ids with the range of text that each comes from."""
    @property
    def refused(self) -> list[RefusedToken]:
        """Control tokens outside of the trusted parts, which stayed text."""

@final
class RefusedToken:
    """A control token that stayed text."""

    @property
    def start(self) -> int:
        """Its first code point in the text."""
    @property
    def end(self) -> int:
        """One past its last code point."""
    @property
    def id(self) -> int:
        """The id that it would have had."""

@final
class Segmentation:
    """One of the best segmentations of a text."""

    @property
    def ids(self) -> list[int]:
        """Its ids."""
    @property
    def score(self) -> float:
        """Its score, a natural logarithm."""

@final
class Tokenizer:
    """An immutable tokenizer. Safe to share between threads, to fork with and to pickle."""

    def to_compiled(self) -> bytes:
        """Returns the tokenizer as it lies in memory, with its name: the quickest form to load.

        It is for this release only. A SentencePiece model has no such form (``VocabularyError``).

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> data = tok.to_compiled()
            >>> data[:5]
            b'\\x93JETO'
        """
    def save_compiled(self, path: str | os.PathLike[str]) -> None:
        """Writes ``to_compiled`` to a file, whole or not at all; ``jeton.load`` reads it.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> import tempfile, pathlib
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "mine.jeton"
            >>> tok.save_compiled(path)
            >>> jeton.load(path) == tok
            True
        """
    def to_canonical(self) -> bytes:
        """Returns the canonical form: complete JSON, the same bytes for equal tokenizers.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> import json
            >>> json.loads(tok.to_canonical())["model"]["type"]
            'bpe'
        """
    def to_tiktoken(self) -> bytes:
        """Returns a ``.tiktoken`` rank file.

        Raises:
            FormatError: The format cannot hold the tokenizer.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> len(tok.to_tiktoken().splitlines())
            31999
        """
    def to_hf_json(self) -> bytes:
        """Returns a ``tokenizer.json``.

        Raises:
            FormatError: The format cannot hold the tokenizer.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> import json
            >>> json.loads(tok.to_hf_json())["model"]["type"]
            'BPE'
        """
    def to_bytes(self, format: str, *, lossy: bool = False) -> bytes:
        """Returns the bytes of the one file that holds the tokenizer in a format.

        Args:
            format: One of ``jeton.formats.FORMATS``.
            lossy: Warns about parts that the format cannot hold, instead of raising an error.

        Raises:
            LossyConversionError: The format does not hold everything; the error lists what it
                leaves out.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> len(tok.to_bytes("tiktoken", lossy=True)) > 100_000
            True
        """
    def encode(
        self,
        text: _Text,
        *,
        add_special_tokens: bool = False,
        allow_special: Iterable[str] | Literal["all"] | None = None,
        num_threads: int | None = None,
    ) -> list[int]:
        """Returns the ids of a text as a list.

        Text that looks like a special token stays text unless that token is allowed. A model whose
        own vocabulary has it as a piece or word follows its reference and may give that id;
        ``encode_guarded`` never does.

        Args:
            text: ``str``, or UTF-8 as ``bytes``.
            add_special_tokens: Adds the special tokens that the file puts around texts (``[CLS]``).
            allow_special: Special tokens that may come from the text, by name; ``"all"``: every
                one.
            num_threads: Threads that share a text of more than half a megabyte; None: all cores
                that this process may use. The ids do not depend on it.

        The integers of the list are kept as long as the tokenizer: 32 bytes for each id met, and 8
        for each id of the vocabulary (``integers_used_bytes``).

        Raises:
            EncodeError: The vocabulary has no token for a part of the text, and none for unknown
                text.
            UnknownSpecialTokenError: A name in ``allow_special`` is no special token.
            InvalidTextError: The text has half a surrogate pair, or bytes that are not UTF-8.
            LimitError: The tokenizer's file makes the text far longer (``set_growth_limit``).

        Examples:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.encode("Hello world")
            [10631, 1423]
            >>> tok.encode(b"Hello world") == tok.encode("Hello world")
            True
            >>> tok.decode(tok.encode("Grüße, 世界!"))
            'Grüße, 世界!'
            >>> len(tok.encode("<|endoftext|>"))
            7
            >>> tok.encode("<|endoftext|>", allow_special={"<|endoftext|>"})
            [0]
            >>> framed = tok.with_template("<|endoftext|> $A")
            >>> framed.encode("Hello world", add_special_tokens=True)
            [0, 10631, 1423]
        """
    def encode_array(
        self,
        text: _Text,
        *,
        add_special_tokens: bool = False,
        allow_special: Iterable[str] | Literal["all"] | None = None,
        num_threads: int | None = None,
    ) -> NDArray[np.uint32]:
        """Returns the ids as an array, uint32 (n_tokens,); arguments as of ``encode``.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.encode_array("Hello there").dtype
            dtype('uint32')
            >>> tok.encode_array("Hello there").shape
            (2,)
        """
    def encode_batch(
        self,
        texts: TextBatch | Iterable[_Text],
        *,
        add_special_tokens: bool = False,
        allow_special: Iterable[str] | Literal["all"] | None = None,
        num_threads: int | None = None,
    ) -> TokenBatch:
        """Returns the ids of many texts, made by several threads; arguments as of ``encode``.

        Texts are read in place: a ``str``, ``bytes`` or an Arrow array is not copied. A long text
        is shared among the threads, too; the ids do not depend on their number.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> batch = tok.encode_batch(["Hello", "Hello there"])
            >>> [len(ids) for ids in batch]
            [1, 2]
            >>> batch.offsets.tolist()
            [0, 1, 3]
        """
    def encode_with_offsets(
        self,
        text: _Text,
        *,
        add_special_tokens: bool = False,
        allow_special: Iterable[str] | Literal["all"] | None = None,
        trim_offsets: bool = True,
    ) -> Encoding:
        """Returns the ids with the range of text that each comes from.

        Args:
            text: ``str``, or UTF-8 as ``bytes``.
            add_special_tokens: Adds the special tokens that the file puts around texts.
            allow_special: Special tokens that may come from the text, by name; ``"all"``: every
                one.
            trim_offsets: False leaves white space in the ranges where the file wants it left out.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> encoding = tok.encode_with_offsets("Hello there")
            >>> encoding.starts.tolist(), encoding.ends.tolist()
            ([0, 5], [5, 11])
        """
    def encode_batch_with_offsets(
        self,
        texts: TextBatch | Iterable[_Text],
        *,
        add_special_tokens: bool = False,
        allow_special: Iterable[str] | Literal["all"] | None = None,
        trim_offsets: bool = True,
        num_threads: int | None = None,
    ) -> list[Encoding]:
        """Returns the ``Encoding`` of each text, as ``encode_with_offsets`` gives it.

        Args:
            texts: Texts, as ``encode_batch`` takes them.
            add_special_tokens: Adds the special tokens that the file puts around texts.
            allow_special: Special tokens that may come from the texts, by name; ``"all"``: every
                one.
            trim_offsets: False leaves white space in the ranges where the file wants it left out.
            num_threads: Threads; None: all cores of this process. The result does not depend on it.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> encodings = tok.encode_batch_with_offsets(["Hello there", "Hi"])
            >>> [encoding.ends.tolist() for encoding in encodings]
            [[5, 11], [2]]
        """
    def model_inputs(
        self,
        texts: TextBatch | Iterable[_Text],
        pairs: TextBatch | Iterable[_Text] | None = None,
        *,
        add_special_tokens: bool = True,
        allow_special: Iterable[str] | Literal["all"] | None = None,
        padding: bool | Literal["longest", "max_length", "file"] | None = None,
        truncation: bool
        | Literal["longest_first", "only_first", "only_second", "file"]
        | None = None,
        max_length: int | None = None,
        stride: int | None = None,
        overflow: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: Literal["left", "right"] | None = None,
        truncation_side: Literal["left", "right"] | None = None,
        pad_token: str | int | None = None,
        pad_type_id: int | None = None,
        offsets: bool = False,
        dtype: Literal["int64", "int32"] = "int64",
        num_threads: int | None = None,
    ) -> ModelInputs:
        """Texts, or pairs of texts, as the arrays that a model takes: equal to ``transformers`` 5.23
        with the same settings.

        Args:
            texts: The first or only texts.
            pairs: The second texts, one for each first text.
            add_special_tokens: Put the template's tokens around the texts (``with_template`` gives
                one to a tokenizer whose file has none).
            allow_special: Special tokens that may stand in the texts; others stay text.
            padding: "longest" (or True) fills rows up to the longest of them, "max_length" to
                ``max_length``; "file" does what the tokenizer's file says, which may be nothing;
                else rows stay as long as they are.
            truncation: "longest_first" (or True) takes tokens from the longer text of a pair,
                "only_first" and "only_second" from that one alone; "file" does what the tokenizer's
                file says, which may be nothing.
            max_length: Most ids in a row, the template's included.
            stride: Tokens that neighbouring windows share; 0 (with ``truncation="file"`` the
                file's) unless it is given. No effect without ``overflow``.
            overflow: Gives the rest of a cut text in rows of its own, behind the first row. Each
                row has the template. Two cut texts give every window of one with every window
                of the other.
            pad_to_multiple_of: Round the number of columns up to a multiple of this.
            padding_side: The side that is filled; the file's, or else "right".
            truncation_side: The side that is cut; "right" (with ``truncation="file"`` the file's)
                unless it is given.
            pad_token: The token that fills, as text or id; the file's, or else the special token
                that is called ``[PAD]``, ``<pad>`` or the like.
            pad_type_id: The token type of padding; the file's, or else 0.
            offsets: Tell where tokens come from: ``starts``, ``ends`` and ``word_ids``.
            dtype: Type of the ids, the mask, the types and the positions.
            num_threads: All that this process may use unless it is given. The result does not
                depend on it.

        Raises:
            UsageError: For settings that contradict one another, texts that cannot be cut as asked,
                more than 2**31 - 1 ids with padding and overlaps (``LimitError``), and what
                ``encode_batch`` raises.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> texts = ["Hello", "Hello there"]
            >>> inputs = tok.model_inputs(texts, padding=True, pad_token="<|endoftext|>")
            >>> inputs.input_ids.shape
            (2, 2)
            >>> inputs.attention_mask.tolist()
            [[1, 0], [1, 1]]
        """
    def model_inputs_from_ids(
        self,
        ids: TokenBatch | Iterable[Sequence[int] | NDArray[Any]],
        pair_ids: TokenBatch | Iterable[Sequence[int] | NDArray[Any]] | None = None,
        *,
        add_special_tokens: bool = True,
        padding: bool | Literal["longest", "max_length", "file"] | None = None,
        truncation: bool
        | Literal["longest_first", "only_first", "only_second", "file"]
        | None = None,
        max_length: int | None = None,
        stride: int | None = None,
        overflow: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: Literal["left", "right"] | None = None,
        truncation_side: Literal["left", "right"] | None = None,
        pad_token: str | int | None = None,
        pad_type_id: int | None = None,
        dtype: Literal["int64", "int32"] = "int64",
        num_threads: int | None = None,
    ) -> ModelInputs:
        """Returns ``model_inputs`` of texts that are ids already, a chat's for instance.

        Where the ids have all their special tokens, ``add_special_tokens=False`` adds no others.

        Raises:
            UnknownTokenIdError: An id has no token.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> ids = [tok.encode("Hello"), tok.encode("Hello there")]
            >>> tok.model_inputs_from_ids(ids).lengths.tolist()
            [1, 2]
        """
    def with_template(
        self, single: str | Sequence[str], pair: str | Sequence[str] | None = None
    ) -> Tokenizer:
        """Returns the tokenizer with other special tokens around texts.

        The notation comes from ``tokenizers``: ``"[CLS] $A [SEP]"`` and
        ``"[CLS] $A [SEP] $B:1 [SEP]:1"``. ``$A`` and ``$B`` are the texts, a number behind a colon
        is a token type. A list takes tokens that have spaces. Without ``pair`` both texts are
        wrapped as the single one is.

        The new tokenizer has no name and its own fingerprint.

        Raises:
            UsageError: A part is neither a text nor a token of the vocabulary.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> framed = tok.with_template("$A <|endoftext|>")
            >>> framed.encode("Hello", add_special_tokens=True)[-1]
            0
        """
    def never_generated_mask(
        self,
        vocab_size: int | None = None,
        *,
        allow: Iterable[str | int] | None = None,
        allow_unknown: bool = False,
        allow_byte_tokens: bool = True,
    ) -> NDArray[np.bool_]:
        """Returns the ids that a model must never generate: bool (vocab_size,), True where it must
        not.

        They are: special tokens; ids without a token, rows behind the vocabulary too; tokens
        reserved by name (``[unused1]``, ``<|reserved_special_token_1|>``); tokens marked unused in
        a SentencePiece model; the token for unknown text.

        Args:
            vocab_size: Rows of the model's output layer; the tokenizer's own unless it is given.
            allow: Tokens that may be generated in any case, as texts or ids; ``end_token_ids``
                unless it is given. With ``allow=()`` no text ever ends.
            allow_unknown: Lets the token for unknown text be generated.
            allow_byte_tokens: Lets tokens of single bytes (``<0x0A>``) be generated.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.never_generated_mask(vocab_size=32_064).sum()
            np.int64(64)
            >>> tok.never_generated_mask(allow=()).sum()
            np.int64(1)
        """
    def never_generated_bias(
        self,
        vocab_size: int | None = None,
        *,
        allow: Iterable[str | int] | None = None,
        allow_unknown: bool = False,
        allow_byte_tokens: bool = True,
        dtype: Literal["float16", "float32", "float64"] = "float32",
    ) -> NDArray[Any]:
        """Returns ``never_generated_mask`` as numbers to add to logits: 0, and minus infinity where
        True.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.never_generated_bias(allow=())[:2].tolist()
            [-inf, 0.0]
        """
    @property
    def end_token_ids(self) -> list[int]:
        """Ids of tokens that end a text or a turn.

        They are the end token and the ids in generation_config.json of the folder that the
        tokenizer was loaded from, special tokens of published names, and a SentencePiece model's
        end of sentence.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.end_token_ids
            [0]
        """
    def is_canonical(self, ids: Sequence[int] | NDArray[Any]) -> bool:
        """Returns True if the tokenizer gives these ids to their text: ``encode(decode(ids)) == ids``.

        Special tokens among the ids stay special.

        Raises:
            UnknownTokenIdError: An id has no token.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.is_canonical(tok.encode("there"))
            True
            >>> tok.is_canonical([tok.bytes_to_id(b"th"), tok.bytes_to_id(b"ere")])
            False
        """
    def canonical_ids(self, ids: Sequence[int] | NDArray[Any]) -> list[int]:
        """Returns the ids that the tokenizer gives to the text of some ids.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> ids = [tok.bytes_to_id(b"th"), tok.bytes_to_id(b"ere")]
            >>> tok.canonical_ids(ids) == tok.encode("there")
            True
        """
    def first_noncanonical(self, ids: Sequence[int] | NDArray[Any]) -> NoncanonicalIds | None:
        """Returns the first place at which ids are not canonical, with the ids that belong there.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> found = tok.first_noncanonical([tok.bytes_to_id(b"th"), tok.bytes_to_id(b"ere")])
            >>> found.position, found.canonical_ids == tok.encode("there")
            (0, True)
            >>> tok.first_noncanonical(tok.encode("there")) is None
            True
        """
    def guarded(self, *, control_tokens: Sequence[str] = ...) -> Tokenizer:
        """Returns this tokenizer, but text never becomes a control token.

        Of a text it makes the ids of ``encode_guarded(text, [])``, as quickly as the tokenizer.
        Files, pickles and fingerprints are those of the tokenizer itself.

        Args:
            control_tokens: Further tokens that count as control tokens.

        Raises:
            UnknownSpecialTokenError: A control token is none of ``fixed_tokens()``.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.guarded().encode("a<|endoftext|>") == tok.encode("a<|endoftext|>")
            True
        """

    def encode_guarded(
        self,
        text: _Text,
        trusted_spans: Sequence[tuple[int, int]],
        *,
        control_tokens: Sequence[str] = ...,
    ) -> GuardedEncoding:
        """Returns the ids of a text in which control tokens may stand only inside ``trusted_spans``.

        Control tokens are the special tokens and the tokens in ``control_tokens``. Where no other
        part of the text spells a control token, the ids equal
        ``encode(text, allow_special="all")``. A look-alike elsewhere is encoded as text at any
        cost: only the unknown token may stand for text that has no token.

        Args:
            text: ``str``, or UTF-8 as ``bytes``.
            trusted_spans: (start, end) of each part that may hold control tokens, in code points.
            control_tokens: Further tokens that count as control tokens.

        Raises:
            UsageError: A span does not fit the text.
            UnknownSpecialTokenError: A control token is none of ``fixed_tokens()``.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> guarded = tok.encode_guarded("hi<|endoftext|>", [])
            >>> 0 in guarded.encoding.ids
            False
            >>> [(token.start, token.end, token.id) for token in guarded.refused]
            [(2, 15, 0)]
        """
    def fixed_tokens(self) -> list[SpecialToken]:
        """Returns tokens that are one wherever a text has them, by id.

        They are ``added_tokens`` and a SentencePiece model's user-defined pieces.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> [token.content for token in tok.fixed_tokens()]
            ['<|endoftext|>']
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
        """Returns the ids of a drawn segmentation, the same for the same seed (0 to 2**64 - 1).

        ``sampling_methods`` lists the methods of the tokenizer; the first is used unless a
        parameter belongs to another.

        ``"dropout"``: BPE leaves merges out with the probability ``dropout`` (0 to 1; the file's
        own, or else 0.1), for good in SentencePiece models, with another chance in all others.
        ``"uniform"``: all segmentations of a pretoken into tokens alike; a pretoken that has none
        is encoded. ``"unigram"``: by probability to the power of ``alpha`` (0 or more; else 1).
        ``"nbest"``: the same among the ``nbest`` best (1 to 1024) of each pretoken, or of the text
        in a SentencePiece model.

        Raises:
            UsageError: The tokenizer does not have the method, or a parameter is out of range.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> ids = tok.sample("Hello there", seed=1, dropout=0.5)
            >>> tok.decode(ids)
            'Hello there'
            >>> tok.sample("Hello there", seed=1, dropout=0.5) == ids
            True
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
        add_special_tokens: bool = False,
        allow_special: Iterable[str] | Literal["all"] | None = None,
        num_threads: int | None = None,
    ) -> TokenBatch:
        """Returns a drawn segmentation of each text; arguments as of ``sample``.

        The draw of a text depends on the seed, its place in the batch and the text alone. The first
        text gets the draw of ``sample``.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> batch = tok.sample_batch(["Hello there", "Hello there"], seed=1, dropout=0.5)
            >>> batch[0].tolist() == tok.sample("Hello there", seed=1, dropout=0.5)
            True
        """
    @property
    def sampling_methods(self) -> list[str]:
        """Values of ``method`` that ``sample`` takes, the usual one first.

        Empty where every text has one segmentation.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.sampling_methods
            ['dropout', 'uniform']
        """
    def nbest(self, text: _Text, n: int) -> list[Segmentation]:
        """Returns the ``n`` best segmentations (1 to 1024) of a text, best first.

        The whole text counts: where a pre-tokenizer cuts it, all combinations of the pretokens'
        segmentations are compared, and scores are sums. A SentencePiece model's list equals
        that of ``sentencepiece``.

        Raises:
            UsageError: The model is no Unigram model.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> texts = ["low lower lowest", "new newer newest"] * 20
            >>> small = jeton.train(iter(texts), algorithm="unigram", vocab_size=18)
            >>> best = small.nbest("lower", 2)
            >>> best[0].ids == small.encode("lower"), best[0].score >= best[1].score
            (True, True)
        """
    def count(
        self,
        text: _Text,
        *,
        add_special_tokens: bool = False,
        allow_special: Iterable[str] | Literal["all"] | None = None,
        num_threads: int | None = None,
    ) -> int:
        """Returns the number of ids of a text, without making them; arguments as of ``encode``.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.count("Hello there")
            2
            >>> tok.with_template("<|endoftext|> $A").count("Hello there", add_special_tokens=True)
            3
        """
    def count_up_to(
        self,
        text: _Text,
        limit: int,
        *,
        add_special_tokens: bool = False,
        allow_special: Iterable[str] | Literal["all"] | None = None,
    ) -> int:
        """Returns the number of ids, or ``limit + 1`` if there are more than ``limit``.

        Stops as soon as the answer is certain, so that a long text costs what the limit does.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.count_up_to("Hello there", 10)
            2
            >>> tok.count_up_to("Hello there" * 1_000, 10)
            11
        """
    def fits(
        self,
        text: _Text,
        limit: int,
        *,
        add_special_tokens: bool = False,
        allow_special: Iterable[str] | Literal["all"] | None = None,
    ) -> bool:
        """Returns True if a text has at most ``limit`` ids; reads no more of it than that takes.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.fits("Hello there", 2)
            True
            >>> tok.fits("Hello there", 2_000), tok.fits("Hello there" * 1_000, 1_000)
            (True, False)
        """
    def __call__(
        self,
        texts: str | TextBatch | Iterable[_Text],
        pairs: str | TextBatch | Iterable[_Text] | None = None,
        **settings: Any,
    ) -> ModelInputs:
        """Returns texts as the arrays that a model takes; ``model_inputs`` by a shorter name.

        Args:
            texts: One text, or several; one text is one row.
            pairs: The second text of each.
            settings: Settings of ``model_inputs``: ``padding``, ``truncation``, ``max_length`` ...

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok("Hello there").input_ids.tolist() == tok.encode("Hello there")
            True
        """
    def __len__(self) -> int:
        """Returns the number of ids, as ``vocab_size`` does.

        Example:
            >>> import jeton
            >>> len(jeton.load("jeton-general-32k"))
            32000
        """
    def bounds(
        self,
        text: str | bytes | bytearray | memoryview,
        *,
        add_special_tokens: bool = False,
        allow_special: Iterable[str] | Literal["all"] | None = None,
    ) -> TokenBounds:
        """Returns the fewest and the most tokens that any text of this length has.

        Takes constant time and is true for every input: ``docs/guides/prediction.md`` has the
        proof.

        Args:
            text: Text, or its UTF-8. Only its length counts, and if it is ASCII.
            add_special_tokens: True if special tokens around the text count, too.
            allow_special: Special tokens that are found in the text, as for ``encode``.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.bounds("Hello there")
            TokenBounds(lower_tokens=1, upper_tokens=11)
        """
    def grow(
        self,
        text: _Text | None = None,
        *,
        allow_special: Iterable[str] | Literal["all"] | None = None,
    ) -> GrowingText:
        """Returns a text that grows, with its ids: a conversation, or the input of a user who types.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> text = tok.grow("Hello")
            >>> growth = text.append(" there")
            >>> text.ids.tolist() == tok.encode("Hello there")
            True
            >>> len(text) == growth.n_kept + len(growth.ids)
            True
        """
    def encode_iter(
        self,
        pieces: Iterable[_Text],
        *,
        allow_special: Iterable[str] | Literal["all"] | None = None,
    ) -> EncodeIterator:
        """Returns the ids of the text that all pieces make together, as soon as they are certain.

        The ids come as arrays, none empty. Only text whose ids can still change is kept in memory.
        A piece may end anywhere between two characters.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> arrays = list(tok.encode_iter(["Hel", "lo th", "ere"]))
            >>> [id for ids in arrays for id in ids.tolist()] == tok.encode("Hello there")
            True
        """
    def count_batch(
        self,
        texts: TextBatch | Iterable[_Text],
        *,
        add_special_tokens: bool = False,
        allow_special: Iterable[str] | Literal["all"] | None = None,
        num_threads: int | None = None,
    ) -> NDArray[np.int64]:
        """Returns the number of ids of each text, int64 (n_texts,); arguments as of ``encode_batch``.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.count_batch(["Hello", "Hello there"]).tolist()
            [1, 2]
        """
    def decode(
        self,
        ids: Sequence[int] | NDArray[Any],
        *,
        skip_special_tokens: bool = False,
        errors: Literal["replace", "strict"] = "replace",
    ) -> str:
        """Returns the text of ids.

        Args:
            ids: Ids, or an array of them.
            skip_special_tokens: Leaves special tokens out.
            errors: Treatment of bytes that are no text: ``"replace"`` puts U+FFFD there,
                ``"strict"`` raises.

        Raises:
            UnknownTokenIdError: An id has no token.
            DecodeError: The bytes are no text, with ``errors="strict"``.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.decode(tok.encode("Hello there"))
            'Hello there'
            >>> tok.decode([0, *tok.encode("Hello")], skip_special_tokens=True)
            'Hello'
        """
    def decode_batch(
        self,
        ids: TokenBatch | Iterable[Sequence[int] | NDArray[Any]],
        *,
        skip_special_tokens: bool = False,
        errors: Literal["replace", "strict"] = "replace",
    ) -> list[str]:
        """Returns the text of each row of ids, as ``decode`` gives it.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.decode_batch(tok.encode_batch(["Hello", "there"]))
            ['Hello', 'there']
        """
    def decode_bytes(
        self, ids: Sequence[int] | NDArray[Any], *, skip_special_tokens: bool = False
    ) -> bytes:
        """Returns the bytes of ids: the decoded text as UTF-8, parts of characters as they are.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.decode_bytes(tok.encode("\u2603")).hex()
            'e29883'
        """
    def decode_stream(self, *, skip_special_tokens: bool = False) -> DecodeStream:
        """Returns a decoder for ids that come one by one.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> stream = tok.decode_stream()
            >>> "".join(stream.push(id) for id in tok.encode("Hello \u2603")) + stream.flush()
            'Hello \u2603'
        """
    def decode_iter(
        self, ids: Iterable[int], *, skip_special_tokens: bool = False
    ) -> DecodeIterator:
        """Returns the pieces of text of ids that an iterator gives, each as soon as it is certain.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> list(tok.decode_iter(iter(tok.encode("Hello there"))))
            ['Hello', ' there']
        """
    def special_tokens_mask(self, ids: Sequence[int] | NDArray[Any]) -> NDArray[np.bool_]:
        """Returns True for each id of a special token, wherever it came from: bool (n_tokens,).

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.special_tokens_mask([0, *tok.encode("Hello")]).tolist()
            [True, False]
        """
    def normalize(self, text: _Text) -> str:
        """Returns the text after normalization, as the model sees it.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.normalize("Hello there")
            'Hello there'
        """
    def pretokenize(self, text: _Text) -> list[str]:
        """Returns the pretokens of the normalized text.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.pretokenize("Hello there, 2024")
            ['Hello', ' there', ',', ' ', '202', '4']
        """
    def encode_pretoken(self, pretoken: bytes) -> list[int]:
        """Returns the ids of bytes that are taken as one pretoken.

        No special tokens, normalization or split apply. The bytes need not be UTF-8 where the model
        works on bytes.

        Raises:
            UsageError: The tokenizer is a SentencePiece model.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.encode_pretoken(b" there") == [tok.bytes_to_id(b" there")]
            True
        """
    def measure(
        self,
        texts: TextBatch | Iterable[_Text],
        *,
        round_trip: bool = True,
        documents: bool = False,
        words: bool = False,
        num_threads: int | None = None,
    ) -> TokenStats:
        """Returns counts of the tokens of texts; special look-alikes are text.

        Args:
            texts: A ``TextBatch``, an iterable of ``str`` and ``bytes``, or an Arrow array.
            round_trip: Decodes every document and compares.
            documents: Notes the tokens of each document (``document_tokens``).
            words: Lays the tokens along the text and counts words kept as one token, digits and
                scripts.
            num_threads: Threads; None: all cores of this process. The counts do not depend on it.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> stats = tok.measure(["Hello there", "Hello"], documents=True)
            >>> stats.n_tokens, stats.document_tokens.tolist()
            (3, [2, 1])
        """
    def id_to_bytes(self, id: int) -> bytes:
        """Returns the bytes of a token: its share of a decoded text that has others around it.

        They do not depend on how the file spells tokens: ``\u2581the``, ``\u0120the`` and the ``the`` of a
        WordPiece vocabulary are ``b" the"``, and ``<0xE2>`` is ``b"\\xe2"``. A suffix that ends
        words (``</w>``) is a space. Special tokens, and the one for unknown text, have the bytes of
        their names.

        Raises:
            UnknownTokenIdError: The id has no token.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> [tok.id_to_bytes(id) for id in tok.encode("Hello there")]
            [b'Hello', b' there']
        """
    def bytes_to_id(self, token_bytes: bytes) -> int | None:
        """Returns the id whose token has exactly these bytes, as ``id_to_bytes`` gives them; else
        None.

        Among several tokens of equal bytes the first counts that is no byte of last resort and no
        special token.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.encode("Hello") == [tok.bytes_to_id(b"Hello")]
            True
            >>> tok.bytes_to_id(b"no such token") is None
            True
        """
    def token_lengths(self) -> NDArray[np.uint32]:
        """Returns the bytes of each id, uint32 (vocab_size,).

        0 stands for ids without a token and for tokens that add no bytes.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.token_lengths()[tok.encode("Hello there")].tolist()
            [5, 6]
        """
    def is_token_mask(self) -> NDArray[np.bool_]:
        """Returns True for each id that has a token, bool (vocab_size,).

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.is_token_mask().all()
            np.True_
        """
    def id_to_token(self, id: int) -> str | None:
        """Returns the string of an id in the tokenizer's file, ``\u0120the`` or ``\u2581the``; else None.

        Its bytes are ``id_to_bytes``.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.id_to_token(tok.encode("Hello")[0])
            'Hello'
            >>> tok.id_to_token(99_999) is None
            True
        """
    def token_to_id(self, token: str) -> int | None:
        """Returns the id of a string of ``id_to_token``; else None.

        Among several ids the first counts, added tokens before others.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.token_to_id("<|endoftext|>")
            0
            >>> tok.token_to_id("no such token") is None
            True
        """
    def get_vocab(self, *, with_added_tokens: bool = True) -> dict[str, int]:
        """Returns all tokens by the strings of ``id_to_token``, with their ids.

        Args:
            with_added_tokens: False leaves out special and other added tokens.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.get_vocab()["<|endoftext|>"]
            0
            >>> "<|endoftext|>" in tok.get_vocab(with_added_tokens=False)
            False
        """
    def with_added_tokens(
        self,
        tokens: Iterable[str],
        *,
        special: bool = False,
        single_word: bool = False,
        lstrip: bool = False,
        rstrip: bool = False,
        normalized: bool | None = None,
    ) -> Tokenizer:
        """Returns a tokenizer with more added tokens; this one stays as it is.

        A token of the vocabulary keeps its id, others get the next ones. A token that is added
        already gets the flags.

        Args:
            tokens: Texts of the tokens.
            special: Found only where it is allowed, and left out of a decoding that skips special
                tokens.
            single_word: Found only where no word character touches it.
            lstrip: Takes the white space before it along.
            rstrip: Takes the white space behind it along.
            normalized: Found in the normalized text instead of the raw one; None: unless it is
                special.

        Raises:
            UsageError: A token has no text.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> more = tok.with_added_tokens(["<tool>"], special=True)
            >>> more.decode(more.encode("a<tool>b", allow_special="all"), skip_special_tokens=True)
            'ab'
        """
    def with_end_tokens(self, ids: Iterable[int] | NDArray[Any]) -> Tokenizer:
        """Returns the tokenizer with ids that end a text or a turn, besides the tokens of usual names.

        They are no part of its identity: pickles carry them, files and the fingerprint do not.
        ``end_token_ids`` lists all of them.

        Raises:
            UnknownTokenIdError: An id has no token.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.with_end_tokens([300]).end_token_ids
            [0, 300]
        """
    @property
    def name(self) -> str | None:
        """The name that the tokenizer was loaded by; None where it has none.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.with_name("mine").name
            'mine'
        """
    @property
    def vocab_size(self) -> int:
        """One past the highest id: the rows that an embedding needs.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.vocab_size
            32000
        """
    @property
    def n_tokens(self) -> int:
        """Ids that have a token: ``vocab_size`` less the holes.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.n_tokens
            32000
        """
    @property
    def unknown_id(self) -> int | None:
        """The id that stands for text without a token; None where there is none.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.unknown_id is None
            True
        """
    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical form, 64 hexadecimal digits.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> len(tok.fingerprint)
            64
            >>> tok.with_name("other").fingerprint == tok.fingerprint
            True
        """
    @property
    def cache_limit_bytes(self) -> int:
        """Largest size of the word caches of all threads together: 256 MiB unless changed.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.cache_limit_bytes
            268435456
        """
    @property
    def cache_used_bytes(self) -> int:
        """Bytes that the word caches take at the moment, in this process.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.cache_used_bytes <= tok.cache_limit_bytes
            True
        """
    @property
    def integers_used_bytes(self) -> int:
        """Bytes of the integers that lists of ids are made of (see ``encode``); 0 before the first.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> _ = tok.encode("Hello")
            >>> tok.integers_used_bytes > 0
            True
        """
    def set_cache_limit(self, n_bytes: int) -> None:
        """Changes the limit of the word caches; 0 turns them off. No id changes, only the speed.

        Caches that exceed the new limit are emptied: idle ones now, others when their calls end.
        Neither pickles nor files nor the fingerprint carry the limit.

        Raises:
            ValueError: The number is negative.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.set_cache_limit(64 << 20)
            >>> tok.cache_limit_bytes
            67108864
        """
    @property
    def growth_limit(self) -> int:
        """Largest growth of a text in normalizing or decoding, as a multiple of its length.

        64 unless changed; 64 KiB are allowed in any case.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.growth_limit
            64
        """
    def set_growth_limit(self, times: int) -> None:
        """Changes ``growth_limit``; growth beyond it is a ``LimitError``.

        A tokenizer's file can say that each letter becomes a book. Neither pickles nor files nor
        the fingerprint carry the limit.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.set_growth_limit(16)
            >>> tok.growth_limit
            16
        """
    def clear_cache(self) -> None:
        """Empties the word caches that no thread uses at the moment, and frees working memory.

        The integers that lists of ids are made of are freed, too.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> _ = tok.encode("Hello")
            >>> before = tok.integers_used_bytes
            >>> tok.clear_cache()
            >>> tok.integers_used_bytes < before
            True
        """
    @property
    def special_tokens(self) -> dict[str, int]:
        """Special tokens with their ids: they come from text only where they are allowed.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.special_tokens
            {'<|endoftext|>': 0}
        """
    @property
    def added_tokens(self) -> list[SpecialToken]:
        """Special and other added tokens by id, with their flags.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> [(token.content, token.special) for token in tok.added_tokens]
            [('<|endoftext|>', True)]
        """
    @property
    def algorithm(self) -> str:
        """The model's algorithm: ``bpe``, ``unigram``, ``wordpiece``, ``word`` ...

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.algorithm
            'bpe'
        """
    @property
    def split_pattern(self) -> str | None:
        """The pattern that cuts text into pretokens, if nothing else cuts it; else None.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> "+" in tok.split_pattern
            True
        """
    @property
    def reference(self) -> str:
        """The library whose ids these equal: ``tiktoken``, ``hf``, ``sentencepiece`` or ``jeton``.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.reference
            'jeton'
        """
    def save(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        lossy: bool = False,
        samples: Sequence[str] | bool | None = None,
        training_card: Mapping[str, Any] | None = None,
    ) -> None:
        """Writes a file or a folder; the suffix, or ``format``, chooses the format.

        Args:
            path: The file or folder.
            format: One of ``jeton.formats.FORMATS``.
            lossy: Warns about parts that the format cannot hold, instead of raising an error.
            samples: Texts whose ids are verified at every load (see ``jeton.formats.save_file``).
            training_card: The card to write beside it.

        Raises:
            LossyConversionError: The format does not hold everything; the error lists what it
                leaves out.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> import tempfile, pathlib
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "tokenizer.json"
            >>> tok.save(path)
            >>> jeton.load(path).encode("Hello") == tok.encode("Hello")
            True
        """
    def with_name(self, name: str) -> Tokenizer:
        """Returns the tokenizer under another name.

        Example:
            >>> import jeton
            >>> tok = jeton.load("jeton-general-32k")
            >>> tok.with_name("mine").name
            'mine'
        """
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class SentencePieceModel:
    """A SentencePiece model as its own library shows it, for what stands in for that library.

    Places are bytes. Spans are (id, start, end) in the normalized text; the bytes of one character
    share its range.
    """

    def __new__(cls, data: bytes, *, path: str | None = None) -> Self: ...
    @property
    def tokenizer(self) -> Tokenizer:
        """Model as a tokenizer; nothing is copied."""
    @property
    def model_type(self) -> Literal["unigram", "bpe", "word", "char"]:
        """``unigram``, ``bpe``, ``word`` or ``char``."""
    def pieces(self) -> list[tuple[bytes, float, int]]:
        """Bytes, score and kind of each id; kinds are numbered as in the file, 1 (normal) to 6 (byte)."""
    @property
    def unk_surface(self) -> str:
        """Text that the unknown id decodes to."""
    @property
    def byte_fallback(self) -> bool:
        """True if text without a piece becomes bytes."""
    @property
    def add_dummy_prefix(self) -> bool:
        """True if a space is put in front of texts."""
    @property
    def remove_extra_whitespaces(self) -> bool:
        """True if runs of spaces become one, and those at the ends go."""
    @property
    def bos_id(self) -> int | None:
        """The id of the beginning; -1 where there is none."""
    @property
    def eos_id(self) -> int | None:
        """The id of the end; -1 where there is none."""
    @property
    def pad_id(self) -> int | None:
        """The id that fills batches; -1 where there is none."""
    def normalize(self, text: _Text) -> tuple[str, NDArray[np.int64]]:
        """The normalized text, and the byte that each of its bytes and its end come from."""
    def denormalize(self, text: _Text) -> str:
        """Returns decoded text after the denormalizer."""
    def encode_normalized(self, text: _Text) -> list[tuple[int, int, int]]:
        """The spans of a text that is normalized."""
    def nbest_normalized(
        self, text: _Text, n: int
    ) -> list[tuple[list[tuple[int, int, int]], float]]:
        """The ``n`` best segmentations (1 to 1024) of a text that is normalized, with their scores."""
    def sample_normalized(
        self, text: _Text, *, seed: int, nbest_size: int | None, alpha: float
    ) -> list[tuple[int, int, int]]:
        """A drawn segmentation of a text that is normalized: among the ``nbest_size`` best, or among
        all.
        """

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
        """Rules of the normalizer (text, replacement), sorted."""

def compile_charsmap(rules: Sequence[tuple[str, str]]) -> bytes:
    """Rules as a precompiled charsmap, as a SentencePiece model holds it; empty for none."""

@final
class CharacterTable:
    """The characters of counted text, by falling count."""

    @property
    def code_points(self) -> NDArray[np.uint32]:
        """Code points, uint32 (n_characters,)."""
    @property
    def counts(self) -> NDArray[np.uint64]:
        """Their counts, uint64 (n_characters,)."""
    @property
    def scripts(self) -> NDArray[np.uint8]:
        """Places of their scripts in ``script_names``, uint8 (n_characters,)."""
    @property
    def script_names(self) -> list[str]:
        """Names of all Unicode scripts."""
    @property
    def n_bad_bytes(self) -> int:
        """Bytes that are no text."""

@final
class CountsFile:
    """The header of a file of counts."""

    @property
    def cutting(self) -> str:
        """The way in which text was cut, as JSON: see ``PretokenCounts.cutting``."""
    @property
    def info(self) -> str:
        """The description given by its writer, as JSON."""

@final
class FrequentPretokens:
    """Counts without rare pretokens."""

    @property
    def counts(self) -> PretokenCounts:
        """The pretokens that are frequent enough."""
    @property
    def n_distinct_left_out(self) -> int:
        """Distinct pretokens left out."""
    @property
    def n_pretokens_left_out(self) -> int:
        """Pretokens left out."""
    @property
    def n_bytes_left_out(self) -> int:
        """Bytes of the pretokens left out."""

@final
class PretokenCounts:
    """Weighted pretokens: what every trainer starts from. Mergeable."""

    def __new__(cls, *, pattern: str, normalizer: Literal["nfc"] | None = None) -> Self: ...
    @staticmethod
    def cut_by(config: str) -> PretokenCounts:
        """Counts that cut text as a description (JSON) says: see ``cutting``."""
    @staticmethod
    def describe_file(path: str) -> CountsFile:
        """Returns the header of a file of counts."""
    @staticmethod
    def bert(
        *, lowercase: bool, strip_accents: bool, clean_text: bool, handle_chinese_chars: bool
    ) -> PretokenCounts:
        """Counts that cut text as BERT does."""
    @property
    def cutting(self) -> str:
        """How text is cut, as JSON: equal descriptions mean counts that can be added up."""
    def limit_memory(self, max_memory: int, *, temp_dir: str | None = None) -> None:
        """Take at most ``max_memory`` bytes from now on; the rest goes to temporary files."""
    def add(
        self,
        batch: TextBatch,
        *,
        weight: int = 1,
        weights: NDArray[np.uint64] | None = None,
        whole: bool = False,
        num_threads: int | None = None,
    ) -> None:
        """Count documents: all of them ``weight`` times, or each as often as ``weights`` says,
        uint64 (n_documents,), where 0 leaves it out. ``whole``: each document is a pretoken as it
        is, neither normalized nor cut. After an error, drop the counts."""
    def merge(self, other: PretokenCounts) -> None:
        """Add the counts of another one."""
    def add_file(self, path: str, *, weight: int = 1) -> str:
        """Add the counts of a file ``weight`` times; returns the description in the file (JSON)."""
    def save(self, path: str, *, info: str = "{}") -> None:
        """Write a file of counts, whole or not at all; ``info`` (JSON) is what it says of itself."""
    def at_least(self, min_count: int) -> FrequentPretokens:
        """Returns the pretokens that occur at least so often, in memory.

        No string occurs more often in the rest than the rest has bytes.
        """
    def longer_than(self, n_bytes: int) -> tuple[int, int]:
        """Counts the pretokens of more than ``n_bytes`` bytes: distinct ones, and all."""
    def characters(self) -> CharacterTable:
        """Returns the characters of the counted text."""
    def __len__(self) -> int: ...
    @property
    def n_pretokens(self) -> int:
        """Different pretokens."""
    @property
    def n_bytes(self) -> int:
        """Bytes of all text that was counted."""
    @property
    def n_documents(self) -> int:
        """Documents that were counted."""
    @property
    def n_bytes_spilled(self) -> int:
        """Bytes written to temporary files so far."""
    @property
    def memory_bytes(self) -> int:
        """Bytes of memory that the counts take now."""
    @property
    def max_memory(self) -> int | None:
        """Bytes of memory that the counts may take; None: no limit."""
    @property
    def is_on_disk(self) -> bool:
        """True if some of them are in temporary files."""
    def items(self) -> list[tuple[bytes, int]]:
        """All pretokens with their counts, by falling count, then by bytes."""

@final
class NearDuplicates:
    """Documents met so far, for finding those that are nearly alike (MinHash in bands)."""

    def __new__(cls, *, shingle_words: int, n_bands: int, n_rows: int, seed: int) -> Self: ...
    def place(
        self,
        batch: TextBatch,
        *,
        sides: NDArray[np.uint8] | None = None,
        keep_all: bool = False,
        num_threads: int | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """The number of the earliest document that each document resembles (-1: none), and sides.

        A document takes the side of the document that it resembles, else the side given; 255
        where it resembles several sides. With ``keep_all`` documents that resemble others are
        remembered, too."""
    @property
    def memory_bytes(self) -> int:
        """Bytes that it takes."""
    def __len__(self) -> int: ...

def quality_figures() -> list[str]:
    """Names of the columns of ``text_quality``."""

def text_quality(batch: TextBatch, *, num_threads: int | None = None) -> NDArray[np.float64]:
    """float64 (n_documents, n_figures): what published filters of web text look at."""

@final
class ContinuedBpe:
    """The result of ``continue_bpe``."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer with the new tokens."""
    @property
    def new_tokens(self) -> list[LearnedToken]:
        """The new tokens, by id."""
    @property
    def n_tokens_before(self) -> int:
        """Tokens of the text with the old tokenizer."""
    @property
    def n_tokens_after(self) -> int:
        """Tokens of the text with the new tokenizer."""

@final
class LearnedToken:
    """A token that continuing made."""

    @property
    def id(self) -> int:
        """Its id."""
    @property
    def left(self) -> int:
        """The id of its left part."""
    @property
    def right(self) -> int:
        """The id of its right part."""
    @property
    def n_saved(self) -> int:
        """Tokens saved when it was chosen."""
    @property
    def n_uses(self) -> int:
        """Uses in the text in the end."""
    @property
    def n_old_tokens(self) -> int:
        """Old tokens that one use stands for."""

@final
class TrimmedBpe:
    """The result of ``train_trimmed_bpe``."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer."""
    @property
    def removed(self) -> list[bytes]:
        """Bytes of the tokens taken out."""
    @property
    def n_whole_only(self) -> int:
        """Tokens that only whole pretokens become."""
    @property
    def n_tokens(self) -> int:
        """Tokens of the text."""
    @property
    def n_plain_tokens(self) -> int:
        """Tokens of the text with plain BPE."""

@final
class FewestTokens:
    """The result of ``train_fewest_tokens``."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer."""
    @property
    def uses(self) -> list[int]:
        """Uses of each token in the text."""
    @property
    def n_tokens(self) -> int:
        """Tokens of the text."""

@final
class ParityBpe:
    """The result of ``train_parity_bpe``."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer."""
    @property
    def n_merges_of(self) -> list[int]:
        """Merges that went to each language."""
    @property
    def n_tokens_of(self) -> list[int]:
        """Tokens of the measured text of each language."""

@final
class SuperwordBpe:
    """The result of ``train_superwords``."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer."""
    @property
    def n_word_merges(self) -> int:
        """Merges within words; the others join words."""

def train_bpe(
    counts: PretokenCounts,
    *,
    vocab_size: int,
    min_frequency: int = 1,
    special_tokens: Sequence[str] | None = None,
    max_token_bytes: int | None = None,
    tie_rule: Literal["hf", "bytes", "sentencepiece"] = "hf",
    on_progress: Callable[[int, int], None] | None = None,
    name: str | None = None,
) -> Tokenizer:
    """Train byte-level BPE. ``on_progress(done, total)`` is called now and then; Ctrl-C works."""

@final
class BpeOptions:
    """Options of training byte-level BPE and what is made of it. ``forced_tokens`` are completed at
    the end; ``forbidden_tokens`` are never made; ``may_merge(left, right)`` is asked once for each
    pair that is the best; ``max_alphabet``: most characters learned from; ``resume``: merges, in
    order, of a run with the same counts and options that was interrupted.
    """

    def __new__(
        cls,
        *,
        vocab_size: int,
        min_frequency: int = 1,
        special_tokens: Sequence[str] | None = None,
        max_token_bytes: int | None = None,
        tie_rule: Literal["hf", "bytes", "sentencepiece"] = "hf",
        forced_tokens: Sequence[bytes] | None = None,
        forbidden_tokens: Sequence[bytes] | None = None,
        may_merge: Callable[[bytes, bytes], bool] | None = None,
        max_alphabet: int | None = None,
        resume: Sequence[tuple[int, int]] | None = None,
    ) -> BpeOptions: ...

def train_bpe_with(
    counts: PretokenCounts,
    *,
    options: BpeOptions,
    on_progress: Callable[[int, int], None] | None = None,
    on_interrupt: Callable[[list[tuple[int, int]]], None] | None = None,
    name: str | None = None,
) -> Tokenizer:
    """Train byte-level BPE with all its options. A run that Ctrl-C or ``on_progress`` ends tells
    ``on_interrupt`` its merges so far before it raises: ``resume`` of the next."""

def train_superwords(
    counts: PretokenCounts,
    *,
    options: BpeOptions,
    word_pattern: str,
    transition_size: int,
    max_words: int,
    whole_words: bool = False,
    num_threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    on_interrupt: Callable[[list[tuple[int, int]]], None] | None = None,
    name: str | None = None,
) -> SuperwordBpe:
    """Trains superword BPE on counts of phrases."""

def counts_for(base: Tokenizer) -> PretokenCounts:
    """Empty counts that cut text as a tokenizer does, for ``continue_bpe``."""

def continue_bpe(
    counts: PretokenCounts,
    *,
    base: Tokenizer,
    options: BpeOptions,
    on_progress: Callable[[int, int], None] | None = None,
    name: str | None = None,
) -> ContinuedBpe:
    """Continues byte-level BPE on counts that ``counts_for`` cut."""

def train_parity_bpe(
    languages: Sequence[tuple[PretokenCounts, PretokenCounts | None, int]],
    *,
    options: BpeOptions,
    n_global_merges: int = 0,
    window: int = 0,
    max_in_window: int = 1,
    on_progress: Callable[[int, int], None] | None = None,
    name: str | None = None,
) -> ParityBpe:
    """Trains parity-aware BPE.

    ``languages``: counts to learn from, counts to measure (None: the same), and units of content in
    the measured ones.
    """

def train_trimmed_bpe(
    counts: PretokenCounts,
    *,
    options: BpeOptions,
    least_use_per_mille: int,
    num_threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    name: str | None = None,
) -> TrimmedBpe:
    """Trains BPE without tokens that only lead to others.

    ``least_use_per_mille``: a token used less often than this share, in thousandths, of the worth
    of a place is taken out.
    """

def train_fewest_tokens(
    counts: PretokenCounts,
    *,
    options: BpeOptions,
    seed_per_mille: int,
    shrinking_per_mille: int,
    min_saving: int = 0,
    num_threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    name: str | None = None,
) -> FewestTokens:
    """Trains a vocabulary with which text needs fewest tokens.

    ``seed_per_mille``: candidates for each token wanted; ``shrinking_per_mille``: the share that a
    round keeps; both in thousandths. ``min_saving``: tokens that losing any token has to cost.
    """

def train_characters(
    counts: PretokenCounts,
    options: str,
    *,
    on_progress: Callable[[int, int], None] | None = None,
    name: str | None = None,
) -> Tokenizer:
    """Train BPE on characters, WordPiece, whole words or characters; options as JSON. Ctrl-C works."""

def train_sentencepiece(
    counts: PretokenCounts,
    options: str,
    *,
    num_threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    name: str | None = None,
) -> Tokenizer:
    """Train a SentencePiece model; options as JSON. The threads do not change it. Ctrl-C works."""

def train_pieces(
    counts: PretokenCounts,
    options: str,
    *,
    num_threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> list[tuple[str, float]]:
    """Learn the pieces of a Unigram model, with log probabilities, from counts cut in any way. Ctrl-C
    works.
    """

def from_tiktoken(
    data: bytes,
    *,
    pattern: str,
    special_tokens: Mapping[str, int] | None = None,
    normalizer: Literal["nfc"] | None = None,
    name: str | None = None,
    path: str | None = None,
) -> Tokenizer:
    """Returns the tokenizer of a ``.tiktoken`` rank file.

    ``pattern``: a published name (see ``published_patterns()``) or a regular expression.
    """

def from_hf_json(data: bytes, *, name: str | None = None, path: str | None = None) -> Tokenizer:
    """Returns the tokenizer of a ``tokenizer.json``."""

def from_sentencepiece(
    data: bytes, *, name: str | None = None, path: str | None = None
) -> Tokenizer:
    """Returns the tokenizer of a SentencePiece ``.model``."""

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
    """Returns the tokenizer of BERT's ``vocab.txt``; the keywords say the rest of it.

    ``strip_accents`` is as ``lowercase`` unless it is given.
    """

def from_rwkv(data: bytes, *, name: str | None = None, path: str | None = None) -> Tokenizer:
    """Returns the tokenizer of RWKV's list of tokens."""

def from_tekken(data: bytes, *, name: str | None = None, path: str | None = None) -> Tokenizer:
    """Returns the tokenizer of Mistral's ``tekken.json``."""

def from_claude(data: bytes, *, name: str | None = None, path: str | None = None) -> Tokenizer:
    """Returns the tokenizer of the JSON of Anthropic's old public tokenizer."""

def from_clip(data: bytes, *, name: str | None = None, path: str | None = None) -> Tokenizer:
    """Returns the tokenizer of CLIP's merges, decompressed."""

def from_gguf(data: bytes, *, name: str | None = None, path: str | None = None) -> Tokenizer:
    """Returns the tokenizer of a GGUF file, or of its beginning with the whole header."""

def gguf_header_bytes(data: bytes, *, path: str | None = None) -> GgufHeader:
    """Returns the length of a GGUF file's header, from the file or its beginning."""

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
    """Returns the tokenizer of GPT-2's ``vocab.json`` and ``merges.txt``.

    ``before`` and ``after`` are special tokens that ``add_special_tokens`` puts around a text.
    """

def from_canonical(data: bytes, *, name: str | None = None, path: str | None = None) -> Tokenizer:
    """Returns the tokenizer of a canonical form, as ``Tokenizer.to_canonical`` gives it."""

def from_compiled(data: bytes, *, name: str | None = None, path: str | None = None) -> Tokenizer:
    """Returns the tokenizer of ``Tokenizer.to_compiled``; by default with the name in it.

    Damage, and the form of another release, are a ``FormatError``.
    """

def from_compiled_file(path: str, *, name: str | None = None) -> Tokenizer:
    """Returns the tokenizer of a compiled file, without the whole file in memory.

    A file that cannot be opened is an ``OSError``.
    """

def file_formats() -> list[str]:
    """Returns the names of the formats of ``write_format``."""

def write_format(tokenizer: Tokenizer, format: str) -> dict[str, Any]:
    """Returns a tokenizer in a format, for ``jeton.formats``, which makes errors and warnings of it.

    The keys: ``files`` by role; ``losses``; ``obstacles`` (where there are any, there are no
    files); ``options`` to read it with; the tokenizer that was ``read`` back; ``rewordings``, parts
    that the files say in other words.
    """

def scan_boundaries(
    text: _Text, *, by: Literal["sentences", "structure"], language: str
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Bytes at which a text may be cut, rising, and the kind of part that begins at each.

    Kinds are those of ``jeton.chunking.boundaries``.
    """

def scan_markdown(text: _Text, *, nested: bool = False) -> tuple[list[list[int]], list[list[int]]]:
    """Headings and tables of Markdown, in bytes.

    Args:
        text: The text.
        nested: Headings in lists and quotations too.

    Returns:
        Headings: first byte of the line, level, words from and to. Tables: head from and to, end of
        the rows.
    """

def chunk_spans(
    tokenizer: Tokenizer,
    text: _Text,
    places: NDArray[np.int64],
    costs: NDArray[np.uint32],
    *,
    max_tokens: int,
    overlap_tokens: int,
    overlap_parts: int,
    heads: Sequence[str],
    head_starts: Sequence[int],
    tail: str,
    add_special_tokens: bool,
    trim: bool,
    chunk_cost: int,
    clause_cost: int,
    word_cost: int,
) -> tuple[NDArray[np.int64], tuple[int, int] | None]:
    """Chunks of a text as flat rows of five: bytes from and to, characters from and to, tokens.

    Each is counted as it is sent: the head of its start, its text, the tail. The second value is
    the byte and the tokens of a character that exceeds the budget alone, or None.
    """

def chunk_texts(
    tokenizer: Tokenizer,
    texts: list[_Text],
    *,
    by: Literal["tokens", "sentences", "structure"],
    languages: Sequence[str],
    kind_costs: Sequence[int],
    max_tokens: int,
    overlap_tokens: int,
    overlap_parts: int,
    head: str,
    tail: str,
    add_special_tokens: bool,
    trim: bool,
    chunk_cost: int,
    clause_cost: int,
    word_cost: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[int, int, int] | None]:
    """Chunks of several texts, cut at the boundaries that the core finds.

    Returns rows as ``chunk_spans`` does, and offsets, int64 (n_texts + 1,): text ``i`` has the rows
    ``offsets[i]:offsets[i + 1]``. The third value names the text, byte and tokens of a character
    that exceeds the budget alone; rows end with the text before.
    """

def published_patterns() -> dict[str, str]:
    """Names of the published split patterns and the patterns themselves."""

def available_threads() -> int:
    """Threads that this process may use."""

def text_digests(
    batch: TextBatch, *, num_threads: int | None = None
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The higher and the lower half of each document's digest, uint64 (n_documents,) each: XXH3 of 128
    bits without a seed. No cryptographic hash."""

def pair_digests(
    high: NDArray[np.uint64],
    low: NDArray[np.uint64],
    companions: TextBatch,
    *,
    num_threads: int | None = None,
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The digest of each document together with its companion, from the halves of its own."""

def simulate_traffic(
    arrivals: NDArray[np.float64],
    prompts: NDArray[np.int64],
    outputs: NDArray[np.int64],
    is_refused: NDArray[np.bool_],
    group_of: NDArray[np.int64],
    groups: Sequence[Sequence[str]],
    *,
    times: Any,
    pages: Any,
    budget_bytes: int,
    policy: Any,
    settings: Any,
    bin_seconds: float,
    context_tokens: int | None = None,
    blocks: tuple[NDArray[np.int64], NDArray[np.int64], int, int] | None = None,
) -> dict[str, Any]:
    """Replay requests on one serving group.

    Lists have a place for each request; arrivals ascend. Request ``i`` has the fields
    ``groups[group_of[i]]``. Times, pages, policy and settings are the objects of
    ``jeton.economics``. Returns the fields of its ``Outcome``.
    """

def pack_best_fit(
    lengths: NDArray[np.uint32], *, capacity: int
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Pack the longest document first, each into the bin that it fills best.

    Returns offsets, int64 (n_bins + 1,), and documents, uint32 (n_documents,): bin ``b`` holds
    ``documents[offsets[b]:offsets[b + 1]]``, ascending. ``UsageError`` if a document is longer than
    the capacity.
    """

def pack_first_fit(
    lengths: NDArray[np.uint32], *, capacity: int
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Pack documents in their order, each into the first bin with room. Returns what
    ``pack_best_fit`` does."""

def pack_sorted_batches(
    lengths: NDArray[np.uint32], *, capacity: int
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Group neighbours by length into batches; rows times the longest stay within the capacity.
    Returns what ``pack_best_fit`` does."""

def pack_buckets(
    lengths: NDArray[np.uint32], *, capacity: int, edges: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Group documents of one bucket into batches; rows times the edge stay within the capacity.
    Returns what ``pack_best_fit`` does."""

def bucket_edges(
    widths: NDArray[np.uint32], documents: NDArray[np.uint64], *, most: int
) -> NDArray[np.uint32]:
    """At most ``most`` edges with which the rows of all documents have the fewest positions.

    ``documents[i]`` documents have width ``widths[i]``; widths ascend from 1 on. The optimum is
    exact.
    """

def sha256(data: bytes) -> str:
    """SHA-256 in hexadecimal, 64 digits."""

def decompress(data: bytes, *, max_bytes: int = ..., path: str | None = None) -> bytes:
    """zstd or gzip by magic number; anything else is returned as it is. ``LimitError`` above
    max_bytes.
    """

def compress_zstd(data: bytes, *, level: int = 19) -> bytes:
    """One zstd frame with a checksum."""

def list_error_kinds() -> list[str]:
    """Every kind of error of the core, for the test that enumerates them."""

def _raise_error_kind(kind: str) -> None:
    """Raise a sample error of the kind: for the test that enumerates them."""
