"""Rates of the steps of an audit on a cluster, for one core: the table of docs/guides/cluster.md.

    python -m scripts.cluster_log_rates FOLDER

The folder holds a log of ``scripts.cluster_logs``. Seconds are those of the processor, so that
other programs on the machine disturb little.
"""

from __future__ import annotations

import argparse
import pickle
import time
from pathlib import Path

from jeton.auditing import Audit
from jeton.cluster.token_counting import add_up
from jeton.corpus.requests import shards
from jeton.corpus.requests.seams import PartEntry, entries


def main() -> None:
    """Count the parts of a log one after another, and print what each step took."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part-mb", type=float, default=4)
    given = parser.parse_args()
    shards.SHARD_BYTES = int(given.part_mb * 1e6)  # type: ignore[misc]
    audit = Audit(
        tokenizers=["jeton-general-32k"], logs=True, domain_field="service", quality=False
    )
    job = audit.log_job(sorted(given.folder.glob("*.jsonl")))
    exits, counts = [], []
    begin = time.process_time()
    for number in range(len(job.parts)):
        left, own = job.count(number, PartEntry(part=number), num_threads=1)
        exits.append(left)
        counts.append(own)
    counted = time.process_time()
    entries(
        job.parts,
        [left.summary for left in exits],
        lambda wanted: {part: exits[part].state_of(*wanted[part]) for part in wanted},
    )
    resolved = time.process_time()
    sent = [pickle.dumps(own) for own in counts]
    n_exit = sum(len(pickle.dumps(left)) for left in exits)
    begin_sum = time.process_time()
    merged = add_up(job, *map(pickle.loads, sent))
    summed = time.process_time() - begin_sum
    assert merged.requests is not None
    assert merged.requests.facts is not None
    n, n_parts = merged.requests.facts.n_rows, len(job.parts)
    print(f"{n:,} requests, {n_parts} parts")
    print(f"count: {(counted - begin) / n * 1e6:,.0f} us a request")
    print(f"what parts share: {(resolved - counted) / n * 1e6:,.2f} us a request")
    print(f"add up: {summed / n_parts:,.3f} s a part")
    print(f"counts: {sum(map(len, sent)) / n_parts / 1e6:,.1f} MB a part")
    print(f"columns for others: {n_exit / n:,.0f} bytes a request")


if __name__ == "__main__":
    main()
