"""Measure the watch on real texts, and write the tables of docs/studies/drift.md.

``python -m studies.drift CORPORA`` reads ``medical``, ``chat``, ``code`` and ``multilingual`` of a
folder of corpora (``NAME.jsonl.zst``). Rivals come from river, where it is installed
(``pip install river``); their rows are left out elsewhere.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

import jeton
from jeton.watch import SIGNALS, Monitor, WatchedRequest, WatchHistory
from jeton.watch.signals import MeanEvidence, Normal
from jeton.watch.windows import Measurer, RequestCounts
from scripts.marked import Part
from studies.drift.streams import CAUSES, Splice, Texts, read_corpus, splices, stable

__all__ = ["main"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "studies" / "drift.md"
PART = Part("tables", "python -m studies.drift CORPORA")

TOKENIZER = "jeton-general-32k"
WEIGHTS = {"notes": 0.4, "chat": 0.35, "accents": 0.2, "code": 0.05}
ALPHA = 0.01
N_STREAMS = 200
N_STABLE = 1000
N_BEFORE, N_AFTER = 1000, 2000
SHIFTS = (1.1, 1.25, 1.5)
SEEDS = 5

Array = NDArray[np.float64]
Detector = Callable[[Array], Array]
"""Takes streams of tokens a byte, (n_streams, n); returns how many values each had by its first
alarm, and n where there was none."""


class _CachedMeasurer(Measurer):
    """Measures each text once: streams draw the same texts again and again."""

    def __init__(self, name: str) -> None:
        super().__init__(jeton.load(name))
        self._known: dict[str, RequestCounts] = {}

    def measure(
        self, texts: Sequence[str], *, overheads: Sequence[int] | None = None
    ) -> Iterator[RequestCounts]:
        """Yield the integers of each text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, super().measure(new), strict=True))
        return (self._known[text] for text in texts)


def _texts(folder: Path) -> Texts:
    sources = {
        "notes": read_corpus(folder / "medical.jsonl.zst", n=3000),
        "chat": read_corpus(folder / "chat.jsonl.zst", n=3000),
        "code": read_corpus(folder / "code.jsonl.zst", n=2000),
    }
    many = read_corpus(folder / "multilingual.jsonl.zst", n=8000)
    accents = tuple(text for text in many if 0.02 < _share(text, 0xC0, 0x250) < 0.3)
    foreign = tuple(text for text in many if _share(text, 0x370, 0x10FFFF) > 0.5)
    return Texts({**sources, "accents": accents[:2000]}, foreign[:1000])


def _share(text: str, first: int, last: int) -> float:
    return sum(first <= ord(char) < last for char in text) / max(1, len(text))


def _history(texts: Texts, measurer: Measurer) -> WatchHistory:
    monitor = Monitor(tokenizer=TOKENIZER)
    monitor._measurer = measurer
    monitor.observe(*stable(texts, n=5000, seed=1, weights=WEIGHTS))
    return monitor.make_history()


def _false_alarms(texts: Texts, history: WatchHistory, measurer: Measurer) -> list[str]:
    n_false = 0
    for seed in range(N_STREAMS):
        monitor = Monitor(history)
        monitor._measurer = measurer
        monitor._causes = lambda *_: ()  # type: ignore[method-assign]
        n_false += bool(
            monitor.observe(*stable(texts, n=N_STABLE, seed=1000 + seed, weights=WEIGHTS))
        )
    return [
        f"All signals together, alpha {ALPHA:.0%}: a false alarm on {n_false} of {N_STREAMS} "
        f"stable streams of {N_STABLE:,} requests.",
        "",
    ]


def _ours(history: WatchHistory) -> Detector:
    signal = SIGNALS["tokens_per_byte"]
    levels: Counter[int] = history.sums.total().levels[signal.name]
    normal = Normal.of(signal, levels, miss=ALPHA * 0.2)

    def detect(streams: Array) -> Array:
        levels = np.round(np.log2(streams) * 32)
        scaled = np.clip((levels - normal.bottom) / (normal.top - normal.bottom), 0, 1)
        n_streams, n = streams.shape
        bets = MeanEvidence([normal.low] * n_streams, [normal.high] * n_streams)
        found = np.full(n_streams, float(n))
        for place in range(n):
            bets.add(scaled[:, place])
            raised = (bets.evidence >= 1 / (ALPHA * 0.8)) & (found == n)
            found[raised] = place + 1
        return found

    return detect


def _rivals(sample: Array) -> dict[str, Detector]:
    """Detectors of river with their defaults, on values that suit them."""
    try:
        from river import drift
    except ImportError:
        return {}
    low, high = np.quantile(sample, [0.005, 0.995])
    mean, spread = sample.mean(), sample.std()

    def adwin(streams: Array) -> Array:
        return _first(drift.ADWIN, np.clip((streams - low) / (high - low), 0, 1))

    def page_hinkley(streams: Array) -> Array:
        return _first(drift.PageHinkley, (streams - mean) / spread)

    version = metadata.version("river")
    return {
        f"ADWIN (river {version}), values scaled to 0..1": adwin,
        f"Page-Hinkley (river {version}), values standardized": page_hinkley,
    }


