"""A watch that runs: logs read as they grow, the monitor, its store and its alerts."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from jeton.corpus.lookup import lookup, text_or_none
from jeton.corpus.requests import open_requests
from jeton.corpus.requests.records import read_records
from jeton.errors import EmptyCorpusError, JetonError, UsageError
from jeton.registry import TokenizerLike
from jeton.watch.alerts import Alert
from jeton.watch.billed import RequestBilling
from jeton.watch.collectors import FollowedFile, open_live
from jeton.watch.monitor import Monitor, WatchedRequest
from jeton.watch.store import WatchStore

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


_BATCH: Final = 64


class LiveSource(Protocol):
    """A source that is asked again and again."""

    def poll(self) -> Iterator[Any]:
        """Yield the records that are new."""

    def close(self) -> None:
        """Close the files and connections."""


@dataclass(slots=True)
class Outputs:
    """Receivers of what a watch finds.

    Attributes:
        sinks: Called with each alert; the watch names one that fails, and goes on.
        store: Store of windows and alerts.
        complain: Called with words about what failed.
    """

    sinks: Sequence[Callable[[Alert], None]] = ()
    store: WatchStore | None = None
    complain: Callable[[str], None] = field(default=lambda _: None)

    def alert(self, alert: Alert) -> None:
        """Pass on an alert."""
        for sink in self.sinks:
            try:
                sink(alert)
            except OSError as error:
                self.complain(str(error))
        if self.store is not None:
            try:
                self.store.add_alert(alert)
            except OSError as error:
                self.complain(str(error))


class WatchRun:
    """Feeds a monitor from records.

    Args:
        monitor: The monitor.
        outputs: Receivers.
        tokenizer: Tokenizer that is loaded anew for the canary of each window; None: no canary.
        fields: Names of the fields, as `requests_of` takes them.
    """

    def __init__(
        self,
        monitor: Monitor,
        outputs: Outputs,
        *,
        tokenizer: TokenizerLike | None = None,
        **fields: str,
    ) -> None:
        self.monitor, self.outputs = monitor, outputs
        self._tokenizer, self._fields = tokenizer, fields
        self._stored = 0

    def read(self, paths: Sequence[str]) -> None:
        """Take all requests of files, folders and ``-``, to their ends.

        Raises:
            EmptyCorpusError: There is no request.
            OSError: A file cannot be read.
        """
        before = self.monitor.n_requests
        left_out: Counter[str] = Counter()
        records = read_records(paths, lambda kind, *_: left_out.update((kind,)))
        self._take(requests_of(records, **self._fields))
        if left_out:
            kinds = ", ".join(f"{kind} {n:,}" for kind, n in sorted(left_out.items()))
            self.outputs.complain(f"{left_out.total():,} lines were left out ({kinds})")
        if self.monitor.n_requests == before:
            raise EmptyCorpusError(
                f"no request in {', '.join(paths)}\nhint: `jeton audit --logs` says what a log has"
            )

    def follow(
        self,
        sources: Sequence[LiveSource],
        *,
        every_seconds: float = 2.0,
        for_seconds: float | None = None,
    ) -> None:
        """Take requests as they come, until the time is over or Ctrl-C.

        Raises:
            KeyboardInterrupt: Somebody pressed Ctrl-C.
        """
        if not every_seconds > 0:
            raise UsageError(f"every_seconds is {every_seconds}; expected above 0")
        end = None if for_seconds is None else time.monotonic() + for_seconds
        with ExitStack() as stack:
            for source in sources:
                stack.callback(source.close)
            while True:
                for source in sources:
                    n_bad = _left_out(source)
                    try:
                        self._take(requests_of(source.poll(), **self._fields))
                        if (n_new := _left_out(source) - n_bad) > 0:
                            self.outputs.complain(f"{n_new:,} lines were left out: no JSON objects")
                    except (OSError, JetonError) as error:
                        self.outputs.complain(str(error))
                left = every_seconds if end is None else min(every_seconds, end - time.monotonic())
                if left <= 0:
                    return
                time.sleep(left)

    def finish(self) -> None:
        """Store the window that is open still."""
        if self.outputs.store is not None and self.monitor.window.groups:
            self._store(self.monitor.window, self.monitor.n_requests)

    def _take(self, requests: Iterator[WatchedRequest]) -> None:
        batch: list[WatchedRequest] = []
        for request in requests:
            if request.n_tokens is None and self.monitor.tokenizer is None:
                raise UsageError(
                    "the log does not say how many tokens a request has\n"
                    "hint: name the tokenizer that counts them (-t)"
                )
            batch.append(request)
            if len(batch) == _BATCH:
                self._observe(batch)
                batch = []
        self._observe(batch)

    def _observe(self, batch: list[WatchedRequest]) -> None:
        n_before = len(self.monitor.closed), self.monitor.n_requests
        for alert in self.monitor.observe(*batch):
            self.outputs.alert(alert)
        size = self.monitor.settings.window_requests
        if self.monitor.n_requests // size == n_before[1] // size:
            return
        if self._tokenizer is not None:
            found = self.monitor.check_canary(self._tokenizer)
            if found is not None:
                self.outputs.alert(found)
        if self.outputs.store is not None:
            self._store(self.monitor.closed[-1], self.monitor.n_requests // size * size)

    def _store(self, window: Any, last: int) -> None:
        assert self.outputs.store is not None
        first, self._stored = self._stored, last
        try:
            self.outputs.store.add_window(
                window,
                first_request=first,
                last_request=last - 1,
                ended_at=self.monitor.last_time,
            )
        except OSError as error:
            self.outputs.complain(str(error))


def _left_out(source: LiveSource) -> int:
    if isinstance(source, FollowedFile):
        return source.n_bad_lines + source.n_long_lines
    return 0


def open_sources(inputs: Sequence[str], *, from_end: bool = False) -> list[LiveSource]:
    """Open live sources: files that grow, or addresses as `open_live` takes them.

    Raises:
        UsageError: Standard input is among them, or an address cannot be meant.
    """
    if "-" in inputs:
        raise UsageError("standard input is not followed\nhint: name the file that grows")
    return [open_live(name) or FollowedFile(name, from_end=from_end) for name in inputs]
