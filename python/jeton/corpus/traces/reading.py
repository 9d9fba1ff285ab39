"""Traces of serving traffic in: files and folders become a `Trace`.

``read_trace`` knows the published shapes (Azure's and BurstGPT's CSV, Mooncake's JSON Lines,
processed lengths without times, ServeGen's folders) and any CSV or JSON Lines with such columns. A
row that cannot be meant is counted by reason, never dropped in silence.

Rows of a trace: which column is what, and what a row says.
"""

from __future__ import annotations

import csv
import io
import math
import os
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jeton._archives import HEAD_BYTES, refuse_archive
from jeton._core import decompress
from jeton._foreign import json_of
from jeton.corpus.names import Names, printable
from jeton.corpus.times import TimeUnit, parse_time
from jeton.corpus.traces.servegen import read_servegen
from jeton.corpus.traces.trace import MAX_TOKENS, BlockNumbers, Trace, are_block_ids
from jeton.errors import EmptyCorpusError, LimitError, RecordError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jeton.corpus.times import TimeUnit


MAX_ROWS: Final = 20_000_000
"""Same limit as `jeton.corpus.traces.MAX_TRACE_REQUESTS`."""

_TIMES = (
    "timestamp",
    "time",
    "arrival_seconds",
    "arrival_time",
    "arrived_at",
    "arrival",
    "start_time",
    "created",
    "created_at",
)
_PROMPTS = (
    "contexttokens",
    "prompt_tokens",
    "input_tokens",
    "input_length",
    "num_prefill_tokens",
    "request tokens",
    "request_tokens",
    "prompt_length",
    "prompt_len",
    "input_len",
)
_OUTPUTS = (
    "generatedtokens",
    "output_tokens",
    "completion_tokens",
    "output_length",
    "num_decode_tokens",
    "response tokens",
    "response_tokens",
    "output_len",
)
_DOMAINS = ("domain",)
_BLOCKS = "hash_ids"
_BLOCK_TOKENS: Final = 512
"""Tokens of a block of Mooncake's traces (arXiv:2407.00079 section 4)."""

_BAILIAN_BLOCK_TOKENS: Final = 16
"""Tokens of a block of Qwen-Bailian's traces (its README, alibaba-edu/qwen-bailian-usagetraces-anon
at 03a51e3)."""

_MAX_EXAMPLES: Final = 3
_MAX_LINE_CHARS: Final = 8 << 20
"""Mooncake's longest lines hold some thousand block ids; a longer one is no row of a trace."""


@dataclass(slots=True)
class TraceRows:
    """The rows that can be meant, in the file's order, and how many cannot."""

    format: str
    times: NDArray[np.float64]
    prompts: NDArray[np.int64]
    outputs: NDArray[np.int64]
    domain: NDArray[np.int32]
    domains: tuple[str, ...]
    has_times: bool
    rejected: dict[str, int] = field(default_factory=dict)
    examples: dict[str, tuple[str, ...]] = field(default_factory=dict)
    block_tokens: int = 0
    blocks: list[array[int]] | None = None


@dataclass(frozen=True, slots=True)
class _Columns:
    """Keys of a row (names of JSON fields, or places of CSV cells)."""

    prompt: Any
    output: Any
    time: Any = None
    domain: Any = None
    blocks: Any = None


def read_rows(
    path: str, data: bytes, *, time_unit: TimeUnit, domain_field: str, strict: bool
) -> TraceRows:
    """Read CSV or JSON Lines.

    Raises:
        RecordError: No columns of prompt and output tokens, or, if ``strict``, a bad row.
        EmptyCorpusError: The file is empty.
        LimitError: Too many rows.
    """
    text = data.decode("utf-8-sig", errors="replace")
    head = text[:4096].lstrip()
    if not head:
        raise EmptyCorpusError(f"{path}: the trace is empty\nhint: record traffic first")
    reader = _Reader(path, time_unit=time_unit, strict=strict)
    if head.startswith("{"):
        return reader.json_lines(text, domain_field)
    return reader.table(text, domain_field)


