"""More tokens for models whose tokens are strings: BPE on characters, Unigram, SentencePiece."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from jeton._core import PretokenCounts, TextBatch, Tokenizer, train_characters
from jeton.adapt.extend_bytes import Joins, ordinary_tokens
from jeton.adapt.extension import Added, Extension
from jeton.adapt.segmenting import Segmenter
from jeton.adapt.written import WrittenTokenizer
from jeton.errors import AdaptError

_SPACE = "\u2581"
MARGIN = 0.05
"""Log probability by which a new Unigram piece beats each further piece that it replaces.

Large enough that sums of 32-bit floats over a text of 10,000 pieces do not lose it (their spacing
is 0.008 there), and small enough that a piece wins over nothing but its own parts.
"""

SCORE_DIGITS = 6
"""Decimals of a new score. Parsers that are off by a bit on 17 digits, as that of ``tokenizers``,
read as few as these exactly."""


def extend_characters(extension: Extension) -> list[Added]:
    """Adds tokens to BPE on characters, with or without a list of merges."""
    base, written = extension.base, extension.written
    tokens = ordinary_tokens(extension)
    joins = Joins(base.vocab_size, tokens, any_pair=written.kind == "sentencepiece")
    if written.model.get("continuing_prefix"):
        raise AdaptError(
            "BPE whose tokens have a prefix inside of words cannot be extended\n"
            "hint: train one of your own: `jeton train`"
        )
    segmenter = Segmenter(base, written)
    rows = _term_rows(extension, segmenter)
    joins.force_terms(extension, ((term, row, True) for term, row in rows))

    def with_terms() -> WrittenTokenizer:
        copy = _copied(written, base)
        _put_joins(copy, joins, base.vocab_size)
        return copy

    for left, right in _learned_rows(extension, len(joins), with_terms):
        # Rows are ids of the tokenizer with terms; a longer row is a token that was learned.
        ids = [row[0] if len(row) == 1 else _joined(joins, row) for row in (left, right)]
        if None in ids:
            continue
        text = joins.text(ids[0] or 0) + joins.text(ids[1] or 0)
        if text in joins.known:
            continue
        joins.add(ids[0] or 0, ids[1] or 0, "learned")
    _put_joins(written, joins, base.vocab_size)
    return joins.added({})


def _joined(joins: Joins, row: Sequence[int]) -> int | None:
    return joins.known.get(b"".join(map(joins.text, row)))


def _put_joins(written: WrittenTokenizer, joins: Joins, first_id: int) -> None:
    texts = [join.text for join in joins.joins]
    if written.kind == "sentencepiece":
        # A score of its own for each, in 32 bits: there -1e9, which models have, less 1 is -1e9.
        least = np.float32(written.scores().min())
        step = max(1.0, 2.0 * abs(float(np.spacing(least))))
        written.append_pieces(
            [(text, float(least) - step * (1 + i)) for i, text in enumerate(texts)]
        )
        return
    written.put_tokens(first_id, texts)
    if written.merges is not None:
        written.merges.extend([left, right] for left, right, _ in joins.merges)


def extend_unigram(extension: Extension) -> list[Added]:
    """Adds pieces to a Unigram model; each just beats the pieces that stood for its text."""
    base, written = extension.base, extension.written
    segmenter = Segmenter(base, written)
    _put_added_tokens(written, base)
    scores = written.scores()
    first = base.vocab_size
    found: dict[bytes, tuple[tuple[int, ...], str]] = {}
    tokens = written.tokens()
    known = {token for token in tokens if token is not None}

    def piece(text: str, origin: str) -> None:
        parts = segmenter.cut(text)
        if base.unknown_id in parts or len(parts) < 2 or text.encode() in known:
            return
        found.setdefault(text.encode(), (tuple(parts), origin))

    def pieces() -> list[tuple[bytes, float]]:
        sums = (
            (text, float(scores[list(parts)].sum()), parts) for text, (parts, _) in found.items()
        )
        return [
            (text, round(total + MARGIN * (len(parts) - 1), SCORE_DIGITS))
            for text, total, parts in sums
        ]

    for term, row in _term_rows(extension, segmenter):
        text = b"".join(tokens[id] or b"" for id in row).decode()
        if len(row) == 1 or text.encode() in found:
            extension.known_terms.append(term)
        else:
            piece(text, "term")
    extension.check_budget(len(found))

    def with_terms() -> WrittenTokenizer:
        copy = _copied(written, base)
        copy.append_pieces(pieces())
        return copy

    texts = [*tokens, *found]
    for left, right in _learned_rows(extension, len(found), with_terms):
        joined = b"".join(texts[id] or b"" for id in (*left, *right))
        piece(joined.decode("utf-8", "replace"), "learned")
    written.append_pieces(pieces())
    return [
        Added(id, text, parts, origin)
        for id, (text, (parts, origin)) in enumerate(found.items(), start=first)
    ]


def _put_added_tokens(written: WrittenTokenizer, base: Tokenizer) -> None:
    """Gives added tokens behind the pieces a piece each: a list of pieces has no holes.

    Text never becomes it, because the added token is found first.
    """
    first = len(written.model["pieces"])
    added = {token.id: token for token in base.added_tokens}
    least = float(written.scores().min())
    for id in range(first, base.vocab_size):
        token = added.get(id)
        if token is None or token.single_word:
            raise AdaptError(
                f"id {id} stands behind the {first:,} pieces of the model and is "
                f"{'no token' if token is None else 'a token of whole words'}, so no piece can "
                "stand behind it\nhint: leave it out with `jeton adapt prune` first"
            )
        written.append_pieces([(token.content.encode(), least)])


def _term_rows(extension: Extension, segmenter: Segmenter) -> list[tuple[str, list[int]]]:
    """Returns each term with the ids that it has now, for each form that is asked for."""
    suffix = extension.written.model.get("end_of_word_suffix", "")
    tokens = extension.written.tokens()
    rows = []
    for term, text in extension.pretokens():
        ids = segmenter.cut(text.replace(" ", _SPACE) + suffix)
        is_made = all(
            id != extension.base.unknown_id and not _is_byte(tokens[id] or b"") for id in ids
        )
        if is_made:
            rows.append((term, ids))
        else:
            extension.left_out_terms[term] = "has characters that the tokenizer has no tokens for"
    return rows


def _is_byte(token: bytes) -> bool:
    return len(token) == 6 and token.startswith(b"<0x")


def _copied(written: WrittenTokenizer, base: Tokenizer) -> WrittenTokenizer:
    copy = WrittenTokenizer(base)
    copy.data = json.loads(json.dumps(written.data))
    return copy


def _learned_rows(
    extension: Extension, n_taken: int, with_terms: Callable[[], WrittenTokenizer]
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Returns pairs of rows of ids that are worth joining, of the tokenizer with the terms."""
    corpus, n_tokens = extension.corpus, extension.n_tokens
    if corpus is None:
        return []
    written = with_terms()
    ids = IdText(written.tokenizer() if n_taken else extension.base, written)
    counts = ids.counts()
    for batch in corpus:
        ids.add(counts, batch, num_threads=extension.num_threads)
    if n_tokens is None or n_tokens <= n_taken or not len(counts):
        return []
    found = IdText.learn(counts, n_tokens - n_taken, min_frequency=extension.min_frequency)
    extension.warn_of_few(len(found) + n_taken)
    return found


