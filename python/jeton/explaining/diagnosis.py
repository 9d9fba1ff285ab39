"""The component that causes a difference: stages compared, then components exchanged.

Going through the stages shows where the results part, but a result may differ without consequence
(a space written as U+2581 early or late) and one cause may show late. So the components are
exchanged: A with B's pre-tokenizer, say, and everything else its own. Where that alone makes A
cut the text as B does, the pre-tokenizer is the cause. Exchanging goes through the canonical
form, whose keys are the components; a component that is found is then taken apart in the same
way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Any, Literal

from jeton._core import Encoding, Tokenizer
from jeton.errors import EncodeError, JetonError
from jeton.explaining.parts import Path, children, get, kind, path_name, replace, tokenizer_of
from jeton.explaining.result import By, Cut, Direction, Exchange, Pair, cut, same_cut

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


_STAGES = ("added_tokens", "normalizer", "pretokenizer", "model", "template")
"""Keys of the canonical form in the order in which they act. Where exchanging one of several would
do, the first is named; keys that are not listed come last."""

_MAX_DEPTH = 4
"""How far a component is taken apart: ``pretokenizer``, its step, the step's setting, one below."""

_MAX_CHILDREN = 24
"""Parts that are exchanged one by one at one level: each costs building a tokenizer."""

_MAX_TOGETHER = 40
"""Combinations of components that are tried where no single one is the cause."""

_Outcome = Literal["equal", "different", "invalid"]


@dataclass(frozen=True, slots=True)
class DifferenceCause:
    """The fields of ``Difference`` that say why; see there."""

    component: str
    paths: tuple[str, ...]
    stage: str
    is_proven: bool
    cause: str
    proof: str
    trials: tuple[Exchange, ...]


def diagnose(pair: Pair, text: str, *, a_tree: Any, b_tree: Any) -> DifferenceCause:
    """Find the component that makes the two of a pair differ on a text.

    Args:
        pair: The tokenizers, and what it means that they differ.
        text: A text on which they do.
        a_tree: The canonical form of the first, parsed.
        b_tree: The canonical form of the second, parsed.
    """
    exchange = _Exchange(pair, text, a_tree, b_tree)
    stages = stage_differences(pair.a, pair.b, text, special=pair.special, by=pair.by)
    stage = next(iter(stages), "unknown")
    found = _cause(exchange)
    trials = tuple(exchange.trials)
    if found is None:
        return DifferenceCause(
            component=stage,
            paths=(),
            stage=stage,
            is_proven=False,
            cause=stages.get(stage, "the ids differ, and no stage shows why"),
            proof="no exchange of components shows the cause; the named one is the first stage "
            "whose result differs",
            trials=trials,
        )
    paths, direction = found
    components = list(dict.fromkeys(_component(path) for path in paths))
    names = tuple(path_name(path) for path in paths)
    # The result at the stage of the cause says more than the first difference, unless the models
    # are of two kinds. One of them may do by itself what components of the other do.
    if components == ["model"] and kind(a_tree["model"]) != kind(b_tree["model"]):
        told = stages.get(stage)
    else:
        told = next((stages[name] for name in components if name in stages), stages.get(stage))
    return DifferenceCause(
        component=" + ".join(components),
        paths=names,
        stage=stage,
        is_proven=True,
        cause=told or f"{' and '.join(names)} differ",
        proof=_proof(names, direction),
        trials=trials,
    )


def _proof(names: Sequence[str], direction: Direction) -> str:
    keeper, lender = ("A", "B") if direction == "b_into_a" else ("B", "A")
    what = " and ".join(names)
    alone = "; no single component does that" if len(names) > 1 else ""
    return f"{keeper} with the {what} of {lender} cuts the text as {lender} does{alone}"


def _component(path: Path) -> str:
    """The component that a place belongs to. A SentencePiece model holds its normalizer."""
    if path[:2] == ("model", "normalizer"):
        return "normalizer"
    return str(path[0])


