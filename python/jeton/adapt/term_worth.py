"""Terms and tokens worth a slot of the vocabulary, and where to stop buying slots."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton._core import TermCounter, Tokenizer
from jeton.adapt.extending import extend
from jeton.adapt.extension import Added, TermForm
from jeton.adapt.logged_requests import check_amounts
from jeton.adapt.reading import Corpus, Reading
from jeton.adapt.slot_worth import FreeSlots, SlotCounter, free_slots
from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.economics.serving.capacity import RequestLengths
from jeton.economics.serving.parameters import count_parameters
from jeton.economics.vocabulary.trade import vocabulary_trade
from jeton.errors import UsageError
from jeton.formats.reading import read_object
from jeton.registry import TokenizerLike, resolve

_MAX_SLOTS = 5_000
_GRID = (0, 10, 50, 100, 200, 500, 1000, 2000, 3000, 5000, 7000, 10_000)
_MAX_LENGTHS = 256
"""Lengths of documents that stand for all of them: means of quantiles, which keep the total."""

_DAYS_PER_MONTH = Decimal("30.4375")
"""Days of a mean month: 365.25 / 12."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot and its worth.

    Attributes:
        token: The token that would have it.
        n_saved: Tokens of the text that it saves beyond the slots before it.
        half_width: Half of the interval of 95% around that, by document.
        n_documents: Documents in which it saves something.
        n_saved_together: Tokens that it and all slots before it save.
    """

    token: Added
    n_saved: int
    half_width: float
    n_documents: int
    n_saved_together: int


@dataclass(frozen=True, slots=True)
class StopRule:
    """A number of slots after which the next one costs more than it saves, for one model.

    Attributes:
        n_slots: That number; slots that are free of charge are not counted in.
        row_bytes: Bytes of the rows of one slot: input table and output head, 16-bit.
        usd_per_request_before: A request with no slot bought.
        usd_per_request_after: A request with ``n_slots``.
        usd_per_month: Money saved in a month; None where traffic is not known.
        is_at_an_end: True if it is the most slots that were looked at, so that more may pay.
        reason: The figures in a sentence.
    """

    n_slots: int
    row_bytes: int
    usd_per_request_before: Decimal
    usd_per_request_after: Decimal
    usd_per_month: Decimal | None
    is_at_an_end: bool
    reason: str


@dataclass(frozen=True, slots=True)
class TermWorth:
    """Slots by worth, on one text.

    Attributes:
        slots: The slots in the order in which to buy them.
        known_terms: Terms that one token stands for already.
        left_out_terms: Terms that cannot be one token, each with the reason.
        n_documents: Documents.
        n_bytes: Bytes of their text.
        n_tokens_before: Their tokens now.
        n_tokens_after: Their tokens with all slots.
        free: Slots that need not be bought.
        stop: Where to stop; None without a model, and for one that has no output layer, as an
            encoder: what a slot costs there is a row of memory.
    """

    slots: tuple[Slot, ...]
    known_terms: tuple[str, ...]
    left_out_terms: tuple[tuple[str, str], ...]
    n_documents: int
    n_bytes: int
    n_tokens_before: int
    n_tokens_after: int
    free: FreeSlots
    stop: StopRule | None


def term_worth(
    inputs: Any,
    *,
    base: TokenizerLike,
    terms: Sequence[str] = (),
    n_slots: int | None = None,
    term_form: TermForm = "space",
    model: ModelFacts | None = None,
    gpu: GpuFacts | None = None,
    model_folder: Path | None = None,
    output_tokens: float = 0.0,
    requests_per_day: float | None = None,
    reading: Reading | None = None,
) -> TermWorth:
    """Find what is worth a slot: tokens saved on this text by cutting it again.

    Args:
        inputs: Paths, folders, globs, or texts that can be read twice.
        base: The tokenizer: a name, a path or an object.
        terms: Words to look at, which come first, the best of them first.
        n_slots: Slots to look at; None: 5,000, or those of the terms if there are any.
        term_form: How terms stand in text.
        model: The model that would have the slots, for the stop rule.
        gpu: The GPU that it runs on; needed with ``model``.
        model_folder: Its weights, to find rows that were never trained.
        output_tokens: Tokens generated after each document, in tokens of today.
        requests_per_day: Documents a day, for money by the month.
        reading: How documents are read; nothing is kept apart.

    Raises:
        AdaptError: The tokenizer cannot be extended, or nothing is worth a slot.
        UsageError: Arguments that cannot be meant.
        EmptyCorpusError: There is no text.

    Example:
        >>> import jeton
        >>> base = jeton.train(iter(["low lower lowest"] * 9), vocab_size=261)
        >>> found = term_worth(["./notes.txt"], base=base, n_slots=3)  # doctest: +SKIP
        >>> [slot.n_saved for slot in found.slots]  # doctest: +SKIP
        [120, 44, 9]
    """
    if (model is None) != (gpu is None):
        raise UsageError(
            "a model needs a GPU to run on, and a GPU a model\nhint: name both or none"
        )
    check_amounts(requests_per_day=requests_per_day, output_tokens=output_tokens)
    base = resolve(base, argument="base")
    reading = _without_held_out(reading or Reading())
    again = _rereadable(inputs)
    ranked = _ranked_terms(base, again(), terms, term_form, reading)
    found = extend(
        again(),
        base=base,
        n_tokens=_n_tokens(n_slots, ranked),
        terms=[term.text for term in ranked if term.n_uses],
        term_form=term_form,
        reading=reading,
    )
    counter = SlotCounter(base, found.tokenizer, found.new_tokens, reading.num_threads)
    for batch in Corpus(again(), reading):
        counter.add(batch)
    together = np.cumsum(counter.saved)
    half = counter.half_width
    slots = tuple(
        Slot(
            token=token,
            n_saved=int(counter.saved[i]),
            half_width=float(half[i]),
            n_documents=int(counter.documents_with[i]),
            n_saved_together=int(together[i]),
        )
        for i, token in enumerate(found.new_tokens)
    )
    free = free_slots(base, model_folder)
    stop = None
    if model is not None and gpu is not None and _has_output_layer(model_folder):
        stop = _stop(
            base, model, gpu, counter, free, output_tokens=output_tokens, per_day=requests_per_day
        )
    return TermWorth(
        slots=slots,
        known_terms=found.known_terms,
        left_out_terms=(
            *found.left_out_terms,
            *((term.text, "does not occur in this text") for term in ranked if not term.n_uses),
        ),
        n_documents=counter.n_documents,
        n_bytes=counter.n_bytes,
        n_tokens_before=counter.n_tokens_before,
        n_tokens_after=counter.n_tokens_after,
        free=free,
        stop=stop,
    )


_WITH_OUTPUT = re.compile("LM|Causal|ConditionalGeneration|PreTraining|Seq2Seq")


def _has_output_layer(folder: Path | None) -> bool:
    """False if a model's folder says that it puts out vectors, as ``BertModel`` does."""
    stated = (read_object(folder / "config.json") or {}) if folder is not None else {}
    names = stated.get("architectures")
    if not isinstance(names, list) or not names:
        return True
    return any(_WITH_OUTPUT.search(str(name)) for name in names)


