"""A router on a log of two domains with known best answers, and the time of a choice.

    python -m benches.routing [--requests N] [--log F]

The log: requests about code (long prompts, short answers) and about law (short prompts, long
answers), in turns of conversations. Three endpoints have different tokenizers and prices, so that
the best answer of each domain follows from its lengths; it is worked out here request by request
and compared. The time of ``Router.choose`` is the processor's, least of five rounds, counts given.
The tables are for ``docs/guides/routing.md``.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from pathlib import Path
from typing import Any

ENDPOINTS = """
[[endpoint]]
name = "wide"
model = "wide"
tokenizer = "jeton-code-32k-v1"
price = "usd:0.10/3.00"

[[endpoint]]
name = "deep"
model = "deep"
tokenizer = "jeton-legal-32k-v1"
price = "usd:0.90/0.60"

[[endpoint]]
name = "middle"
model = "middle"
tokenizer = "jeton-general-32k-v1"
price = "usd:0.50/0.90"
"""
CODE = (
    "for (int i = 0; i < n; ++i)",
    "sum += data[i];",
    "return sum;",
    "if (ptr == NULL) break;",
    "def load(path): return open(path).read()",
    "const total = rows.length;",
)
LAW = (
    "The defendant filed a motion.",
    "The court denied the appeal.",
    "Notice was served in time.",
    "The lease ends without renewal.",
    "Damages were not proven.",
)
ROUNDS = 5


def make_log(n_requests: int) -> list[dict[str, Any]]:
    """Returns records of prompts, answers and tasks; every answer length is drawn."""
    draw = random.Random(7)
    records = []
    for number in range(n_requests):
        is_code = draw.random() < 0.5
        lines, n_in, n_out = (CODE, (60, 200), (1, 6)) if is_code else (LAW, (2, 12), (30, 120))
        records.append(
            {
                "model": "wide",
                "task": "code" if is_code else "law",
                "timestamp": 1_760_000_000 + number,
                "prompt": "\n".join(draw.choices(lines, k=draw.randint(*n_in))),
                "response": "\n".join(draw.choices(lines, k=draw.randint(*n_out))),
            }
        )
    return records


def best_bill(records: list[dict[str, Any]]) -> float:
    """Returns the least bill there is, added up request by request."""
    import jeton

    rates = {"jeton-code-32k-v1": (0.10, 3.0), "jeton-legal-32k-v1": (0.9, 0.6),
             "jeton-general-32k-v1": (0.5, 0.9)}  # fmt: skip
    loaded = [(jeton.load(name), *own) for name, own in rates.items()]
    return sum(
        min(
            (tok.count(one["prompt"]) * a + tok.count(one["response"]) * b) / 1e6
            for tok, a, b in loaded
        )
        for one in records
    )


def choice_microseconds(n_endpoints: int) -> float:
    """Returns the processor's time of a choice, in microseconds."""
    from jeton.planning import Endpoint, Router, RoutingRequest

    router = Router(
        [
            Endpoint(f"e{i}", f"e{i}", "jeton-general-32k-v1", price=f"usd:{i + 1}/{20 - i}")
            for i in range(n_endpoints)
        ]
    )
    draw = random.Random(3)
    requests = [
        RoutingRequest(
            tuple(draw.randint(50, 4000) for _ in range(n_endpoints)),
            task=draw.choice(("code", "law")),
            conversation=f"c{draw.randint(0, 999)}",
            time_s=1_760_000_000.0 + i,
        )
        for i in range(4000)
    ]
    for request in requests:
        router.finished(router.choose(request), draw.randint(1, 500))
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.process_time()
        for request in requests:
            router.choose(request)
        best = min(best, (time.process_time() - begin) / len(requests))
    return best * 1e6


def main() -> None:
    """Prints the tables."""
    from jeton.planning.routing import parse_endpoints, route_logs

    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--log", help="write the log and the endpoints beside it")
    given = parser.parse_args()
    records = make_log(given.requests)
    if given.log:
        lines = "".join(json.dumps(record) + "\n" for record in records)
        Path(given.log).write_text(lines, encoding="utf-8")
        Path(given.log).with_suffix(".toml").write_text(ENDPOINTS, encoding="utf-8")
    found = route_logs(records, parse_endpoints(ENDPOINTS), task_field="task")
    known = best_bill(records)
    oracle = float(found.outcome("oracle").usd)
    if abs(oracle - known) > 1e-9 * known:
        raise SystemExit(f"the oracle's bill is {oracle}, the best one {known}")
    print("| way | bill | regret | 95% |\n| --- | ---: | ---: | --- |")
    for one in found.outcomes:
        share = one.regret_share or 0.0
        ends = (
            ""
            if one.regret_low is None or one.regret_high is None
            else f"{one.regret_low:.2%} to {one.regret_high:.2%}"
        )
        print(f"| {one.name} | ${one.usd:.4f} | {share:.2%} | {ends} |")
    print("\n| endpoints | a choice |\n| ---: | ---: |")
    for n_endpoints in (1, 3, 6, 12):
        print(f"| {n_endpoints} | {choice_microseconds(n_endpoints):.1f} us |")


if __name__ == "__main__":
    main()
