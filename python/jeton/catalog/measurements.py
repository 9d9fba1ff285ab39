"""Measured times and memory of a GPU, as ``studies/measure_gpu.py`` writes them to a file."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from jeton._foreign import json_of
from jeton.errors import FormatError

MEASURED_SCHEMA = "jeton.gpu/1"
"""Name of the file's format."""

_MAX_FILE_BYTES = 64 << 20
_PHASES = ("prefill", "decode")
_HALVES = ("calibrate", "judge")


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """One measurement.

    Attributes:
        model: The shape, a name of the catalog.
        phase: ``prefill``: a batch of prompts is read; ``decode``: one step of a batch.
        batch: Sequences.
        tokens: Tokens of each: the prompt's, or the context's before the step.
        seconds: Median of the runs.
        peak_bytes: Largest amount of memory in use; 0: not known.
        half: The half that it belongs to: it calibrates or judges.
        n_runs: Runs that the median is of.
    """

    model: str
    phase: Literal["prefill", "decode"]
    batch: int
    tokens: int
    seconds: float
    peak_bytes: int
    half: Literal["calibrate", "judge"]
    n_runs: int = 1


@dataclass(frozen=True, slots=True)
class Measurements:
    """A file of measurements.

    Attributes:
        gpu: The GPU, a name of the catalog.
        environment: Where and with what was measured.
        points: The measured figures.
        skipped: The skipped parts, with the reason.
    """

    gpu: str
    environment: dict[str, Any]
    points: tuple[MeasuredPoint, ...]
    skipped: tuple[str, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """The file's content."""
        return {"schema": MEASURED_SCHEMA, **asdict(self)}


def read_measurements(path: str | os.PathLike[str]) -> Measurements:
    """Read a file of measurements.

    Raises:
        FormatError: It is no such file.
        OSError: It cannot be read.
    """
    place = Path(path)
    if place.stat().st_size > _MAX_FILE_BYTES:
        raise FormatError(f"{place}: too large for measurements", path=str(place))
    try:
        data = json_of(place.read_text(encoding="utf-8"))
        if data["schema"] != MEASURED_SCHEMA:
            raise ValueError(f"schema {data['schema']!r}")
        points = tuple(_point(entry) for entry in data["points"])
        return Measurements(
            str(data["gpu"]),
            dict(data["environment"]),
            points,
            tuple(str(words) for words in data.get("skipped", ())),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FormatError(
            f"{place}: no file of measurements: {error}\n"
            f"hint: expected schema {MEASURED_SCHEMA}, as studies/measure_gpu.py writes it",
            path=str(place),
        ) from error


def _point(entry: dict[str, Any]) -> MeasuredPoint:
    point = MeasuredPoint(**entry)
    is_good = (
        point.phase in _PHASES
        and point.half in _HALVES
        and min(point.batch, point.tokens, point.n_runs) >= 1
        and point.peak_bytes >= 0
        and 0 < point.seconds < 1e6
    )
    if not is_good:
        raise ValueError(f"point {entry!r}")
    return point