def _without_held_out(reading: Reading) -> Reading:
    return replace(reading, hold_out=0.0)


def _rereadable(inputs: Any) -> Callable[[], Any]:
    """Returns a function that gives the inputs anew: texts of an iterator are kept."""
    is_one = isinstance(inputs, str | Path)
    paths = [inputs] if is_one else inputs
    if isinstance(paths, list | tuple) and all(isinstance(item, str | Path) for item in paths):
        if "-" in map(str, paths):
            raise UsageError(
                "the text is read twice, and standard input can be read once\n"
                "hint: write it to a file first"
            )
        return lambda: list(paths)
    if isinstance(inputs, Iterable):
        texts = list(inputs)
        return lambda: iter(texts)
    return lambda: inputs


@dataclass(frozen=True, slots=True)
class _RankedTerm:
    """A term by itself.

    Attributes:
        text: The term.
        n_uses: How often it occurs as a whole word, in any case of ASCII letters.
        n_slots: Most slots that it can take, the steps to it included.
    """

    text: str
    n_uses: int
    n_slots: int


def _ranked_terms(
    base: Tokenizer, inputs: Any, terms: Sequence[str], form: TermForm, reading: Reading
) -> list[_RankedTerm]:
    """Returns the terms by the tokens that each alone would save for each slot it takes.

    A term of ``k`` tokens saves ``k - 1`` of them for each use and takes at most ``k - 1`` slots,
    so that is its number of uses; terms that are one token already come last.
    """
    distinct = list(dict.fromkeys(terms))
    if not distinct:
        return []
    counter = TermCounter(distinct)
    for batch in Corpus(inputs, reading):
        counter.add(batch, num_threads=reading.num_threads)
    n_forms = 2 if form == "both" else 1
    ranked = [
        _RankedTerm(term, int(uses), max(0, base.count(f"a {term}") - 2) * n_forms)
        for term, uses in zip(distinct, counter.counts, strict=True)
    ]
    return sorted(ranked, key=lambda term: (not term.n_slots, -term.n_uses, term.text))


