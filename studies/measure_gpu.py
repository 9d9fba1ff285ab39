"""Measure prefill, decoding and memory of real model shapes on a CUDA device, with random weights.

    python studies/measure_gpu.py --gpu h100-sxm -o h100.json
    python studies/measure_gpu.py --compare h100.json

Needs PyTorch (``pip install torch``) and takes less than ten minutes. Shapes, lengths, batches, and
which half of the points calibrates and which judges are named in `SHAPES` and `grid`, before
anything is measured. ``--compare`` needs no device: it fits the shares of the datasheet to the one
half and says how far the roofline is off on the other. ``--device cpu --shapes tiny`` shows that
the script runs.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from jeton._files import write_whole
from jeton.catalog import AttentionKind, ModelFacts, facts_of, gpu, model
from jeton.catalog.measurements import MeasuredPoint, Measurements, read_measurements
from jeton.economics.traffic.measured import PointDeviation, calibrate_shares, judge
from jeton.errors import JetonError, UsageError

__all__ = ["SHAPES", "Backend", "grid", "main", "measure", "shape"]

SHAPES = (
    "llama-3.2-1b",  # 1B class, grouped-query attention, tied tables
    "smollm2-1.7b",  # 1B class, multi-head attention
    "llama-3-8b",  # 8B class, grouped-query
    "llama-2-7b",  # 8B class, multi-head
    "qwen2.5-14b",  # 14B class, grouped-query
    "llama-2-13b",  # 14B class, multi-head
)
"""Named before measuring; the shapes are those of the catalog."""

PREFILL = ((1, 128), (1, 512), (1, 2048), (1, 8192), (4, 512), (4, 2048), (16, 512), (16, 128))
DECODE = (
    (1, 512),
    (1, 2048),
    (1, 8192),
    (8, 512),
    (8, 2048),
    (8, 8192),
    (32, 512),
    (32, 2048),
    (64, 512),
    (64, 2048),
)
"""(batch, tokens) of each phase."""

MEMORY_SHARE = 0.92
"""Points that should take more of the device's memory than this are skipped, and said."""

SECONDS_PER_POINT = 1.2
MAX_SECONDS = 560.0
MIN_RUNS, MAX_RUNS = 5, 200

Phase = Literal["prefill", "decode"]
Half = Literal["calibrate", "judge"]

TINY = facts_of(
    {
        "model_type": "llama",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 128,
        "vocab_size": 256,
        "tie_word_embeddings": True,
        "max_position_embeddings": 131_072,
    },
    name="tiny",
    where="made up",
    day=date(2026, 11, 29),
)
"""A shape that any machine runs."""


def shape(name: str) -> ModelFacts:
    """Return a shape by name: of the catalog, or ``tiny``."""
    return TINY if name == "tiny" else model(name)


def grid(names: Sequence[str], *, short: bool = False) -> list[tuple[str, Phase, int, int, Half]]:
    """Return every point (shape, phase, batch, tokens, half) in the order of measuring.

    Halves alternate within a phase, and the other way round from one shape to the next, so that
    every batch and length calibrates for some shapes and judges for others.
    """
    phases: tuple[tuple[Phase, tuple[tuple[int, int], ...]], ...] = (
        ("prefill", ((1, 16), (2, 32), (1, 64), (4, 16)) if short else PREFILL),
        ("decode", ((1, 16), (2, 32), (4, 16), (8, 8)) if short else DECODE),
    )
    halves: tuple[Half, Half] = ("calibrate", "judge")
    return [
        (name, phase, batch, tokens, halves[(place + number) % 2])
        for number, name in enumerate(names)
        for phase, points in phases
        for place, (batch, tokens) in enumerate(points)
    ]


class Backend(Protocol):
    """Runner of a shape. Only this touches a device."""

    def environment(self) -> dict[str, Any]:
        """Device, driver, versions."""

    def memory_bytes(self) -> int:
        """Memory of the device."""

    def load(self, facts: ModelFacts) -> None:
        """Make random weights of a shape; those before are freed."""

    def prepare(self, phase: Phase, batch: int, tokens: int) -> Callable[[], None]:
        """Return a call that runs one prefill, or one decoding step, and waits for its end."""

    def peak_bytes(self) -> int:
        """Largest amount of memory in use since `prepare` began; 0: not known."""


