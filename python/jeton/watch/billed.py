"""Recent requests, and their bill beside that of the history.

Parts, kinds and prices are those of an audit of logs; nothing is divided or priced here.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, Tokenizer
from jeton.auditing.gate.collector import Collected, Collector
from jeton.auditing.gate.side import BilledSide, price_cells
from jeton.auditing.money.decomposition import decomposition_of_logs
from jeton.catalog.api_price import ApiPrice
from jeton.corpus.names import Names
from jeton.corpus.requests.blocks import BlockKind, Blocks
from jeton.corpus.requests.columns import ColumnsBuilder, RequestColumns
from jeton.economics.billed import INPUT_PARTS, BilledTable, ModelBilled
from jeton.economics.ledger import Ledger
from jeton.economics.ledger.rows import STANDARD
from jeton.workload.choice import Chosen
from jeton.workload.counting.counts import block_numbers
from jeton.workload.inputs.log_pricing import ColumnNames, LogPricing, PricingOptions

_MAX_TEXT_CHARS: Final = 20_000
"""Longer texts are not kept for the causes: their features would take seconds to look for."""


@dataclass(frozen=True, slots=True)
class RequestBilling:
    """Facts that decide the bill of a request beside its numbers of tokens.

    Attributes:
        model: Model as logged; empty: not stated.
        provider: Provider as logged; empty: not stated.
        tariff: Tariff, such as ``batch``.
        n_cached: Input tokens read from a cache.
        n_written: Input tokens written to one.
        n_written_1h: Input tokens written to one for an hour; part of ``n_written``.
        n_reasoning: Output tokens of reasoning.
        blocks: Kind (`BlockKind`), first byte and end of each block of the text; empty: its parts
            are not known.
    """

    model: str = ""
    provider: str = ""
    tariff: str = "standard"
    n_cached: int = 0
    n_written: int = 0
    n_written_1h: int = 0
    n_reasoning: int = 0
    blocks: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class RecentRequest:
    """One request of late; ``n_billed`` are its input tokens as billed, else as counted."""

    number: int
    text: str | None
    route: str
    source: str
    levels: dict[str, int]
    at: float | None
    n_tokens: int
    n_billed: int
    n_output: int = 0
    overhead_tokens: int = 0
    billing: RequestBilling = field(default_factory=RequestBilling)

    @property
    def domain(self) -> str:
        """Name of the mix of sources."""
        return self.source or self.route


class RecentRequests:
    """The last requests, at most ``max_requests`` and ``max_chars`` of text."""

    def __init__(self, *, max_requests: int, max_chars: int) -> None:
        self._requests: deque[RecentRequest] = deque()
        self._max_requests, self._max_chars = max_requests, max_chars
        self._n_chars = 0

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, request: RecentRequest) -> None:
        """Take a request; the oldest ones go."""
        self._requests.append(request)
        self._n_chars += len(request.text or "")
        while len(self._requests) > 1 and (
            len(self._requests) > self._max_requests or self._n_chars > self._max_chars
        ):
            self._n_chars -= len(self._requests.popleft().text or "")

    def since(self, number: int, *, route: str = "") -> list[RecentRequest]:
        """Return the kept requests from a number on, of one route or of all."""
        return [r for r in self._requests if r.number >= number and route in ("", r.route)]


class RequestSample:
    """An even draw of requests with text, the same for the same stream."""

    def __init__(self, *, max_texts: int) -> None:
        self.requests: list[RecentRequest] = []
        self._max_texts = max_texts
        self._n = 0
        self._draw = random.Random(0)

    def add(self, request: RecentRequest) -> None:
        """Offer a request."""
        if request.text is None or len(request.text) > _MAX_TEXT_CHARS:
            return
        self._n += 1
        if len(self.requests) < self._max_texts:
            self.requests.append(request)
            return
        place = self._draw.randrange(self._n)
        if place < self._max_texts:
            self.requests[place] = request


@dataclass(frozen=True, slots=True)
class WatchedSide:
    """Requests in the gate's sums.

    Attributes:
        side: Text, billed tokens and dollars.
        current: The text under the tokenizer in use.
        other: The text under another one; None: none was asked for.
    """

    side: BilledSide
    current: Collected
    other: Collected | None


class _Usage(NamedTuple):
    billing: RequestBilling
    n_requests: int
    at: float | None
    n_input: int
    n_output: int


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Requests as `decomposition_of_logs` reads them."""

    model: NDArray[np.int32]
    models: tuple[str, ...]
    block_numbers: NDArray[np.int64]
    input_tokens: NDArray[np.int64]
    cache_read_tokens: NDArray[np.int64]
    cache_write_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    reasoning_tokens: NDArray[np.int64]
    is_complete: bool = True


