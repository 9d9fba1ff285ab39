"""Finished requests of logs and traces, as columns: times, lengths, fields, conversations."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from jeton._plain import counted
from jeton.corpus.lookup import lookup, text_or_none
from jeton.corpus.requests.records import read_records
from jeton.errors import EmptyCorpusError, LimitError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from jeton.corpus.traces import Trace

MAX_REQUESTS: Final = 20_000_000
"""Requests that are held: some 60 bytes each."""

_ROUTE_FIELDS: Final = ("route", "endpoint", "use_case", "feature", "task")
"""Fields that name a route, in this order, where the user names none."""

_LOG_FIELDS: Final = frozenset(
    {
        *("model", "messages", "usage", "response", "request", "choices", "prompt", "completion"),
        *("body", "attributes", "resourcespans", "conversation_id", "session_id"),
        *_ROUTE_FIELDS,
    }
)
"""Fields that a log has and a trace has not."""

_SEPARATOR: Final = "\u241f"
_FIELD: Final = "jeton fields"
_MAX_VALUE: Final = 200
_MAX_SEEN: Final = 1000


@dataclass(frozen=True, slots=True, eq=False)
class RequestHistory:
    """Requests whose answers are known, in the order of their times.

    Attributes:
        sources: Where they come from.
        fields: Names of the fields, the coarsest first.
        arrival_seconds: float64 (n,), seconds after the first request; their number where the log
            has no times.
        prompt_tokens: int64 (n,), at least 0.
        output_tokens: int64 (n,), at least 0.
        groups: int32 (n,), index into ``group_values``.
        group_values: Values of the fields, a tuple for each group.
        conversation: int64 (n,), a hash of the conversation; 0: not stated.
        has_times: True if the log said when requests came.
        n_without_output: Requests left out since their output is not known.
        n_out_of_order: Requests that came before one above them; they were sorted in.
        n_prompts_guessed: Requests whose prompt's tokens are a quarter of its bytes.
        rejected: Rows that cannot be meant, by reason.
    """

    sources: tuple[str, ...]
    fields: tuple[str, ...]
    arrival_seconds: NDArray[np.float64]
    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    groups: NDArray[np.int32]
    group_values: tuple[tuple[str, ...], ...]
    conversation: NDArray[np.int64]
    has_times: bool
    n_without_output: int = 0
    n_out_of_order: int = 0
    n_prompts_guessed: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        """Requests."""
        return len(self.output_tokens)


def read_history(
    inputs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    by: Sequence[str] = (),
    kind: Literal["auto", "logs", "trace"] = "auto",
    time_field: str = "",
    requests_per_second: float | None = None,
    max_requests: int = MAX_REQUESTS,
) -> RequestHistory:
    """Read the requests of logs, or of one trace, whose answers are known.

    Requests of logs are grouped by route, where there is such a field, by model, and by the fields
    that are named; those of a trace by its domain.

    Args:
        inputs: Logs as ``open_requests`` reads them, or a trace as ``read_trace`` does.
        by: More fields to group by, the coarsest first; dots descend. For a trace one at most.
        kind: ``auto``: told by the fields of the first record.
        time_field: Where the time is, in a log.
        requests_per_second: Rate to draw times with, of a trace that has none.
        max_requests: More requests than this are an error.

    Raises:
        UsageError: No record has a field that is named, or an argument is out of range.
        EmptyCorpusError: No request has an output.
        LimitError: There are more than ``max_requests``.
    """
    paths = [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    if kind == "auto":
        kind = "trace" if len(paths) == 1 and _is_trace(paths[0]) else "logs"
    if kind == "trace":
        if len(paths) != 1 or len(by) > 1:
            raise UsageError(
                f"a trace is one file with one field to group by; {len(paths)} files and "
                f"{len(by)} fields were named\nhint: read several files as logs"
            )
        from jeton.corpus.traces import read_trace

        trace = read_trace(
            paths[0],
            domain_field=by[0] if by else "",
            requests_per_second=requests_per_second,
        )
        return history_of_trace(trace, field_name=by[0] if by else "domain")
    return _read_logs(paths, tuple(by), time_field, max_requests)


def history_of_trace(trace: Trace, *, field_name: str = "domain") -> RequestHistory:
    """Return the requests of a trace; one without domains has one group."""
    names = trace.domains
    groups = np.where(trace.domain < 0, len(names), trace.domain).astype(np.int32)
    return RequestHistory(
        sources=(trace.path,),
        fields=(field_name,) if names else (),
        arrival_seconds=trace.arrival_seconds,
        prompt_tokens=trace.prompt_tokens,
        output_tokens=trace.output_tokens,
        groups=groups,
        group_values=(*((name,) for name in names), ("",) if names else ()),
        conversation=np.zeros(len(trace), dtype=np.int64),
        has_times=trace.has_times,
        n_out_of_order=trace.n_out_of_order,
        rejected=dict(trace.rejected),
    )


def _is_trace(path: str | os.PathLike[str]) -> bool:
    """True if a folder is ServeGen's, or a file's first record has the fields of a trace alone."""
    place = Path(path)
    if place.is_dir():
        return any(place.glob("**/chunk-*-trace.csv"))
    if str(path) == "-" or not place.is_file():
        return False
    names: set[str] = set()
    for _, record in zip(range(3), read_records([path]), strict=False):
        if not isinstance(record, dict):
            return False
        names |= {str(name).casefold() for name in record}
    return bool(names) and not names & _LOG_FIELDS and not any("." in name for name in names)


class _Fields:
    """The fields that requests are grouped by, found in records on their way."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.n_found = dict.fromkeys(names, 0)
        self.seen: dict[str, None] = {}

    def marked(self, records: Iterator[Any]) -> Iterator[Any]:
        """Yield records with one more field: the values of all."""
        for record in records:
            if not isinstance(record, dict):
                yield record
                continue
            if len(self.seen) < _MAX_SEEN:
                self.seen.update(dict.fromkeys(map(str, record)))
            values = []
            for name in self.names:
                value = text_or_none(lookup(record, name))
                self.n_found[name] += value is not None
                values.append((value or "").replace(_SEPARATOR, " ")[:_MAX_VALUE])
            yield {**record, _FIELD: _SEPARATOR.join(values)}

    def check(self) -> None:
        """Refuse fields that no record has.

        Raises:
            UsageError: There is such a field.
        """
        from jeton._nearest import nearest

        for name, n_found in self.n_found.items():
            if not n_found:
                near = nearest(name, self.seen) or list(self.seen)[:8]
                raise UsageError(
                    f"no record has a field {name!r}\nhint: there are {', '.join(near)}; a.b is "
                    "field b inside a"
                )


