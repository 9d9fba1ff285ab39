"""Words as tokens meet them: the share kept as one token, the share continued in a further one.

A *letter word* is a maximal run of letters and the marks on them, of scripts that put spaces
between words; Chinese, Japanese, Thai and their like are left out, because a run of their letters
is no word. It was kept if exactly one token overlaps it. The share kept is the single-token
retention rate of arXiv:2510.09947, the rest is the share of continued words of P. Rust et al.
(ACL 2021, arXiv:2012.15613); both take running text here, where frequent words weigh more than in
a word list.

Words by white space (`compression.WORD_SPLITTER`) keep their punctuation; letter words do not, so
the two fertilities differ, and each names its splitter.
"""

from __future__ import annotations

from dataclasses import dataclass

from jeton._core import TextStats, TokenStats
from jeton.errors import UsageError

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
