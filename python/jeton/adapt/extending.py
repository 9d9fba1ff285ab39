"""A tokenizer with more tokens, for text of a domain.

Old ids keep their meaning and old merges their order. New tokens come after all that the tokenizer
did before: new merges behind the old ones, new pieces with a score that just beats the pieces that
they replace. So a text is first cut as before, and then only joined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from jeton._core import Tokenizer
from jeton.adapt.change import VocabularyChange, added_fields
from jeton.adapt.extend_bytes import extend_bytes
from jeton.adapt.extend_pieces import extend_characters, extend_unigram, extend_words
from jeton.adapt.extension import Added, Extension, TermForm, place_in_spare_rows
from jeton.adapt.reading import Corpus, HeldOutText, Reading
from jeton.adapt.segmenting import unreachable_tokens
from jeton.adapt.written import WrittenTokenizer
from jeton.errors import AdaptError, UsageError
from jeton.formats.model_settings import inherit
from jeton.registry import TokenizerLike, resolve
from jeton.training.settings import DEFAULT_MIN_FREQUENCY

_N_NAMED = 5
_Method: TypeAlias = Callable[[Extension], list[Added]]


@dataclass(frozen=True, slots=True)
class Extended:
    """A tokenizer that was extended.

    Attributes:
        tokenizer: The tokenizer with its new tokens.
        change: The change of vocabulary, to be written beside it.
        new_tokens: The new tokens in the order of their ids.
        known_terms: Terms that one token stood for already.
        left_out_terms: Terms that cannot be one token, each with the reason.
        n_documents: Documents that were learned from.
        n_bytes: Bytes of their text.
        held_out: Text that was kept apart, before and after; None where there is none.
    """

    tokenizer: Tokenizer
    change: VocabularyChange
    new_tokens: tuple[Added, ...]
    known_terms: tuple[str, ...]
    left_out_terms: tuple[tuple[str, str], ...]
    n_documents: int
    n_bytes: int
    held_out: HeldOutText | None


def extend(
    inputs: Any = None,
    *,
    base: TokenizerLike,
    n_tokens: int | None = None,
    terms: Sequence[str] = (),
    term_form: TermForm = "space",
    spare: Sequence[int] = (),
    min_frequency: int = DEFAULT_MIN_FREQUENCY,
    max_token_bytes: int | None = None,
    reading: Reading | None = None,
    name: str | None = None,
) -> Extended:
    """Add tokens to a tokenizer: learned from text, or terms that are asked for, or both.

    Args:
        inputs: Paths, folders, globs, ``"-"``, or an iterable of texts; None: only terms.
        base: The tokenizer to extend, a name, a path or an object; it stays as it is.
        n_tokens: New ids in all, terms and the steps to them included; None: only terms.
        terms: Words that are to be one token each.
        term_form: How a term stands in text: ``"space"`` behind a space, ``"bare"`` without one,
            ``"both"``: a token of each.
        spare: Ids to use first: holes, and reserved tokens that nobody uses.
        min_frequency: Least occurrences of a learned token.
        max_token_bytes: Longest token that is learned; None: any. Byte-level BPE only.
        reading: How documents are read.
        name: Name of the new tokenizer; None: as the old one.

    Raises:
        AdaptError: The tokenizer is of a kind that cannot be extended; terms need more tokens than
            ``n_tokens``; a new token could not be reached; a spare id is in use.
        EmptyCorpusError: There is no text.
        UsageError: Arguments that cannot be meant.

    Example:
        >>> import jeton
        >>> base = jeton.train(iter(["low lower lowest"] * 9), vocab_size=261)
        >>> more = extend(base=base, terms=["slow"])
        >>> more.tokenizer.count(" slow"), base.count(" slow"), len(more.new_tokens)
        (1, 3, 2)
    """
    base = resolve(base, argument="base")
    reading = reading or Reading()
    _check_arguments(inputs, n_tokens, terms, min_frequency)
    written = WrittenTokenizer(base)
    corpus = None if inputs is None else Corpus(inputs, reading)
    extension = Extension(
        base=base,
        written=written,
        corpus=corpus,
        n_tokens=n_tokens,
        terms=tuple(terms),
        term_form=term_form,
        min_frequency=min_frequency,
        max_token_bytes=max_token_bytes,
        num_threads=reading.num_threads,
    )
    added = _method(written)(extension)
    if not added:
        raise AdaptError(_why_nothing(extension))
    if spare:
        added = place_in_spare_rows(written, added, spare, n_old_ids=base.vocab_size)
    tokenizer = written.tokenizer(name)
    inherit(tokenizer, base)
    _check_reachable(tokenizer, added)
    change = _change(base, tokenizer, added)
    held_out = None if corpus is None else corpus.measure(base, tokenizer)
    return Extended(
        tokenizer=tokenizer,
        change=change,
        new_tokens=tuple(
            replace(new, token_bytes=tokenizer.id_to_bytes(new.id))
            for new in sorted(added, key=lambda new: new.id)
        ),
        known_terms=tuple(extension.known_terms),
        left_out_terms=tuple(extension.left_out_terms.items()),
        n_documents=0 if corpus is None else corpus.n_documents,
        n_bytes=0 if corpus is None else corpus.n_bytes,
        held_out=held_out,
    )


def _check_arguments(
    inputs: Any, n_tokens: int | None, terms: Sequence[str], min_frequency: int
) -> None:
    if isinstance(terms, str):
        raise UsageError(
            f"terms is {terms!r:.60}; expected a list of strings\n"
            "hint: put one term in brackets, too"
        )
    if n_tokens is None and not terms:
        raise UsageError(
            "nothing to add: no number of tokens, and no terms\n"
            "hint: give inputs and a number of tokens (--add N), or terms (--terms FILE)"
        )
    if n_tokens is not None and n_tokens < 1:
        raise UsageError(f"n_tokens is {n_tokens}; expected at least 1\nhint: 1000 is usual")
    if n_tokens is not None and inputs is None and not terms:
        raise UsageError("tokens are learned from text\nhint: give inputs")
    if min_frequency < 1:
        raise UsageError(f"min_frequency is {min_frequency}; expected at least 1\nhint: 2 is usual")


def _method(written: WrittenTokenizer) -> _Method:
    kind = written.kind
    if kind == "sentencepiece":
        algorithm = written.model["algorithm"]
        kind = {"bpe": "character_bpe", "unigram": "unigram"}.get(algorithm, algorithm)
    methods: dict[str, _Method] = {
        "bpe": extend_bytes,
        "character_bpe": extend_characters,
        "unigram": extend_unigram,
        "wordpiece": extend_words,
    }
    if kind not in methods:
        raise AdaptError(
            f"a tokenizer of the kind {kind!r} cannot be extended; BPE, Unigram, WordPiece and "
            "SentencePiece models can\nhint: train one of your own: `jeton train`"
        )
    return methods[kind]


def _why_nothing(extension: Extension) -> str:
    if extension.terms and not extension.left_out_terms and extension.n_tokens is None:
        return (
            f"all {len(extension.terms):,} terms are one token already\n"
            "hint: `jeton adapt terms` finds what is worth a token"
        )
    if extension.left_out_terms:
        term, reason = next(iter(extension.left_out_terms.items()))
        return f"no term can be one token: {term!r:.60} {reason}"
    return (
        f"nothing in the text occurs {extension.min_frequency} times and is worth a token\n"
        "hint: give more text of the domain, or a lower min_frequency"
    )


def _check_reachable(tokenizer: Tokenizer, added: Sequence[Added]) -> None:
    missed = unreachable_tokens(tokenizer, [new.id for new in added])
    if missed:
        named = ", ".join(repr(tokenizer.id_to_token(id)) for id in missed[:_N_NAMED])
        raise AdaptError(
            f"{len(missed):,} new tokens would never be made from text: {named}\n"
            "hint: leave these terms out; the old merges cut them in another way"
        )


def _change(base: Tokenizer, tokenizer: Tokenizer, added: Sequence[Added]) -> VocabularyChange:
    lengths = {id: len(base.id_to_bytes(id)) for new in added for id in new.parts}
    new_ids = {new.id: (list(new.parts), [lengths[id] for id in new.parts]) for new in added}
    old_of = np.full(tokenizer.vocab_size, -1, dtype=np.int64)
    old_of[: base.vocab_size] = np.arange(base.vocab_size)
    old_of[sorted(new_ids)] = -1
    return VocabularyChange(
        old_fingerprint=base.fingerprint,
        new_fingerprint=tokenizer.fingerprint,
        n_old_ids=base.vocab_size,
        old_of=old_of,
        holes=np.flatnonzero(~tokenizer.is_token_mask()),
        **added_fields(new_ids),
    )