class _Reader:
    """Collects the rows of one file."""

    def __init__(self, path: str, *, time_unit: TimeUnit, strict: bool) -> None:
        self._path = path
        self._unit = time_unit
        self._strict = strict
        self._times, self._prompts, self._outputs = array("d"), array("q"), array("q")
        self._domain, self._names = array("i"), Names()
        self._blocks: list[array[int]] = []
        self._numbers = BlockNumbers(path)
        self._block_tokens = _BLOCK_TOKENS
        self._rejected: dict[str, int] = {}
        self._examples: dict[str, list[str]] = {}

    def table(self, text: str, domain_field: str) -> TraceRows:
        """A CSV file with a header."""
        first = text.partition("\n")[0]
        delimiter = max(",\t;", key=first.count)
        cells = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            header = [cell.strip() for cell in next(cells)]
        except (csv.Error, StopIteration) as error:
            raise self._no_columns((), 1) from error
        columns, shape = self._columns_of(header, domain_field, list(range(len(header))))
        self._read(self._lines_of(cells), columns)
        return self._rows(shape or "csv", columns)

    def json_lines(self, text: str, domain_field: str) -> TraceRows:
        """JSON Lines: one object a row."""
        first = text.lstrip().partition("\n")[0]
        try:
            found = json_of(first, any_integer=True)
        except (ValueError, RecursionError) as error:
            raise RecordError(
                f"{self._path}, line 1: not JSON: {printable(first[:60])}", path=self._path, line=1
            ) from error
        names = [str(name) for name in found] if isinstance(found, dict) else []
        columns, shape = self._columns_of(names, domain_field, names)
        if shape == "mooncake" and self._unit == "auto":
            self._unit = "ms"
        if shape == "bailian":
            self._block_tokens = _BAILIAN_BLOCK_TOKENS
        if _BLOCKS in names:
            columns = replace(columns, blocks=_BLOCKS)
        self._read(self._objects_of(text), columns)
        return self._rows(shape or "jsonl", columns)

    def _columns_of(
        self, names: Sequence[str], domain_field: str, keys: Sequence[Any]
    ) -> tuple[_Columns, str]:
        by_name = {name.strip().lower(): key for name, key in zip(names, keys, strict=True)}

        def find(wanted: Sequence[str]) -> Any:
            return next((by_name[name] for name in wanted if name in by_name), None)

        columns = _Columns(
            find(_PROMPTS),
            find(_OUTPUTS),
            find(_TIMES),
            find((domain_field.lower(),) if domain_field else _DOMAINS),
        )
        if columns.prompt is None or columns.output is None:
            raise self._no_columns(names, 1)
        if domain_field and columns.domain is None:
            raise RecordError(
                f"{self._path}: no column is named {printable(domain_field)!r}; there are "
                f"{', '.join(printable(name) for name in names[:20])}",
                path=self._path,
                line=1,
            )
        shape = ""
        if {"contexttokens", "generatedtokens", "timestamp"} <= set(by_name):
            shape = "azure"
        elif {"input_length", "output_length", "hash_ids", "timestamp"} <= set(by_name):
            # Alike but for the unit of the time.
            shape = "bailian" if "parent_chat_id" in by_name else "mooncake"
        elif {"request tokens", "response tokens", "timestamp"} <= set(by_name):
            shape = "burstgpt"
        elif columns.time is None:
            shape = "lengths"
        return columns, shape

    def _lines_of(self, cells: Iterator[list[str]]) -> Iterator[tuple[int, Any]]:
        line = 1
        while True:
            line += 1
            try:
                row = next(cells)
            except StopIteration:
                return
            except csv.Error as error:
                self._reject("not_csv", line, str(error))
                continue
            if row:
                yield line, row

    def _objects_of(self, text: str) -> Iterator[tuple[int, Any]]:
        for line, row in enumerate(io.StringIO(text), start=1):
            if not row.strip():
                continue
            try:
                if len(row) > _MAX_LINE_CHARS:
                    raise ValueError(f"{len(row):,} characters")
                found = json_of(row, any_integer=True)
            except (ValueError, RecursionError) as error:
                self._reject("not_json", line, str(error))
                continue
            if isinstance(found, dict):
                yield line, found
            else:
                self._reject("not_an_object", line, row[:60])

    def _read(self, rows: Iterator[tuple[int, Any]], columns: _Columns) -> None:
        for line, row in rows:
            try:
                prompt, output = row[columns.prompt], row[columns.output]
                time = 0.0 if columns.time is None else row[columns.time]
                domain = None if columns.domain is None else row[columns.domain]
                blocks = [] if columns.blocks is None else row[columns.blocks]
            except (IndexError, KeyError):
                self._reject("missing_column", line, "")
                continue
            n_prompt, n_output = _whole(prompt), _whole(output)
            seconds = time if columns.time is None else parse_time(time, unit=self._unit)[0]
            if n_prompt is None or n_prompt < 1:
                self._reject("bad_prompt_tokens", line, str(prompt))
            elif n_output is None:
                self._reject("bad_output_tokens", line, str(output))
            elif math.isnan(seconds):
                self._reject("bad_time", line, str(time))
            elif not are_block_ids(blocks):
                self._reject("bad_hash_ids", line, str(blocks))
            else:
                if len(self._times) >= MAX_ROWS:
                    raise LimitError(
                        f"{self._path}: more than {MAX_ROWS:,} requests are too many for a trace",
                        what="requests",
                        limit=MAX_ROWS,
                    )
                self._times.append(seconds)
                self._prompts.append(n_prompt)
                self._outputs.append(n_output)
                name = domain.strip() if isinstance(domain, str) else ""
                self._domain.append(self._names.number(name)[0] if name else -1)
                if columns.blocks is not None:
                    self._blocks.append(self._numbers.of(blocks))

    def _reject(self, reason: str, line: int, what: str) -> None:
        shown = printable(what[:60])
        if self._strict:
            raise RecordError(
                f"{self._path}, line {line}: {reason.replace('_', ' ')}: {shown!r}\n"
                "hint: without strict reading such rows are counted and left out",
                path=self._path,
                line=line,
            )
        self._rejected[reason] = self._rejected.get(reason, 0) + 1
        places = self._examples.setdefault(reason, [])
        if len(places) < _MAX_EXAMPLES:
            places.append(f"line {line}: {shown}" if shown else f"line {line}")

    def _no_columns(self, names: Sequence[str], line: int) -> RecordError:
        there = ", ".join(printable(name) for name in names[:20]) or "nothing"
        return RecordError(
            f"{self._path}: no columns of prompt and output tokens; there are {there}\n"
            "hint: expected names such as ContextTokens and GeneratedTokens, input_tokens and "
            "output_tokens, or num_prefill_tokens and num_decode_tokens",
            path=self._path,
            line=line,
        )

    def _rows(self, shape: str, columns: _Columns) -> TraceRows:
        import numpy as np

        return TraceRows(
            format=shape,
            times=np.array(self._times, dtype=np.float64),
            prompts=np.array(self._prompts, dtype=np.int64),
            outputs=np.array(self._outputs, dtype=np.int64),
            domain=np.array(self._domain, dtype=np.int32),
            domains=tuple(self._names.names),
            has_times=columns.time is not None,
            rejected=self._rejected,
            examples={reason: tuple(places) for reason, places in self._examples.items()},
            block_tokens=0 if columns.blocks is None else self._block_tokens,
            blocks=None if columns.blocks is None else self._blocks,
        )