def _first(make: Callable[[], Any], streams: Array) -> Array:
    found = np.full(len(streams), float(streams.shape[1]))
    for i, values in enumerate(streams):
        detector = make()
        for place, value in enumerate(values.tolist()):
            detector.update(value)
            if detector.drift_detected:
                found[i] = place + 1
                break
    return found


def _delays(texts: Texts, history: WatchHistory, measurer: Measurer) -> list[str]:
    pool = [text for source in texts.by_source.values() for text in source]
    of = dict(zip(pool, measurer.measure(pool), strict=True))

    def values(n: int, seed: int) -> Array:
        drawn = stable(texts, n=n, seed=seed, weights=WEIGHTS)
        counts = [of[request.text or ""] for request in drawn]
        return np.array([c.n_tokens / (c.n_bytes or 1) for c in counts])

    detectors: dict[str, Detector] = {
        "`jeton watch`, one signal, alpha 1%": _ours(history),
        **_rivals(values(5000, 1)),
        "always (an alarm at each request)": lambda s: np.ones(len(s)),
        "never": lambda s: np.full(len(s), float(s.shape[1])),
    }
    n = N_BEFORE + N_AFTER
    streams = np.stack([values(n, 5000 + seed) for seed in range(N_STREAMS)])
    heads = " | ".join(f"+{shift - 1:.0%}: delay, missed" for shift in SHIFTS)
    lines = [
        f"| method | false alarms on {N_STREAMS} stable streams of {n:,} | {heads} |",
        "| --- | --- |" + " --- |" * len(SHIFTS),
    ]
    for name, detect in detectors.items():
        false = float((detect(streams) < n).mean())
        cells = []
        for shift in SHIFTS:
            moved = streams.copy()
            moved[:, N_BEFORE:] *= shift
            places = detect(moved)
            early, missed = float((places <= N_BEFORE).mean()), float((places >= n).mean())
            delays = places[(places > N_BEFORE) & (places < n)] - N_BEFORE
            words = f"{np.median(delays):,.0f}, {missed:.0%}" if len(delays) else f"-, {missed:.0%}"
            cells.append(words + (f", {early:.0%} early" if early else ""))
        lines.append(f"| {name} | {false:.1%} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return [*lines, ""]


def _causes(texts: Texts, history: WatchHistory, measurer: Measurer) -> list[str]:
    lines = [
        "| cause | how | named rightly | median delay |",
        "| --- | --- | --- | --- |",
    ]
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for splice in splices(texts, rare="code"):
        n_right, delays = 0, []
        for seed in range(SEEDS):
            cause, delay = _named(splice, texts, history, measurer, seed)
            n_right += cause == splice.cause
            if delay is not None:
                delays.append(delay)
        right[splice.cause] += n_right
        total[splice.cause] += SEEDS
        shown = f"{median(delays):,.0f}" if delays else "-"
        lines.append(f"| {splice.cause} | {splice.how} | {n_right} of {SEEDS} | {shown} |")
        print(lines[-1], flush=True)
    whole = right.total() / total.total()
    by = ", ".join(f"{cause} {right[cause] / total[cause]:.0%}" for cause in CAUSES)
    return [*lines, "", f"Together {right.total()} of {total.total()} ({whole:.1%}): {by}.", ""]


def _named(
    splice: Splice,
    texts: Texts,
    history: WatchHistory,
    measurer: Measurer,
    seed: int,
) -> tuple[str, int | None]:
    name = splice.vocabulary or TOKENIZER
    monitor = Monitor(history, tokenizer=name)
    if splice.vocabulary:
        found = monitor.check_canary()
        return (found.cause if found is not None else "", 0)
    monitor._measurer = measurer
    if monitor.observe(*stable(texts, n=300, seed=7000 + seed, weights=WEIGHTS)):
        return "false alarm", None
    draw = random.Random(seed)
    after = stable(texts, n=3000, seed=8000 + seed, weights=WEIGHTS)
    for number, request in enumerate(after, start=1):
        changed: WatchedRequest = splice.change(request, draw)
        alerts = monitor.observe(changed)
        if alerts:
            return alerts[0].cause, number
    return "", None


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", type=Path)
    folder = parser.parse_args(arguments).corpora
    texts = _texts(folder)
    measurer = _CachedMeasurer(TOKENIZER)
    history = _history(texts, measurer)
    delays = ["## Delays", "", *_delays(texts, history, measurer)]
    causes = ["## Causes", "", *_causes(texts, history, measurer)]
    alarms = ["## False alarms", "", *_false_alarms(texts, history, measurer)]
    body = "\n".join([*alarms, *delays, *causes])
    PART.rewrite(PAGE, body)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
