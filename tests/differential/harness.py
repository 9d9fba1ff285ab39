"""Compare a tokenizer with its reference on a stream of edge texts, and shrink what differs.

A `Pair` is one tokenizer with its `Check`s: two functions that must give equal rows for equal
texts. Texts come in batches, each with a seed of its own, so that a run can be taken up again at
any batch and one batch can be repeated alone.
"""

from __future__ import annotations

import hashlib
import itertools
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from jeton import Tokenizer
from jeton.edge_texts import edge_texts

Rows = Sequence[Any]
"""Results of an implementation for texts: one row (ids, places, text) each."""
Side = Callable[[Sequence[str]], Rows]

BATCH_CASES = 2_000
"""Texts of one seed. Small enough to repeat at once, large enough that calls cost nothing."""
SHRUNK_CASES = 4
"""Differing texts of one check that are shrunk, of different tokenizers; the others are counted."""


class NotLoadable(Exception):
    """The tokenizer of a family cannot be loaded; the message says why."""


@dataclass(frozen=True, slots=True)
class Raised:
    """A row in place of a result: the implementation failed on this text."""

    error: str


@dataclass(frozen=True, slots=True)
class Check:
    """Two functions that must agree on every text."""

    name: str
    ours: Side
    theirs: Side
    every: int = 1
    """1: on all texts; n: on each n-th, for what is slow."""
    known: Callable[[str, Any, Any], bool] | None = None
    """True if a difference (text, ours, theirs) is a documented one: counted, not reported."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A tokenizer, what its texts are made of, and its checks."""

    checks: tuple[Check, ...]
    tokenizers: tuple[Tokenizer, ...] = ()
    detail: str = ""
    """Detail for the reader of a difference: the tokenizer's file where it is made in the run."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A smallest text on which the two differ."""

    family: str
    check: str
    batch: int
    text: str
    ours: Any
    theirs: Any
    original: str
    detail: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON; texts are ASCII there, so that no terminal or editor changes them."""
        return {
            "family": self.family,
            "check": self.check,
            "batch": self.batch,
            "text": self.text,
            "ours": repr(self.ours),
            "theirs": repr(self.theirs),
            "original": self.original,
            "detail": self.detail,
        }


@dataclass(slots=True)
class Outcome:
    """Outcome of a run of one family."""

    family: str
    seed: int
    cases: int = 0
    different: int = 0
    known: int = 0
    """Texts that differ in a way that docs/concepts/exactness.md names, with its reason."""
    unanswered: int = 0
    """Texts on which the reference itself failed: they prove nothing and count for nobody."""
    stopped: list[str] = field(default_factory=list)
    """Checks that differed too often to be worth going on with; the others went on."""
    refused: Counter[str] = field(default_factory=Counter)
    """Tokenizers that were made in the run and that Jeton does not load, by reason."""
    n_tokenizers: int = 0
    seconds: float = 0.0
    not_loadable: str = ""
    differences: list[Difference] = field(default_factory=list)

    @property
    def equal(self) -> int:
        return self.cases - self.different - self.known - self.unanswered


@dataclass(frozen=True, slots=True)
class Family:
    """Tokenizers of one kind and where their reference comes from."""

    name: str
    pairs: Callable[[int], Pair]
    """The pair for a batch's seed. Raises `NotLoadable`, or `Refused` where only this one is."""
    batch_cases: int = BATCH_CASES
    simplify: Callable[[str, str, str], tuple[str, Pair] | None] | None = None
    """Makes the tokenizer of a difference smaller: (detail, check, text) -> its file and pair."""


class Refused(Exception):
    """Jeton does not load a tokenizer that was made in the run."""


def batch_seed(seed: int, batch: int) -> int:
    """The seed of one batch: by digest, so that neighbouring seeds share no batches."""
    return int.from_bytes(hashlib.sha256(f"{seed} {batch}".encode()).digest()[:6], "big")