def _cause(exchange: _Exchange) -> tuple[tuple[Path, ...], Direction] | None:
    """The places whose exchange makes the difference go away, and in which direction it does."""
    keys = sorted((str(key) for key, _, _ in children(exchange.a_tree, exchange.b_tree)), key=_rank)
    directions: tuple[Direction, Direction] = ("b_into_a", "a_into_b")
    alone = {
        direction: [key for key in keys if exchange.is_equal(((key,),), direction)]
        for direction in directions
    }
    for key in alone["b_into_a"]:
        # It makes one the other and the other the one: it is all that matters.
        if key in alone["a_into_b"]:
            return (_taken_apart(exchange, (key,), "b_into_a"),), "b_into_a"
    for direction, other in (directions, directions[::-1]):
        several = tuple((key,) for key in alone[direction])
        # Taking away any of them ends the difference, and only all of them make it: a token that
        # one vocabulary lacks and the other pattern would cut.
        if len(several) > 1 and exchange.is_equal(several, other):
            return several, other
    for direction in directions:
        if alone[direction]:
            path: Path = (alone[direction][0],)
            return (_taken_apart(exchange, path, direction),), direction
    for paths in _together(keys):
        if exchange.is_equal(paths, "b_into_a"):
            return paths, "b_into_a"
    return None


def _rank(key: str) -> tuple[int, str]:
    return (_STAGES.index(key) if key in _STAGES else len(_STAGES), key)


def _together(keys: Sequence[str]) -> Iterator[tuple[Path, ...]]:
    """Combinations of components, small ones first. All of them together would prove nothing."""
    n_tried = 0
    for n_together in range(2, len(keys)):
        for chosen in combinations(keys, n_together):
            n_tried += 1
            if n_tried > _MAX_TOGETHER:
                return
            yield tuple((key,) for key in chosen)


def _taken_apart(exchange: _Exchange, path: Path, direction: Direction) -> Path:
    """The smallest part of a component that is a cause by itself."""
    while len(path) < _MAX_DEPTH:
        a, b = get(exchange.a_tree, path), get(exchange.b_tree, path)
        if kind(a) != kind(b):
            return path
        parts = [(*path, key) for key, _, _ in children(a, b)]
        if len(parts) > _MAX_CHILDREN:
            return path
        smaller = next((part for part in parts if exchange.is_equal((part,), direction)), None)
        if smaller is None:
            return path
        path = smaller
    return path


class _Exchange:
    """Puts components of one tokenizer into the other, and looks what becomes of the text."""

    def __init__(self, pair: Pair, text: str, a_tree: Any, b_tree: Any) -> None:
        self.a_tree = a_tree
        self.b_tree = b_tree
        self.trials: list[Exchange] = []
        self._pair = pair
        self._text = text
        self._a_cut = cut(pair.a, text, special=pair.special)
        self._b_cut = cut(pair.b, text, special=pair.special)

    def is_equal(self, paths: tuple[Path, ...], direction: Direction) -> bool:
        """True if the text is then cut as the lender cuts it."""
        names = tuple(path_name(path) for path in paths)
        for trial in self.trials:
            if trial.paths == names and trial.direction == direction:
                return trial.outcome == "equal"
        outcome = self._try(paths, direction)
        self.trials.append(Exchange(paths=names, direction=direction, outcome=outcome))
        return outcome == "equal"

    def _try(self, paths: tuple[Path, ...], direction: Direction) -> _Outcome:
        keeper, lender, wanted = (
            (self.a_tree, self.b_tree, self._b_cut)
            if direction == "b_into_a"
            else (self.b_tree, self.a_tree, self._a_cut)
        )
        tree = keeper
        for path in paths:
            tree = replace(tree, path, get(lender, path))
        try:
            got = cut(tokenizer_of(tree), self._text, special=self._pair.special)
        except JetonError:
            # Ids of one component point into another: such a tokenizer cannot be.
            return "invalid"
        return "equal" if same_cut(got, wanted, by=self._pair.by) else "different"
