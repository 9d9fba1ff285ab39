"""How often each check of the audit fires on real text, and how often the finding does not hold.

Every domain of every corpus is a workload. It is cut into two halves by the digests of its
documents, and each half is audited by itself. A check *fires* on a half; the finding is *not
confirmed*, a false alarm, if the same check stays silent on the other half although that half is
text of the same kind. Thresholds make some of these: a workload at 1.0% fires on one side only.

    python -m scripts.false_alarms CORPORA_DIR --vocab VOCAB_DIR [--write docs/reference/checks.md]

``CORPORA_DIR`` holds ``*.jsonl.zst`` with the fields ``text`` and ``domain``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import defaultdict
from hashlib import blake2b
from pathlib import Path

import jeton
from jeton._core import decompress
from jeton.auditing.checks import CHECKS
from jeton.findings import Finding, Severity
from scripts.marked import Part

PART = Part("false alarms", "python -m scripts.false_alarms")

MAX_HALF_BYTES = 400_000
"""Text of one half: larger domains are drawn by digest."""

MIN_HALF_DOCUMENTS = 10
"""Documents of a half; domains of fewer say nothing about a workload."""

TOKENIZERS = ("cl100k_base", "jeton-general-32k")
MODEL, GPU = "llama-3.1-8b", "h100"
PRICE_MODEL, REQUESTS_PER_DAY = "anthropic:claude-sonnet-4-5", 50_000

NEEDS_SETTINGS = (
    "padding-static",
    "padding-longest",
    "truncation-loss",
    "chunk-overlap",
    "context-unused",
    "output-reserved",
    "answers-cut",
    "train-serve-mismatch",
    "preprocessing-growth",
    "quota-exceeded",
)
NEEDS_LOGS = (
    *(id for id in CHECKS if id.startswith(("cache-", "agent-"))),
    "stated-cost-differs",
    "input-overhead",
    "output-long",
    "output-echo",
    "reasoning-share",
)
NEEDS_MORE = ("term-shatter", "domain-foreign", "price-step")


def halves(path: Path) -> dict[str, tuple[list[str], list[str]]]:
    """The documents of each domain in two halves, each within the limit."""
    drawn: dict[str, tuple[list[tuple[bytes, str]], list[tuple[bytes, str]]]] = defaultdict(
        lambda: ([], [])
    )
    for line in decompress(path.read_bytes(), max_bytes=1 << 30).splitlines():
        record = json.loads(line)
        digest = blake2b(record["text"].encode(), digest_size=16).digest()
        drawn[record["domain"]][digest[0] & 1].append((digest, record["text"]))
    result = {}
    for domain, sides in sorted(drawn.items()):
        kept: tuple[list[str], list[str]] = ([], [])
        for side, texts in zip(sides, kept, strict=True):
            n_bytes = 0
            for _, text in sorted(side):
                n_bytes += len(text.encode())
                if n_bytes > MAX_HALF_BYTES and len(texts) >= MIN_HALF_DOCUMENTS:
                    break
                texts.append(text)
        if min(map(len, kept)) >= MIN_HALF_DOCUMENTS:
            result[domain] = kept
    return result


def fired(texts: list[str]) -> dict[str, Finding]:
    """The findings of one half by check; good signs are no alarms."""
    report = jeton.audit(
        iter(texts),
        tokenizers=TOKENIZERS,
        model=MODEL,
        gpu=GPU,
        price_model=PRICE_MODEL,
        requests_per_day=REQUESTS_PER_DAY,
    )
    return {f.id: f for f in report.findings if f.severity is not Severity.GOOD}


def main(arguments: list[str] | None = None) -> int:
    """Audit all halves and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpora", type=Path)
    parser.add_argument("--vocab", type=Path, help="folder of the vocabulary")
    parser.add_argument("--write", type=Path, help="page whose table is replaced")
    parser.add_argument("--json", type=Path, help="all findings, for reading them")
    options = parser.parse_args(arguments)
    if options.vocab is not None:
        os.environ["JETON_VOCAB_DIR"] = str(options.vocab)
    n_halves: dict[str, int] = {}
    n_fired: dict[str, dict[str, int]] = {check: defaultdict(int) for check in CHECKS}
    n_single: dict[str, dict[str, int]] = {check: defaultdict(int) for check in CHECKS}
    everything = []
    for path in sorted(options.corpora.glob("*.jsonl.zst")):
        corpus = path.name.partition(".")[0]
        started = time.monotonic()
        workloads = halves(path)
        n_halves[corpus] = 2 * len(workloads)
        for domain, sides in workloads.items():
            first, second = map(fired, sides)
            for check in {*first, *second}:
                both = check in first and check in second
                n_fired[check][corpus] += 2 if both else 1
                n_single[check][corpus] += not both
                finding = first.get(check) or second[check]
                everything.append(
                    {
                        "corpus": corpus,
                        "domain": domain,
                        "check": check,
                        "both": both,
                        "title": finding.title,
                        "examples": finding.evidence.get("examples"),
                    }
                )
        print(f"{corpus}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    table = "\n".join(_table(n_halves, n_fired, n_single))
    if options.json is not None:
        options.json.write_text(json.dumps(everything, indent=1, ensure_ascii=False))
    if options.write is not None:
        PART.rewrite(options.write, table)
    else:
        print(table)
    return 0


def _table(
    n_halves: dict[str, int],
    n_fired: dict[str, dict[str, int]],
    n_single: dict[str, dict[str, int]],
) -> list[str]:
    corpora = list(n_halves)
    total = sum(n_halves.values())
    lines = [
        "| check | " + " | ".join(f"{c} ({n_halves[c]})" for c in corpora) + " | false alarms |",
        "| --- " * (len(corpora) + 2) + "|",
    ]
    for check in CHECKS:
        if check in (*NEEDS_SETTINGS, *NEEDS_LOGS, *NEEDS_MORE, "compression-good"):
            continue
        cells = []
        for corpus in corpora:
            fired_here, single = n_fired[check][corpus], n_single[check][corpus]
            cells.append(f"{fired_here}" + (f" ({single})" if single else "") if fired_here else "")
        n_false = sum(n_single[check].values())
        cells.append(f"{n_false} of {total} ({n_false / total:.1%})")
        lines.append(f"| `{check}` | " + " | ".join(cells) + " |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