# Text whose characters are ids, so that joins of tokens can be learned for any tokenizer.
#
# Each id becomes one character, with the class of what it may join: the beginning of a word, the
# inside of one, punctuation, or nothing. A split pattern over the classes keeps words apart, and
# BPE on these characters learns which ids to join. Counting and learning run in the core.

_MAX_IDS = 0x44000
"""Most ids, 278,528: three classes of that size fit above the surrogates."""

_STARTS, _INSIDES, _OTHERS = 0x20000, 0x20000 + _MAX_IDS, 0x20000 + 2 * _MAX_IDS
_ALONE = 0x1


def _class(first: int) -> str:
    return f"[\\x{{{first:X}}}-\\x{{{first + _MAX_IDS - 1:X}}}]"


class IdText:
    """The characters of a tokenizer's ids.

    Args:
        tokenizer: The tokenizer.
        written: Its written form.
    """

    def __init__(self, tokenizer: Tokenizer, written: WrittenTokenizer) -> None:
        if tokenizer.vocab_size > _MAX_IDS:
            raise AdaptError(
                f"{tokenizer.vocab_size:,} ids are more than the {_MAX_IDS:,} that can be "
                "learned from"
            )
        self._tokenizer = tokenizer
        suffix = written.model.get("end_of_word_suffix", "")
        start, inside, other = _class(_STARTS), _class(_INSIDES), _class(_OTHERS)
        word = f"{inside}*{start}" if suffix else f"{start}{inside}*"
        self.pattern = f"{word}|{inside}+|{other}+|\\x01"
        alone = _alone(tokenizer, written)
        self._chars = np.full(tokenizer.vocab_size, _ALONE, dtype="<u4")
        for id, token in enumerate(written.tokens()):
            if token is None or id in alone:
                continue
            text = token.decode("utf-8", "replace")
            is_edge = text.endswith(suffix) if suffix else text.startswith(_SPACE)
            bare = text.removesuffix(suffix) if suffix else text.strip(_SPACE)
            if (
                not suffix
                and bare
                and not any(char.isalnum() or ord(char) > 0x300 for char in bare)
            ):
                # Punctuation joins punctuation only: no token should be a word with a comma.
                self._chars[id] = id + _OTHERS
            else:
                self._chars[id] = id + (_STARTS if is_edge else _INSIDES)

    def counts(self) -> PretokenCounts:
        """Returns empty counts that keep words apart."""
        return PretokenCounts(pattern=self.pattern)

    def add(
        self,
        counts: PretokenCounts,
        batch: TextBatch,
        *,
        num_threads: int | None = None,
    ) -> int:
        """Counts the words of documents; returns their tokens."""
        ids = self._tokenizer.encode_batch(batch, num_threads=num_threads).ids
        counts.add(TextBatch.from_texts([self.text(ids)]), num_threads=num_threads)
        return len(ids)

    def text(self, ids: NDArray[np.uint32]) -> str:
        """Returns ids as characters."""
        return self._chars[ids].tobytes().decode("utf-32-le")

    @staticmethod
    def ids(text: str) -> tuple[int, ...]:
        """Returns the ids of characters."""
        codes = np.frombuffer(text.encode("utf-32-le"), dtype="<u4").astype(np.int64)
        return tuple(((codes - _STARTS) % _MAX_IDS).tolist())

    @staticmethod
    def learn(
        counts: PretokenCounts, n_tokens: int, *, min_frequency: int
    ) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Returns pairs of rows of ids to join, in merge order."""
        points = counts.characters().code_points
        options = {
            "model": "bpe",
            "vocab_size": len(points) + n_tokens,
            "min_frequency": min_frequency,
            "special_tokens": [],
            "max_token_length": None,
            "character_coverage": 1.0,
            "limit_alphabet": None,
            "required_chars": "",
            "ties": "ids",
        }
        learned = WrittenTokenizer(train_characters(counts, json.dumps(options)))
        rows = [
            IdText.ids(token.decode()) if token is not None else () for token in learned.tokens()
        ]
        return [(rows[left], rows[right]) for left, right in learned.merges or []]


def _alone(tokenizer: Tokenizer, written: WrittenTokenizer) -> set[int]:
    """Returns the ids that join nothing: special tokens, bytes, and digits that are kept apart."""
    alone = {token.id for token in tokenizer.added_tokens}
    if tokenizer.unknown_id is not None:
        alone.add(tokenizer.unknown_id)
    digits: list[int] = []
    joins_digits = False
    for id, token in enumerate(written.tokens()):
        if token is None:
            continue
        text = token.decode("utf-8", "replace")
        n_digits = sum(char.isdecimal() for char in text)
        joins_digits = joins_digits or (n_digits > 1 and not _is_idtext_byte(text))
        if n_digits and not _is_idtext_byte(text):
            digits.append(id)
        if _is_idtext_byte(text):
            alone.add(id)
    if written.kind == "sentencepiece":
        kinds = [kind for _, _, kind in written.model["pieces"]]
        alone |= {id for id, kind in enumerate(kinds) if kind != "normal"}
    return alone if joins_digits else alone | set(digits)


def _is_idtext_byte(text: str) -> bool:
    return len(text) == 6 and text.startswith("<0x") and text.endswith(">")


# More tokens for WordPiece: whole words, none of which makes another word longer.
#
# WordPiece takes the longest token that fits, so a new word can leave a rest that costs more than
# the old cut of a longer word. Words of the text are cut again; a token that makes one longer is
# left out. So no word that was looked at needs more tokens than before; of unseen words that is
# likely, not certain.

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
    if worth:
        extension.warn_of_few(len(worth) + len(chosen))
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
