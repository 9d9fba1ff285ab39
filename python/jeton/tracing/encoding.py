"""One text through a tokenizer, step by step."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Literal

from jeton._core import Tokenizer
from jeton._reference.drawing import SplitMix64
from jeton._shown import NotebookResult
from jeton.errors import UsageError
from jeton.registry import TokenizerLike, resolve
from jeton.tracing.models import twin_of
from jeton.tracing.steps import Draw, Traced, TracedStep, TracedToken, Twin

MAX_CHARS = 400
"""Characters that are traced unless another number is given; steps grow with their square."""
MOST_CHARS = 4000
"""The largest number that may be given."""

_Allowed = tuple[str, ...] | Literal["all"]


@dataclass(frozen=True, slots=True)
class TracedPart:
    """A pretoken, or a token that was found in the text before anything else.

    Attributes:
        text: The pretoken as the model gets it.
        is_added: True for an added or special token: the model never sees it.
        symbols: Beginning of the model's work: bytes, characters or words.
        letters: Bytes as files of byte-level models spell them (a space is ``Ġ``); empty for
            others.
        steps: Every step of the model.
        tokens: The result.
    """

    text: str
    is_added: bool
    symbols: tuple[str, ...]
    letters: tuple[str, ...]
    steps: tuple[TracedStep, ...]
    tokens: tuple[TracedToken, ...]


@dataclass(frozen=True, slots=True)
class EncodeTrace(NotebookResult):
    """A text on its way to ids.

    Attributes:
        tokenizer: Name of the tokenizer.
        fingerprint: Its fingerprint.
        algorithm: Its algorithm.
        model: Kind of its model: one of ``TRACED_MODELS``.
        text: The text that was traced.
        n_chars_cut: Characters at the end that were left out because the text is too long.
        normalized: The text as the model gets it; added tokens stand in it as they are.
        parts: Pretokens and added tokens, in order.
        ids: The ids.
        matches_engine: True if the core gives the same ids.
        seed: Seed of a drawn segmentation; None: the usual one.
    """

    _page = "jeton.report.trace_page:trace_html"
    _table = "parts"
    _line = ("tokenizer", "parts", "ids")

    tokenizer: str
    fingerprint: str
    algorithm: str
    model: str
    text: str
    n_chars_cut: int
    normalized: str
    parts: tuple[TracedPart, ...]
    ids: tuple[int, ...]
    matches_engine: bool
    seed: int | None = None

    @property
    def n_steps(self) -> int:
        """Steps of all parts."""
        return sum(len(part.steps) for part in self.parts)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"schema_version": "jeton.trace-encode/1", **asdict(self)}

    def __repr__(self) -> str:
        return (
            f"EncodeTrace({self.tokenizer!r}: {len(self.parts)} parts, {self.n_steps} steps, "
            f"{len(self.ids)} ids)"
        )


def trace_encode(
    tokenizer: TokenizerLike,
    text: str,
    *,
    allow_special: Iterable[str] | Literal["all"] = (),
    n_best: int = 3,
    seed: int | None = None,
    dropout: float | None = None,
    alpha: float | None = None,
    max_chars: int = MAX_CHARS,
) -> EncodeTrace:
    """Follow a text through a tokenizer.

    Args:
        tokenizer: Any tokenizer: an object, a name or a path.
        text: The text; what is beyond ``max_chars`` is cut off, and the trace says so.
        allow_special: Special tokens that the text may become.
        n_best: Unigram models: ways to cut that are listed, 1 to 20.
        seed: Trace a drawn segmentation (BPE-dropout, Unigram sampling); the same as
            ``tokenizer.sample`` gives for this seed.
        dropout: Probability with which BPE leaves a merge out; None: 0.1.
        alpha: Power to which Unigram raises probabilities; None: 1.
        max_chars: Characters that are traced, 1 to 4000.

    Raises:
        UsageError: A number out of range, or a draw of a model that has none.

    Example:
        >>> import jeton
        >>> trace = trace_encode(jeton.load("jeton-general-32k"), "low")
        >>> [step.made for step in trace.parts[0].steps], trace.matches_engine
        (['ow', 'low'], True)
    """
    tokenizer = resolve(tokenizer)
    _check(n_best, max_chars, seed=seed, drawn=(dropout, alpha))
    n_cut = max(0, len(text) - max_chars)
    text = text[: len(text) - n_cut]
    draw = None if seed is None else _draw(tokenizer, seed, dropout, alpha)
    kind, twin = _twin(tokenizer)
    allowed: _Allowed = "all" if allow_special == "all" else tuple(allow_special)
    parts: list[TracedPart] = []
    normalized = ""
    for stretch, added in _stretches(tokenizer, text, allowed):
        if added is not None:
            parts.append(_added(stretch, added))
            normalized += stretch
        else:
            normalized += tokenizer.normalize(stretch)
            parts += _traced(tokenizer, stretch, twin, draw, n_best)
    ids = tuple(token.id for part in parts for token in part.tokens)
    return EncodeTrace(
        tokenizer=tokenizer.name or "tokenizer",
        fingerprint=tokenizer.fingerprint,
        algorithm=tokenizer.algorithm,
        model=kind,
        text=text,
        n_chars_cut=n_cut,
        normalized=normalized,
        parts=tuple(parts),
        ids=ids,
        matches_engine=list(ids) == _engine(tokenizer, text, allowed, seed, dropout, alpha),
        seed=seed,
    )


@lru_cache(maxsize=1)
def _twin(tokenizer: Tokenizer) -> tuple[str, Twin]:
    """The kind of the model and its twin; that of the last tokenizer is kept."""
    model = json.loads(tokenizer.to_canonical())["model"]
    return model["type"], twin_of(model)


def _check(
    n_best: int, max_chars: int, *, seed: int | None, drawn: tuple[float | None, ...]
) -> None:
    if not 1 <= n_best <= 20:
        raise UsageError(f"n_best is {n_best}; expected 1 to 20")
    if not 1 <= max_chars <= MOST_CHARS:
        raise UsageError(f"max_chars is {max_chars}; expected 1 to {MOST_CHARS}")
    if any(value is not None and not 0 <= value < math.inf for value in drawn):
        raise UsageError(f"dropout and alpha are {drawn}; expected numbers of 0 or more")
    if seed is None and any(value is not None for value in drawn):
        raise UsageError("dropout and alpha belong to a draw\nhint: give a seed, such as seed=1")


def _method(tokenizer: Tokenizer, dropout: float | None) -> str:
    methods = [m for m in tokenizer.sampling_methods if m in ("dropout", "unigram")]
    if not methods or (dropout is not None and methods[0] != "dropout"):
        raise UsageError(
            f"{tokenizer.name or 'this tokenizer'} has no such draw that can be traced: "
            f"its methods are {', '.join(tokenizer.sampling_methods) or 'none'}\n"
            "hint: dropout is for BPE, alpha for Unigram"
        )
    return methods[0]


def _draw(tokenizer: Tokenizer, seed: int, dropout: float | None, alpha: float | None) -> Draw:
    if _method(tokenizer, dropout) == "unigram":
        return Draw(SplitMix64.stream(seed, 0), alpha=1.0 if alpha is None else alpha)
    if alpha is not None:
        raise UsageError("alpha is for Unigram models\nhint: a BPE model takes dropout")
    return Draw(SplitMix64.stream(seed, 0), dropout=0.1 if dropout is None else dropout)


def _engine(
    tokenizer: Tokenizer,
    text: str,
    allowed: _Allowed,
    seed: int | None,
    dropout: float | None,
    alpha: float | None,
) -> list[int]:
    if seed is None:
        return tokenizer.encode(text, allow_special=allowed)
    method: Any = _method(tokenizer, dropout)
    settings: dict[str, Any] = {"alpha": alpha}
    if method == "dropout":
        settings = {"dropout": 0.1 if dropout is None else dropout}
    return tokenizer.sample(text, seed=seed, method=method, allow_special=allowed, **settings)


def _stretches(
    tokenizer: Tokenizer, text: str, allowed: _Allowed
) -> Iterator[tuple[str, int | None]]:
    """The text between added tokens, and these with their ids."""
    encoding = tokenizer.encode_with_offsets(text, allow_special=allowed)
    place = 0
    rows = zip(
        encoding.ids.tolist(),
        encoding.starts.tolist(),
        encoding.ends.tolist(),
        encoding.word_ids.tolist(),
        strict=True,
    )
    for id, start, end, word in rows:
        if word < 0:
            content = tokenizer.id_to_token(id) or ""
            if start == end and text[place:start].endswith(content):
                # Found in the normalized text: `tokenizers` puts such a token behind itself.
                start -= len(content)
            if place < start:
                yield text[place:start], None
            yield text[start:end], id
            place = end
    if place < len(text) or not text:
        yield text[place:], None


def _added(text: str, id: int) -> TracedPart:
    return TracedPart(
        text=text, is_added=True, symbols=(), letters=(), steps=(), tokens=(TracedToken(id, text),)
    )


def _traced(
    tokenizer: Tokenizer, text: str, twin: Twin, draw: Draw | None, n_best: int
) -> Iterator[TracedPart]:
    pretokens: list[str] = tokenizer.pretokenize(text)
    if "\ufffd" in "".join(pretokens):
        pretokens = _cut_characters(tokenizer, text)
    for pretoken in pretokens:
        found: Traced = twin(pretoken, draw, n_best)
        yield TracedPart(
            text=pretoken,
            is_added=False,
            symbols=found.symbols,
            letters=found.letters,
            steps=found.steps,
            tokens=found.tokens,
        )


def _cut_characters(tokenizer: Tokenizer, text: str) -> list[str]:
    """Pretokens of a split that cuts characters: their bytes, with stray ones as surrogates."""
    encoding = tokenizer.encode_with_offsets(text)
    words: dict[int, bytes] = {}
    for id, word in zip(encoding.ids.tolist(), encoding.word_ids.tolist(), strict=True):
        words[word] = words.get(word, b"") + tokenizer.id_to_bytes(id)
    return [word.decode("utf-8", "surrogateescape") for word in words.values()]
