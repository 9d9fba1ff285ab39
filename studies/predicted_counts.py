"""Judge what is foreseen of token counts: hard bounds, calibrated intervals, samples.

``python -m studies.predicted_counts bounds --shared ../shared`` counts 200,000 texts for each
family of tokenizers and looks for a broken bound. ``intervals`` learns from one half of the texts
of a language and judges on the other. Both print Markdown for docs/guides/prediction.md.

``--tokenx FOLDER`` adds the error of tokenx on the same pieces: a folder in which ``npm install
tokenx`` was run.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import jeton
from jeton import Tokenizer
from jeton.corpus import open_documents
from jeton.edge_texts import edge_texts
from jeton.errors import JetonError
from jeton.estimating.calibrated import CountModel
from jeton.estimating.learning import learn_from_texts
from jeton.estimating.sampled import sampled_count

__all__ = ["main"]

TEXTS = 200_000
_LANGUAGES = {
    "English": ("english", ""),
    "German": ("multilingual", "de"),
    "Chinese": ("multilingual", "zh"),
    "code": ("code", ""),
}
_MOST_BYTES = 16 << 20
_LEAST_CHARACTERS = 2000
_SPLITS = 4
"""Halves that are drawn: German and Chinese have few documents to judge by."""


def documents(shared: Path, corpus: str, language: str) -> Iterator[str]:
    """Documents of a corpus, of one language where it names them."""
    path = shared / "data" / "corpora" / f"{corpus}.jsonl.zst"
    if not language:
        for _, batch in open_documents([str(path)], field="text"):
            yield from batch
        return
    stream = open_documents([str(path)], field="text", domain_field="lang")
    for _, batch in stream:
        domains = stream.batch_domains
        assert domains is not None
        for text, number in zip(batch, domains.tolist(), strict=True):
            if number >= 0 and stream.domains[number] == language:
                yield text


def families() -> dict[str, list[str]]:
    """Vocabularies at hand by reference and algorithm."""
    found: dict[str, list[str]] = defaultdict(list)
    for entry in jeton.list_vocabularies():
        try:
            tokenizer = jeton.load(entry.name)
        except JetonError:
            continue
        found[f"{tokenizer.reference} {tokenizer.algorithm}"].append(entry.name)
    return found


def slices(shared: Path, n: int, seed: int) -> list[str]:
    """Slices of real text in many scripts."""
    rng = random.Random(seed)
    found: list[str] = []
    for corpus in ("multilingual", "code", "noisy", "udhr"):
        for text in itertools.islice(documents(shared, corpus, ""), 400):
            start = rng.randrange(max(1, len(text)))
            found.append(text[start : start + int(2 ** rng.uniform(0, 10))])
    return [rng.choice(found) for _ in range(n)]


def broken(tokenizer: Tokenizer, texts: Iterator[str]) -> tuple[int, int]:
    """Texts that were counted, and bounds that did not hold."""
    n = n_broken = 0
    for text in texts:
        for special in (False, True):
            try:
                count = tokenizer.count(text, add_special_tokens=special)
            except JetonError:
                continue
            n += not special
            for form in (text, text.encode()):
                bounds = tokenizer.bounds(form, add_special_tokens=special)
                n_broken += not bounds.lower_tokens <= count <= bounds.upper_tokens
    return n, n_broken


def judge_bounds(shared: Path, n_texts: int, chosen: list[str]) -> None:
    """Print a row for each family."""
    print("| family | vocabularies | texts | broken |\n| --- | ---: | ---: | ---: |")
    for family, names in sorted(families().items()):
        if chosen and family not in chosen:
            continue
        each = -(-n_texts // len(names))
        n = n_broken = 0
        for seed, name in enumerate(names):
            tokenizer = jeton.load(name)
            hard = itertools.islice(edge_texts(seed=seed, tokenizers=[tokenizer]), each // 2)
            real = iter(slices(shared, each - each // 2, seed))
            more, worse = broken(tokenizer, itertools.chain(hard, real))
            n, n_broken = n + more, n_broken + worse
        print(f"| {family} | {len(names)} | {n:,} | {n_broken} |", flush=True)


def judge_intervals(shared: Path, name: str, tokenx: Path | None) -> None:
    """Print a row for each language."""
    tokenizer = jeton.load(name)
    head = "| text | learned from | median width | error, median | held | slices held |"
    print(head + (" tokenx, error, median |" if tokenx else ""))
    print("| --- | ---: | ---: | ---: | ---: | ---: |" + (" ---: |" if tokenx else ""))
    for language, (corpus, code) in _LANGUAGES.items():
        texts: list[str] = []
        n_bytes = 0
        for text in documents(shared, corpus, code):
            texts.append(text)
            n_bytes += len(text)
            if n_bytes > _MOST_BYTES:
                break
        widths: list[float] = []
        errors: list[float] = []
        held: list[bool] = []
        sampled: list[float] = []
        pieces: list[str] = []
        for seed in range(_SPLITS):
            random.Random(seed).shuffle(texts)
            half = len(texts) // 2
            known, others = _joined(texts[:half]), _joined(texts[half:])
            model = learn_from_texts(known, tokenizer)
            judged = _pieces(others)
            more_widths, more_errors, more_held = _judged(model, tokenizer, judged)
            widths += more_widths
            errors += more_errors
            held += more_held
            sampled.append(_sample_coverage(tokenizer, others))
            pieces += judged
        theirs = f" {np.median(_tokenx_errors(tokenizer, pieces, tokenx)):.1%} |" if tokenx else ""
        print(
            f"| {language} | {model.n_bytes / 1e6:.1f} MB | {np.median(widths):.1%} | "
            f"{np.median(errors):.1%} | {np.mean(held):.1%} | "
            f"{np.mean(sampled):.1%} |{theirs}",
            flush=True,
        )


def _joined(texts: list[str]) -> list[str]:
    """Documents of 2,000 characters at the least: short ones with those that follow."""
    found = [""]
    for text in texts:
        if len(found[-1]) >= _LEAST_CHARACTERS:
            found.append("")
        found[-1] += f"\n\n{text}" if found[-1] else text
    return found


def _pieces(texts: list[str]) -> list[str]:
    """Beginnings of texts of 2 to 16 KB."""
    rng = random.Random(1)
    cut = (t.encode()[: int(2 ** rng.uniform(11, 14))].decode("utf-8", "ignore") for t in texts)
    return [piece for piece in cut if len(piece) >= 400]


def _judged(
    model: CountModel, tokenizer: Tokenizer, pieces: list[str]
) -> tuple[list[float], list[float], list[bool]]:
    widths, errors, held = [], [], []
    for piece in pieces:
        count = tokenizer.count(piece)
        found = model.count(piece)
        widths.append((found.upper_tokens - found.lower_tokens) / count)
        errors.append(abs(found.n_tokens - count) / count)
        held.append(found.lower_tokens <= count <= found.upper_tokens)
    return widths, errors, held


_TOKENX = """
import { createInterface } from "node:readline";
import { estimateTokenCount } from "tokenx";
for await (const line of createInterface({ input: process.stdin }))
    console.log(estimateTokenCount(JSON.parse(line)));
