"""More tokens for BPE on bytes: ``tokenizer.json`` and files of ranks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from jeton._core import BpeOptions, Tokenizer, continue_bpe, counts_for
from jeton.adapt.extension import Added, Extension
from jeton.adapt.joins import Joins
from jeton.errors import AdaptError, JetonWarning, TrainingError


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
    missing = [bytes([n]) for n in range(256) if extension.base.bytes_to_id(bytes([n])) is None]
    try:
        counts = counts_for(_with(extension, missing))
    except TrainingError as error:
        raise AdaptError(str(error)) from None
    for batch in corpus:
        counts.add(batch, num_threads=extension.num_threads)
    if n_tokens is None or n_tokens <= len(joins):
        return []
    first_byte = extension.base.vocab_size + len(joins)
    first_new = first_byte + len(missing)
    options = BpeOptions(
        vocab_size=extension.base.vocab_size + n_tokens + len(missing),
        min_frequency=extension.min_frequency,
        max_token_bytes=extension.max_token_bytes,
        may_merge=_none_has(missing) if missing else None,
    )
    complete = _with(extension, missing, joins)
    found = continue_bpe(counts, base=complete, options=options).new_tokens
    if 0 < len(found) + len(joins) < n_tokens:
        warnings.warn(
            f"the text is enough for {len(found) + len(joins):,} new tokens only, not for "
            f"{n_tokens:,}\nhint: give more text, or a lower min_frequency",
            JetonWarning,
            stacklevel=5,
        )

    def written(id: int) -> int:
        return id - len(missing) if id >= first_new else id

    return [(written(new.id), written(new.left), written(new.right), new.n_saved) for new in found]


def _none_has(missing: Sequence[bytes]) -> Callable[[bytes, bytes], bool]:
    """Returns the rule of which pairs may merge: those without the bytes that have no token."""
    absent = frozenset(byte for token in missing for byte in token)

    def may_merge(left: bytes, right: bytes) -> bool:
        return absent.isdisjoint(left) and absent.isdisjoint(right)

    return may_merge


def _put(extension: Extension, joins: Joins) -> None:
    written = extension.written
    written.put_tokens(extension.base.vocab_size, [join.text for join in joins.joins])
    if written.merges is not None:
        written.merges.extend([left, right] for left, right, _ in joins.merges)


def _with(extension: Extension, missing: Sequence[bytes], joins: Joins | None = None) -> Tokenizer:
    """Returns the tokenizer to learn with: the joins so far, and a token for each byte behind them.

    The learner takes tokenizers with all bytes only. The written form stays as it was.
    """
    n_joins = 0 if joins is None else len(joins)
    if not n_joins and not missing:
        return extension.base
    model = extension.written.model
    before = {key: model[key] for key in ("tokens", "merges")}
    model["tokens"] = list(model["tokens"])
    if model["merges"] is not None:
        model["merges"] = list(model["merges"])
    if joins is not None:
        _put(extension, joins)
    extension.written.put_tokens(extension.base.vocab_size + n_joins, missing)
    tokenizer = extension.written.tokenizer()
    model.update(before)
    return tokenizer