def watched_side(
    requests: Sequence[RecentRequest],
    tokenizer: Tokenizer,
    *,
    other: Tokenizer | None = None,
    price: ApiPrice | None = None,
) -> WatchedSide:
    """Return requests with text as a side of a comparison.

    Args:
        requests: The requests.
        tokenizer: The tokenizer in use.
        other: Another tokenizer that counts the text, too.
        price: Price of all requests, or of those whose model has none; None: by their models.
    """
    texts = TextBatch.from_texts([request.text or "" for request in requests])
    blocks = _blocks(requests, texts)
    collector = Collector(other=other)
    collector.begin([Chosen(tokenizer.name or "", tokenizer, tokenizer)], current=0)
    collector.add(
        "watch",
        texts,
        domains=[request.domain for request in requests],
        overhead_tokens=np.array([r.overhead_tokens for r in requests], dtype=np.int64),
        blocks=blocks,
    )
    columns, names = _columns(_Usage(r.billing, 1, r.at, r.n_billed, r.n_output) for r in requests)
    whole = blocks or Blocks.whole(np.diff(texts.offsets))
    rows = _Rows(
        columns.model,
        names.models,
        block_numbers(tokenizer, texts, whole, num_threads=None),
        columns.input_tokens,
        columns.cache_read_tokens,
        columns.cache_write_tokens,
        columns.output_tokens,
        columns.reasoning_tokens,
    )
    billed = decomposition_of_logs(rows, None, name=tokenizer.name or "", tokenizer=tokenizer)
    ledger = _ledger(columns, names, price)
    side = BilledSide(
        collector.current.statistics, billed.table, price_cells(ledger), ledger.price_source
    )
    return WatchedSide(side, collector.current, collector.other)


def repriced(side: BilledSide, price: ApiPrice | None) -> BilledSide:
    """Return a side of the past with dollars.

    Its own dollars stay, unless a price holds for all requests. Texts without a bill were sent once
    each.
    """
    if side.prices and price is None:
        return side
    if not side.billed.n_requests:
        whole = side.text.total()
        tokens = np.zeros_like(ModelBilled().tokens)
        tokens[INPUT_PARTS.index("prompt"), 0] = whole.n_tokens[0]
        side = replace(side, billed=BilledTable({"": ModelBilled(whole.n, tokens=tokens)}))
    columns, names = _columns(
        _Usage(
            RequestBilling(
                name,
                n_cached=int(own.tokens[:, 2].sum()),
                n_written=int(own.tokens[:, 1].sum()),
                n_reasoning=int(own.output[1]),
            ),
            own.n_requests,
            None,
            int(own.tokens.sum()),
            int(own.output.sum()),
        )
        for name, own in side.billed.by_model.items()
    )
    ledger = _ledger(columns, names, price)
    return replace(side, prices=price_cells(ledger), price_list=ledger.price_source)


def _ledger(columns: RequestColumns, names: ColumnNames, price: ApiPrice | None) -> Ledger:
    return LogPricing(PricingOptions(price=price)).ledger_of(columns, names)


def _columns(usages: Iterable[_Usage]) -> tuple[RequestColumns, ColumnNames]:
    models, providers, tariffs = Names(), Names(), Names()
    tariffs.number(STANDARD)
    builder = ColumnsBuilder()
    for billing, n_requests, at, n_input, n_output in usages:
        builder.append(
            usage=(
                n_input,
                billing.n_cached,
                billing.n_written,
                billing.n_written_1h,
                n_output,
                billing.n_reasoning,
            ),
            model=models.number(billing.model)[0] if billing.model else -1,
            provider=providers.number(billing.provider)[0] if billing.provider else -1,
            tariff=tariffs.number(billing.tariff)[0],
            n_requests=n_requests,
            time_s=float("nan") if at is None else at,
        )
    names = ColumnNames(tuple(models.names), tuple(providers.names), tuple(tariffs.names))
    return builder.build(), names


def _blocks(requests: Sequence[RecentRequest], texts: TextBatch) -> Blocks | None:
    """Blocks of all texts; None where the parts of none are known."""
    if not any(request.billing.blocks for request in requests):
        return None
    sizes = np.diff(texts.offsets).tolist()
    rows = [
        request.billing.blocks or ((int(BlockKind.PROMPT), 0, size),)
        for request, size in zip(requests, sizes, strict=True)
    ]
    flat = np.array([block for own in rows for block in own], dtype=np.int64).reshape(-1, 3)
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in rows])]).astype(np.int64)
    return Blocks(offsets, flat[:, 0].astype(np.int8), flat[:, 1].copy(), flat[:, 2].copy())
