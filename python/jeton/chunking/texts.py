"""``chunk_text``: one text, divided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer, chunk_spans
from jeton.chunking.boundaries import (
    CHUNK_COST,
    CLAUSE_COST,
    WORD_COST,
    Boundaries,
    sentence_boundaries,
    structure_boundaries,
)
from jeton.chunking.frames import Frame, Summarize, heading_contexts, make_frame
from jeton.chunking.results import Chunk, Chunking, DroppedText
from jeton.errors import UsageError
from jeton.registry import TokenizerLike

if TYPE_CHECKING:
    from jeton.chunking.similarity import Embed

__all__ = ["BY", "MARKUPS", "By", "ChunkOptions", "Markup", "check_limits", "chunk_text"]

By = Literal["tokens", "sentences", "structure", "code", "semantic"]
BY: tuple[By, ...] = ("tokens", "sentences", "structure", "code", "semantic")
Markup = Literal["auto", "markdown", "html", "json", "plain"]
MARKUPS: tuple[Markup, ...] = ("auto", "markdown", "html", "json", "plain")


class ChunkOptions(TypedDict, total=False):
    """Options of ``chunk_text`` that ``chunk`` hands through."""

    by: By
    overlap: int
    overlap_sentences: int
    prefix: str
    template: str | None
    context: bool
    markup: Markup
    language: str | None
    code_language: str | None
    embed: Embed | None
    summarize: Summarize | None
    trim: bool
    add_special_tokens: bool


_LANGUAGES = {
    "bulgarian": "bg", "croatian": "hr", "czech": "cs", "danish": "da", "dutch": "nl",
    "english": "en", "finnish": "fi", "french": "fr", "german": "de", "greek": "el",
    "hungarian": "hu", "italian": "it", "norwegian": "no", "polish": "pl", "portuguese": "pt",
    "romanian": "ro", "russian": "ru", "spanish": "es", "swedish": "sv", "turkish": "tr",
    "ukrainian": "uk", "latin": "en",
}  # fmt: skip
"""Language classes whose sentence ends differ, as ISO 639-1."""


def chunk_text(
    text: str,
    *,
    tokenizer: TokenizerLike,
    max_tokens: int,
    by: By = "structure",
    overlap: int = 0,
    overlap_sentences: int = 0,
    prefix: str = "",
    template: str | None = None,
    context: bool = False,
    markup: Markup = "auto",
    language: str | None = None,
    code_language: str | None = None,
    embed: Embed | None = None,
    summarize: Summarize | None = None,
    trim: bool = False,
    add_special_tokens: bool = True,
) -> Chunking:
    r"""Divide a text into chunks that fit a token budget.

    The budget is hard: each chunk is counted as it is sent, with prefix, context, template and
    special tokens. Without ``overlap`` the chunks join to the text, unless ``trim`` drops white
    space between them, which is named.

    Args:
        text: The text.
        tokenizer: The tokenizer of the model that reads the chunks: a name, a path or an object.
        max_tokens: Tokens of a chunk as it is sent, at most.
        by: Places to cut at: any token; ends of sentences; blocks of Markdown, HTML or JSON and
            sentences within; definitions of code; or sentences where the subject changes.
        overlap: Tokens that a chunk repeats of the one before, at most; from the beginning of a
            word on, but for ``by="tokens"``.
        overlap_sentences: Parts (sentences, blocks, lines of code) that it repeats instead.
        prefix: Text before each chunk ("passage: ").
        template: Text around each chunk, with ``{text}`` and, before it, ``{context}``.
        context: Puts the headings above a chunk before it, or the imports of code.
        markup: Markup of the text for ``by="structure"``; ``"auto"`` looks at its beginning.
        language: Language whose abbreviations are known (ISO 639-1); None: guessed.
        code_language: Language of ``by="code"``; None: lines and indentation alone are used.
        embed: Embeds sentences for ``by="semantic"``: list of texts to rows of numbers; None: the
            words of neighbouring sentences are compared.
        summarize: Called with context that takes more than half of the budget, and the tokens it
            may have; None: such context is left out.
        trim: Leaves white space at both ends of chunks out, and names it.
        add_special_tokens: Counts the special tokens that the tokenizer puts around a text.

    Returns:
        The chunks, in the order of the text; none for an empty text.

    Raises:
        UsageError: A limit is out of range, or a character exceeds the budget by itself.
        MissingExtraError: The grammar of ``code_language`` is not installed.

    Example:
        >>> found = chunk_text(
        ...     "# Dose\nTake two. Wait an hour.\n\n# Risks\nNone are known.",
        ...     tokenizer="jeton-general-32k",
        ...     max_tokens=16,
        ... )
        >>> [chunk.text for chunk in found.chunks]
        ['# Dose\nTake two. Wait an hour.\n\n', '# Risks\nNone are known.']
        >>> max(chunk.n_tokens for chunk in found.chunks) <= 16
        True
    """
    from jeton.registry import resolve

    check_limits(max_tokens=max_tokens, by=by, overlap=overlap, overlap_sentences=overlap_sentences)
    if markup not in MARKUPS:
        raise UsageError(f"markup is {markup!r}; expected one of {', '.join(MARKUPS)}")
    known = resolve(tokenizer)
    language = language if language is not None else _language(text) if by != "tokens" else ""
    found, contexts = _found(text, by, markup, language, code_language, embed)
    frame = make_frame(
        contexts if context else [],
        tokenizer=known,
        max_tokens=max_tokens,
        prefix=prefix,
        template=template,
        add_special_tokens=add_special_tokens,
        summarize=summarize,
    )
    if overlap and overlap >= max_tokens - frame.n_tokens:
        raise UsageError(
            f"overlap is {overlap}, and a chunk has room for {max_tokens - frame.n_tokens} tokens "
            "of text; expected less\nhint: an overlap of a tenth of the budget is usual"
        )
    rows = _rows(
        text,
        found,
        frame,
        tokenizer=known,
        max_tokens=max_tokens,
        overlap=overlap,
        overlap_sentences=overlap_sentences,
        trim=trim,
        add_special_tokens=add_special_tokens,
        by_tokens=by == "tokens",
    )
    places = np.searchsorted(np.array(frame.starts), rows[:, 0], side="right") - 1
    chunks = tuple(
        Chunk(
            text[start:end],
            start,
            end,
            start_bytes,
            end_bytes,
            n_tokens,
            frame.contexts[place],
            frame.heads[place],
            frame.tail,
        )
        for (start_bytes, end_bytes, start, end, n_tokens), place in zip(
            rows.tolist(), places.tolist(), strict=True
        )
    )
    return Chunking(chunks, _dropped(chunks, len(text)), max_tokens, by, language)


def check_limits(*, max_tokens: int, by: str, overlap: int, overlap_sentences: int) -> None:
    """Refuse limits that no text can be divided by.

    Raises:
        UsageError: One is out of range, or two contradict one another.
    """
    if by not in BY:
        raise UsageError(f"by is {by!r}; expected one of {', '.join(BY)}")
    if max_tokens < 1:
        raise UsageError(f"max_tokens is {max_tokens}; expected at least 1")
    if overlap < 0 or overlap_sentences < 0:
        raise UsageError(
            f"overlap is {overlap} and overlap_sentences {overlap_sentences}; expected at least 0"
        )
    if overlap and overlap_sentences:
        raise UsageError("overlap and overlap_sentences were given; expected one of them")
    if overlap >= max_tokens:
        raise UsageError(
            f"overlap is {overlap} and max_tokens {max_tokens}; expected a smaller overlap\n"
            "hint: a tenth of the budget is usual"
        )
    if overlap_sentences and by == "tokens":
        raise UsageError(
            "overlap_sentences needs sentences, and by is 'tokens'\nhint: use overlap instead"
        )


def _language(text: str) -> str:
    from jeton.corpus.languages import language_class

    return _LANGUAGES.get(language_class(text), "")


def _found(
    text: str,
    by: By,
    markup: Markup,
    language: str,
    code_language: str | None,
    embed: Embed | None,
) -> tuple[Boundaries, list[tuple[int, tuple[str, ...]]]]:
    """The places for cuts, and the contexts of all places."""
    if by == "tokens":
        return Boundaries(np.zeros(0, np.int64), np.zeros(0, np.uint32)), []
    if by == "sentences":
        return sentence_boundaries(text, language), []
    if by == "semantic":
        from jeton.chunking.similarity import semantic_boundaries

        found = semantic_boundaries(text, language, embed)
        return found, heading_contexts(found.headings)
    if by == "code":
        from jeton.chunking.code import code_boundaries

        return code_boundaries(text, code_language)
    from jeton.chunking.markup import markup_boundaries, markup_of

    if markup == "auto":
        markup = markup_of(text)
    if markup == "markdown":
        found = structure_boundaries(text, language)
    elif markup == "plain":
        found = sentence_boundaries(text, language)
    else:
        found = markup_boundaries(text, markup, language)
    return found, heading_contexts(found.headings)


def _rows(
    text: str,
    found: Boundaries,
    frame: Frame,
    *,
    tokenizer: Tokenizer,
    max_tokens: int,
    overlap: int,
    overlap_sentences: int,
    trim: bool,
    add_special_tokens: bool,
    by_tokens: bool,
) -> NDArray[np.int64]:
    flat, stuck = chunk_spans(
        tokenizer,
        text,
        found.places,
        found.costs,
        max_tokens=max_tokens,
        overlap_tokens=overlap,
        overlap_parts=overlap_sentences,
        heads=frame.heads,
        head_starts=frame.starts,
        tail=frame.tail,
        add_special_tokens=add_special_tokens,
        trim=trim,
        chunk_cost=CHUNK_COST,
        clause_cost=0 if by_tokens else CLAUSE_COST,
        word_cost=0 if by_tokens else WORD_COST,
    )
    if stuck is not None:
        at, n_tokens = stuck
        place = len(text.encode()[:at].decode())
        raise UsageError(
            f"max_tokens is {max_tokens}, and the character {text[place]!r} at {place} takes "
            f"{n_tokens} with all that is sent with it\nhint: raise --max-tokens to at least "
            f"{n_tokens}"
        )
    return flat.reshape(-1, 5)


def _dropped(chunks: tuple[Chunk, ...], n_chars: int) -> tuple[DroppedText, ...]:
    dropped = []
    done = 0
    for chunk in chunks:
        if chunk.start > done:
            dropped.append(DroppedText(done, chunk.start))
        done = max(done, chunk.end)
    if done < n_chars:
        dropped.append(DroppedText(done, n_chars))
    return tuple(dropped)
