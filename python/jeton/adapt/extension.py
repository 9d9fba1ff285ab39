"""The task of extending: what each kind of model is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from jeton._core import Tokenizer
from jeton.adapt.reading import Corpus
from jeton.adapt.written import WrittenTokenizer
from jeton.errors import AdaptError

TermForm: TypeAlias = Literal["space", "bare", "both"]


@dataclass(frozen=True, slots=True)
class Added:
    """One new token.

    Attributes:
        id: Its id.
        text: Its bytes as the model writes them.
        parts: The old ids that it is made of.
        origin: ``term`` (asked for), ``step`` (on the way to one) or ``learned``.
        n_saved: Tokens of the text that it saved when it was chosen; None where that is not known.
        token_bytes: Its bytes in a decoded text.
        pair: The two ids, old or new, whose merge makes it; None where no merge does.
    """

    id: int
    text: bytes
    parts: tuple[int, ...]
    origin: str
    n_saved: int | None = None
    token_bytes: bytes = b""
    pair: tuple[int, int] | None = None


@dataclass(slots=True, kw_only=True)
class Extension:
    """An order to extend, and findings about its terms on the way.

    Attributes:
        base: The tokenizer to extend.
        written: Its written form, which a method changes.
        corpus: The text; None: only terms.
        n_tokens: New ids in all; None: only terms.
        terms: Words that are to be one token each.
        term_form: How a term stands in text.
        min_frequency: Least occurrences of a learned token.
        max_token_bytes: Longest token that is learned.
        num_threads: Threads; None: all there are.
        known_terms: Terms that one token stood for already.
        left_out_terms: Terms that cannot be one token, with the reason.
    """

    base: Tokenizer
    written: WrittenTokenizer
    corpus: Corpus | None
    n_tokens: int | None
    terms: tuple[str, ...]
    term_form: TermForm
    min_frequency: int
    max_token_bytes: int | None
    num_threads: int | None
    known_terms: list[str] = field(default_factory=list)
    left_out_terms: dict[str, str] = field(default_factory=dict)

    def pretokens(self) -> Iterator[tuple[str, str]]:
        """Gives each term with each text that is to be one token, as the model sees it."""
        special = {token.content for token in self.base.added_tokens}
        for term in dict.fromkeys(self.terms):
            if not term.strip():
                self.left_out_terms[term] = "has no text"
                continue
            if term in special:
                self.left_out_terms[term] = "is a special or added token already"
                continue
            for cut in self._forms(term):
                n_words = sum(len(text.replace("\u2581", " ").split()) for text in cut)
                if len(cut) != 1 or n_words != 1:
                    reason = f"is cut into {max(len(cut), n_words)} pretokens, which no token joins"
                    self.left_out_terms[term] = reason
                    continue
                yield term, cut[0]

    def check_budget(self, n_needed: int) -> None:
        """Raises ``AdaptError`` if terms need more ids than there may be."""
        if self.n_tokens is not None and n_needed > self.n_tokens:
            raise AdaptError(
                f"the terms need {n_needed:,} new tokens, the steps to them included; "
                f"n_tokens is {self.n_tokens:,}\nhint: ask for more tokens, or fewer terms"
            )

    def _forms(self, term: str) -> list[list[str]]:
        """Returns the pretokens of a term in each form that is asked for, each form once."""
        forms = []
        if self.term_form != "bare":
            # Behind another word, since the beginning of a text has rules of its own.
            first, *rest = self.base.pretokenize(f"a {term}")
            behind = first[first.index("a") + 1 :]
            forms.append([text for text in (behind, *rest) if text])
        if self.term_form != "space":
            bare = self.base.pretokenize(term)
            forms.append([text.removeprefix("\u2581") for text in bare])
        return [list(form) for form in dict.fromkeys(map(tuple, forms))]
