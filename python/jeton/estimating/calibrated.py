"""Tokens of a text from its bytes by script class, with coefficients that were learned.

The coefficients belong to one tokenizer, or to one provider's counts. Each text's error is that of
coefficients that were fitted without it, and the ranks of these errors are the intervals (cross
conformal, by kind and size of text). Other texts judge them.

Occurrences in a text that tokens follow: bytes by script class, words, runs.

All of them are counts of bytes of one class, or of one class after another, so that they add up
over pieces of a text and cost a look into a table of 256 entries for each byte.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jeton._foreign import json_of
from jeton._plain import counted, strict_json
from jeton.errors import FormatError, UsageError

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray


_CLASSES: Final[tuple[tuple[str, tuple[tuple[int, int], ...]], ...]] = (
    ("small letters", ((0x61, 0x7A),)),
    ("capitals", ((0x41, 0x5A),)),
    ("digits", ((0x30, 0x39),)),
    ("spaces", ((0x20, 0x20),)),
    ("line ends", ((0x0A, 0x0D),)),
    ("tabs and controls", ((0x00, 0x09), (0x0E, 0x1F), (0x7F, 0x7F))),
    ("punctuation", ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E))),
    ("Latin beyond ASCII", ((0xC2, 0xCA),)),
    ("Greek and marks", ((0xCB, 0xCF),)),
    ("Cyrillic", ((0xD0, 0xD3),)),
    ("Armenian and Hebrew", ((0xD4, 0xD7),)),
    ("Arabic", ((0xD8, 0xDF),)),
    ("Indic and Thai", ((0xE0, 0xE0),)),
    ("Georgian to Vietnamese", ((0xE1, 0xE1),)),
    ("symbols", ((0xE2, 0xE2),)),
    ("Kana and CJK signs", ((0xE3, 0xE3),)),
    ("Han", ((0xE4, 0xE9),)),
    ("Hangul", ((0xEA, 0xED),)),
    ("full width and private", ((0xEE, 0xEF),)),
    ("beyond the first plane", ((0xF0, 0xFF),)),
    ("rest of a character", ((0x80, 0xC1),)),
)
"""Classes of bytes; a character of several bytes belongs to the class of its first."""

_RUNS: Final = (
    *("words up to 4", "words up to 8", "words up to 12", "longer words"),
    *("capitals in words", "spaces in runs", "punctuation in runs", "numbers"),
)
_WORD_EDGES: Final = (4, 8, 12)
_SIGNS: Final = tuple(chr(code) for code in (*range(0x21, 0x7F),) if not chr(code).isdigit())
_SIGN_BYTES: Final = np.array([ord(sign) for sign in _SIGNS])
_N: Final = len(_CLASSES)
_REST: Final = _N - 1
_SMALL, _CAPITAL, _DIGIT, _SPACE, _PUNCTUATION, _LATIN = 0, 1, 2, 3, 6, 7

FEATURES: Final = (*(name for name, _ in _CLASSES[:_REST]), *_RUNS, *_SIGNS)
"""Names of the counts, in order; single signs tell languages apart."""

N_CLASSES: Final = _REST + len(_RUNS)
"""Features before the single signs."""

KINDS: Final = (
    "Latin prose",
    "Latin with much punctuation",
    *(name for name, _ in _CLASSES[_LATIN + 1 : _REST]),
)
"""Kinds of text that intervals are told apart by: the script of most characters."""

_MUCH_PUNCTUATION: Final = 0.08
"""Share of a text's bytes from which it is rather code, tables or data. A judgement."""


def _table() -> NDArray[np.uint8]:
    table = np.zeros(256, dtype=np.uint8)
    for number, (_, ranges) in enumerate(_CLASSES):
        for first, last in ranges:
            table[first : last + 1] = number
    return table


_TABLE: Final = _table()
_IS_LETTER: Final = np.isin(np.arange(_N), [_SMALL, _CAPITAL, *range(_LATIN, _REST + 1)])