def _n_tokens(n_slots: int | None, ranked: Sequence[_RankedTerm]) -> int | None:
    """Returns the new tokens to ask for: terms come first, and learned ones fill the rest."""
    if n_slots is None:
        return None if ranked else _MAX_SLOTS
    return max(n_slots, sum(term.n_slots for term in ranked if term.n_uses))


def _thinned(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns lengths of the same distribution, at most so many different ones."""
    if len(lengths) <= _MAX_LENGTHS:
        return lengths
    groups = np.array_split(np.sort(lengths), _MAX_LENGTHS)
    return np.array([round(float(group.mean())) for group in groups], dtype=np.int64)


def _stop(
    base: Tokenizer,
    model: ModelFacts,
    gpu: GpuFacts,
    counter: SlotCounter,
    free: FreeSlots,
    *,
    output_tokens: float,
    per_day: float | None,
) -> StopRule:
    n = len(counter.added)
    together = np.cumsum(counter.saved)
    grid = sorted({size for size in (*_GRID, n) if size <= n})
    size = base.vocab_size
    per_byte = {
        size + bought: (counter.n_tokens_before - (int(together[bought - 1]) if bought else 0))
        / max(1, counter.n_bytes)
        for bought in grid
    }
    lengths = np.concatenate(counter.document_tokens)
    workload = RequestLengths.of(_thinned(lengths[lengths > 0]), output_tokens=output_tokens)
    trade = vocabulary_trade(
        model, gpu, workload, tokens_per_byte=per_byte, reference_vocab_size=size
    )
    by_size = {point.vocab_size: point for point in trade.points}
    best, now = by_size[trade.best], by_size[size]
    saved = now.usd_per_request - best.usd_per_request
    count = count_parameters(model, vocab_size=size)
    row_bytes = 2 * (count.input_embedding + count.output_head) // max(1, size)
    n_slots = trade.best - size
    return StopRule(
        n_slots=n_slots,
        row_bytes=row_bytes,
        usd_per_request_before=now.usd_per_request,
        usd_per_request_after=best.usd_per_request,
        usd_per_month=(
            None if per_day is None else saved * Decimal(repr(float(per_day))) * _DAYS_PER_MONTH
        ),
        is_at_an_end=n_slots == n,
        reason=f"{trade.reason}; a slot takes {row_bytes:,} bytes of rows, and "
        f"{free.n_ready:,} slots are there already",
    )
