"""Tokens saved by ``jeton adapt extend`` against continued BPE, held out by source.

``python -m studies.continued_bpe CORPORA`` extends cl100k on some kinds of medical and legal text
and counts a kind that neither side learned from. Continued BPE is the published method (Purason et
al. 2025), written here anew in plain Python on the ids and pretokens of ``tokenizers``. It is not
the authors' package, which no registry has: its time says what plain Python costs, no more.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

import jeton
from jeton._files import write_whole
from jeton.adapt import Reading, extend
from jeton.corpus import open_documents
from scripts.marked import Part

__all__ = ["Continued", "main", "table"]

_DOCS = Path(__file__).resolve().parents[1] / "docs" / "studies"
PAGE = _DOCS / "new-rows.md"
FIGURES = _DOCS / "continued-bpe.json"
PART = Part("continued", "python -m studies.continued_bpe CORPORA")
BASE = "cl100k_base"
SOURCES = {
    "medical": ("medical.jsonl.zst", "medical-qa"),
    "legal": ("legal.jsonl.zst", "legal-statute"),
}
"""File of each domain, and the kind of text that is held out."""

Pair = tuple[int, int]


class Continued:
    """Continued BPE: the base's merges first, then the most frequent pair again and again."""

    def __init__(self, base: Tokenizer) -> None:
        self._base = base
        self._known: dict[str, tuple[int, ...]] = {}
        self._first_id = base.get_vocab_size()
        self.merges: dict[Pair, int] = {}

    def learn(self, texts: Iterable[str], n_tokens: int) -> None:
        """Learns new merges; equal counts are decided by the lower ids."""
        counted = Counter(self._pretokens(texts))
        words = [list(self._cut(pretoken)) for pretoken in counted]
        often = list(counted.values())
        pairs: Counter[Pair] = Counter()
        places: defaultdict[Pair, set[int]] = defaultdict(set)
        for place, (word, n) in enumerate(zip(words, often, strict=True)):
            for pair in itertools.pairwise(word):
                pairs[pair] += n
                places[pair].add(place)
        waiting = [(-n, pair) for pair, n in pairs.items()]
        heapq.heapify(waiting)
        while waiting and len(self.merges) < n_tokens:
            n, best = heapq.heappop(waiting)
            if -n != pairs[best] or not n:
                continue
            made = self._first_id + len(self.merges)
            self.merges[best] = made
            changed: set[Pair] = set()
            for place in places.pop(best):
                old = words[place]
                new = _joined(old, best, made)
                for pair in itertools.pairwise(old):
                    pairs[pair] -= often[place]
                    changed.add(pair)
                for pair in itertools.pairwise(new):
                    pairs[pair] += often[place]
                    places[pair].add(place)
                    changed.add(pair)
                words[place] = new
            for pair in changed:
                if pairs[pair] > 0:
                    heapq.heappush(waiting, (-pairs[pair], pair))

    def count(self, texts: Iterable[str]) -> tuple[int, int]:
        """Returns the tokens of texts before and after."""
        counted = Counter(self._pretokens(texts))
        before = after = 0
        for pretoken, n in counted.items():
            word = list(self._cut(pretoken))
            before += n * len(word)
            after += n * len(self._merged(word))
        return before, after

    def _merged(self, word: list[int]) -> list[int]:
        while len(word) > 1:
            known = [pair for pair in itertools.pairwise(word) if pair in self.merges]
            if not known:
                break
            first = min(known, key=self.merges.__getitem__)
            word = _joined(word, first, self.merges[first])
        return word

    def _pretokens(self, texts: Iterable[str]) -> Iterator[str]:
        cut = self._base.pre_tokenizer.pre_tokenize_str
        for text in texts:
            for _, (start, end) in cut(text):
                yield text[start:end]

    def _cut(self, pretoken: str) -> tuple[int, ...]:
        found = self._known.get(pretoken)
        if found is None:
            found = tuple(self._base.encode(pretoken, add_special_tokens=False).ids)
            self._known[pretoken] = found
        return found


