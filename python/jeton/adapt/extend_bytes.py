"""More tokens for BPE on bytes: ``tokenizer.json`` and files of ranks."""

from __future__ import annotations

import warnings

from jeton._core import BpeOptions, Tokenizer, continue_bpe, counts_for
from jeton.adapt.extension import Added, Extension
from jeton.adapt.joins import Joins
from jeton.errors import AdaptError, JetonWarning, TrainingError

__all__ = ["extend_bytes", "ordinary_tokens"]


def extend_bytes(extension: Extension) -> list[Added]:
    """Adds terms, then what continued training finds; the merges stand behind the old ones."""
    base, written = extension.base, extension.written
    joins = Joins(base.vocab_size, ordinary_tokens(extension), any_pair=written.merges is None)
    plain = _without_whole_pretokens(extension)
    for term, text in extension.pretokens():
        known = base.bytes_to_id(text.encode())
        row = joins.apply(plain.encode_pretoken(text.encode()))
        if len(row) == 1 and known is not None:
            extension.known_terms.append(term)
            continue
        try:
            joins.force(row)
        except AdaptError as error:
            extension.left_out_terms[term] = str(error)
    extension.check_budget(len(joins))
    saved: dict[int, int] = {}
    for id, left, right, n_saved in _learned(extension, joins):
        if joins.add(left, right, "learned") != id:
            raise AdaptError(f"the token {joins.text(left) + joins.text(right)!r} is made twice")
        saved[id] = n_saved
    _put(extension, joins)
    return [
        Added(
            join.id,
            join.text,
            join.parts,
            join.origin,
            saved.get(join.id),
            pair=(join.left, join.right),
        )
        for join in joins.joins
    ]


def ordinary_tokens(extension: Extension) -> list[bytes | None]:
    """Returns the written bytes of each old id, without those that text never becomes."""
    tokens = extension.written.tokens()
    hidden = {token.id for token in extension.base.added_tokens}
    hidden.update(extension.written.model.get("opaque", ()))
    return [None if id in hidden else token for id, token in enumerate(tokens)]


def _without_whole_pretokens(extension: Extension) -> Tokenizer:
    """Returns the tokenizer as its merges alone make it: a pretoken may be a token without any."""
    model = extension.written.model
    if not model["whole_pretokens"]:
        return extension.base
    model["whole_pretokens"] = False
    plain = extension.written.tokenizer()
    model["whole_pretokens"] = True
    return plain


def _learned(extension: Extension, joins: Joins) -> list[tuple[int, int, int, int]]:
    """Returns id, left, right and tokens saved of what the text teaches."""
    corpus, n_tokens = extension.corpus, extension.n_tokens
    if corpus is None:
        return []
    try:
        counts = counts_for(extension.base)
    except TrainingError as error:
        raise AdaptError(str(error)) from None
    for batch in corpus:
        counts.add(batch, num_threads=extension.num_threads)
    if n_tokens is None or n_tokens <= len(joins):
        return []
    vocab_size = extension.base.vocab_size + n_tokens
    with_terms = extension.base if not len(joins) else _with(extension, joins)
    options = BpeOptions(
        vocab_size=vocab_size,
        min_frequency=extension.min_frequency,
        max_token_bytes=extension.max_token_bytes,
    )
    found = continue_bpe(counts, base=with_terms, options=options).new_tokens
    if 0 < len(found) + len(joins) < n_tokens:
        warnings.warn(
            f"the text is enough for {len(found) + len(joins):,} new tokens only, not for "
            f"{n_tokens:,}\nhint: give more text, or a lower min_frequency",
            JetonWarning,
            stacklevel=5,
        )
    return [(new.id, new.left, new.right, new.n_saved) for new in found]


def _put(extension: Extension, joins: Joins) -> None:
    written = extension.written
    written.put_tokens(extension.base.vocab_size, [join.text for join in joins.joins])
    if written.merges is not None:
        written.merges.extend([left, right] for left, right, _ in joins.merges)


def _with(extension: Extension, joins: Joins) -> Tokenizer:
    """Returns the tokenizer with the joins so far, and leaves the written form as it was."""
    model = extension.written.model
    before = {key: model[key] for key in ("tokens", "merges")}
    model["tokens"] = list(model["tokens"])
    if model["merges"] is not None:
        model["merges"] = list(model["merges"])
    _put(extension, joins)
    tokenizer = extension.written.tokenizer()
    model.update(before)
    return tokenizer
