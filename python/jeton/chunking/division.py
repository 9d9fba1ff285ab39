"""Texts divided, as many as there are, in one call of the core where nothing else is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer, chunk_spans, chunk_texts
from jeton.chunking.boundaries import (
    CHUNK_COST,
    CLAUSE_COST,
    KIND_COSTS,
    WORD_COST,
    Boundaries,
    TextTable,
    sentence_boundaries,
    structure_boundaries,
)
from jeton.chunking.frames import Frame, Summarize, heading_contexts, make_frame
from jeton.chunking.results import ROW, Chunking, Chunks, DroppedText, stretches
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.chunking.similarity import Embed

By = Literal["tokens", "sentences", "structure", "code", "semantic"]
BY: tuple[By, ...] = ("tokens", "sentences", "structure", "code", "semantic")
Markup = Literal["auto", "markdown", "html", "json", "plain"]
MARKUPS: tuple[Markup, ...] = ("auto", "markdown", "html", "json", "plain")

_LANGUAGES = {
    "bulgarian": "bg", "croatian": "hr", "czech": "cs", "danish": "da", "dutch": "nl",
    "english": "en", "finnish": "fi", "french": "fr", "german": "de", "greek": "el",
    "hungarian": "hu", "italian": "it", "norwegian": "no", "polish": "pl", "portuguese": "pt",
    "romanian": "ro", "russian": "ru", "spanish": "es", "swedish": "sv", "turkish": "tr",
    "ukrainian": "uk", "latin": "en",
}  # fmt: skip
"""Language classes whose sentence ends differ, as ISO 639-1."""


class _Costs(TypedDict):
    clause_cost: int
    word_cost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """A way of dividing texts: the options of ``chunk_text``, checked when it is made."""

    tokenizer: Tokenizer
    max_tokens: int
    by: By = "structure"
    overlap: int = 0
    overlap_sentences: int = 0
    prefix: str = ""
    template: str | None = None
    context: bool = False
    markup: Markup = "auto"
    language: str | None = None
    code_language: str | None = None
    embed: Embed | None = None
    summarize: Summarize | None = None
    trim: bool = False
    add_special_tokens: bool = True

    def __post_init__(self) -> None:
        self._check_limits()
        frame = self._frame([])
        room = self.max_tokens - frame.n_tokens
        if self.overlap and self.overlap >= room:
            raise UsageError(
                f"overlap is {self.overlap}, and a chunk has room for {room} tokens of text; "
                "expected less\nhint: an overlap of a tenth of the budget is usual"
            )

    def _check_limits(self) -> None:
        """Refuse limits that no text can be divided by."""
        if self.by not in BY:
            raise UsageError(f"by is {self.by!r}; expected one of {', '.join(BY)}")
        if self.markup not in MARKUPS:
            raise UsageError(f"markup is {self.markup!r}; expected one of {', '.join(MARKUPS)}")
        if self.max_tokens < 1:
            raise UsageError(f"max_tokens is {self.max_tokens}; expected at least 1")
        if self.overlap < 0 or self.overlap_sentences < 0:
            raise UsageError(
                f"overlap is {self.overlap} and overlap_sentences {self.overlap_sentences}; "
                "expected at least 0"
            )
        if self.overlap and self.overlap_sentences:
            raise UsageError("overlap and overlap_sentences were given; expected one of them")
        if self.overlap >= self.max_tokens:
            raise UsageError(
                f"overlap is {self.overlap} and max_tokens {self.max_tokens}; expected a smaller "
                "overlap\n"
                "hint: a tenth of the budget is usual"
            )
        if self.overlap_sentences and self.by == "tokens":
            raise UsageError(
                "overlap_sentences needs sentences, and by is 'tokens'\nhint: use overlap instead"
            )

    def of(self, texts: Sequence[str]) -> Iterator[Chunking]:
        """Divide texts, in their order.

        Raises:
            UsageError: A character exceeds the budget by itself; after the texts before it.
        """
        ways = [self._way(text) for text in texts]
        first = 0
        for way, group in groupby(ways):
            n = len(list(group))
            some = texts[first : first + n]
            if way is None:
                yield from map(self._one, some)
            else:
                yield from self._together(some, way)
            first += n

    def _way(self, text: str) -> Literal["tokens", "sentences", "structure"] | None:
        """Boundaries that the core finds by itself; None: they are found here, or have context."""
        if self.by == "tokens":
            return self.by
        if self.summarize is not None:
            return None
        if self.by == "sentences":
            return self.by
        if self.by != "structure" or self.context:
            return None
        markup = self._markup(text)
        if markup == "plain":
            return "sentences"
        return "structure" if markup == "markdown" else None

    def _markup(self, text: str) -> Markup:
        from jeton.chunking.markup import markup_of

        return markup_of(text) if self.markup == "auto" else self.markup

    def _language(self, text: str) -> str:
        if self.language is not None:
            return self.language
        return _language(text) if self.by != "tokens" else ""

    def _together(
        self, texts: Sequence[str], way: Literal["tokens", "sentences", "structure"]
    ) -> Iterator[Chunking]:
        languages = [self._language(text) for text in texts]
        frame = self._frame([])
        flat, offsets, stuck = chunk_texts(
            self.tokenizer,
            list(texts),
            by=way,
            languages=languages,
            kind_costs=KIND_COSTS.tolist(),
            max_tokens=self.max_tokens,
            overlap_tokens=self.overlap,
            overlap_parts=self.overlap_sentences,
            head=frame.heads[0],
            tail=frame.tail,
            add_special_tokens=self.add_special_tokens,
            trim=self.trim,
            chunk_cost=CHUNK_COST,
            **self._costs(),
        )
        rows = flat.reshape(-1, ROW)
        for index in range(len(offsets) - 1):
            of_text = rows[offsets[index] : offsets[index + 1]]
            yield self._result(texts[index], of_text, frame, languages[index])
        if stuck is not None:
            index, at, n_tokens = stuck
            raise self._stuck(texts[index], at, n_tokens)

    def _one(self, text: str) -> Chunking:
        language = self._language(text)
        found, contexts = self._found(text, language)
        frame = self._frame(contexts, found.tables) if self.context else self._frame([])
        if self.summarize is None:
            rows = self._rows(text, text, found, frame)
            return self._result(text, rows, frame, language)
        data = text.encode()
        parts: list[NDArray[np.int64]] = [np.zeros((0, ROW), dtype=np.int64)]
        summaries: dict[int, str] = {}
        n_chars = 0
        for stretch in stretches(
            data,
            found,
            frame,
            tokenizer=self.tokenizer,
            max_tokens=self.max_tokens,
            add_special_tokens=self.add_special_tokens,
            summarize=self.summarize,
        ):
            start, end = stretch.start, stretch.end
            part = data[start:end]
            n_part = len(part.decode())
            if stretch.summary is None:
                of_part = self._rows(
                    text, part, found.within(start, end), frame.within(start, end), start
                )
                parts.append(of_part + np.array([start, start, n_chars, n_chars, 0]))
            else:
                whole = [start, end, n_chars, n_chars + n_part, stretch.n_tokens]
                parts.append(np.array([whole], dtype=np.int64))
                summaries[start] = stretch.summary
            n_chars += n_part
        return self._result(text, np.concatenate(parts), frame, language, summaries)

    def _rows(
        self, text: str, part: str | bytes, found: Boundaries, frame: Frame, first_byte: int = 0
    ) -> NDArray[np.int64]:
        """The chunks of a part of a text, in places of the part."""
        flat, stuck = chunk_spans(
            self.tokenizer,
            part,
            found.places,
            found.costs,
            max_tokens=self.max_tokens,
            overlap_tokens=self.overlap,
            overlap_parts=self.overlap_sentences,
            heads=frame.heads,
            head_starts=frame.starts,
            tail=frame.tail,
            add_special_tokens=self.add_special_tokens,
            trim=self.trim,
            chunk_cost=CHUNK_COST,
            **self._costs(),
        )
        if stuck is not None:
            at, n_tokens = stuck
            raise self._stuck(text, first_byte + at, n_tokens)
        return flat.reshape(-1, ROW)

    def _costs(self) -> _Costs:
        cuts_words = self.by != "tokens"
        return {
            "clause_cost": CLAUSE_COST if cuts_words else 0,
            "word_cost": WORD_COST if cuts_words else 0,
        }

    def _frame(
        self, contexts: list[tuple[int, tuple[str, ...]]], tables: Sequence[TextTable] = ()
    ) -> Frame:
        return make_frame(
            contexts,
            tables,
            tokenizer=self.tokenizer,
            max_tokens=self.max_tokens,
            prefix=self.prefix,
            template=self.template,
            add_special_tokens=self.add_special_tokens,
            summarize=self.summarize,
        )

    def _found(
        self, text: str, language: str
    ) -> tuple[Boundaries, list[tuple[int, tuple[str, ...]]]]:
        """The places for cuts, and the contexts of all places."""
        if self.by == "semantic":
            from jeton.chunking.similarity import semantic_boundaries

            found = semantic_boundaries(text, language, self.embed)
            return found, heading_contexts(found.headings)
        if self.by == "code":
            from jeton.chunking.markup import code_boundaries

            return code_boundaries(text, self.code_language)
        from jeton.chunking.markup import markup_boundaries

        markup = "plain" if self.by == "sentences" else self._markup(text)
        if markup == "markdown":
            found = structure_boundaries(text, language)
        elif markup == "html" or markup == "json":
            found = markup_boundaries(text, markup, language)
        else:
            found = sentence_boundaries(text, language)
        return found, heading_contexts(found.headings)

    def _result(
        self,
        text: str,
        rows: NDArray[np.int64],
        frame: Frame,
        language: str,
        summaries: dict[int, str] | None = None,
    ) -> Chunking:
        chunks = Chunks(text, rows, frame, summaries)
        # Chunks that keep their white space cover all of the text.
        dropped = _dropped(chunks.spans, len(text)) if self.trim else ()
        return Chunking(chunks, dropped, self.max_tokens, self.by, language)

    def _stuck(self, text: str, at: int, n_tokens: int) -> UsageError:
        place = len(text.encode()[:at].decode())
        return UsageError(
            f"max_tokens is {self.max_tokens}, and the character {text[place]!r} at {place} takes "
            f"{n_tokens} with all that is sent with it\nhint: raise --max-tokens to at least "
            f"{n_tokens}"
        )


_GUESS_CHARS = 2_048
_CHARS_PER_ENGLISH_WORD = 250
_MIN_ENGLISH_WORDS = 3


def _language(text: str) -> str:
    """The language of sentences, guessed from the beginning of a text."""
    from jeton.corpus.languages import language_class

    # No other language has these two words as often. Counting them takes a hundredth of the time of
    # the guess, which is longer than dividing a short text.
    start = text[:_GUESS_CHARS]
    n_words = start.count(" the ") + start.count(" and ")
    if n_words >= max(_MIN_ENGLISH_WORDS, len(start) / _CHARS_PER_ENGLISH_WORD):
        return "en"
    return _LANGUAGES.get(language_class(text), "")


def _dropped(spans: NDArray[np.int64], n_chars: int) -> tuple[DroppedText, ...]:
    dropped = []
    done = 0
    for start, end in spans.tolist():
        if start > done:
            dropped.append(DroppedText(done, start))
        done = max(done, end)
    if done < n_chars:
        dropped.append(DroppedText(done, n_chars))
    return tuple(dropped)