def _joined(word: list[int], pair: Pair, made: int) -> list[int]:
    joined: list[int] = []
    place = 0
    while place < len(word):
        if place + 1 < len(word) and (word[place], word[place + 1]) == pair:
            joined.append(made)
            place += 2
        else:
            joined.append(word[place])
            place += 1
    return joined


def texts_of(file: Path, kind: str, *, is_wanted: bool, n_bytes: int) -> list[str]:
    """Returns texts of one kind, or of all others, from all over the file."""
    stream = open_documents(file, field="text", domain_field="domain")
    found: list[str] = []
    for _, batch in stream:
        domains = stream.batch_domains
        assert domains is not None
        for text, number in zip(batch, domains.tolist(), strict=True):
            if (stream.domains[number] == kind) is is_wanted:
                found.append(text)
    step = max(1, sum(len(text.encode()) for text in found) // n_bytes)
    return found[::step]


def measured(corpora: Path, n_tokens: int, n_bytes: int) -> Iterator[dict[str, Any]]:
    """Extends by both ways in turn, and counts the kind held out."""
    base = jeton.load(BASE)
    with tempfile.TemporaryDirectory() as place:
        base.save(Path(place) / "tokenizer.json")
        peer = Tokenizer.from_file(str(Path(place) / "tokenizer.json"))
    for domain, (name, kind) in SOURCES.items():
        learned = texts_of(corpora / name, kind, is_wanted=False, n_bytes=n_bytes)
        judged = texts_of(corpora / name, kind, is_wanted=True, n_bytes=n_bytes // 2)
        begun = time.process_time()
        found = extend(
            iter(learned), base=base, n_tokens=n_tokens, reading=Reading(hold_out=0, num_threads=1)
        )
        ours_seconds = time.process_time() - begun
        begun = time.process_time()
        continued = Continued(peer)
        continued.learn(learned, n_tokens)
        seconds = time.process_time() - begun
        before, after = continued.count(judged)
        ours_before, ours_after = (
            int(tokenizer.count_batch(judged).sum()) for tokenizer in (base, found.tokenizer)
        )
        if before != ours_before:
            raise ValueError(f"the two cut {domain} text unlike: {before:,} and {ours_before:,}")
        yield {
            "domain": domain,
            "held_out": kind,
            "new_tokens": n_tokens,
            "learned_bytes": sum(len(text.encode()) for text in learned),
            "held_out_bytes": sum(len(text.encode()) for text in judged),
            "tokens_before": before,
            "continued": {"tokens": after, "seconds": round(seconds, 1)},
            "jeton": {"tokens": ours_after, "seconds": round(ours_seconds, 2)},
        }


def table(figures: dict[str, Any]) -> str:
    """Returns the table as Markdown."""
    lines = [
        "| text held out | new tokens | learned from | tokens before | saved by continued BPE "
        "| saved by `extend` | time of plain Python over ours |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in figures["rows"]:
        before, ours, other = row["tokens_before"], row["jeton"], row["continued"]
        lines.append(
            f"| {row['held_out']} | {row['new_tokens']:,} | {row['learned_bytes'] / 1e6:.1f} MB "
            f"| {before:,} | {before - other['tokens']:,} ({1 - other['tokens'] / before:.2%}) "
            f"| {before - ours['tokens']:,} ({1 - ours['tokens'] / before:.2%}) "
            f"| {other['seconds'] / ours['seconds']:.0f} |"
        )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Measures if there are corpora, writes figures and page, and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("corpora", type=Path, nargs="?")
    parser.add_argument("--add", type=int, action="append", help="new tokens; 1,000 and 5,000")
    parser.add_argument("--bytes", type=int, default=6_000_000, help="of text to learn from")
    parser.add_argument("--check", action="store_true", help="change nothing, say if it is stale")
    options = parser.parse_args(arguments)
    if options.corpora is not None:
        rows = []
        for n_tokens in options.add or (1000, 5000):
            for row in measured(options.corpora, n_tokens, options.bytes):
                print(json.dumps(row), file=sys.stderr, flush=True)
                rows.append(row)
        write_whole(FIGURES, json.dumps({"base": BASE, "rows": rows}, indent=1) + "\n")
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    return PART.update(PAGE, table(figures), check=options.check)


if __name__ == "__main__":
    sys.exit(main())
