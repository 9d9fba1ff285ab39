"""Request logs and usage exports, read, joined, and every request priced once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jeton.catalog.model_map import ModelMap, read_model_map
from jeton.corpus.requests.counts import DOUBTS
from jeton.economics.ledger import Ledger, LedgerBuilder, LedgerIssue, UsageRows
from jeton.economics.ledger.prices import Prices
from jeton.progress import OnProgress

if TYPE_CHECKING:
    from jeton.corpus.requests import RequestInputs, RequestStream
    from jeton.corpus.requests.issues import LogIssue


def ledger(
    inputs: RequestInputs | UsageRows,
    *,
    domain_field: str = "",
    model_field: str = "",
    time_field: str = "",
    prices: Prices | None = None,
    model_map: ModelMap | Mapping[str, str] | str | Path | None = None,
    strict_prices: bool = False,
    period: str = "",
    requests_per_day: int | float | Decimal | None = None,
    on: date | None = None,
    on_progress: OnProgress | None = None,
) -> Ledger:
    """Return what request logs cost: every request priced by its own model, provider and time.

    Args:
        inputs: Logs or usage exports as files, folders or records, with or without text; or rows
            of usage.
        domain_field: Where the domain of a request is (a service, a team, a key).
        model_field: Where the model's name is; empty: by the usual names.
        time_field: Where the time is; empty: by the usual names.
        prices: Prices by name; None: the installed list.
        model_map: Names of one's own for models, or a file of them (`read_model_map`).
        strict_prices: True if a request without a price is an error.
        period: Time that the log covers, where its own times do not tell: ``week``, ``30d``, dates.
        requests_per_day: Traffic, where it is known; the log is then a sample of it.
        on: Day whose prices hold for requests without a time; today (UTC) by default.
        on_progress: Told how far reading has come.

    Raises:
        UnknownPriceError: If requests have no price and that is an error; names all.
        CorpusError: If the inputs cannot be read.
        UsageError: If the period or a name cannot be read.
    """
    if isinstance(model_map, str | Path):
        model_map = read_model_map(model_map)
    builder = LedgerBuilder(prices=prices, model_map=model_map, strict=strict_prices, on=on)
    if isinstance(inputs, UsageRows):
        builder.add(inputs)
        return builder.build(period=period, requests_per_day=requests_per_day)
    from jeton.corpus.requests import open_requests

    stream = open_requests(
        inputs,
        domain_field=domain_field,
        model_field=model_field,
        time_field=time_field,
        on_progress=on_progress,
    )
    return ledger_of_stream(stream, builder, period=period, requests_per_day=requests_per_day)


def ledger_of_stream(
    stream: RequestStream,
    builder: LedgerBuilder,
    *,
    period: str = "",
    requests_per_day: int | float | Decimal | None = None,
) -> Ledger:
    """Return the ledger of a stream of requests, read to its end."""
    for batch in stream:
        names: dict[str, Any] = {
            "models": stream.models,
            "providers": stream.providers,
            "tariffs": stream.tariffs,
            "domains": stream.domains,
        }
        builder.add(batch.columns, **names)
        for correction in batch.corrections:
            builder.add(correction.before, **names, sign=-1)
            if correction.columns is not None:
                builder.add(correction.columns, **names)
    found = builder.build(joined=stream.joined, period=period, requests_per_day=requests_per_day)
    issues = tuple(
        LedgerIssue(issue.kind, issue.n, _text(issue)) for issue in stream.issues.values()
    )
    return replace(found, issues=found.issues + issues)


_SHOWN = 3


def _text(issue: LogIssue) -> str:
    """Meaning of an issue, with the first places of those that make a price an estimate."""
    if issue.kind not in DOUBTS or not issue.examples:
        return issue.meaning
    return f"{issue.meaning} ({'; '.join(issue.examples[:_SHOWN])})"