def features_of(data: bytes) -> NDArray[np.float64]:
    """Return the counts of a text, float64 (n_features,)."""
    if not data:
        return np.zeros(len(FEATURES))
    raw = np.frombuffer(data, dtype=np.uint8)
    classes = _TABLE[raw]
    counts = np.bincount(classes, minlength=_N)
    signs = np.bincount(raw, minlength=128)[_SIGN_BYTES]
    before, after = classes[:-1], classes[1:]
    is_letter = _IS_LETTER[classes]
    edges = np.flatnonzero(np.diff(is_letter, prepend=False, append=False))
    lengths = edges[1::2] - edges[::2]
    words = np.bincount(np.searchsorted(_WORD_EDGES, lengths), minlength=len(_WORD_EDGES) + 1)
    runs = (
        int(((after == _CAPITAL) & is_letter[:-1]).sum()),
        int(((after == _SPACE) & (before == _SPACE)).sum()),
        int(((after == _PUNCTUATION) & (before == _PUNCTUATION)).sum()),
        int(((after == _DIGIT) & (before != _DIGIT)).sum()) + int(classes[0] == _DIGIT),
    )
    return np.concatenate([counts[:_REST], words, runs, signs]).astype(np.float64)


def kind_of(features: NDArray[np.float64]) -> str:
    """Return the kind of a text with these counts."""
    scripts = features[_LATIN + 1 : _REST]
    latin = features[_SMALL] + features[_CAPITAL] + features[_LATIN]
    if scripts.sum() > latin:
        return KINDS[2 + int(scripts.argmax())]
    n_bytes = features[:_REST].sum()
    much = features[_PUNCTUATION] > _MUCH_PUNCTUATION * n_bytes
    return KINDS[1] if much else KINDS[0]


SCHEMA: Final = "jeton.count_model/1"
_RIDGE: Final = 1e-4
_SIGN_RIDGES: Final = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
"""Penalties of single signs that are tried: few texts leave no room for so many coefficients."""
_LEAST: Final = 40
"""Texts of a kind and size before they have an interval of their own."""
_ANY: Final = -1
_LEAST_ERROR: Final = 1e-3
"""Relative error added to each where its logarithm is taken: some are 0."""
_MOST_SHRINK: Final = 0.2
"""Largest exponent that is used. Texts differ as a whole, too, which pieces of few texts hide: of
0, 0.2, 0.3 and 0.5, this one held closest to 90% on German and Chinese."""
_FOLDS: Final = 5
"""Parts of the texts, each foreseen from the others: the ranks of an interval want many errors."""


@dataclass(frozen=True, slots=True)
class CountRange:
    """A count with its interval.

    Attributes:
        n_tokens: Tokens expected.
        lower_tokens: Lower end.
        upper_tokens: Upper end.
        coverage: Share of texts whose count the interval holds.
        kind: Kind of text that the interval was learned from; empty: all.
    """

    n_tokens: float
    lower_tokens: float
    upper_tokens: float
    coverage: float
    kind: str


@dataclass(frozen=True, slots=True)
class KindRange:
    """Errors of one kind and size of text.

    Attributes:
        kind: Kind of text; empty: any.
        size_octave: Bytes lie from 2 to this power on to twice it; -1: any size.
        n_texts: Texts that it was learned from.
        low: Counted over expected, lower end.
        high: Upper end.
        n_judged: Other texts that judged it.
        coverage_share: Share of them within; 0 without any.
    """

    kind: str
    size_octave: int
    n_texts: int
    low: float
    high: float
    n_judged: int
    coverage_share: float


