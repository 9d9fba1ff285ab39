"""Requests of a log as two tokenizers count them, and as the ledger prices them.

A log states what a provider counted. The other tokenizer changes the input by the difference of
both counts of the text; images, audio and what chat formats add stay. Output is not shown word by
word, so it changes by the ratio of all texts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer, text_digests
from jeton.catalog.api_price import USER_PROVIDER, ApiPrice
from jeton.catalog.model_map import ModelMap
from jeton.corpus.requests import open_requests
from jeton.corpus.requests.columns import RequestColumns
from jeton.economics.ledger import Ledger, usd_of_each
from jeton.economics.ledger.prices import Prices
from jeton.errors import EmptyCorpusError, UsageError

if TYPE_CHECKING:
    from jeton.corpus.requests import RequestStream


Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LoggedMoney:
    """Dollars of each request with one tokenizer.

    Attributes:
        usd: float64 (n,), dollars of each request; NaN where it has no price.
        ledger: Ledger of the requests, with the exact sum and what could not be priced.
    """

    usd: NDArray[np.float64]
    ledger: Ledger


@dataclass(frozen=True, slots=True)
class LoggedRequests:
    """Requests of which the log shows the text; arrays have shape (n,).

    Attributes:
        columns: Facts of the requests as logged.
        before: Tokens of the text with the tokenizer of today.
        after: Tokens with the other one.
        digests: A digest of each text.
        models: Names of the models.
        providers: Names of the providers.
        tariffs: Names of the tariffs.
        domains: Names of the domains.
        n_bytes: Bytes of all texts.
        n_without_text: Requests of the log without text, which are left out.
    """

    columns: RequestColumns
    before: Ints
    after: Ints
    digests: NDArray[np.uint64]
    models: tuple[str, ...]
    providers: tuple[str, ...]
    tariffs: tuple[str, ...]
    domains: tuple[str, ...]
    n_bytes: int
    n_without_text: int

    @property
    def ratio(self) -> float:
        """Tokens of the other tokenizer for one of today's."""
        return int(self.after.sum()) / max(1, int(self.before.sum()))

    @property
    def mean_output_tokens(self) -> float:
        """Mean of the output that the log states; 0 where it states none."""
        stated = self.columns.output_tokens[self.columns.output_tokens >= 0]
        return float(stated.mean()) if len(stated) else 0.0

    def columns_before(self) -> RequestColumns:
        """Returns the usage as logged; input that the log does not state is counted."""
        known = self.columns.input_tokens
        counted = self.before + np.maximum(self.columns.overhead_tokens, 0)
        return replace(self.columns, input_tokens=np.where(known >= 0, known, counted))

    def columns_after(self) -> RequestColumns:
        """Returns the usage as it would be with the other tokenizer."""
        old = self.columns_before()
        is_same = self.after == self.before
        new_input = np.maximum(old.input_tokens + self.after - self.before, 0)
        share = np.where(is_same, 1.0, new_input / np.maximum(old.input_tokens, 1))
        parts = {
            # Rounded down, so that parts never exceed their whole.
            name: np.where(known > 0, np.floor(known * share).astype(np.int64), known)
            for name in ("cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens")
            for known in (getattr(old, name),)
        }
        for name in ("output_tokens", "reasoning_tokens"):
            known = getattr(old, name)
            parts[name] = np.where(known > 0, np.rint(known * self.ratio).astype(np.int64), known)
        return replace(old, input_tokens=new_input, **parts)

    def money(
        self,
        columns: RequestColumns,
        price: ApiPrice | None = None,
        *,
        model_map: ModelMap | None = None,
    ) -> LoggedMoney:
        """Returns the dollars of each request.

        Args:
            columns: Usage of the requests.
            price: Price of all requests; None: each by its own model, provider, tariff and time.
            model_map: Names of one's own for models.
        """
        models: tuple[str, ...] = self.models
        prices: Prices | None = None
        if price is not None:
            n = len(columns)
            models = (price.name,)
            unknown = np.full(n, -1, dtype=np.int32)
            columns = replace(columns, model=np.zeros(n, dtype=np.int32), provider=unknown)
            if price.provider == USER_PROVIDER:
                own = price
                prices = lambda model, day, tariff: own  # noqa: E731 - as the ledger takes it
        found = usd_of_each(
            columns,
            models=models,
            providers=self.providers,
            tariffs=self.tariffs,
            prices=prices,
            model_map=model_map,
        )
        usd = [np.nan if value is None else float(value) for value in found.usd]
        return LoggedMoney(np.array(usd, dtype=np.float64), found.ledger)


