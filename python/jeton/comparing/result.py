"""Result of a comparison: figures of every tokenizer, of the whole text and of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from jeton._shown import NotebookResult
from jeton.findings import Basis
from jeton.metrics import LengthSummary
from jeton.metrics.bootstrap import Interval
from jeton.metrics.quality import QualityMetrics

if TYPE_CHECKING:
    from jeton.comparing.inspecting import Inspection

SCHEMA_VERSION = "jeton.compare/1"

GroupKind = Literal["domain", "script", "language"]


@dataclass(frozen=True, slots=True)
class TextSummary:
    """The text before any tokenizer.

    Attributes:
        n_documents: Documents.
        n_bytes: Bytes as UTF-8.
        n_chars: Code points.
        n_words: Words under `word_splitter`.
        word_splitter: ``"whitespace"``: runs of characters that are not Unicode White_Space.
        n_replaced_documents: Documents in which bytes that are not UTF-8 were replaced.
        n_sources: Inputs.
        n_skipped_files: Inputs that were not read.
        n_null_documents: Records whose text is null, which were left out.
        n_bad_records: Records that cannot be used and were left out.
        sample_is_whole: True if what needs the text again (quality, languages, speed) saw all of
            it; else an even draw of `sample_bytes`.
        sample_documents: Documents of that draw.
        sample_bytes: Its bytes.
    """

    n_documents: int
    n_bytes: int
    n_chars: int
    n_words: int
    word_splitter: str
    n_replaced_documents: int
    n_sources: int
    n_skipped_files: int
    n_null_documents: int
    n_bad_records: int
    sample_is_whole: bool
    sample_documents: int
    sample_bytes: int


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast one thread encodes the sample, on this machine, now.

    Attributes:
        bytes_per_second: Median of the rounds.
        low: Speed of the slowest round.
        high: Speed of the fastest round.
        n_rounds: Rounds, after one that warmed the caches; tokenizers take turns in each.
        n_bytes: Bytes encoded in a round.
    """

    bytes_per_second: float
    low: float
    high: float
    n_rounds: int
    n_bytes: int


@dataclass(frozen=True, slots=True)
class TokenizerComparison:
    """One tokenizer on the text.

    Attributes:
        name: Its name in this comparison.
        fingerprint: SHA-256 of its canonical form.
        algorithm: ``bpe``, ``unigram`` ...
        reference: The library whose ids it equals.
        vocab_size: Rows that an embedding needs.
        is_current: True if the others are compared with it.
        n_tokens: Tokens of the whole text.
        tokens_change: By what share that is above (+) or below (-) the current one's; None for
            the current one.
        tokens_change_interval: By document, paired: both tokenizers saw the same documents.
        tokens_per_document: Their distribution.
        bytes_per_token: Text that one token holds.
        chars_per_token: Code points that one token holds.
        tokens_per_word: Fertility, words as the summary's `word_splitter` has them.
        tokens_per_letter_word: Fertility of letter words (splitter ``letters``): tokens that
            overlap one. None where no document's tokens could be laid along its text.
        vocab_used: Different ids that occurred.
        vocab_used_share: Share of the ids that have a token, 0 to 1.
        unseen_mass: Good-Turing: share of the tokens of more such text that are ids not seen yet.
        single_byte_token_share: Tokens of one byte, 0 to 1.
        partial_character_token_share: Tokens that hold only a part of a character, 0 to 1.
        whitespace_token_share: Tokens of white space alone, 0 to 1.
        n_unknown_tokens: Tokens that stand for text without a token; None where the tokenizer has
            no such id.
        unknown_token_share: Share of all tokens, 0 to 1; None as above.
        n_round_trip_failures: Documents whose ids do not decode to the document.
        unreturned_by_cause: Unreturned ones by cause: ``white_space``, ``u2581``, ``normal_form``,
            ``unknown``, ``other``.
        n_normalized_documents: Documents that the tokenizer's own normalization changed.
        quality: Rényi efficiency in both conventions, bits per byte, stability ...; None if not
            asked for.
        speed: None if not asked for.
        tokens_per_document_interval: Interval of the mean, for more documents like these.
        bytes_per_token_interval: The same.
    """

    name: str
    fingerprint: str
    algorithm: str
    reference: str
    vocab_size: int
    is_current: bool
    n_tokens: int
    tokens_change: float | None
    tokens_change_interval: Interval | None
    tokens_per_document: LengthSummary
    bytes_per_token: float
    chars_per_token: float
    tokens_per_word: float
    tokens_per_letter_word: float | None
    vocab_used: int
    vocab_used_share: float
    unseen_mass: float
    single_byte_token_share: float
    partial_character_token_share: float
    whitespace_token_share: float
    n_unknown_tokens: int | None
    unknown_token_share: float | None
    n_round_trip_failures: int
    unreturned_by_cause: Mapping[str, int]
    n_normalized_documents: int
    quality: QualityMetrics | None
    speed: Speed | None
    tokens_per_document_interval: Interval | None
    bytes_per_token_interval: Interval | None


@dataclass(frozen=True, slots=True)
class GroupCell:
    """One tokenizer on one part of the text.

    Attributes:
        tokenizer: Its name.
        n_tokens: Tokens of the part.
        bytes_per_token: Text that one of them holds; None without a token.
        interval: Interval of bytes per token; None with too few documents, and where it is not by
            document.
    """

    tokenizer: str
    n_tokens: int
    bytes_per_token: float | None
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class GroupRow:
    """One part of the text: a domain, a script, a language.

    Attributes:
        name: Its name.
        n_documents: Its documents; None for scripts, of which one document has many.
        n_bytes: Its bytes as UTF-8.
        n_chars: Its code points.
        cells: In the order of the tokenizers.
    """

    name: str
    n_documents: int | None
    n_bytes: int
    n_chars: int
    cells: tuple[GroupCell, ...]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The text cut into parts by one question, the largest part first.

    Attributes:
        kind: ``domain``, ``script`` or ``language``.
        basis: Exact where all of the text was counted, estimated where the sample was.
        meaning: How a text comes into a part, in one sentence.
        rows: The parts.
    """

    kind: GroupKind
    basis: Basis
    meaning: str
    rows: tuple[GroupRow, ...]


@dataclass(frozen=True, slots=True)
class Comparison(NotebookResult):
    """Tokenizers side by side on one text.

    Attributes:
        schema_version: ``jeton.compare/1``.
        jeton_version: Version of the package.
        text: The texts that were read.
        tokenizers: In the order given.
        groups: By domain, script and language, where there are at least two parts.
        seed: Seed of the intervals.
        inspection: Data of the token inspector; None if not asked for. Not part of the JSON.
    """

    _page = "jeton.report.compare:comparison_html"
    _table = "tokenizers"
    _line = ("tokenizers", "groups")

    schema_version: str
    jeton_version: str
    text: TextSummary
    tokenizers: tuple[TokenizerComparison, ...]
    groups: tuple[Breakdown, ...]
    seed: int
    inspection: Inspection | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        # Not asdict of the whole: it would copy every token of the inspection to have it dropped.
        return {
            "schema_version": self.schema_version,
            "jeton_version": self.jeton_version,
            "text": asdict(self.text),
            "tokenizers": [asdict(item) for item in self.tokenizers],
            "groups": [asdict(item) for item in self.groups],
            "seed": self.seed,
        }