@dataclass(frozen=True, slots=True)
class CountModel:
    """Tokens from bytes by script class.

    Attributes:
        counted_by: Tokenizer or provider whose tokens these are.
        fingerprint: The tokenizer's; empty: a provider's counts.
        coverage: Share of texts that an interval is to hold.
        coefficients: Tokens for each occurrence, by feature.
        intercept_tokens: Tokens that every text has beside, such as a message's frame.
        ranges: Errors by kind and size.
        n_texts: Texts that it was learned from.
        n_bytes: Their bytes.
        seed: Seed of the split.
        shrink_exponent: Power of a text's size by which relative errors fall: where a size has no
            interval of its own, the nearest one is scaled.
    """

    counted_by: str
    fingerprint: str
    coverage: float
    coefficients: dict[str, float]
    intercept_tokens: float
    ranges: tuple[KindRange, ...]
    n_texts: int
    n_bytes: int
    seed: int
    shrink_exponent: float = 0.0

    @classmethod
    def fit(
        cls,
        texts: Sequence[bytes],
        counts: Sequence[int] | NDArray[np.integer],
        *,
        counted_by: str,
        fingerprint: str = "",
        coverage: float = 0.9,
        has_frame: bool = False,
        seed: int = 0,
    ) -> CountModel:
        """Learn from texts that were counted.

        Three quarters of them fit the coefficients (least squares of the relative error, with a
        ridge that is chosen on a third) and make the intervals, by the errors of each fifth under
        coefficients of the others. A quarter judges them.

        Source: cross-conformal prediction, Vovk, arXiv:1208.0806.

        Args:
            texts: UTF-8 of the texts.
            counts: Tokens of each.
            counted_by: Name of the tokenizer or provider.
            fingerprint: The tokenizer's.
            coverage: Share of texts that an interval is to hold.
            has_frame: True if each count has a constant part beside its text.
            seed: Seed of the split.

        Raises:
            UsageError: There are too few texts, or the coverage is out of range.
        """
        if not 0.5 <= coverage < 1:
            raise UsageError(f"coverage is {coverage}; expected 0.5 to 1")
        rows = np.array([features_of(text) for text in texts]).reshape(len(texts), len(FEATURES))
        y = np.asarray(counts, dtype=np.float64)
        usable = np.flatnonzero(y > 0)
        needed = 4 * max(_LEAST, math.ceil(2 / (1 - coverage)))
        if len(usable) < needed:
            raise UsageError(
                f"{counted(len(usable), 'text')} with a count; expected at least {needed:,}\n"
                "hint: more texts, or smaller pieces of them (--piece-bytes)"
            )
        rng = np.random.default_rng(seed)
        order = rng.permutation(usable)
        three = 3 * len(order) // 4
        fitted, judged = order[:three], order[three:]
        weights, intercept = _solve(rows[fitted], y[fitted], has_frame=has_frame)
        expected = np.maximum(rows @ weights + intercept, 0.5)
        for fold in range(_FOLDS):
            own = fitted[fold::_FOLDS]
            others = np.delete(fitted, np.s_[fold::_FOLDS])
            without, frame = _solve(rows[others], y[others], has_frame=has_frame)
            expected[own] = np.maximum(rows[own] @ without + frame, 0.5)
        kinds = [kind_of(row) for row in rows]
        octaves = [max(1, len(text)).bit_length() - 1 for text in texts]
        ratios = y / expected
        return cls(
            counted_by=counted_by,
            fingerprint=fingerprint,
            coverage=coverage,
            coefficients=dict(zip(FEATURES, weights.tolist(), strict=True)),
            intercept_tokens=intercept,
            ranges=_ranges(ratios, kinds, octaves, fitted, judged, coverage),
            n_texts=len(usable),
            n_bytes=sum(len(texts[place]) for place in usable.tolist()),
            seed=seed,
            shrink_exponent=_shrink_exponent(
                ratios[fitted], np.array([max(1, len(texts[row])) for row in fitted.tolist()])
            ),
        )

    def expect(self, features: NDArray[np.float64], n_bytes: int) -> CountRange:
        """Return the count of a text with these counts of bytes."""
        weights = np.array([self.coefficients[name] for name in FEATURES])
        expected = max(float(features @ weights) + self.intercept_tokens, 0.5 if n_bytes else 0.0)
        octave = max(1, n_bytes).bit_length() - 1
        found = self._range(kind_of(features), octave)
        beyond = 0 if found.size_octave == _ANY else octave - found.size_octave
        scale = 2.0 ** (-self.shrink_exponent * beyond)
        return CountRange(
            n_tokens=expected,
            lower_tokens=expected * max(0.0, 1 + (found.low - 1) * scale),
            upper_tokens=expected * (1 + (found.high - 1) * scale),
            coverage=self.coverage,
            kind=found.kind,
        )

    def count(self, text: str | bytes) -> CountRange:
        """Return the count of a text, with its interval.

        Example:
            >>> from jeton.estimating.calibrated import CountModel
            >>> texts = [b"word " * n for n in range(1, 201)]
            >>> model = CountModel.fit(texts, range(1, 201), counted_by="words")
            >>> round(model.count("word " * 500).n_tokens)
            500
        """
        data = text.encode() if isinstance(text, str) else bytes(text)
        return self.expect(features_of(data), len(data))

    def _range(self, kind: str, octave: int) -> KindRange:
        """The errors of the nearest size of the kind; of any size, of any kind otherwise."""
        same = [item for item in self.ranges if item.kind == kind and item.size_octave != _ANY]
        if same:
            return min(same, key=lambda item: abs(item.size_octave - octave))
        return next(item for item in self.ranges if not item.kind)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as JSON, whole or not at all."""
        from jeton._files import write_whole

        write_whole(Path(path), strict_json(self.to_dict(), indent=2) + "\n")

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"schema_version": SCHEMA, **asdict(self)}


def load_count_model(path: str | os.PathLike[str]) -> CountModel:
    """Return the model that ``jeton predict calibrate`` wrote.

    Raises:
        FormatError: The file is no such model.
        OSError: It cannot be read.
    """
    place = Path(path)
    try:
        data = json_of(place.read_bytes())
        if data.pop("schema_version") != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        ranges = tuple(KindRange(**item) for item in data.pop("ranges"))
        model = CountModel(**data, ranges=ranges)
        missing = [name for name in FEATURES if name not in model.coefficients]
        if missing or not any(not item.kind for item in ranges):
            raise ValueError(f"it lacks {missing[:1] or 'the range of all texts'}")
        numbers = [*model.coefficients.values(), model.intercept_tokens, model.coverage]
        numbers.append(model.shrink_exponent)
        numbers += [end for item in ranges for end in (item.low, item.high)]
        if not all(isinstance(x, int | float) and math.isfinite(x) for x in numbers):
            raise ValueError("a number is not finite")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FormatError(
            f"{place}: no model of counts: {error}\nhint: `jeton predict calibrate` writes one",
            path=str(place),
        ) from error
    return model


def _solve(
    rows: NDArray[np.float64], y: NDArray[np.float64], *, has_frame: bool
) -> tuple[NDArray[np.float64], float]:
    """Coefficients with the least relative error; the penalty is chosen on a third of the texts."""
    x = np.column_stack([rows, np.ones(len(rows))]) if has_frame else rows
    x = x / y[:, None]
    scale = np.sqrt((x**2).mean(axis=0))
    scale[scale == 0] = 1.0
    x = x / scale
    third = len(x) // 3
    tried = [(_error(x[:third], _ridge(x[third:], ridge)), ridge) for ridge in _SIGN_RIDGES]
    solved = _ridge(x, min(tried)[1]) / scale
    return (solved[:-1], float(solved[-1])) if has_frame else (solved, 0.0)


def _ridge(x: NDArray[np.float64], sign_ridge: float) -> NDArray[np.float64]:
    penalties = np.full(x.shape[1], _RIDGE)
    penalties[N_CLASSES : len(FEATURES)] = sign_ridge
    square = x.T @ x + len(x) * np.diag(penalties)
    return np.linalg.solve(square, x.T @ np.ones(len(x)))


def _error(x: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    return float(np.quantile(np.abs(x @ weights - 1), 0.9)) if len(x) else 0.0


def _shrink_exponent(ratios: NDArray[np.float64], sizes: NDArray[np.int64]) -> float:
    """Slope of the logarithm of errors over that of sizes, within limits."""
    errors = np.log(np.abs(ratios - 1) + _LEAST_ERROR)
    spread = np.log(sizes) - np.log(sizes).mean()
    square = float((spread**2).sum())
    slope = float((spread * errors).sum()) / square if square else 0.0
    return min(_MOST_SHRINK, max(0.0, -slope))


def _ranges(
    ratios: NDArray[np.float64],
    kinds: list[str],
    octaves: list[int],
    scored: NDArray[np.intp],
    judged: NDArray[np.intp],
    coverage: float,
) -> tuple[KindRange, ...]:
    """Intervals by kind and size where there are enough texts, and one of all."""

    def group(rows: NDArray[np.intp], kind: str, octave: int) -> NDArray[np.float64]:
        return np.array(
            [
                ratios[row]
                for row in rows.tolist()
                if (not kind or kinds[row] == kind) and (octave == _ANY or octaves[row] == octave)
            ]
        )

    pairs = sorted({(kinds[row], octaves[row]) for row in scored.tolist()})
    found = []
    for kind, octave in [("", _ANY), *pairs]:
        known, other = group(scored, kind, octave), group(judged, kind, octave)
        if len(known) < _LEAST and kind:
            continue
        low, high = _ends(known, coverage)
        held = float(((other >= low) & (other <= high)).mean()) if len(other) else 0.0
        found.append(KindRange(kind, octave, len(known), low, high, len(other), held))
    return tuple(found)


def _ends(ratios: NDArray[np.float64], coverage: float) -> tuple[float, float]:
    """Ends of the split-conformal interval, with ranks for finite samples."""
    ordered = np.sort(ratios)
    n = len(ordered)
    rank = max(1, math.floor((n + 1) * (1 - coverage) / 2))
    return float(ordered[rank - 1]), float(ordered[n - rank])
