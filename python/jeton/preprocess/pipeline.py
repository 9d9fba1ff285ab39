"""Pipeline: documents pass all steps in order, and each step alone, and are counted each time.

Cost: tokens are counted once for each text that differs from its neighbour. Memory is that of a
batch, of three integers a document and step, and of the lines that the step ``boilerplate`` counts.
"""

from __future__ import annotations

import pickle
import tempfile
import weakref
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from jeton.errors import UsageError
from jeton.metrics.bootstrap import bootstrap_ratio
from jeton.preprocess.by_name import make_step, parse_steps
from jeton.preprocess.losses import LossTally
from jeton.preprocess.results import PreprocessedTexts, PreprocessReport, StepReport, TokenSaving
from jeton.preprocess.steps import PreprocessOptions, TextStep

if TYPE_CHECKING:
    from jeton._core import Tokenizer
    from jeton.registry import TokenizerLike


# Texts that steps made in a first pass, kept in a temporary file for the second one.

Outputs = list[str | None]
"""The text behind each step; None: the step left it as it was."""


class Spool:
    """Outputs of documents, taken in the order in which they were added.

    Memory does not grow with the documents: they lie in a file without a name, which goes with the
    spool.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the spool
        weakref.finalize(self, self._file.close)
        self._is_read = False

    def add(self, text: str, outputs: Outputs) -> None:
        """Keep what the steps made of a document."""
        pickle.dump((_mark(text), outputs), self._file, protocol=pickle.HIGHEST_PROTOCOL)

    def take(self, texts: Sequence[str]) -> list[Outputs | None]:
        """Return what the steps made of the next documents; None: the document has changed."""
        if not self._is_read:
            self._file.seek(0)
            self._is_read = True
        found: list[Outputs | None] = []
        for text in texts:
            try:
                # Nobody else can write to this file.
                mark, outputs = pickle.load(self._file)
            except EOFError:
                mark, outputs = -1, None
            found.append(outputs if mark == _mark(text) else None)
        return found


def _mark(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


class _Savings:
    """Tokens of each document before and after, and bytes of all."""

    def __init__(self) -> None:
        self.before = array("q")
        self.after = array("q")
        self.n_changed = 0
        self.bytes_before = 0
        self.bytes_after = 0

    def add(
        self, before: Sequence[str], after: Sequence[str], n_before: list[int], n_after: list[int]
    ) -> None:
        self.before.extend(n_before)
        self.after.extend(n_after)
        for old, new in zip(before, after, strict=True):
            n_bytes = _n_bytes(old)
            self.bytes_before += n_bytes
            self.n_changed += old != new
            self.bytes_after += n_bytes if new is old else _n_bytes(new)

    def summary(self) -> TokenSaving:
        before = np.frombuffer(self.before, dtype=np.int64) if self.before else np.zeros(0)
        after = np.frombuffer(self.after, dtype=np.int64) if self.after else np.zeros(0)
        n_before, n_after = int(before.sum()), int(after.sum())
        return TokenSaving(
            n_changed_documents=self.n_changed,
            bytes_before=self.bytes_before,
            bytes_after=self.bytes_after,
            tokens_before=n_before,
            tokens_after=n_after,
            saved_share=(n_before - n_after) / n_before if n_before else 0.0,
            interval=bootstrap_ratio(before - after, before) if n_before else None,
        )


def _n_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


class StepPipeline:
    """Steps in order, with what they save and lose.

    Where ``wants_first_pass`` is true, every document goes through ``observe`` before the first
    goes through ``apply``.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        steps: str | Sequence[str],
        options: PreprocessOptions | None = None,
        *,
        num_threads: int | None = None,
    ) -> None:
        """Make the steps.

        Raises:
            UsageError: A step is not known.
            MissingExtraError: A step needs a library that is not installed.
        """
        names = parse_steps(steps)
        settings = options or PreprocessOptions()
        self._tokenizer = tokenizer
        self._num_threads = num_threads
        self._steps = [make_step(name, settings, tokenizer) for name in names]
        # Steps that learn from the corpus learn other things behind other steps.
        self._alone: list[TextStep] = [make_step(name, settings, tokenizer) for name in names]
        self._in_order = [_Savings() for _ in names]
        self._by_itself = [_Savings() for _ in names]
        self._losses = [LossTally() for _ in names]
        self._total = _Savings()
        self._all_losses = LossTally()
        # Steps before one that observes do their work once, in the first pass.
        self._spool = Spool() if self._last_observer > 0 else None
        self.n_documents = 0

    @property
    def wants_first_pass(self) -> bool:
        """True if the documents have to be read twice."""
        return any(step.wants_first_pass for step in self._steps)

    def observe(self, texts: Sequence[str]) -> None:
        """Take documents of the first pass."""
        last = self._last_observer
        for text in texts:
            current = text
            outputs: list[str | None] = []
            for number, step in enumerate(self._steps[: last + 1]):
                if step.wants_first_pass:
                    step.observe(current)
                    self._alone[number].observe(text)
                if number < last:
                    changed = _kept(current, step.apply(current))
                    outputs.append(None if changed is current else changed)
                    current = changed
            if self._spool is not None:
                self._spool.add(text, outputs)

    @property
    def _last_observer(self) -> int:
        return max((n for n, step in enumerate(self._steps) if step.wants_first_pass), default=0)

    def apply(self, texts: Sequence[str]) -> list[str]:
        """Return the documents behind all steps, and count them."""
        originals = list(texts)
        self.n_documents += len(originals)
        n_originals = self._count(originals)
        current, n_current = originals, n_originals
        known: list[list[str | None] | None] = [None] * len(originals)
        if self._spool is not None:
            known = self._spool.take(originals)
        for number, step in enumerate(self._steps):
            if number < self._last_observer:
                changed = [
                    _kept(old, step.apply(old)) if made is None else _or_old(made[number], old)
                    for old, made in zip(current, known, strict=True)
                ]
            else:
                changed = [_kept(old, step.apply(old)) for old in current]
            n_changed = self._recount(current, changed, n_current)
            self._in_order[number].add(current, changed, n_current, n_changed)
            tally = self._losses[number]
            for old, new in zip(current, changed, strict=True):
                tally.add(step.readable(old), new if new is not old else step.readable(old))
            if number == 0 and not step.wants_first_pass:
                single, n_single = changed, n_changed
            else:
                alone = self._alone[number]
                single = [_kept(old, alone.apply(old)) for old in originals]
                n_single = self._recount(originals, single, n_originals)
            self._by_itself[number].add(originals, single, n_originals, n_single)
            current, n_current = changed, n_changed
        self._total.add(originals, current, n_originals, n_current)
        for old, new in zip(originals, current, strict=True):
            readable = old
            for step in self._steps:
                readable = step.readable(readable)
            self._all_losses.add(readable, readable if new is old else new)
        return current

    def report(self) -> PreprocessReport:
        """Savings and losses of the documents so far."""
        return PreprocessReport(
            tokenizer=self._tokenizer.name or "",
            fingerprint=self._tokenizer.fingerprint,
            n_documents=self.n_documents,
            steps=tuple(
                StepReport(
                    step=step.name,
                    loss_class=step.loss_class,
                    in_order=self._in_order[number].summary(),
                    alone=self._by_itself[number].summary(),
                    losses=self._losses[number].counts(),
                    outcomes=dict(sorted(step.outcomes.items())),
                )
                for number, step in enumerate(self._steps)
            ),
            total=self._total.summary(),
            losses=self._all_losses.counts(),
        )

    def _count(self, texts: Sequence[str]) -> list[int]:
        counts = self._tokenizer.count_batch(list(texts), num_threads=self._num_threads)
        return [int(n) for n in counts.tolist()]

    def _recount(
        self, before: Sequence[str], after: Sequence[str], n_before: list[int]
    ) -> list[int]:
        """Count only what changed."""
        places = [i for i, (old, new) in enumerate(zip(before, after, strict=True)) if new != old]
        counts = list(n_before)
        for place, n in zip(places, self._count([after[i] for i in places]), strict=True):
            counts[place] = n
        return counts


