"""The decomposition of an audit: the billed tokens of its requests by part, and their dollars."""

# ruff: noqa: D102 - the protocol says of all its columns at once what they are.

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer
from jeton.auditing.options.model_tokenizers import is_same, load_or_none, tokenizer_of_model
from jeton.economics.billed import (
    INPUT_PARTS,
    OUTPUT_PARTS,
    BilledTable,
    BilledTokens,
    ModelBilled,
    TextCount,
    decompose,
)
from jeton.economics.billing.calibration import slope_and_frame
from jeton.economics.billing.closed import stand_in
from jeton.economics.ledger import Ledger
from jeton.workload.counting.counts import N_KINDS

FRAME_QUANTILE = 0.05
"""Tokens beside the text that all but one request in twenty have are taken for a frame in front of
it (tools, a preamble); what a request has beyond them (pictures, files) stands behind its text."""

_BATCH = 1 << 16
"""Requests that are decomposed at a time: 65,536 x 7 parts x 3 kinds x 8 bytes are 11 MB."""


class LoggedUsage(Protocol):
    """Usage of requests and the tokens of their blocks, as `RequestEvidence` has them."""

    @property
    def model(self) -> NDArray[np.int32]: ...
    @property
    def models(self) -> tuple[str, ...]: ...
    @property
    def is_complete(self) -> bool: ...
    @property
    def block_numbers(self) -> NDArray[np.int64]: ...
    @property
    def input_tokens(self) -> NDArray[np.int64]: ...
    @property
    def cache_read_tokens(self) -> NDArray[np.int64]: ...
    @property
    def cache_write_tokens(self) -> NDArray[np.int64]: ...
    @property
    def output_tokens(self) -> NDArray[np.int64]: ...
    @property
    def reasoning_tokens(self) -> NDArray[np.int64]: ...


@dataclass(frozen=True, slots=True)
class BilledBreakdown:
    """Billed tokens of a workload, and the counts that they rest on.

    Attributes:
        table: Tokens and dollars by model, part and kind.
        counts: Tokens of each model by our own count, by the model's name as logged.
    """

    table: BilledTable = field(default_factory=BilledTable)
    counts: Mapping[str, TextCount] = field(default_factory=dict)


def decomposition_of_logs(
    requests: LoggedUsage, ledger: Ledger | None, *, name: str, tokenizer: Tokenizer
) -> BilledBreakdown:
    """Return the decomposition of logged requests.

    Args:
        requests: The requests, with the tokens of their blocks.
        ledger: Their money; None: nothing is priced.
        name: Name of the tokenizer in use.
        tokenizer: The tokenizer in use, which counted the blocks.
    """
    counts: dict[str, TextCount] = {}
    table = BilledTable({}, requests.is_complete)
    for number in np.unique(requests.model).tolist():
        model = requests.models[number] if number >= 0 else ""
        rows = np.flatnonzero(requests.model == number)
        counts[model] = count = _count_of(model, requests, rows, name, tokenizer)
        for start in range(0, len(rows), _BATCH):
            own = rows[start : start + _BATCH]
            table = table.merge(
                BilledTable.of([_entry(model, requests, own, count)], is_complete=table.is_complete)
            )
    return BilledBreakdown(table if ledger is None else table.priced(ledger), counts)


def decomposition_of_documents(ledger: Ledger | None, *, n_requests: int) -> BilledBreakdown:
    """Return the decomposition of documents that are each sent as one request.

    Args:
        ledger: Their money; None: nothing is priced, and the table is empty.
        n_requests: Documents.
    """
    if ledger is None:
        return BilledBreakdown()
    by_model = {}
    for use in ledger.by_model:
        tokens = np.zeros((len(INPUT_PARTS), 3), dtype=np.int64)
        tokens[INPUT_PARTS.index("prompt"), 0] = use.amounts.get("input_tokens", 0)
        output = np.zeros(len(OUTPUT_PARTS), dtype=np.int64)
        output[0] = use.amounts.get("output_tokens", 0)
        by_model[use.logged_as] = ModelBilled(n_requests, tokens=tokens, output=output)
    return BilledBreakdown(BilledTable(by_model, is_complete=True).priced(ledger))


def _entry(
    model: str, requests: LoggedUsage, rows: NDArray[np.intp], count: TextCount
) -> tuple[str, BilledTokens, int, int]:
    numbers = requests.block_numbers[rows]
    shown = numbers[:, 0] >= 0 if numbers.size else np.zeros(len(rows), dtype=np.bool_)
    counted = np.zeros((len(rows), N_KINDS), dtype=np.int64)
    if numbers.size:
        counted = np.where(shown[:, None], numbers[:, :N_KINDS], 0)
    input_tokens = requests.input_tokens[rows]
    # Requests without usage are billed by our own count, as the ledger counts them.
    waits = (input_tokens < 0) & shown
    own = np.rint(counted.sum(axis=1) * count.slope).astype(np.int64)
    billed = decompose(
        counted,
        input_tokens=np.where(waits, own, input_tokens),
        read=requests.cache_read_tokens[rows],
        written=requests.cache_write_tokens[rows],
        output_tokens=requests.output_tokens[rows],
        reasoning=requests.reasoning_tokens[rows],
        count=count,
    )
    n_messages, n_passages = (
        int(np.where(shown, numbers[:, N_KINDS + place], 0).sum()) if numbers.size else 0
        for place in (0, 1)
    )
    return model, billed, n_messages, n_passages


def _count_of(
    model: str, requests: LoggedUsage, rows: NDArray[np.intp], name: str, tokenizer: Tokenizer
) -> TextCount:
    """Return a model's tokens by our count: its own tokenizer, usage records, or a stand-in."""
    numbers = requests.block_numbers[rows]
    billed = requests.input_tokens[rows]
    if not numbers.size:
        return TextCount()
    counted = numbers[:, :N_KINDS].sum(axis=1)
    usable = (counted > 0) & (billed > 0) & (numbers[:, 0] >= 0)
    counted, billed = counted[usable], billed[usable]
    belongs = tokenizer_of_model(model) if model else None
    if belongs is not None and belongs.is_own and _is_in_use(belongs.vocabulary, name, tokenizer):
        return TextCount(1.0, _frame(billed - counted), is_exact=True)
    slope = low = high = 1.0
    if belongs is not None and belongs.is_own:
        high = math.inf
    elif belongs is not None:
        factor = stand_in(model).factor("any")
        slope, low, high = float(factor.value), float(factor.low), float(factor.high)
    learnt = slope_and_frame(counted, billed)
    if learnt is not None:
        slope, low, frame = learnt.slope, learnt.low, round(learnt.frame_tokens)
    else:
        frame = _frame(billed - np.rint(counted * slope).astype(np.int64))
    return TextCount(slope, frame, is_exact=False, low=low, high=high)


def _is_in_use(vocabulary: str, name: str, tokenizer: Tokenizer) -> bool:
    if name == vocabulary:
        return True
    own = load_or_none(vocabulary)
    return own is not None and is_same(tokenizer, own)


def _frame(rest: NDArray[np.int64]) -> int:
    if not len(rest):
        return 0
    return max(0, int(np.quantile(rest, FRAME_QUANTILE, method="lower")))