def measure(
    backend: Backend,
    names: Sequence[str],
    *,
    gpu_name: str,
    clock: Callable[[], float] = time.perf_counter,
    max_seconds: float = MAX_SECONDS,
    seconds_per_point: float = SECONDS_PER_POINT,
    short: bool = False,
    say: Callable[[str], None] = lambda words: None,
) -> Measurements:
    """Measure the grid; what does not fit the memory or the time is skipped, and said."""
    from jeton.economics.traffic.measured import foreseen_bytes

    began = clock()
    points: list[MeasuredPoint] = []
    skipped: list[str] = []
    loaded = ""
    for name, phase, batch, tokens, half in grid(names, short=short):
        words = f"{name}, {phase} of {batch} x {tokens} tokens"
        facts = shape(name)
        trial = MeasuredPoint(name, phase, batch, tokens, 1.0, 0, half)
        if foreseen_bytes(trial, facts) > MEMORY_SHARE * backend.memory_bytes():
            skipped.append(f"{words}: does not fit the memory")
            continue
        if clock() - began > max_seconds:
            skipped.append(f"{words}: out of time")
            continue
        if name != loaded:
            backend.load(facts)
            loaded = name
        seconds = _timed(
            backend.prepare(phase, batch, tokens), clock, seconds_per_point=seconds_per_point
        )
        median = statistics.median(seconds)
        points.append(
            dataclasses.replace(
                trial, seconds=median, peak_bytes=backend.peak_bytes(), n_runs=len(seconds)
            )
        )
        say(f"{words}: {median * 1e3:.3f} ms")
    return Measurements(gpu_name, backend.environment(), tuple(points), tuple(skipped))


def _timed(
    run: Callable[[], None], clock: Callable[[], float], *, seconds_per_point: float
) -> list[float]:
    for _ in range(3):  # the first runs choose kernels and fill caches
        run()
    found: list[float] = []
    began = clock()
    while len(found) < MIN_RUNS or (len(found) < MAX_RUNS and clock() - began < seconds_per_point):
        start = clock()
        run()
        found.append(clock() - start)
    return found


def rows(judged: Sequence[PointDeviation]) -> Iterator[str]:
    """Lines that show each judged point, and the verdict."""
    for item in judged:
        point = item.point
        memory = "" if item.memory_deviation is None else f"{item.memory_deviation:+8.1%}"
        yield (
            f"{point.model:16} {point.phase:8} {point.batch:4} x {point.tokens:5}  "
            f"{point.seconds * 1e3:10.3f} ms  foreseen {item.seconds_foreseen * 1e3:10.3f} ms "
            f"{item.time_deviation:+8.1%}  memory {memory}  "
            f"{'kept' if item.is_kept else 'OUTSIDE'}"
        )
    kept = sum(item.is_kept for item in judged)
    yield f"{kept} of {len(judged)} judged points within 25% of the time and 10% of the memory"


def compare(path: str) -> int:
    """Print how the roofline does on the points kept apart; 1 if one is outside."""
    found = read_measurements(path)
    if found.environment.get("device") == "cpu":
        raise UsageError(f"{path}: was measured on a processor, not on a {found.gpu}")
    facts = gpu(found.gpu)
    shares = calibrate_shares(found.points, facts, shape)
    print(
        f"{facts.name}: {shares.flops_share:.3f} of the rate, {shares.bandwidth_share:.3f} of the "
        f"bandwidth, {shares.overhead_seconds * 1e6:.1f} us a step, from {shares.n_points} points"
    )
    judged = judge(found.points, facts, shares, shape)
    for line in rows(judged):
        print(line)
    return 0 if all(item.is_kept for item in judged) else 1


def main(arguments: list[str] | None = None) -> int:
    """Measure, or compare; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--gpu", help="name in the catalog (`jeton catalog gpus`)")
    parser.add_argument("-o", "--output", help="file to write")
    parser.add_argument("--compare", metavar="FILE", help="compare a file; no device is needed")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), metavar="NAME")
    parser.add_argument("--max-seconds", type=float, default=MAX_SECONDS)
    parser.add_argument("--no-graphs", action="store_true", help="decode without CUDA graphs")
    options = parser.parse_args(arguments)
    try:
        if options.compare:
            return compare(options.compare)
        if not options.gpu or not options.output:
            raise UsageError("nothing to measure\nhint: give --gpu and -o, or --compare FILE")
        name = gpu(options.gpu).name
        for wanted in options.shapes:
            if shape(wanted).attention is AttentionKind.LATENT or shape(wanted).experts:
                raise UsageError(f"{wanted} has latent attention or experts, which are not run")
        from studies.torch_backend import TorchBackend

        found = measure(
            TorchBackend(options.device, use_graphs=not options.no_graphs),
            options.shapes,
            gpu_name=name,
            max_seconds=options.max_seconds,
            seconds_per_point=0.05 if "tiny" in options.shapes else SECONDS_PER_POINT,
            short="tiny" in options.shapes,
            say=lambda words: print(words, file=sys.stderr),
        )
        environment = {
            **found.environment,
            "machine": platform.machine(),
            "python": platform.python_version(),
            "measured": datetime.now(UTC).date().isoformat(),
        }
        data = dataclasses.replace(found, environment=environment).to_dict()
        write_whole(Path(options.output), json.dumps(data, indent=1) + "\n")
    except (JetonError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    sys.exit(main())
