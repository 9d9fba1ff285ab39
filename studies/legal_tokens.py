"""Measure how many tokens 5,000 more ids save on legal text of a kind that was not learned from.

``python -m studies.legal_tokens CORPUS.jsonl.zst`` leaves out one kind of legal text after another
(contracts, opinions, policies, statutes), extends a base on the others, and counts the kind left
out. The corpus is JSON lines with ``text`` and ``domain``. ``--kind`` chooses one kind.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import jeton
from jeton.adapt import Reading, extend
from jeton.corpus import open_documents

__all__ = ["main"]


def texts(corpus: Path, kind: str, *, is_wanted: bool) -> Iterator[str]:
    """The texts of one kind, or of all others."""
    stream = open_documents(corpus, field="text", domain_field="domain")
    for _, batch in stream:
        domains = stream.batch_domains
        if domains is None:
            continue
        for text, number in zip(batch, domains.tolist(), strict=True):
            if (number >= 0 and stream.domains[number] == kind) is is_wanted:
                yield text


def main() -> None:
    """Prints a line of JSON for each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--base", default="cl100k_base")
    parser.add_argument("--add", type=int, default=5000)
    parser.add_argument("--kind", action="append")
    given = parser.parse_args()
    base = jeton.load(given.base)
    kinds = given.kind or ["legal-contract", "legal-court-opinion", "legal-privacy-policy",
                           "legal-statute"]  # fmt: skip
    for kind in kinds:
        found = extend(
            texts(given.corpus, kind, is_wanted=False),
            base=base,
            n_tokens=given.add,
            reading=Reading(hold_out=0.0),
        )
        before = after = n_bytes = 0
        for text in texts(given.corpus, kind, is_wanted=True):
            before += base.count(text)
            after += found.tokenizer.count(text)
            n_bytes += len(text.encode())
        line = {
            "held_out": kind,
            "learned_bytes": found.n_bytes,
            "held_out_bytes": n_bytes,
            "tokens_before": before,
            "tokens_after": after,
            "saved_share": round(1 - after / max(1, before), 4),
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
