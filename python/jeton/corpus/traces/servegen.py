"""ServeGen's folders: clients with rates and lengths by time of day, from which traffic is drawn.

A client is two files: ``chunk-N-trace.csv`` (a line for each window: start, requests per second,
coefficient of variation, family of the pauses between requests, and its two parameters) and
``chunk-N-dataset.json`` (for each longer window the shares of prompt and of output lengths).
Clients without lengths are left out, and said. Source: arXiv:2505.09999.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jeton._foreign import json_of
from jeton.corpus.traces.trace import MAX_TOKENS, MAX_TRACE_REQUESTS, Trace
from jeton.errors import EmptyCorpusError, LimitError, RecordError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MAX_FILE_BYTES: Final = 64 << 20
_MAX_CLIENTS: Final = 100_000


def read_servegen(
    folder: Path,
    *,
    duration_seconds: float,
    requests_per_second: float | None,
    seed: int,
    start_seconds: float | None = None,
) -> Trace:
    """Draw traffic from the clients of a folder.

    Pauses between the requests of a client follow the Gamma or Weibull distribution of the window,
    so that a client's bursts stay; lengths are drawn independently of each other, as the data set
    has no joint distribution.

    Args:
        folder: Holds ``chunk-*-trace.csv`` and ``chunk-*-dataset.json``.
        duration_seconds: Seconds that are drawn.
        requests_per_second: Mean rate of all clients together; None: as recorded.
        seed: Seed of the draw.
        start_seconds: Where in the recording to begin; None: at the window with the most requests.

    Raises:
        RecordError: A file does not have the format.
        EmptyCorpusError: No client has requests and lengths.
        LimitError: Too many requests would be drawn.
    """
    import numpy as np

    clients = list(_clients(folder))
    if not clients:
        raise EmptyCorpusError(
            f"{folder}: no client of ServeGen has both a trace and lengths; expected "
            "chunk-N-trace.csv and chunk-N-dataset.json"
        )
    start = _busiest(clients) if start_seconds is None else start_seconds
    recorded = sum(_requests_in(windows, start, duration_seconds) for windows, _ in clients)
    if recorded <= 0:
        raise EmptyCorpusError(f"{folder}: no requests in {duration_seconds:g} s from {start:g} s")
    factor = 1.0
    if requests_per_second is not None:
        factor = requests_per_second * duration_seconds / recorded
    if recorded * factor > MAX_TRACE_REQUESTS:
        raise LimitError(
            f"{folder}: about {recorded * factor:,.0f} requests are too many for a trace",
            what="requests",
            limit=MAX_TRACE_REQUESTS,
        )
    parts: list[tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]] = []
    for number, (windows, lengths) in enumerate(clients):
        # A stream of its own for each client: one more of them changes no other's requests.
        rng = np.random.default_rng([seed, number])
        for begin, end, rate, family, shape in _pieces(windows, start, duration_seconds):
            times = _arrivals(rng, begin, end, rate * factor, family, shape)
            at = lengths.near(begin)
            if len(times) and at is not None:
                n = len(times)
                parts.append((times - start, at[0].draw(rng, n), at[1].draw(rng, n)))
    if not parts:
        raise EmptyCorpusError(f"{folder}: no requests in {duration_seconds:g} s from {start:g} s")
    return Trace.of(
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        np.concatenate([part[2] for part in parts]),
        path=str(folder),
        format="servegen",
        has_times=False,
    )


class _Shares:
    """A distribution of lengths."""

    def __init__(self, lengths: list[int], shares: list[float]) -> None:
        import numpy as np

        self._lengths = np.array(lengths, dtype=np.int64)
        weights = np.array(shares, dtype=np.float64)
        self._ends = np.cumsum(weights / weights.sum())

    def draw(self, rng: np.random.Generator, n: int) -> NDArray[np.int64]:
        """Lengths of n requests."""
        import numpy as np

        at = np.searchsorted(self._ends, rng.random(n), side="right")
        drawn: NDArray[np.int64] = self._lengths[np.minimum(at, len(self._lengths) - 1)]
        return drawn


class _Lengths:
    """The distributions of a client, by the start of their window."""

    def __init__(self, found: dict[float, tuple[_Shares, _Shares]]) -> None:
        self._found = found

    def near(self, second: float) -> tuple[_Shares, _Shares] | None:
        """Shares of the window that begins nearest before, else nearest after."""
        if not self._found:
            return None
        before = [start for start in self._found if start <= second]
        return self._found[max(before) if before else min(self._found)]


_Window = tuple[float, float, str, float]
"""Start (s), requests per second, family of the pauses, shape of that family."""


def _clients(folder: Path) -> Iterable[tuple[list[_Window], _Lengths]]:
    found = sorted(folder.rglob("chunk-*-trace.csv"))
    if len(found) > _MAX_CLIENTS:
        raise LimitError(f"{folder}: too many clients", what="clients", limit=_MAX_CLIENTS)
    if len({path.parent for path in found}) > 1:
        folders = sorted({str(path.parent) for path in found})
        raise UsageError(
            f"{folder}: holds the clients of {len(folders)} services; expected one of "
            f"{', '.join(folders[:4])}"
        )
    for path in found:
        lengths = path.with_name(path.name.replace("-trace.csv", "-dataset.json"))
        if lengths.is_file():
            windows = _windows(path)
            if any(rate > 0 for _, rate, _, _ in windows):
                yield windows, _lengths(lengths)


def _windows(path: Path) -> list[_Window]:
    windows: list[_Window] = []
    for line, row in enumerate(_text(path).splitlines(), start=1):
        cells = row.split(",")
        try:
            start, rate, shape = float(cells[0]), float(cells[1]), float(cells[4])
            family = cells[3].strip().lower()
            if not (math.isfinite(start) and 0 <= rate < 1e9 and 0 <= shape < 1e9):
                raise ValueError(row)
            if rate > 0 and family not in ("gamma", "weibull"):
                raise ValueError(family)
        except (ValueError, IndexError) as error:
            raise RecordError(
                f"{path}, line {line}: expected start, rate, variation, Gamma or Weibull, shape, "
                f"scale; got {row[:60]!r}",
                path=str(path),
                line=line,
            ) from error
        windows.append((start, rate, family, shape))
    return sorted(windows)


def _lengths(path: Path) -> _Lengths:
    try:
        data = json_of(_text(path))
        found: dict[float, tuple[_Shares, _Shares]] = {}
        for start, entry in data.items():
            prompt, output = _shares(entry["input_tokens"]), _shares(entry["output_tokens"])
            if prompt is not None and output is not None:
                found[float(start)] = (prompt, output)
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        SyntaxError,
        RecursionError,
        MemoryError,  # what the parser says of brackets too deep
    ) as error:
        raise RecordError(
            f"{path}: expected lengths and their shares by window", path=str(path)
        ) from error
    return _Lengths(found)


def _shares(written: Any) -> _Shares | None:
    """``{length: share}``, which the files write as a Python literal in a string."""
    table = ast.literal_eval(written) if isinstance(written, str) else written
    pairs = [(int(length), float(share)) for length, share in table.items() if float(share) > 0]
    pairs = [(length, share) for length, share in pairs if 1 <= length <= MAX_TOKENS]
    if not pairs:
        return None
    return _Shares([length for length, _ in pairs], [share for _, share in pairs])


def _text(path: Path) -> str:
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise LimitError(f"{path}: too large", what="bytes", limit=_MAX_FILE_BYTES)
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise RecordError(f"{path} is not UTF-8 at byte {error.start}", path=str(path)) from None


def _pieces(
    windows: list[_Window], start: float, duration: float
) -> Iterable[tuple[float, float, float, str, float]]:
    """The parts of a client's windows in the wanted span: from, to, rate, family, shape."""
    for index, (begin, rate, family, shape) in enumerate(windows):
        last = windows[index - 1][0] if index else begin - 600.0
        end = windows[index + 1][0] if index + 1 < len(windows) else begin + (begin - last)
        begin, end = max(begin, start), min(end, start + duration)
        if end > begin and rate > 0:
            yield begin, end, rate, family, shape


