"""Soak the service: ``python -m benches.service.soak [--requests N] [--minutes M] [--watch]``.

Requests of new text (counts and ids in turn) come until N are answered or M minutes are over. The
memory of the service is read each second by `jeton.watch.memory`, from the last three quarters on:
before, caches fill. Exit code 1: the whole interval of the slope is above 0.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from benches.service.load import answered
from benches.service.servers import free_port, server
from jeton.watch.memory import MemoryReading, MemoryWatch

__all__ = ["main", "soak"]

VOCABULARY = "cl100k_base"
ROUND_SECONDS = 10
WARM_SHARE = 0.25
SAMPLE_SECONDS = 1.0

_SCRIPT = """
local paths, n = {{"/v1/count", "/v1/encode"}}, 0
init = function() math.randomseed({seed}) end
request = function()
  n = n + 1
  local words = {{}}
  for i = 1, 40 do words[i] = string.format("%x", math.random(0, 0x7fffffff)) end
  local body = '{{"text": "The order ' .. n .. ' of ' .. table.concat(words, " ") .. '"}}'
  local kind = {{["Content-Type"] = "application/json"}}
  return wrk.format("POST", paths[n % 2 + 1], kind, body)
end
"""


def soak(n_requests: int, minutes: float, *, is_watched: bool = False) -> tuple[int, MemoryReading]:
    """Return the requests that were answered, and the memory's reading behind the warm-up.

    Raises:
        RuntimeError: A request failed.
    """
    port = free_port()
    words = ["jeton", "serve", "-t", VOCABULARY, "--port", str(port)]
    words += ["--watch", "-"] if is_watched else []
    end, n_done = time.monotonic() + 60 * minutes, 0
    with tempfile.TemporaryDirectory() as folder, server(words, port=port) as process:
        watch = MemoryWatch(process.pid)
        is_over = threading.Event()

        def sample() -> None:
            while not is_over.wait(SAMPLE_SECONDS):
                if n_done >= WARM_SHARE * n_requests or time.monotonic() > end - 45 * minutes:
                    watch.sample()

        thread = threading.Thread(target=sample)
        thread.start()
        try:
            script = Path(folder) / "soak.lua"
            seed = 0
            while n_done < n_requests and time.monotonic() < end:
                seed += 1
                script.write_text(_SCRIPT.format(seed=seed), encoding="utf-8")
                left = min(ROUND_SECONDS, max(1.0, end - time.monotonic()))
                n_done += answered(process.url, script, seconds=left, connections=16)[0]
                mebibytes = process.memory_bytes() / 2**20
                print(f"  {n_done:,} requests, {mebibytes:,.1f} MiB", flush=True)
        finally:
            is_over.set()
            thread.join()
    return n_done, watch.read()


def main() -> int:
    """Run the soak that is asked for."""
    parser = argparse.ArgumentParser(description="Soak the service on loopback.")
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--watch", action="store_true", help="with the drift watched, too")
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        parser.error("wrk was not found; on Debian: apt-get install wrk")
    begun = time.monotonic()
    try:
        n, found = soak(given.requests, given.minutes, is_watched=given.watch)
    except (RuntimeError, subprocess.SubprocessError) as error:
        parser.error(str(error))
    seconds = time.monotonic() - begun
    print(f"{n:,} requests of new text in {seconds / 60:.1f} min: {found.in_words}")
    if found.slope is None:
        print("too short for a slope; expected ten seconds behind the warm-up")
        return 2
    ends = [f"{value * seconds / n:+.3f}" for value in (found.slope.low, found.slope.high)]
    print(f"bytes a request: {found.slope.per_second * seconds / n:+.3f} ({' to '.join(ends)})")
    if n < given.requests:
        print(f"the time was over before {given.requests:,} requests")
    return 1 if found.slope.is_growing else 0


if __name__ == "__main__":
    raise SystemExit(main())
