"""Audits a made-up log on this machine and on a local cluster of Ray, and compares the reports.

    python -m scripts.cluster_logs --requests 10000000 --folder /tmp/logs

The log has files of requests with a text, an id, a time and a usage. One request in fifty is logged
again later, one in a hundred has an answer in two blocks, and some models have no price. The JSON
of both reports has to be the same, byte for byte. A log that is there already is used again.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path
from typing import Any

from jeton.auditing import Audit
from jeton.cluster import RayTasks, count_logs_on_ray
from jeton.corpus.requests import shards
from jeton.report import to_json

MODELS = ("gpt-4o", "gpt-4o-mini", "claude-sonnet-4-5", "gemini-2.5-flash", "house-model")
WORDS = ("invoice", "order", "late", "refund", "customer", "asks", "when", "parcel", "arrives")
FIRST_S = 1_790_000_000
FILE_REQUESTS = 250_000


def lines(n_requests: int, first: int, rng: random.Random) -> list[str]:
    """Lines of one file."""
    made: list[str] = []
    for number in range(first, first + n_requests):
        model = MODELS[min(4, int(rng.random() ** 2 * 5))]
        text = " ".join(rng.choices(WORDS, k=rng.randrange(4, 60)))
        output = rng.randrange(5, 400)
        record: dict[str, Any] = {
            "id": f"req-{number}",
            "model": model,
            "timestamp": FIRST_S + number * 0.1,
            "messages": [
                {"role": "system", "content": "You answer customers of a shop, briefly."},
                {"role": "user", "content": text},
            ],
            "response": {
                "id": f"chatcmpl-{number}",
                "model": model,
                "choices": [{"message": {"role": "assistant", "content": text[:40]}}],
                "usage": {"prompt_tokens": 30 + len(text) // 4, "completion_tokens": output},
            },
            "service": ("web", "mail", "phone")[number % 3],
        }
        made.append(json.dumps(record))
        if number % 100 == 7:
            record["response"]["usage"]["completion_tokens"] = output + 50
            made.append(json.dumps(record))
        if number % 50 == 3 and len(made) > 2_000:
            made.append(made[-rng.randrange(1, 2_000)])
    return made


def write_log(folder: Path, n_requests: int) -> None:
    """Write files of the log that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for first in range(0, n_requests, FILE_REQUESTS):
        path = folder / f"{first:010d}.jsonl"
        if path.exists():
            continue
        made = lines(min(FILE_REQUESTS, n_requests - first), first, random.Random(first))
        unfinished = path.with_suffix(".tmp")
        unfinished.write_text("\n".join(made) + "\n", encoding="utf-8")
        unfinished.rename(path)


def main() -> None:
    """Write the log, audit it twice, compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--requests", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--part-mb", type=float, default=shards.SHARD_BYTES / 1e6)
    parser.add_argument("--task-memory-gb", type=float, default=1.5)
    given = parser.parse_args()
    shards.SHARD_BYTES = int(given.part_mb * 1e6)  # type: ignore[misc]
    write_log(given.folder, given.requests)
    paths = sorted(given.folder.glob("*.jsonl"))
    n_bytes = sum(path.stat().st_size for path in paths)
    print(f"{given.requests:,} requests, {n_bytes / 1e9:.2f} GB, {len(paths)} files")
    reports = {}
    for where in ("ray", "local"):
        audit = Audit(
            tokenizers=["jeton-general-32k"], logs=True, domain_field="service", quality=False
        )
        begin = time.perf_counter()
        if where == "ray":
            tasks = RayTasks(memory_bytes=int(given.task_memory_gb * 2**30))
            counts = count_logs_on_ray(audit, paths, tasks=tasks)
        else:
            counts = audit.count(paths)
        counted = time.perf_counter()
        report = audit.report(counts)
        reports[where] = to_json(report)
        assert report.requests is not None
        print(
            f"{where}: {report.requests.n_requests:,} requests counted in "
            f"{counted - begin:,.0f} s, "
            f"reported in {time.perf_counter() - counted:,.0f} s",
            flush=True,
        )
    is_same = reports["ray"] == reports["local"]
    print(
        f"the reports are {'the same' if is_same else 'different'}: {len(reports['ray']):,} bytes"
    )
    if not is_same:
        for where, text in reports.items():
            (given.folder / f"report-{where}.json").write_text(text, encoding="utf-8")
        raise SystemExit(1)


if __name__ == "__main__":
    main()