def _requests_in(windows: list[_Window], start: float, duration: float) -> float:
    return sum((end - begin) * rate for begin, end, rate, _, _ in _pieces(windows, start, duration))


def _busiest(clients: list[tuple[list[_Window], _Lengths]]) -> float:
    """The start of the window with the most requests of all clients; the first of equals."""
    sums: dict[float, float] = {}
    for windows, _ in clients:
        for start, rate, _, _ in windows:
            sums[start] = sums.get(start, 0.0) + rate
    return max(sorted(sums), key=lambda start: sums[start])


def _arrivals(
    rng: np.random.Generator, begin: float, end: float, rate: float, family: str, shape: float
) -> NDArray[np.float64]:
    """Times of a renewal process with this rate, in [begin, end)."""
    import numpy as np

    # The files' scale belongs to the recorded rate; the shape alone says how bursty pauses are.
    shape = min(max(shape, 0.02), 100.0)
    mean = 1.0 / rate
    times: list[NDArray[np.float64]] = []
    at = begin
    while at < end:
        n = max(16, int((end - at) * rate * 1.2) + 1)
        if family == "weibull":
            pauses = rng.weibull(shape, n) * (mean / math.gamma(1 + 1 / shape))
        else:
            pauses = rng.gamma(shape, mean / shape, n)
        # A pause of nothing at all would never leave the window.
        more = at + np.cumsum(np.maximum(pauses, 1e-9))
        times.append(more)
        at = float(more[-1])
    found = np.concatenate(times)
    return found[found < end]
