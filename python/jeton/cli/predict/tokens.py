"""``jeton predict tokens``: bounds, calibrated intervals and samples of files."""

from __future__ import annotations

import codecs
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jeton.cli import options, streams, tables
from jeton.cli.declaring import command, option
from jeton.cli.kinds import WHOLE, FiniteRange
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton._core import Tokenizer
    from jeton.economics.billing.calibration import Calibration
    from jeton.estimating.calibrated import CountModel

_CHUNK = 1 << 20
_QUICK_SECONDS = 0.25
"""Time below which encoding everything is nothing to be saved."""


@dataclass(frozen=True, slots=True)
class _Source:
    """A file, or standard input in memory."""

    name: str
    n_bytes: int
    read: Callable[[int, int], bytes]


@command()
@click.argument("inputs", nargs=-1, required=True)
def tokens(
    *,
    inputs: tuple[str, ...],
    tokenizer_name: str | None = option("Tokenizer that counts.", "T", names="-t --tokenizer"),
    calibration: str | None = option(
        "Model of `jeton predict calibrate`, for an interval without encoding.", "F"
    ),
    usage: tuple[str, ...] = option(
        "Logs with texts and usage of a closed model: the sample's count becomes the provider's.",
        "LOGS",
    ),
    sample_bytes: int = option(
        "Bytes of slices that are encoded; a text that is no longer is counted whole.",
        "N",
        type=click.IntRange(min=1024),
        default=65_536,
    ),
    coverage: float = option(
        "Share that the intervals from slices and usage are to hold.",
        "SHARE",
        type=FiniteRange(0.5, 1, max_open=True),
        default=0.9,
    ),
    seed: int = option("Seed of the slices.", "N", type=WHOLE, default=0),
    as_json: bool = options.JSON,
) -> None:
    """Tell the tokens of texts before they are encoded.

    Each INPUT is a file of UTF-8, or - for standard input. Bounds need its length alone and are
    never broken. A calibrated model reads the bytes; slices are encoded. Says, as measured here,
    how long encoding all of it would take.

    \b
    Examples:
      jeton predict tokens book.txt --tokenizer o200k_base
      jeton predict tokens *.txt --tokenizer o200k_base --calibration o200k.json --json
      jeton predict tokens book.txt --calibration provider.json
      jeton predict tokens book.txt --tokenizer o200k_base --usage requests.jsonl
    """
    if tokenizer_name is None and calibration is None:
        raise click.UsageError("give --tokenizer, --calibration, or both")
    if usage and tokenizer_name is None:
        raise click.UsageError("--usage needs --tokenizer, which counts in the provider's place")
    from jeton.estimating.calibrated import load_count_model
    from jeton.registry import load

    sources = [_source(name) for name in inputs]
    tokenizer = load(tokenizer_name) if tokenizer_name is not None else None
    model = load_count_model(calibration) if calibration is not None else None
    if model is not None and tokenizer is not None:
        _check_same(model, tokenizer)
    provider = None
    if usage and tokenizer is not None:
        from jeton.estimating.learning import calibration_from_usage

        provider = calibration_from_usage(list(usage), tokenizer, coverage=coverage)
    found = [
        _predict(source, tokenizer, model, provider, sample_bytes, coverage, seed)
        for source in sources
    ]
    if as_json:
        streams.write_json({"schema_version": "jeton.predict_tokens/1", "texts": found})
        return
    _print(found)


def _source(name: str) -> _Source:
    if name == "-":
        data = sys.stdin.buffer.read()
        return _Source("-", len(data), lambda start, end: data[start:end])
    path = Path(name)
    if path.is_dir():
        raise UsageError(f"{name} is a folder; expected files\nhint: jeton predict tokens {name}/*")
    size = path.stat().st_size

    def read(start: int, end: int) -> bytes:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(max(0, end - start))

    return _Source(name, size, read)


