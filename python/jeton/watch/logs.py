"""Requests of logs: records of any shape that `open_requests` knows, as the monitor takes them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from jeton.corpus.lookup import lookup, text_or_none
from jeton.corpus.requests import open_requests
from jeton.errors import EmptyCorpusError
from jeton.watch.monitor import WatchedRequest
from jeton.watch.recent import RequestBilling

if TYPE_CHECKING:
    from jeton.corpus import RequestBatch, RequestStream

ROUTE_FIELDS: Final = ("route", "endpoint", "use_case", "feature", "task", "metadata.route")
"""Fields that name a route, in this order, where the user names none."""

SOURCE_FIELDS: Final = ("source", "metadata.source")

_SEPARATOR: Final = "\u241f"
_FIELD: Final = "jeton watch"
_BATCH_BYTES: Final = 256 << 10
_MAX_NAME: Final = 80


def requests_of(
    records: Iterable[Any],
    *,
    route_field: str = "",
    source_field: str = "",
    time_field: str = "",
    prompt_field: str = "",
) -> Iterator[WatchedRequest]:
    """Yield the requests of records.

    Records of one answer are joined only where they are given together.

    Args:
        records: Parsed records.
        route_field: Where the route is; dots descend. Empty: by the usual names.
        source_field: Where the source of the text is.
        time_field: Where the time is; empty: by the usual names.
        prompt_field: Where the sent text is; empty: by the usual names.
    """
    routes = (route_field,) if route_field else ROUTE_FIELDS
    sources = (source_field,) if source_field else SOURCE_FIELDS
    stream = open_requests(
        (_marked(record, routes, sources) for record in records),
        domain_field=_FIELD,
        time_field=time_field,
        prompt_field=prompt_field,
        batch_bytes=_BATCH_BYTES,
    )
    try:
        for batch in stream:
            columns, domains = batch.columns, stream.domains
            for i in range(len(batch)):
                if columns.n_requests[i] != 1 or columns.from_gateway_cache[i]:
                    continue
                n_input, n_output = int(columns.input_tokens[i]), int(columns.output_tokens[i])
                text = batch.texts[i] if columns.has_text[i] else None
                if text is None and n_input < 0:
                    continue
                number = int(columns.domain[i])
                route, _, source = (domains[number] if number >= 0 else "").partition(_SEPARATOR)
                at = float(columns.time_s[i])
                yield WatchedRequest(
                    text=text,
                    n_tokens=n_input if n_input >= 0 else None,
                    overhead_tokens=int(columns.overhead_tokens[i]),
                    route=route,
                    source=source,
                    at=at if math.isfinite(at) else None,
                    n_output=n_output if n_output >= 0 else None,
                    billing=_billing(batch, i, stream),
                )
    except EmptyCorpusError:
        return  # records without a request, such as the spans of tools


def _billing(batch: RequestBatch, i: int, stream: RequestStream) -> RequestBilling:
    columns = batch.columns
    cached, written, hour, reasoning = (
        max(0, int(getattr(columns, name)[i]))
        for name in (
            "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens", "reasoning_tokens",
        )
    )  # fmt: skip
    model, provider = int(columns.model[i]), int(columns.provider[i])
    blocks = () if batch.blocks is None else batch.blocks.of_request(i)
    return RequestBilling(
        model=stream.models[model] if model >= 0 else "",
        provider=stream.providers[provider] if provider >= 0 else "",
        tariff=stream.tariffs[int(columns.tariff[i])],
        n_cached=cached,
        n_written=written,
        n_written_1h=hour,
        n_reasoning=reasoning,
        blocks=tuple((int(kind), start, end) for kind, start, end in blocks),
    )


def _marked(record: Any, routes: tuple[str, ...], sources: tuple[str, ...]) -> Any:
    """The record with one more field: its route and its source."""
    if not isinstance(record, dict):
        return record
    names = (_name(record, routes), _name(record, sources))
    return {**record, _FIELD: _SEPARATOR.join(names)} if any(names) else record


def _name(record: dict[str, Any], places: tuple[str, ...]) -> str:
    for place in places:
        found = text_or_none(lookup(record, place))
        if found:
            return found.replace(_SEPARATOR, " ")[:_MAX_NAME]
    return ""
