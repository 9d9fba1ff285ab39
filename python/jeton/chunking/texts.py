"""``chunk_text``: one text, divided."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from jeton.chunking.division import By, Division, Markup
from jeton.chunking.results import Chunking
from jeton.registry import TokenizerLike

if TYPE_CHECKING:
    from jeton.chunking.frames import Summarize
    from jeton.chunking.similarity import Embed


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

    division = Division(
        tokenizer=resolve(tokenizer),
        max_tokens=max_tokens,
        by=by,
        overlap=overlap,
        overlap_sentences=overlap_sentences,
        prefix=prefix,
        template=template,
        context=context,
        markup=markup,
        language=language,
        code_language=code_language,
        embed=embed,
        summarize=summarize,
        trim=trim,
        add_special_tokens=add_special_tokens,
    )
    (found,) = division.of([text])
    return found
