"""Traces of serving traffic in: files and folders become a `Trace`.

``read_trace`` knows the published shapes (Azure's and BurstGPT's CSV, Mooncake's JSON Lines,
processed lengths without times, ServeGen's folders) and any CSV or JSON Lines with such columns. A
row that cannot be meant is counted by reason, never dropped in silence.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jeton._archives import HEAD_BYTES, refuse_archive
from jeton._core import decompress
from jeton.corpus.traces.rows import read_rows
from jeton.corpus.traces.servegen import read_servegen
from jeton.corpus.traces.trace import MAX_TOKENS, Trace
from jeton.errors import LimitError, UsageError

if TYPE_CHECKING:
    from jeton.corpus.times import TimeUnit

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
