"""The task of extending: what each kind of model is given, and what it gives back."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from jeton._core import Tokenizer
from jeton.adapt.reading import Corpus
from jeton.adapt.written import LISTED_KINDS, WrittenTokenizer
from jeton.errors import AdaptError, JetonWarning

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

    def warn_of_few(self, n_found: int) -> None:
        """Warns if the text was enough for some new tokens, but not for all that were asked for."""
        if self.n_tokens is not None and 0 < n_found < self.n_tokens:
            warnings.warn(
                f"the text is enough for {n_found:,} new tokens only, not for "
                f"{self.n_tokens:,}\nhint: give more text, or a lower min_frequency",
                JetonWarning,
                stacklevel=6,
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


# New tokens in rows that a model has already: holes of the vocabulary, and reserved tokens.

_RESERVED = re.compile(
    r"reserved|unused|extra_id|placeholder|dummy|\bPAD\d|SPECIAL_\d|control_\d", re.IGNORECASE
)


_BRACKETS = {"<": ">", "[": "]", "{": "}"}


def is_reserved_name(token: str, *, is_added: bool = True) -> bool:
    """True for the name of a token that was put in to be used later, as ``<|reserved_7|>``.

    Args:
        token: The name.
        is_added: False for a token of the model itself: those are words, too (``reserved``), so
            that only a name in brackets counts, as ``[unused7]``.
    """
    if not is_added and (len(token) < 2 or _BRACKETS.get(token[0]) != token[-1]):
        return False
    return _RESERVED.search(token) is not None


def place_in_spare_rows(
    written: WrittenTokenizer, added: Sequence[Added], spare: Sequence[int], *, n_old_ids: int
) -> list[Added]:
    """Moves new tokens into spare ids; those that find no place follow the old ids.

    Args:
        written: The tokenizer with its new tokens behind the old ids; it is changed.
        added: The new tokens.
        spare: Ids to use, ascending or not.
        n_old_ids: Size of the old id space.

    Raises:
        AdaptError: An id is in use, or a rank file would get its ranks in another order.
    """
    if written.kind in LISTED_KINDS:
        raise AdaptError(
            "spare rows can be used by BPE and WordPiece with ids of their own; the ids of "
            f"{written.kind} are places in a list\nhint: leave spare out; the model has to grow"
        )
    places = sorted(set(spare))
    tokens = written.tokens()
    names = {token["id"]: token["content"] for token in written.data["added_tokens"]}
    for id in places:
        _check_spare(id, tokens, names, n_old_ids)
    in_order = sorted(added, key=lambda new: new.id)
    if written.kind == "bpe" and written.merges is None:
        ordinary = [
            id
            for id, token in enumerate(tokens[:n_old_ids])
            if token is not None and id not in names
        ]
        if places and places[0] < max(ordinary):
            raise AdaptError(
                f"spare id {places[0]} lies among the ranks of ordinary tokens, and in a rank file "
                f"an id is a rank\nhint: use ids above {max(ordinary)}"
            )
    used = places[: len(in_order)]
    targets = [*used, *range(n_old_ids, n_old_ids + len(in_order) - len(used))]
    new_of = {new.id: target for new, target in zip(in_order, targets, strict=True)}
    model = written.model
    written.data["added_tokens"] = [
        token for token in written.data["added_tokens"] if token["id"] not in set(used)
    ]
    if "opaque" in model:
        model["opaque"] = [id for id in model["opaque"] if id not in set(used)]
    del model["tokens"][n_old_ids:]
    for new, target in zip(in_order, targets, strict=True):
        written.put_tokens(target, [new.text])
    if written.merges is not None:
        model["merges"] = [
            [new_of.get(left, left), new_of.get(right, right)] for left, right in written.merges
        ]
    return [replace(new, id=new_of[new.id]) for new in in_order]


def _check_spare(
    id: int, tokens: Sequence[bytes | None], names: dict[int, str], n_old_ids: int
) -> None:
    if not 0 <= id < n_old_ids:
        raise AdaptError(
            f"spare id {id} is not an old one; expected 0 to {n_old_ids - 1}\n"
            "hint: spare ids are holes and reserved tokens of the old vocabulary"
        )
    token = tokens[id] if id < len(tokens) else None
    name = names.get(id) or ("" if token is None else token.decode("utf-8", "replace"))
    if name and not is_reserved_name(name, is_added=id in names):
        raise AdaptError(
            f"spare id {id} is in use: {name!r:.60}\n"
            "hint: holes and tokens that are named reserved or unused can be given away"
        )