def read_logged_requests(
    inputs: Any,
    old: Tokenizer,
    new: Tokenizer,
    *,
    domain_field: str = "",
    num_threads: int | None = None,
) -> LoggedRequests:
    """Reads logs, and counts each text with both tokenizers.

    Args:
        inputs: Logs as files, folders or records.
        old: The tokenizer of today.
        new: The other one.
        domain_field: Field with the domain's name.
        num_threads: Threads; None: all there are.

    Raises:
        EmptyCorpusError: No request shows its text.
        CorpusError: A log cannot be read.
    """
    stream = open_requests(inputs, domain_field=domain_field)
    parts: list[RequestColumns] = []
    before, after, digests = [], [], []
    corrected: dict[int, RequestColumns | None] = {}
    n_bytes = 0
    for batch in stream:
        parts.append(batch.columns)
        before.append(old.count_batch(batch.texts, num_threads=num_threads))
        after.append(new.count_batch(batch.texts, num_threads=num_threads))
        high, low = text_digests(batch.texts, num_threads=num_threads)
        digests.append(high ^ low)
        n_bytes += batch.texts.n_bytes
        corrected.update((change.row, change.columns) for change in batch.corrections)
    columns, is_request = _as_corrected(RequestColumns.concatenate(parts), corrected)
    shown = is_request & columns.has_text
    if not shown.any():
        raise EmptyCorpusError(
            f"none of the {int(is_request.sum()):,} requests shows its text\n"
            "hint: tokenizers can only be compared on prompts; a log of usage has none"
        )
    return LoggedRequests(
        columns=columns.take(shown),
        before=np.concatenate(before)[shown],
        after=np.concatenate(after)[shown],
        digests=np.concatenate(digests)[shown],
        **_names(stream),
        n_bytes=n_bytes,
        n_without_text=int((is_request & ~columns.has_text).sum()),
    )


def _names(stream: RequestStream) -> dict[str, Any]:
    kinds = ("models", "providers", "tariffs", "domains")
    return {kind: tuple(getattr(stream, kind)) for kind in kinds}


def _as_corrected(
    columns: RequestColumns, corrected: dict[int, RequestColumns | None]
) -> tuple[RequestColumns, NDArray[np.bool_]]:
    """Returns the rows as later records have them, and which of them are requests."""
    is_request = np.ones(len(columns), dtype=np.bool_)
    order = np.arange(len(columns))
    last: list[RequestColumns] = []
    for row, now in corrected.items():
        if now is None:
            is_request[row] = False
        else:
            order[row] = len(columns) + len(last)
            last.append(now)
    if last:
        columns = RequestColumns.concatenate([columns, *last]).take(order)
    return columns, is_request


# Amounts that a plan is made of: an endless one, or none, would make every sum endless.

_MOST = 1e15


def check_amounts(**amounts: float | None) -> None:
    """Refuses amounts that are negative, endless or no number; None is no amount.

    Raises:
        UsageError: An amount is out of range; it is named.
    """
    for name, value in amounts.items():
        if value is not None and not 0 <= value < _MOST:
            raise UsageError(
                f"{name} is {value}; expected 0 to {_MOST:.0e}\nhint: an amount, as 1000"
            )
