"""Words as tokens meet them: the share kept as one token, the share continued in a further one.

A *letter word* is a maximal run of letters and the marks on them, of scripts that put spaces
between words; Chinese, Japanese, Thai and their like are left out, because a run of their letters
is no word. It was kept if exactly one token overlaps it. The share kept is the single-token
retention rate of arXiv:2510.09947, the rest is the share of continued words of P. Rust et al.
(ACL 2021, arXiv:2012.15613); both take running text here, where frequent words weigh more than in
a word list.

Words by white space (`compression.WORD_SPLITTER`) keep their punctuation; letter words do not, so
the two fertilities differ, and each names its splitter.

How much text a token holds.

Bytes per token compares tokenizers on any language; characters per token is easier to imagine;
tokens per word (fertility) depends on what a word is, so it names its splitter, and says little for
scripts that do not put spaces between words (Chinese, Japanese, Thai).

Term shatter: into how many tokens a term of the domain falls.

A term is cut as it stands in running text, because that is what a model sees: after a space inside
a sentence, or at the very start of a text. The tokens counted are those that cover at least one
character of the term, and a token of the space before it where the tokenizer takes space and term
for one pretoken (as most do): were the term one token, that token would hold the space too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from jeton._core import TextStats, TokenStats
from jeton.errors import UsageError
from jeton.registry import TokenizerLike, resolve

WORD_SPLITTER = "whitespace"
"""Words are maximal runs of characters that are not Unicode White_Space (as in `TextStats`)."""


@dataclass(frozen=True, slots=True)
class Compression:
    """Text per token. A ratio without anything to divide by is 0.0."""

    bytes_per_token: float
    chars_per_token: float
    tokens_per_word: float
    word_splitter: str


def compression(*, n_bytes: int, n_chars: int, n_words: int, n_tokens: int) -> Compression:
    """Ratios from whole-corpus counts (not means of ratios per document)."""
    return Compression(
        bytes_per_token=n_bytes / n_tokens if n_tokens else 0.0,
        chars_per_token=n_chars / n_tokens if n_tokens else 0.0,
        tokens_per_word=n_tokens / n_words if n_words else 0.0,
        word_splitter=WORD_SPLITTER,
    )


LETTER_SPLITTER = "letters"
"""Words are maximal runs of letters (General_Category L, then M) of scripts that use spaces."""


@dataclass(frozen=True, slots=True)
class WordUse:
    """Letter words under a tokenizer.

    Attributes:
        n_words: Letter words in the documents that were looked at.
        kept_share: Share of these that exactly one token overlaps, 0 to 1; 0.0 without words.
        continued_share: Share that more than one token overlaps, 0 to 1.
        tokens_per_word: Tokens that overlap a letter word, over the words: fertility.
        tokens_per_digit: Tokens in which a digit begins, over the digits.
        word_splitter: ``"letters"``.
        n_documents: Documents that were looked at: those whose tokens could be laid along their
            text. A tokenizer that rewrites letters (removes accents, say) leaves some out.
        is_complete: True if those were all documents.
    """

    n_words: int
    kept_share: float
    continued_share: float
    tokens_per_word: float
    tokens_per_digit: float
    word_splitter: str
    n_documents: int
    is_complete: bool


@dataclass(frozen=True, slots=True)
class ScriptUse:
    """One script of the text, and what a tokenizer makes of it.

    Attributes:
        script: Its Unicode name, ``"Common"`` for signs, digits and spaces.
        n_chars: Its characters in all documents.
        char_share: Share of all characters, 0 to 1.
        n_tokens: Tokens whose first character with a script has this one (in the documents looked
            at).
        bytes_per_token: Bytes that these tokens cover, over their number; None without a token.
    """

    script: str
    n_chars: int
    char_share: float
    n_tokens: int
    bytes_per_token: float | None


def word_use(stats: TokenStats) -> WordUse:
    """Read the shares off counts made with ``tokenizer.measure(batch, words=True)``.

    Raises:
        UsageError: The counts have documents, but none that was looked at for words.
    """
    if stats.n_documents and not stats.n_laid_out_documents:
        raise UsageError(
            "no document was looked at for words\n"
            "hint: measure with words=True; a tokenizer that rewrites every text has none"
        )
    n_words = stats.n_letter_words
    kept = stats.n_letter_words_kept / n_words if n_words else 0.0
    return WordUse(
        n_words=n_words,
        kept_share=kept,
        continued_share=1 - kept if n_words else 0.0,
        tokens_per_word=stats.n_letter_word_tokens / n_words if n_words else 0.0,
        tokens_per_digit=stats.n_digit_tokens / stats.n_digits if stats.n_digits else 0.0,
        word_splitter=LETTER_SPLITTER,
        n_documents=stats.n_laid_out_documents,
        is_complete=stats.n_laid_out_documents == stats.n_documents,
    )


def script_use(text_stats: TextStats, token_stats: TokenStats) -> tuple[ScriptUse, ...]:
    """Scripts by their share of the characters, greatest first; equal ones by name.

    Args:
        text_stats: Statistics of the documents.
        token_stats: Statistics of these documents, measured with ``words=True``.
    """
    chars = text_stats.script_chars
    tokens = token_stats.script_tokens
    covered = token_stats.script_bytes
    n_chars = text_stats.n_chars
    rows = [
        ScriptUse(
            script=script,
            n_chars=count,
            char_share=count / n_chars,
            n_tokens=tokens.get(script, 0),
            bytes_per_token=covered.get(script, 0) / tokens[script] if script in tokens else None,
        )
        for script, count in chars.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.n_chars, row.script)))


_NEIGHBOUR = "a"
"""A word on either side of the term. It only has to end and begin a pretoken of its own."""


@dataclass(frozen=True, slots=True)
class TermPieces:
    r"""How one term is cut.

    Attributes:
        ids: The tokens that cover the term.
        pieces: Their text; bytes that are no whole character are written ``\xNN``.
    """

    ids: tuple[int, ...]
    pieces: tuple[str, ...]

    @property
    def n_tokens(self) -> int:
        """Tokens that the term costs."""
        return len(self.ids)


def cut_term(
    tokenizer: TokenizerLike, term: str, *, position: Literal["inside", "start"] = "inside"
) -> TermPieces:
    """Cut ``term`` as it stands inside a sentence (after a space) or at the start of a text.

    Raises:
        UsageError: ``term`` is empty or only white space.
    """
    tokenizer = resolve(tokenizer)
    term = term.strip()
    if not term:
        raise UsageError("a term is empty; expected at least one visible character")
    before = f"{_NEIGHBOUR} " if position == "inside" else ""
    encoding = tokenizer.encode_with_offsets(f"{before}{term} {_NEIGHBOUR}")
    term_start, term_end = len(before), len(before) + len(term)
    covers = (encoding.starts < term_end) & (encoding.ends > term_start)
    if covers.any():
        first_word = encoding.word_ids[np.argmax(covers)]
        is_space = (encoding.starts == term_start - 1) & (encoding.ends == term_start)
        covers |= is_space & (encoding.word_ids == first_word)
    ids = tuple(int(id_) for id_ in encoding.ids[covers])
    return TermPieces(ids, tuple(readable_piece(tokenizer.id_to_bytes(id_)) for id_ in ids))


def readable_piece(token_bytes: bytes) -> str:
    r"""The bytes of a token as text; what is not UTF-8 by itself is written ``\xNN``."""
    return token_bytes.decode("utf-8", errors="backslashreplace")
