"""Time an audit of logs against an older version of the package, in one alternated run.

``--before`` is a checkout of that version, with a compiled core beside its modules. Both audit the
same log with the same options, each time in a fresh process. The processor's seconds of a process
are compared beside the clock's, since other programs take the clock's.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

from benches import texts
from benches.isolated import ROOT

__all__ = ["main", "write_requests"]

MODELS = ("gpt-4o-2024-08-06", "gpt-4o-mini-2024-07-18")
QUESTION_CHARS, PROMPT_CHARS = 400, 1_500
STEP_S = 20
"""Seconds between two requests."""


def write_requests(path: Path, n: int) -> None:
    """Write a log of n chats: four system prompts, every third with two earlier turns.

    Args:
        path: Of the log.
        n: Requests.
    """
    text = "\n".join(d for sample in texts.samples(max_bytes=8_000_000) for d in sample.documents)
    systems = [text[i * PROMPT_CHARS : (i + 1) * PROMPT_CHARS] for i in range(4)]
    with path.open("w", encoding="utf-8") as file:
        for number in range(n):
            at = (number * QUESTION_CHARS) % (len(text) - 3 * QUESTION_CHARS)
            cuts = [text[at + i * QUESTION_CHARS : at + (i + 1) * QUESTION_CHARS] for i in range(3)]
            messages = [{"role": "system", "content": systems[number % 4]}]
            if number % 3 == 0:
                messages.append({"role": "user", "content": cuts[1]})
                messages.append({"role": "assistant", "content": cuts[2]})
            messages.append({"role": "user", "content": f"{number} {cuts[0]}"})
            n_tokens = sum(len(message["content"]) for message in messages) // 4
            usage = {
                "prompt_tokens": n_tokens + 50,
                "completion_tokens": 50 + number % 70,
                "prompt_tokens_details": {"cached_tokens": 1024 if n_tokens > 1100 else 0},
            }
            model = MODELS[number % 5 == 0]
            answer = {"role": "assistant", "content": cuts[0][:200]}
            response = {
                "id": f"chatcmpl-{number}",
                "object": "chat.completion",
                "created": 1_793_664_000 + STEP_S * number,
                "model": model,
                "choices": [{"index": 0, "message": answer, "finish_reason": "stop"}],
                "usage": usage,
            }
            record = {"request": {"model": model, "messages": messages}, "response": response}
            file.write(json.dumps(record) + "\n")


def _seconds(folder: Path, log: Path) -> tuple[float, float]:
    """Return the clock's and the processor's seconds of one audit by the package in a folder."""
    command = [sys.executable, "-m", "jeton", "audit", str(log), "--logs", "--no-quality",
               "-t", "o200k_base", "--json", os.devnull]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(folder / "python")}
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True, cwd=folder)
    clock = perf_counter() - began
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime


def main() -> None:
    """Parse arguments, run, print a line for each version and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--log", type=Path, default=ROOT / "build" / "bench" / "versions.jsonl")
    given = parser.parse_args()
    log: Path = given.log.resolve()
    log.parent.mkdir(parents=True, exist_ok=True)
    write_requests(log, given.requests)
    folders = {"before": given.before.resolve(), "now": ROOT}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in folders}
    for turn in range(given.rounds):
        for name in (list(folders), list(folders)[::-1])[turn % 2]:
            found[name].append(_seconds(folders[name], log))
            clock, processor = found[name][-1]
            print(f"{name}: {clock:.2f} s, {processor:.2f} s of the processor", flush=True)
    for place, kind in enumerate(("clock", "processor")):
        before, now = ([row[place] for row in found[name]] for name in folders)
        print(
            f"now / before, {given.requests:,} requests, {kind}: "
            f"{min(now) / min(before):.3f} by the least, {median(now) / median(before):.3f} by the "
            "median"
        )


if __name__ == "__main__":
    main()
