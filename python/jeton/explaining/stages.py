"""Two tokenizers on one text, step by step: at which stages do their results differ, and how?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from jeton._core import Encoding, Tokenizer
from jeton.errors import EncodeError
from jeton.explaining.comparing import cut, same_cut
from jeton.explaining.result import By, Cut

_MAX_QUOTED_CHARS = 80
_MAX_LISTED = 8


def stage_differences(
    a: Tokenizer, b: Tokenizer, text: str, *, special: bool, by: By
) -> dict[str, str]:
    """Say at which stages the two differ on a text, in the order of the stages.

    Args:
        a: The first tokenizer.
        b: The second.
        text: A text on which they differ.
        special: True if special tokens are added and allowed.
        by: The compared results.

    Returns:
        The name of a stage, and one sentence of what happens there. A stage that cannot be
        observed (it ends in an error) is left out.
    """
    steps: list[tuple[str, Callable[[], str | None]]] = [
        ("added_tokens", lambda: _added_tokens(a, b, text, special=special)),
        ("normalizer", lambda: _normalizer(a, b, text)),
        ("pretokenizer", lambda: _pretokenizer(a, b, text)),
        ("model", lambda: _model(a, b, text, special=special, by=by)),
        ("template", lambda: _template(a, b, text, special=special, by=by)),
    ]
    found = {}
    for name, step in steps:
        try:
            sentence = step()
        except EncodeError:
            continue
        if sentence is not None:
            found[name] = sentence
    return found


def quoted(value: str | bytes | Sequence[str] | Sequence[bytes]) -> str:
    """A text, token or list of them as it can be read and safely printed; long ones are cut."""
    if isinstance(value, bytes):
        try:
            return quoted(value.decode("utf-8"))
        except UnicodeDecodeError:
            return repr(value)
    if isinstance(value, str):
        cut_text = value if len(value) <= _MAX_QUOTED_CHARS else value[: _MAX_QUOTED_CHARS - 1]
        return repr(cut_text) + ("…" if cut_text != value else "")
    shown = [quoted(item) for item in value[:_MAX_LISTED]]
    more = len(value) - len(shown)
    return " ".join(shown) + (f" and {more:,} more" if more else "") if shown else "nothing"


def _added_tokens(a: Tokenizer, b: Tokenizer, text: str, *, special: bool) -> str | None:
    found = [list(_added_spans(t, text, special=special)) for t in (a, b)]
    if found[0] == found[1]:
        return None
    for (name, tokenizer, mine), (other, _, theirs) in (
        (("A", a, found[0]), ("B", b, found[1])),
        (("B", b, found[1]), ("A", a, found[0])),
    ):
        for span in mine:
            if span not in theirs:
                token_id, start, end = span
                content = quoted(tokenizer.id_to_bytes(token_id))
                where = quoted(text[start:end])
                found_there = f"{name} finds its added token {content} (id {token_id}) in {where}"
                return f"{found_there}, {other} does not"
    return None


def _added_spans(t: Tokenizer, text: str, *, special: bool) -> Iterator[tuple[int, int, int]]:
    encoding = _encoding(t, text, special=special)
    rows = zip(encoding.ids, encoding.starts, encoding.ends, encoding.word_ids, strict=True)
    for token_id, start, end, word in rows:
        if word < 0:
            yield int(token_id), int(start), int(end)


def _normalizer(a: Tokenizer, b: Tokenizer, text: str) -> str | None:
    left, right = a.normalize(text), b.normalize(text)
    if left == right:
        return None
    return f"A normalizes the text to {quoted(left)}, B to {quoted(right)}"


def _pretokenizer(a: Tokenizer, b: Tokenizer, text: str) -> str | None:
    left, right = a.pretokenize(text), b.pretokenize(text)
    if left == right:
        return None
    return f"A splits the text into {quoted(left)} before the model sees it, B into {quoted(right)}"


def _model(a: Tokenizer, b: Tokenizer, text: str, *, special: bool, by: By) -> str | None:
    a_cut, b_cut = cut(a, text, special=special), cut(b, text, special=special)
    for name, mine, theirs in (("A", a_cut, b_cut), ("B", b_cut, a_cut)):
        if mine.error is not None and theirs.error is None:
            return f"{name} cannot encode the text: {mine.error}"
    if same_cut(a_cut, b_cut, by=by):
        return None
    a_words, b_words = _words(a, text, special=special), _words(b, text, special=special)
    for word in sorted(a_words.keys() | b_words.keys()):
        where, left = a_words.get(word, ("", _NOTHING))
        where, right = b_words.get(word, (where, _NOTHING))
        if not same_cut(left, right, by=by):
            return _model_sentence(a, b, where, left, right)
    return None


_NOTHING = Cut(ids=(), tokens=(), special=())
"""Cut of a pretoken that is left out."""


def _words(t: Tokenizer, text: str, *, special: bool) -> dict[int, tuple[str, Cut]]:
    """The pretokens by number: as they stand in the text, and the tokens of each."""
    encoding = _encoding(t, text, special=special)
    rows = zip(
        encoding.word_ids.tolist(),
        encoding.ids.tolist(),
        encoding.starts.tolist(),
        encoding.ends.tolist(),
        strict=True,
    )
    words = {}
    for word, group in groupby(rows, key=lambda row: row[0]):
        if word < 0:
            continue
        members = list(group)
        ids = tuple(row[1] for row in members)
        piece = text[min(row[2] for row in members) : max(row[3] for row in members)]
        tokens = tuple(t.id_to_bytes(token_id) for token_id in ids)
        words[word] = (piece, Cut(ids=ids, tokens=tokens, special=(False,) * len(ids)))
    return words


def _model_sentence(a: Tokenizer, b: Tokenizer, piece: str, left: Cut, right: Cut) -> str:
    where = quoted(piece)
    if left.tokens == right.tokens:
        token, a_id, b_id = next(
            (token, x, y)
            for token, x, y in zip(left.tokens, left.ids, right.ids, strict=True)
            if x != y
        )
        return f"both cut {where} alike, but {quoted(token)} has the id {a_id} in A and {b_id} in B"
    sentence = (
        f"the model cuts {where} into {quoted(left.tokens)} in A, {quoted(right.tokens)} in B"
    )
    for name, tokens, other, other_name in (
        ("A", left.tokens, b, "B"),
        ("B", right.tokens, a, "A"),
    ):
        for token in tokens:
            if other.bytes_to_id(token) is None:
                return f"{sentence}; {quoted(token)} is a token of {name} and not of {other_name}"
    return f"{sentence}; both have all these tokens, so what decides is which is preferred"


def _template(a: Tokenizer, b: Tokenizer, text: str, *, special: bool, by: By) -> str | None:
    if not special:
        return None
    around = [_around(t) for t in (a, b)]
    if same_cut(around[0], around[1], by=by):
        return None
    left, right = (quoted(side.tokens) for side in around)
    return f"A puts {left} around a text, B {right}"


def _around(t: Tokenizer) -> Cut:
    """The special tokens that stand around a text: those of no text at all."""
    return cut(t, "", special=True)


def _encoding(t: Tokenizer, text: str, *, special: bool) -> Encoding:
    """Without what is put around: that is the template's."""
    return t.encode_with_offsets(text, allow_special="all" if special else None)