def _is_utf8(source: _Source) -> bool:
    """True if all bytes of a text are UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, source.n_bytes, _CHUNK):
            decoder.decode(source.read(start, min(source.n_bytes, start + _CHUNK)))
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _check_same(model: CountModel, tokenizer: Tokenizer) -> None:
    if model.fingerprint and model.fingerprint != tokenizer.fingerprint:
        raise UsageError(
            f"the calibration is of {model.counted_by!r}, another tokenizer than "
            f"{tokenizer.name!r}\nhint: `jeton predict calibrate` makes one of it"
        )


def _predict(
    source: _Source,
    tokenizer: Tokenizer | None,
    model: CountModel | None,
    provider: Calibration | None,
    sample_bytes: int,
    coverage: float,
    seed: int,
) -> dict[str, Any]:
    """All that can be told of one text, as JSON values."""
    found: dict[str, Any] = {"input": source.name, "n_bytes": source.n_bytes}
    if tokenizer is not None:
        from jeton.estimating.bounds import bounds_of_length, count_limits
        from jeton.estimating.sampled import sampled_count

        limits = count_limits(tokenizer)
        # Bytes that are not UTF-8 are counted as U+FFFD: three bytes for one to three of them.
        most = source.n_bytes * (1 if _is_utf8(source) else 3)
        found["bounds"] = asdict(bounds_of_length(limits, source.n_bytes, most))
        # Pages and caches are warm before anything is timed; the time is this process's own.
        tokenizer.count(source.read(0, 4096).decode("utf-8", "replace"))
        started = time.process_time()
        sample = sampled_count(
            tokenizer,
            source.read,
            source.n_bytes,
            sample_bytes=sample_bytes,
            coverage=coverage,
            seed=seed,
        )
        seconds = time.process_time() - started
        found["sample"] = asdict(sample)
        found["encoding_seconds"] = seconds * source.n_bytes / max(1, sample.n_read_bytes)
        found["sample_seconds"] = seconds
        if provider is not None:
            estimate = provider.apply(round(sample.n_tokens))
            share = estimate.n_tokens / max(1.0, sample.n_tokens)
            found["provider"] = {
                "n_tokens": estimate.n_tokens,
                "lower_tokens": estimate.low * sample.lower_tokens / max(1.0, sample.n_tokens),
                "upper_tokens": estimate.high * sample.upper_tokens / max(1.0, sample.n_tokens),
                "provider_per_stand_in": share,
                "n_requests": provider.n_requests,
            }
    if model is not None:
        import numpy as np

        from jeton.estimating.calibrated import FEATURES, features_of

        started = time.process_time()
        features = np.zeros(len(FEATURES))
        for start in range(0, source.n_bytes, _CHUNK):
            features += features_of(source.read(start, min(source.n_bytes, start + _CHUNK)))
        found["calibrated"] = asdict(model.expect(features, source.n_bytes))
        found["calibrated_seconds"] = time.process_time() - started
    return found


def _range(part: dict[str, Any] | None) -> str:
    if part is None:
        return ""
    low, high = part["lower_tokens"], part["upper_tokens"]
    return f"{low:,.0f}" if low == high else f"{low:,.0f}-{high:,.0f}"


def _are_apart(one: dict[str, Any] | None, other: dict[str, Any] | None) -> bool:
    """True if two intervals have no number in common."""
    if one is None or other is None:
        return False
    return bool(
        one["upper_tokens"] < other["lower_tokens"] or other["upper_tokens"] < one["lower_tokens"]
    )


def _print(found: list[dict[str, Any]]) -> None:
    names = {
        "bounds": "NEVER OUTSIDE",
        "sample": "FROM SLICES",
        "calibrated": "CALIBRATED",
        "provider": "PROVIDER'S",
    }
    shown = [name for name in names if any(name in item for item in found)]
    headings = ["INPUT", "BYTES", *(names[name] for name in shown)]
    rows = [
        [item["input"], f"{item['n_bytes']:,}", *(_range(item.get(name)) for name in shown)]
        for item in found
    ]
    tables.print_table(headings, rows, right=headings[1:])
    for item in found:
        if _are_apart(item.get("sample"), item.get("calibrated")):
            streams.say(
                f"{item['input']}: slices contradict the calibration, which was learned from other "
                "text; calibrate on text of this kind"
            )
    seconds = sum(item.get("encoding_seconds", 0.0) for item in found)
    if not seconds:
        return
    n_bytes = sum(item["n_bytes"] for item in found)
    speed = n_bytes / seconds / 1e6
    words = f"encoding all of it takes about {seconds * 1e3:,.1f} ms here ({speed:,.0f} MB/s)"
    reading = sum(item.get("calibrated_seconds", 0.0) for item in found)
    if reading:
        words += f", the calibrated model took {reading * 1e3:,.1f} ms"
    if seconds < _QUICK_SECONDS or (reading and reading >= seconds):
        words += ": `jeton count` is as quick, and exact"
    streams.say(words)