def _route_field(paths: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """The field that names the route, where the first records have one."""
    for _, record in zip(range(20), read_records(paths), strict=False):
        for name in _ROUTE_FIELDS:
            for place in (name, f"metadata.{name}"):
                if text_or_none(lookup(record, place)) is not None:
                    return (place,)
    return ()


def _read_logs(
    paths: list[str | os.PathLike[str]], by: tuple[str, ...], time_field: str, max_requests: int
) -> RequestHistory:
    from jeton.corpus.requests import open_requests

    is_pipe = any(str(path) == "-" for path in paths)
    route = () if by or is_pipe else _route_field(paths)
    fields = _Fields((*route, *by))
    stream = open_requests(
        fields.marked(read_records(paths)) if fields.names else paths,
        domain_field=_FIELD if fields.names else "",
        time_field=time_field,
    )
    parts: list[tuple[NDArray[Any], ...]] = []
    n_kept = n_without = n_guessed = 0
    for batch in stream:
        columns = batch.columns
        outputs = columns.output_tokens
        is_known = (outputs >= 0) & (columns.n_requests == 1) & ~columns.from_gateway_cache
        n_without += int((~is_known).sum())
        prompts = columns.input_tokens.copy()
        guessed = prompts < 0
        n_guessed += int((guessed & is_known).sum())
        prompts[guessed] = np.diff(batch.texts.offsets)[guessed] // 4
        columns_kept = (columns.time_s, prompts, outputs, columns.domain, columns.model)
        parts.append(tuple(part[is_known] for part in (*columns_kept, columns.conversation)))
        n_kept += int(is_known.sum())
        if n_kept > max_requests:
            raise LimitError(
                f"more than {max_requests:,} requests are too many to hold\nhint: predict from the "
                "last days alone",
                what="requests",
                limit=max_requests,
            )
    fields.check()
    if not n_kept:
        raise EmptyCorpusError(
            f"none of {counted(stream.n_requests, 'request')} says how many tokens its answer has\n"
            "hint: log the provider's usage (completion_tokens, output_tokens)"
        )
    times, prompts, outputs, domain, model, conversation = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    has_times = bool(np.isfinite(times).all())
    n_out_of_order = 0
    if has_times:
        n_out_of_order = int((times < np.maximum.accumulate(times)).sum())
        order = np.argsort(times, kind="stable")
        times, prompts, outputs, domain, model, conversation = (
            column[order] for column in (times, prompts, outputs, domain, model, conversation)
        )
        times = times - times[0]
    else:
        times = np.arange(n_kept, dtype=np.float64)
    groups, values = _groups(domain, stream.domains, model, stream.models, len(fields.names))
    n_route = len(route) or min(1, len(fields.names))
    named = fields.names
    return RequestHistory(
        sources=tuple(str(path) for path in paths),
        fields=(*named[:n_route], "model", *named[n_route:]),
        arrival_seconds=times,
        prompt_tokens=prompts,
        output_tokens=outputs,
        groups=groups,
        group_values=tuple((*value[:n_route], name, *value[n_route:]) for value, name in values),
        conversation=conversation,
        has_times=has_times,
        n_without_output=n_without,
        n_out_of_order=n_out_of_order,
        n_prompts_guessed=n_guessed,
        rejected={kind: issue.n for kind, issue in stream.issues.items()},
    )


def _groups(
    domain: NDArray[np.int32],
    domains: list[str],
    model: NDArray[np.int32],
    models: list[str],
    n_fields: int,
) -> tuple[NDArray[np.int32], list[tuple[tuple[str, ...], str]]]:
    """Number the pairs of fields and model that occur."""
    pairs = np.stack([domain, model], axis=1)
    found, groups = np.unique(pairs, axis=0, return_inverse=True)
    values = []
    for number, name in found.tolist():
        text = domains[number] if number >= 0 else ""
        parts = text.split(_SEPARATOR)
        # A name for all beyond the most that are kept stands for each of the fields.
        parts = parts if len(parts) == n_fields else [text] * n_fields
        values.append((tuple(parts), models[name] if name >= 0 else ""))
    return groups.reshape(-1).astype(np.int32), values
