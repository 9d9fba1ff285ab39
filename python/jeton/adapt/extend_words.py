"""More tokens for WordPiece: whole words, none of which makes another word longer.

WordPiece takes the longest token that fits, so a new word can leave a rest that costs more than the
old cut of a longer word. Words of the text are cut again; a token that makes one longer is left
out. So no word that was looked at needs more tokens than before; of unseen words that is likely,
not certain.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter

from jeton._core import PretokenCounts
from jeton.adapt.extension import Added, Extension
from jeton.adapt.segmenting import Segmenter
from jeton.errors import JetonWarning

_ROUNDS = 20
"""Most times that words are cut again: each round leaves out all tokens that it finds at fault."""


def extend_words(extension: Extension) -> list[Added]:
    """Adds terms, then the words that save most."""
    base = extension.base
    segmenter = Segmenter(base, extension.written)
    unknown = base.unknown_id
    chosen: dict[str, tuple[tuple[int, ...], str, int | None]] = {}
    for term, word in extension.pretokens():
        parts = segmenter.cut(word)
        if len(parts) == 1:
            extension.known_terms.append(term)
        elif not parts or unknown in parts:
            extension.left_out_terms[term] = "has characters that the tokenizer has no tokens for"
        else:
            chosen[word] = (tuple(parts), "term", None)
    extension.check_budget(len(chosen))
    words = _words(extension)
    if extension.n_tokens is not None:
        _choose(extension, segmenter, words, chosen)
    _leave_out_lengthening(extension, words, chosen)
    first = base.vocab_size
    extension.written.put_tokens(first, [word.encode() for word in chosen])
    return [
        Added(id, word.encode(), parts, origin, n_saved)
        for id, (word, (parts, origin, n_saved)) in enumerate(chosen.items(), start=first)
    ]


def _words(extension: Extension) -> dict[str, int]:
    """Returns the words of the text as the model sees them, with their counts."""
    if extension.corpus is None:
        return {}
    data = extension.written.data
    steps = {
        "type": "steps",
        "normalizer": data["normalizer"],
        "pretokenizer": data["pretokenizer"],
    }
    counts = PretokenCounts.cut_by(json.dumps(steps))
    for batch in extension.corpus:
        counts.add(batch, num_threads=extension.num_threads)
    return {word.decode("utf-8", "replace"): count for word, count in counts.items()}


def _choose(
    extension: Extension,
    segmenter: Segmenter,
    words: dict[str, int],
    chosen: dict[str, tuple[tuple[int, ...], str, int | None]],
) -> None:
    unknown = extension.base.unknown_id
    worth: list[tuple[int, str, tuple[int, ...]]] = []
    for word, count in words.items():
        if count < extension.min_frequency or word in chosen or not word.isalpha():
            continue
        parts = segmenter.cut(word)
        if len(parts) > 1 and unknown not in parts:
            worth.append((count * (len(parts) - 1), word, tuple(parts)))
    worth.sort(key=lambda row: (-row[0], row[1]))
    n_wanted = (extension.n_tokens or 0) - len(chosen)
    if 0 < len(worth) < n_wanted:
        warnings.warn(
            f"the text is enough for {len(worth) + len(chosen):,} new tokens only, not for "
            f"{extension.n_tokens:,}\nhint: give more text, or a lower min_frequency",
            JetonWarning,
            stacklevel=5,
        )
    for n_saved, word, cut in worth[:n_wanted]:
        chosen[word] = (cut, "learned", n_saved)


def _leave_out_lengthening(
    extension: Extension,
    words: dict[str, int],
    chosen: dict[str, tuple[tuple[int, ...], str, int | None]],
) -> None:
    """Leaves out the words after which another word needs more tokens than before."""
    base, written = extension.base, extension.written
    held_out = extension.corpus.held_out if extension.corpus else []
    seen = set(words)
    for batch in held_out:
        for text in batch:
            seen.update(base.pretokenize(text))
    before = {word: len(base.encode_pretoken(word.encode())) for word in seen}
    tokens = written.model["tokens"]
    for _ in range(_ROUNDS):
        written.model["tokens"] = list(tokens)
        written.put_tokens(base.vocab_size, [word.encode() for word in chosen])
        trial = written.tokenizer()
        written.model["tokens"] = tokens
        at_fault: Counter[str] = Counter()
        for word, n_before in before.items():
            ids = trial.encode_pretoken(word.encode())
            if len(ids) > n_before or (trial.unknown_id in ids and n_before > 1):
                first = next((id for id in ids if id >= base.vocab_size), None)
                token = None if first is None else trial.id_to_token(first)
                # Where the rest has no tokens at all, the word itself hides its beginning.
                at_fault[token or _longest_start(word, chosen)] += 1
        at_fault.pop("", None)
        if not at_fault:
            return
        for token in at_fault:
            if chosen.pop(token, None) is not None:
                extension.left_out_terms[token] = "makes another word longer"


def _longest_start(word: str, chosen: dict[str, tuple[tuple[int, ...], str, int | None]]) -> str:
    starts = [word[:end] for end in range(len(word) - 1, 0, -1) if word[:end] in chosen]
    return starts[0] if starts else ""