def _whole(value: Any) -> int | None:
    """A whole number of at least 0 and at most 1e8, also as text or as a float; None otherwise."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value) if len(value) < 32 else math.nan
        except ValueError:
            return None
    if not isinstance(value, int | float) or not 0 <= value <= 100_000_000:
        return None
    return int(value) if value == int(value) else None


MAX_TRACE_BYTES: Final = 1 << 30
"""Bytes of a trace after decompression: some 25 million rows of Azure's shape."""


def read_trace(
    path: str | os.PathLike[str],
    *,
    time_unit: TimeUnit = "auto",
    domain_field: str = "",
    requests_per_second: float | None = None,
    duration_seconds: float = 3600.0,
    block_tokens: int | None = None,
    strict: bool = False,
    seed: int = 0,
) -> Trace:
    """Read a trace of serving traffic: a file, compressed or not, or a ServeGen folder.

    Columns are found by name, whatever their case: a time (``TIMESTAMP``, ``arrival_seconds`` ...),
    prompt tokens (``ContextTokens``, ``input_length``, ``num_prefill_tokens`` ...) and output
    tokens (``GeneratedTokens``, ``output_length``, ``num_decode_tokens`` ...). Times are ISO 8601
    or numbers; Mooncake's are milliseconds, others are seconds unless they are so large that they
    must be milli-, micro- or nanoseconds since 1970. ``hash_ids``, ids of a prompt's blocks, say
    which prompts begin alike.

    Args:
        path: CSV or JSON Lines; zstd and gzip are undone. A folder is one of ServeGen's.
        time_unit: Unit of times that are numbers.
        domain_field: Column that names the domain of a request.
        requests_per_second: Rate of the Poisson process that times are drawn from where the trace
            has none, or that ServeGen's clients are scaled to together.
        duration_seconds: Seconds that are drawn from a ServeGen folder.
        block_tokens: Tokens of a block of ``hash_ids``; None: 512, as in Mooncake's traces, and 16
            in Qwen-Bailian's.
        strict: A row that cannot be meant is an error instead of being counted.
        seed: Seed of every draw.

    Raises:
        UsageError: Times are missing and no rate is given, or a number is out of range.
        RecordError: The file is an archive, or has no such columns; with ``strict``, a row
            cannot be meant.
        EmptyCorpusError: No request is left.
        LimitError: The file is larger than `MAX_TRACE_BYTES` or has too many rows.
        OSError: It cannot be read.
    """
    rate = requests_per_second
    if (rate is not None and not 0 < rate < 1e9) or not 0 < duration_seconds <= 1e8:
        raise UsageError(
            f"requests_per_second is {rate} and duration_seconds {duration_seconds}; expected "
            "numbers above 0"
        )
    if block_tokens is not None and not 1 <= block_tokens <= MAX_TOKENS:
        raise UsageError(f"block_tokens is {block_tokens}; expected at least 1")
    place = Path(path)
    if place.is_dir():
        return read_servegen(
            place, duration_seconds=duration_seconds, requests_per_second=rate, seed=seed
        )
    if place.stat().st_size > MAX_TRACE_BYTES:
        raise LimitError(
            f"{place}: more than {MAX_TRACE_BYTES:,} bytes are too many for a trace",
            what="bytes",
            limit=MAX_TRACE_BYTES,
        )
    data = decompress(place.read_bytes(), max_bytes=MAX_TRACE_BYTES, path=str(place))
    data = bytes(data)
    refuse_archive(str(place), data[:HEAD_BYTES], expected="a trace as CSV or JSON Lines")
    rows = read_rows(
        str(place), data, time_unit=time_unit, domain_field=domain_field, strict=strict
    )
    times = rows.times
    if not rows.has_times:
        if rate is None:
            raise UsageError(
                f"{place}: the trace has lengths and no times; expected a rate to draw them with\n"
                "hint: give requests per second (--trace-rate)"
            )
        import numpy as np

        # One exponential pause before each request: a Poisson process.
        times = np.cumsum(np.random.default_rng(seed).exponential(1 / rate, len(rows.prompts)))
    return Trace.of(
        times,
        rows.prompts,
        rows.outputs,
        domain=rows.domain,
        domains=rows.domains,
        path=str(place),
        format=rows.format,
        rejected=rows.rejected,
        examples=rows.examples,
        has_times=rows.has_times,
        block_tokens=block_tokens or rows.block_tokens,
        blocks=rows.blocks,
    )