def _or_old(new: str | None, old: str) -> str:
    return old if new is None else new


def _kept(old: str, new: str) -> str:
    return old if new == old else new


# Preprocessing of texts in memory.


def preprocess_texts(
    texts: Iterable[str],
    *,
    steps: str | Sequence[str],
    tokenizer: TokenizerLike,
    options: PreprocessOptions | None = None,
    num_threads: int | None = None,
) -> PreprocessedTexts:
    """Change texts by steps that save tokens, and say what was saved and lost.

    Args:
        texts: The documents.
        steps: Names, or one string with commas: ``whitespace``, ``unicode``, ``quotes``,
            ``boilerplate``, ``repetition``, ``json``, ``html``, ``numbers``. They run in this
            order; none runs unless it is named.
        tokenizer: A name, a path or a tokenizer: by its counts forms of JSON are chosen.
        options: Settings of the steps.
        num_threads: Threads that count; all cores by default.

    Raises:
        UsageError: A step is not known, or the texts are one string.
        MissingExtraError: The step ``html`` without its library.

    Example:
        >>> import jeton
        >>> done = jeton.preprocess_texts(
        ...     ['{"id": 1,  "name": "Ada"}'], steps="json", tokenizer="jeton-general-32k"
        ... )
        >>> done.report.total.tokens_after < done.report.total.tokens_before
        True
    """
    from jeton.registry import resolve

    if isinstance(texts, str | bytes):
        raise UsageError("texts is one string; expected a list of them\nhint: pass [text]")
    given = list(texts)
    for number, text in enumerate(given):
        if not isinstance(text, str):
            raise UsageError(f"text {number} is of type {type(text).__name__}; expected str")
        if not text.isascii():
            try:
                text.encode("utf-8")
            except UnicodeEncodeError as error:
                raise UsageError(
                    f"text {number} has a lone surrogate at character {error.start}; "
                    "expected valid Unicode"
                ) from None
    used = resolve(tokenizer)
    pipeline = StepPipeline(used, steps, options, num_threads=num_threads)
    if pipeline.wants_first_pass:
        pipeline.observe(given)
    return PreprocessedTexts(tuple(pipeline.apply(given)), pipeline.report())
