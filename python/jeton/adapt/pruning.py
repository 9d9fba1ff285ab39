"""A tokenizer without the tokens that text of a domain does not need.

In BPE only leaves go: tokens that no other live token is made of. So both parts and the result of
every merge that stays are there, and text that never had a token that goes is cut as before. Bytes,
single characters, special and added tokens, and what the chat template writes never go.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer
from jeton._shown import NotebookResult
from jeton.adapt.change import VocabularyChange, no_added
from jeton.adapt.reading import Corpus, HeldOutText, Reading
from jeton.adapt.shrinking import derivations, piece_costs, shrink
from jeton.adapt.written import WrittenTokenizer
from jeton.errors import AdaptError, UsageError
from jeton.formats.model_settings import inherit, settings_of
from jeton.registry import TokenizerLike, resolve


@dataclass(frozen=True, slots=True)
class RemovedToken:
    """One token that went.

    Attributes:
        id: Its old id.
        token_bytes: Its bytes.
        n_uses: How often the text had it, with the uses of tokens that went before it.
    """

    id: int
    token_bytes: bytes
    n_uses: int


@dataclass(frozen=True, slots=True)
class Pruned(NotebookResult):
    """A tokenizer that was pruned.

    Attributes:
        tokenizer: The tokenizer with the tokens that stay.
        change: The change of vocabulary, to be written beside it.
        removed: Tokens that went, in the order in which they were chosen.
        n_protected: Tokens that could not go.
        n_documents: Documents that were counted.
        n_bytes: Bytes of their text.
        held_out: Text that was kept apart, before and after; None where there is none.
    """

    _table = "removed"
    _line = ("removed", "n_documents")

    tokenizer: Tokenizer
    change: VocabularyChange
    removed: tuple[RemovedToken, ...]
    n_protected: int
    n_documents: int
    n_bytes: int
    held_out: HeldOutText | None


def prune(
    inputs: Any,
    *,
    base: TokenizerLike,
    n_tokens: int,
    keep: Sequence[str] = (),
    keep_text: str = "",
    keep_ids: bool = False,
    reading: Reading | None = None,
    name: str | None = None,
) -> Pruned:
    """Take tokens out until so many are left, those first that cost the text least.

    Args:
        inputs: Paths, folders, globs, ``"-"``, or an iterable of texts.
        base: The tokenizer to prune, a name, a path or an object; it stays as it is.
        n_tokens: Tokens that are to be left, special and added ones included.
        keep: Texts whose tokens stay, as they are cut alone and behind a space.
        keep_text: More text of that kind. The chat templates of the folder or GGUF file that the
            tokenizer was loaded from are kept besides.
        keep_ids: Ids stay as they are, and what goes leaves a hole; else ids become compact.
        reading: How documents are read.
        name: Name of the new tokenizer; None: as the old one.

    Raises:
        AdaptError: The tokenizer is of a kind that cannot be pruned, so few tokens cannot be
            left, or there are no more to begin with.
        EmptyCorpusError: There is no text.
        UsageError: Arguments that cannot be meant.

    Example:
        >>> import jeton
        >>> base = jeton.train(iter(["low lower lowest newer newest"] * 9), vocab_size=270)
        >>> texts, whole = ["low lower"] * 9, Reading(hold_out=0)
        >>> less = prune(iter(texts), base=base, n_tokens=262, reading=whole)
        >>> less.tokenizer.vocab_size, less.tokenizer.count("low lower")
        (262, 2)
    """
    base = resolve(base, argument="base")
    if isinstance(keep, str):
        raise UsageError(
            f"keep is {keep!r:.60}; expected a list of strings\nhint: put one word in brackets, too"
        )
    if n_tokens < 1:
        raise UsageError(f"n_tokens is {n_tokens}; expected at least 1\nhint: 32000 is usual")
    if n_tokens >= base.n_tokens:
        raise AdaptError(
            f"the tokenizer has {base.n_tokens:,} tokens; {n_tokens:,} cannot be left of them\n"
            "hint: ask for fewer"
        )
    reading = reading or Reading()
    written = WrittenTokenizer(base)
    corpus = Corpus(inputs, reading)
    uses = np.zeros(base.vocab_size, dtype=np.int64)
    for batch in corpus:
        stats = base.measure(batch, num_threads=reading.num_threads, round_trip=False)
        uses += stats.id_counts.astype(np.int64)
    protected = _protected(base, written, [*keep, keep_text, *_chat_templates(base)])
    n_remove = base.n_tokens - n_tokens
    if _is_bpe(written):
        removed = _leaves(base, written, uses, protected, n_remove)
    else:
        removed = _pieces(base, written, uses, protected, n_remove)
    if len(removed) < n_remove:
        raise AdaptError(
            f"{n_tokens:,} tokens cannot be left: {base.n_tokens - len(removed):,} are bytes, "
            "single characters, special tokens, what is to be kept, and what these are made of\n"
            f"hint: ask for {base.n_tokens - len(removed):,} or more"
        )
    gone = np.zeros(base.vocab_size, dtype=bool)
    gone[[token.id for token in removed]] = True
    new_ids = shrink(written, gone, base.is_token_mask(), keep_ids=keep_ids)
    tokenizer = written.tokenizer(name)
    inherit(tokenizer, base)
    return Pruned(
        tokenizer=tokenizer,
        change=_change(base, tokenizer, new_ids),
        removed=tuple(removed),
        n_protected=int(protected.sum()),
        n_documents=corpus.n_documents,
        n_bytes=corpus.n_bytes,
        held_out=corpus.measure(base, tokenizer),
    )


def _chat_templates(base: Tokenizer) -> list[str]:
    """Templates in the files that a tokenizer was loaded from."""
    settings = settings_of(base)
    if settings is None:
        return []
    return [settings.chat_template or "", *settings.other_chat_templates.values()]


def _is_bpe(written: WrittenTokenizer) -> bool:
    kind = written.kind
    if kind == "sentencepiece":
        kind = {"bpe": "bpe"}.get(written.model["algorithm"], written.model["algorithm"])
    if kind in ("bpe", "character_bpe"):
        return True
    if kind in ("unigram", "wordpiece"):
        return False
    raise AdaptError(
        f"a tokenizer of the kind {kind!r} cannot be pruned; BPE, Unigram, WordPiece and "
        "SentencePiece models can\nhint: `jeton train` makes a smaller one of any kind"
    )


def _protected(
    base: Tokenizer, written: WrittenTokenizer, texts: Iterable[str]
) -> NDArray[np.bool_]:
    """Returns which ids never go, bool (n_ids,)."""
    protected = ~base.is_token_mask()
    protected[[token.id for token in base.added_tokens]] = True
    if base.unknown_id is not None:
        protected[base.unknown_id] = True
    protected[list(_named_ids(written.data["template"]))] = True
    protected[list(_named_ids(written.data["padding"]))] = True
    prefix = written.model.get("prefix") or written.model.get("continuing_prefix") or ""
    suffix = written.model.get("end_of_word_suffix", "")
    kinds = (
        [kind for _, _, kind in written.model["pieces"]]
        if written.kind == "sentencepiece"
        else None
    )
    for id, token in enumerate(written.tokens()):
        if token is None:
            continue
        text = token.decode("utf-8", "replace")
        bare = text.removeprefix(prefix) if prefix else text
        bare = bare.removesuffix(suffix) if suffix and bare != suffix else bare
        is_atom = len(token) == 1 or (len(bare) <= 1 and written.kind != "bpe")
        is_byte = len(text) == 6 and text.startswith("<0x") and text.endswith(">")
        if is_atom or is_byte or (kinds is not None and kinds[id] not in ("normal", "unused")):
            protected[id] = True
    for text in texts:
        if text:
            protected[base.encode(text)] = True
            if (named := base.token_to_id(text)) is not None:
                protected[named] = True
            # Most words stand behind a space.
            if len(ids := base.encode(f"a {text}")) == 2:
                protected[ids[1]] = True
    return protected


def _named_ids(part: Any) -> Iterable[int]:
    if isinstance(part, dict):
        for key, value in part.items():
            if key in ("id", "pad_id") and isinstance(value, int):
                yield value
            else:
                yield from _named_ids(value)
    elif isinstance(part, list):
        for value in part:
            yield from _named_ids(value)


def _leaves(
    base: Tokenizer,
    written: WrittenTokenizer,
    uses: NDArray[np.int64],
    protected: NDArray[np.bool_],
    n_remove: int,
) -> list[RemovedToken]:
    """Returns leaves of BPE, the least used first; each passes its uses on to its two parts."""
    pairs = derivations(written)
    n_needing = [0] * base.vocab_size
    for made in pairs.values():
        for left, right in made:
            n_needing[left] += 1
            n_needing[right] += 1
    counts = uses.tolist()
    is_fixed = protected.tolist()
    # A token that is missing here stays because something that stays is made of it.
    heap = [
        (counts[id], -id) for id in range(base.vocab_size) if not is_fixed[id] and not n_needing[id]
    ]
    heapq.heapify(heap)
    removed: list[RemovedToken] = []
    is_gone = [False] * base.vocab_size
    while heap and len(removed) < n_remove:
        count, negative = heapq.heappop(heap)
        id = -negative
        if is_gone[id] or count != counts[id] or n_needing[id]:
            continue
        is_gone[id] = True
        removed.append(RemovedToken(id, base.id_to_bytes(id), count))
        for place, (left, right) in enumerate(pairs.get(id, ())):
            for part in (left, right):
                n_needing[part] -= 1
                if not place:
                    counts[part] += count
                if not n_needing[part] and not is_fixed[part]:
                    heapq.heappush(heap, (counts[part], -part))
        for left, right in pairs.get(id, ())[:1]:
            for part in (left, right):
                if not n_needing[part] and not is_fixed[part]:
                    heapq.heappush(heap, (counts[part], -part))
    return removed


def _pieces(
    base: Tokenizer,
    written: WrittenTokenizer,
    uses: NDArray[np.int64],
    protected: NDArray[np.bool_],
    n_remove: int,
) -> list[RemovedToken]:
    """Returns pieces or words, those first without which the text has least more tokens."""
    free = np.flatnonzero(~protected).tolist()
    more = piece_costs(base, written, free)
    order = sorted((int(uses[id]) * more[id], int(uses[id]), -id) for id in more)
    return [
        RemovedToken(-negative, base.id_to_bytes(-negative), count)
        for _, count, negative in order[:n_remove]
    ]


def _change(base: Tokenizer, tokenizer: Tokenizer, new_ids: NDArray[np.int64]) -> VocabularyChange:
    old_of = np.full(tokenizer.vocab_size, -1, dtype=np.int64)
    kept = np.flatnonzero(new_ids >= 0)
    old_of[new_ids[kept]] = kept
    is_hole = (old_of < 0) | ~tokenizer.is_token_mask()
    return VocabularyChange(
        old_fingerprint=base.fingerprint,
        new_fingerprint=tokenizer.fingerprint,
        n_old_ids=base.vocab_size,
        old_of=old_of,
        holes=np.flatnonzero(is_hole),
        **no_added(),
    )