def run(
    family: Family,
    *,
    cases: int,
    seed: int,
    first_batch: int = 0,
    on_difference: Callable[[Difference], None] | None = None,
    stop_at: int = 300,
) -> Outcome:
    """Compare on this many texts; a check alone ends early, after `stop_at` differing ones."""
    outcome = Outcome(family.name, seed)
    started = time.perf_counter()
    batch_cases = family.batch_cases
    different: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    for batch in itertools.count(first_batch):
        n_texts = min(batch_cases, cases - outcome.cases)
        # A tokenizer that is refused costs no cases, but there is an end to that too.
        too_many_refused = outcome.n_tokenizers > 20 + 10 * (cases // batch_cases + 1)
        if n_texts <= 0 or too_many_refused:
            break
        own_seed = batch_seed(seed, batch)
        outcome.n_tokenizers += 1
        try:
            pair = family.pairs(own_seed)
        except NotLoadable as error:
            outcome.not_loadable = str(error)
            break
        except Refused as error:
            outcome.refused[str(error)] += 1
            continue
        checks = [check for check in pair.checks if different[check.name] < stop_at]
        if not checks:
            break
        stream = edge_texts(seed=own_seed, tokenizers=pair.tokenizers)
        texts = list(itertools.islice(stream, n_texts))
        outcome.cases += len(texts)
        found = compare(checks, texts)
        outcome.different += len(found.wrong)
        outcome.known += len(found.known - found.wrong.keys())
        outcome.unanswered += len(found.unanswered - found.known - found.wrong.keys())
        seen: set[str] = set()
        for index, check in found.wrong.items():
            different[check.name] += 1
            # Texts of one tokenizer mostly share their cause: one of a check is enough.
            if check.name in seen or shown[check.name] >= SHRUNK_CASES:
                continue
            seen.add(check.name)
            shown[check.name] += 1
            difference = _shrunk_difference(family, pair, check, texts[index], batch)
            outcome.differences.append(difference)
            if on_difference is not None:
                on_difference(difference)
    outcome.stopped = [name for name, n_texts in different.items() if n_texts >= stop_at]
    outcome.seconds = time.perf_counter() - started
    return outcome


@dataclass(slots=True)
class Compared:
    """Indices of the texts that are not simply equal."""

    wrong: dict[int, Check] = field(default_factory=dict)
    """The first check that each differing text fails."""
    known: set[int] = field(default_factory=set)
    unanswered: set[int] = field(default_factory=set)


def compare(checks: Sequence[Check], texts: Sequence[str]) -> Compared:
    """Run the checks on the texts."""
    compared = Compared()
    for check in checks:
        chosen = range(0, len(texts), check.every)
        picked = [texts[index] for index in chosen]
        theirs = rows(check.theirs, picked)
        ours = rows(check.ours, picked)
        if ours == theirs:
            continue
        for index, mine, yours in zip(chosen, ours, theirs, strict=True):
            if isinstance(yours, Raised):
                compared.unanswered.add(index)
            elif mine != yours:
                if check.known is not None and check.known(texts[index], mine, yours):
                    compared.known.add(index)
                else:
                    compared.wrong.setdefault(index, check)
    return compared


def rows(side: Side, texts: Sequence[str]) -> list[Any]:
    """Rows of all texts; where the whole batch fails, text by text with `Raised` for failures."""
    try:
        found = list(side(texts))
    except KeyboardInterrupt:
        raise
    except BaseException:  # a panic of a reference's Rust code is not an Exception
        found = [_row(side, text) for text in texts]
    if len(found) != len(texts):
        raise AssertionError(f"{len(found)} rows for {len(texts)} texts")
    return found


def _row(side: Side, text: str) -> Any:
    try:
        return side([text])[0]
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Raised(f"{type(error).__name__}: {error}".split("\n", 1)[0])


def differs(check: Check, text: str) -> bool:
    """True if the two sides differ on one text, and not in a documented way."""
    theirs = _row(check.theirs, text)
    if isinstance(theirs, Raised):
        return False
    ours = _row(check.ours, text)
    return bool(ours != theirs) and not (check.known and check.known(text, ours, theirs))


def shrink(text: str, fails: Callable[[str], bool], *, max_calls: int = 5_000) -> str:
    """Return a text that still fails and from which no single code point can be removed.

    Delta debugging: remove ever smaller parts as long as what is left fails.
    """
    calls = itertools.count()
    size = max(1, len(text) // 2)
    while True:
        start, shorter = 0, False
        while start < len(text):
            if next(calls) >= max_calls:
                return text
            candidate = text[:start] + text[start + size :]
            if fails(candidate):
                text, shorter = candidate, True
            else:
                start += size
        if size > 1:
            size = max(1, min(size // 2, len(text) // 2))
        elif not shorter:
            return text


def _shrunk_difference(
    family: Family, pair: Pair, check: Check, original: str, batch: int
) -> Difference:
    # A single text may behave otherwise than a batch: then the text stays as it was found.
    text = (
        shrink(original, lambda part: differs(check, part))
        if differs(check, original)
        else original
    )
    detail = pair.detail
    if family.simplify is not None and text is not original:
        simpler = family.simplify(detail, check.name, text)
        if simpler is not None:
            detail, pair = simpler
            check = next(each for each in pair.checks if each.name == check.name)
            text = shrink(text, lambda part: differs(check, part))
    return Difference(
        family=family.name,
        check=check.name,
        batch=batch,
        text=text,
        ours=_row(check.ours, text),
        theirs=_row(check.theirs, text),
        original=original,
        detail=detail,
    )


def fixed(pair: Callable[[], Pair]) -> Callable[[int], Pair]:
    """A family of one tokenizer: opened once, the same for every seed."""
    opened: list[Pair] = []

    def get(_seed: int) -> Pair:
        if not opened:
            opened.append(pair())
        return opened[0]

    return get


def each_text(function: Callable[[str], Any]) -> Side:
    """Make a function of one text one of many."""

    def side(texts: Sequence[str]) -> Rows:
        return [function(text) for text in texts]

    return side