"""


def _tokenx_errors(tokenizer: Tokenizer, pieces: list[str], folder: Path) -> list[float]:
    """Share by which tokenx is off, for each piece."""
    done = subprocess.run(
        ["node", "--input-type=module", "-e", _TOKENX],
        input="".join(json.dumps(piece) + "\n" for piece in pieces),
        cwd=folder,
        text=True,
        check=True,
        capture_output=True,
    )
    counts = [tokenizer.count(piece) for piece in pieces]
    guesses = map(int, done.stdout.split())
    return [abs(guess - count) / count for guess, count in zip(guesses, counts, strict=True)]


def _sample_coverage(tokenizer: Tokenizer, texts: list[str]) -> float:
    """Share of draws of slices whose interval holds the count of all of the texts together."""
    data = "\n".join(texts).encode()
    step = max(1, len(data) // 8)
    held = []
    for part in range(8):
        piece = data[part * step : (part + 1) * step].decode("utf-8", "ignore").encode()
        count = tokenizer.count(piece.decode())
        for seed in range(25):
            found = sampled_count(
                tokenizer,
                lambda start, end, piece=piece: piece[start:end],  # type: ignore[misc]
                len(piece),
                sample_bytes=min(65_536, max(1024, len(piece) // 4)),
                seed=seed,
            )
            held.append(found.lower_tokens <= count <= found.upper_tokens)
    return float(np.mean(held))


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("bounds", "intervals"))
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--tokenizer", default="o200k_base")
    parser.add_argument("--texts", type=int, default=TEXTS)
    parser.add_argument("--family", action="append", default=[])
    parser.add_argument("--tokenx", type=Path)
    given = parser.parse_args()
    if given.what == "bounds":
        judge_bounds(given.shared, given.texts, given.family)
    else:
        judge_intervals(given.shared, given.tokenizer, given.tokenx)


if __name__ == "__main__":
    main()
