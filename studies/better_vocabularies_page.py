"""Write the tables of docs/studies/better-vocabularies.md from the corpora.

``python -m studies.better_vocabularies_page CORPORA`` (the folder of the corpora that the page
names) rewrites what stands between the page's markers; ``--check`` only says whether it is up to
date (exit code 1 when not). ``--only parity`` (or ``members``, ``bill``) makes one of the three
parts anew.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton import _core
from jeton.corpus import CorpusCare, HoldOut, InputFile, NearDuplicateSettings
from jeton.corpus.places import RecordPlaces
from jeton.metrics import gini
from jeton.metrics.bootstrap import bootstrap_sums
from jeton.planning import cost_aware
from jeton.training import TrainSettings, count_languages, count_pretokens, learn_from_counts
from jeton.training.counting import OnHeldOut
from scripts.marked import Part

__all__ = ["articles", "main"]

PAGE = Path(__file__).resolve().parent.parent / "docs" / "studies" / "better-vocabularies.md"

PARITY_SIZE = 32_000
N_RESAMPLES = 2_000
SEED = 0

DECLARATIONS = {
    "en": "eng", "es": "spa", "ko": "kor", "zh": "cmn_hans", "fr": "fra", "tr": "tur",
    "ja": "jpn", "fi": "fin", "ru": "rus", "hi": "hin", "ar": "arb", "vi": "vie",
    "de": "deu_1996", "nl": "nld", "it": "ita", "id": "ind", "ta": "tam", "bn": "ben",
    "pl": "pol", "uk": "ukr", "ml": "mal", "th": "tha", "ne": "nep", "ro": "ron_2006",
    "el": "ell_monotonic", "cs": "ces", "sr": "srp_cyrl", "bg": "bul", "sv": "swe",
    "da": "dan", "uz": "uzn_latn", "ca": "cat", "bs": "bos_latn", "lo": "lao", "no": "nob",
    "Gujarati-NT": "guj", "Ewe-NT": "ewe", "Armenian-PART": "hye", "Basque-NT": "eus",
    "Swahili-NT": "swh", "Latvian-NT": "lav", "Zulu-NT": "zul", "Estonian-PART": "est",
    "Manx-PART": "glv", "Gaelic-PART": "gla", "Cherokee-NT": "chr_cased",
}  # fmt: skip
"""Languages of the corpus to train on, and the declaration's text in each: those whose articles
are told apart by their numbers."""

PARITY_RUNS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("plain BPE", "bpe", {}),
    ("parity, by characters", "parity-bpe", {"units": "characters"}),
    ("parity, aligned", "parity-bpe", {"units": "aligned"}),
    ("the same, window 100", "parity-bpe", {"units": "aligned", "window": 100}),
    ("the same, half of the merges from all text", "parity-bpe", {"global_merges": 16_000}),
)

MEMBERS = {"medical": 32_000, "legal": 32_000, "english": 32_000, "multilingual": 32_000}
MEMBER_RUNS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("`trimmed-bpe`", "trimmed-bpe", {}),
    ("`min-token-unigram`", "min-token-unigram", {}),
)
RARE_USES = 10

WITHIN_WORDS = ("trimmed-bpe", "min-token-unigram")
BILLS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("medical", "llama-3.2-1b", WITHIN_WORDS),
    ("medical", "llama-3.2-1b", (*WITHIN_WORDS, "superbpe")),
    ("medical", "llama-3-8b", WITHIN_WORDS),
    ("legal", "llama-3.2-1b", WITHIN_WORDS),
)
OUTPUT_TOKENS = 200.0


def records(path: Path) -> list[dict[str, Any]]:
    """The records of a corpus."""
    data = _core.decompress(path.read_bytes(), max_bytes=1 << 30)
    return [json.loads(line) for line in data.splitlines()]


def articles(text: str) -> list[str] | None:
    """The preamble and the thirty articles; None where their numbers are not found."""
    parts: list[list[str]] = [[]]
    chinese = 0
    for line in text.split("\n"):
        number = re.search(r"\d+", line.replace("Article premier", "Article 1"))
        value = int(number[0]) if number else None
        if value is None and re.fullmatch(r"第.{1,3}条", line):
            chinese += 1
            value = chinese
        if len(line) <= 30 and value == len(parts) and len(parts) <= 30:
            parts.append([])
        else:
            parts[-1].append(line)
    return ["\n".join(part) for part in parts] if len(parts) == 31 else None


def _interval(
    statistic: Callable[[NDArray[np.int64]], float], n_articles: int
) -> tuple[float, float]:
    draw = np.random.default_rng(SEED)
    found = [statistic(draw.integers(0, n_articles, n_articles)) for _ in range(N_RESAMPLES)]
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def parity_table(folder: Path) -> str:
    """Plain BPE and the variants of parity on articles that none of them saw."""
    declarations = {row["lang"]: row["text"] for row in records(folder / "udhr.jsonl.zst")}
    texts: dict[str, list[str]] = {}
    for row in records(folder / "multilingual.jsonl.zst"):
        if row.get("lang") in DECLARATIONS:
            texts.setdefault(row["lang"], []).append(row["text"])
    aligned = {name: articles(declarations[code]) for name, code in DECLARATIONS.items()}
    missing = [name for name, found in aligned.items() if found is None or name not in texts]
    if missing:
        raise SystemExit(f"no articles or no text to train on: {missing}")
    measured = {name: (found or [])[1::2] for name, found in aligned.items()}
    apart = {name: (found or [])[::2] for name, found in aligned.items()}
    names = sorted(texts)
    english = names.index("en")
    rows = []
    plain: NDArray[np.int64] | None = None
    for title, algorithm, options in PARITY_RUNS:
        settings = TrainSettings(algorithm=algorithm, vocab_size=PARITY_SIZE, options=options)
        uses_articles = algorithm != "bpe" and options.get("units") != "characters"
        counted = count_languages(
            {name: iter(texts[name]) for name in names},
            settings=settings,
            development=({name: iter(measured[name]) for name in names} if uses_articles else None),
        )
        tokenizer = learn_from_counts(counted, settings=settings).tokenizer
        tokens = np.stack([tokenizer.count_batch(apart[name]) for name in names])
        plain = tokens if plain is None else plain
        rows.append(_parity_row(title, tokens, plain, english))
    n_bytes = sum(len(text.encode()) for found in texts.values() for text in found)
    header = (
        f"{len(names)} languages, {n_bytes / 1e6:.0f} MB to train on, {PARITY_SIZE:,} ids; "
        f"{len(apart['en'])} parts of the declaration that no training saw:\n\n"
        "| | Gini of the premiums | dearest language | median premium | tokens of all languages "
        "| tokens in English |\n| --- | ---: | ---: | ---: | ---: | ---: |"
    )
    return "\n".join([header, *rows])


def _parity_row(
    title: str, tokens: NDArray[np.int64], plain: NDArray[np.int64], english: int
) -> str:
    def premiums(places: NDArray[np.int64]) -> NDArray[np.float64]:
        sums = tokens[:, places].sum(axis=1)
        found: NDArray[np.float64] = sums / sums[english]
        return found

    def others(places: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.delete(premiums(places), english)

    def change(places: NDArray[np.int64], rows: Any = slice(None)) -> float:
        return float(tokens[rows][..., places].sum() / plain[rows][..., places].sum() - 1)

    n = tokens.shape[1]
    everything = np.arange(n)
    cells = [title]
    for statistic, form in (
        (lambda places: float(gini(premiums(places))), "{:.3f}"),
        (lambda places: float(others(places).max()), "{:.2f}"),
        (lambda places: float(np.median(others(places))), "{:.2f}"),
        (change, "{:+.1%}"),
        (lambda places: change(places, english), "{:+.1%}"),
    ):
        low, high = _interval(statistic, n)
        value = form.format(statistic(everything))
        same = low == high
        cells.append(value if same else f"{value} ({form.format(low)} to {form.format(high)})")
    return f"| {' | '.join(cells)} |"


def members_table(folder: Path) -> str:
    """Trimmed BPE and fewest tokens against plain BPE of the same size."""
    lines = [
        "| corpus | documents apart | | tokens | taken out "
        f"| tokens that the corpus uses less than {RARE_USES} times |",
        "| --- | ---: | --- | ---: | ---: | ---: |",
    ]
    for corpus, vocab_size in MEMBERS.items():
        settings = TrainSettings(vocab_size=vocab_size)
        care = CorpusCare(holdout=HoldOut(share=0.05, near=NearDuplicateSettings()))
        texts = [row["text"] for row in records(folder / f"{corpus}.jsonl.zst")]
        held_out: list[_core.TextBatch] = []
        counted = count_pretokens(
            iter(texts), settings=settings, care=care, on_held_out=_keeper(held_out)
        )
        apart = [text for batch in held_out for text in batch]
        plain = learn_from_counts(counted, settings=settings).tokenizer
        before = plain.count_batch(apart)
        shown = f"{corpus}, {vocab_size:,} ids"
        lines.append(
            f"| {shown} | {len(apart):,} | `bpe` | {int(before.sum()):,} | "
            f"| {_rare(plain, texts):,} |"
        )
        for title, algorithm, options in MEMBER_RUNS:
            chosen = TrainSettings(algorithm=algorithm, vocab_size=vocab_size, options=options)
            learned = learn_from_counts(counted, settings=chosen)
            after = learned.tokenizer.count_batch(apart)
            sums = np.stack([after, before], axis=1)
            interval = bootstrap_sums(sums, lambda s: s[:, 0] / s[:, 1] - 1, seed=SEED)
            assert interval is not None
            change = float(after.sum() / before.sum() - 1)
            removed = learned.facts.get("n_removed")
            lines.append(
                f"| | | {title} | {change:+.2%} ({interval.low:+.2%} to {interval.high:+.2%}) "
                f"| {'' if removed is None else f'{removed:,}'} "
                f"| {_rare(learned.tokenizer, texts):,} |"
            )
    return "\n".join(lines)


def _keeper(batches: list[_core.TextBatch]) -> OnHeldOut:
    def keep(_file: InputFile, batch: _core.TextBatch, _places: RecordPlaces | None) -> None:
        batches.append(batch)

    return keep


def _rare(tokenizer: _core.Tokenizer, texts: list[str]) -> int:
    """Tokens that all the text together uses less than `RARE_USES` times; bytes left out."""
    counts = np.bincount(tokenizer.encode_batch(texts).ids, minlength=tokenizer.vocab_size)
    return int((counts[257:] < RARE_USES).sum())


def bill_table(folder: Path) -> str:
    """Cost-aware vocabularies, within words and with superwords, against the best plain BPE."""
    lines = [
        "| workload, model | best plain BPE | what competes | chosen | tokens | bill |",
        "| --- | ---: | --- | --- | ---: | ---: |",
    ]
    for corpus, model, algorithms in BILLS:
        texts = [row["text"] for row in records(folder / f"{corpus}.jsonl.zst")]
        found = cost_aware(
            iter(texts), model=model, output_tokens_per_request=OUTPUT_TOKENS, algorithms=algorithms
        )
        judged = found.judgement
        lines.append(
            f"| {corpus}, {OUTPUT_TOKENS:.0f} tokens generated, {model} "
            f"| {found.plain.vocab_size:,} | {', '.join(f'`{name}`' for name in algorithms)} "
            f"| `{found.chosen.algorithm}`, {found.chosen.vocab_size:,} "
            f"| {judged.tokens_change:+.2%} "
            f"| {judged.change:+.2%} ({judged.low:+.2%} to {judged.high:+.2%}) |"
        )
        # Each takes a quarter of an hour: whoever waits may want to see them come.
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


TABLES: dict[str, Callable[[Path], str]] = {
    "parity": parity_table,
    "members": members_table,
    "bill": bill_table,
}


def main(arguments: list[str] | None = None) -> int:
    """Rewrite or check the page; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("corpora", type=Path, help="folder of the corpora")
    parser.add_argument("--only", choices=sorted(TABLES), help="make one table only")
    parser.add_argument("--check", action="store_true", help="change nothing, say if it is stale")
    options = parser.parse_args(arguments)
    code = 0
    for name, table in TABLES.items():
        if options.only not in (None, name):
            continue
        code |= part(name).update(PAGE, table(options.corpora), check=options.check)
    return code


def part(name: str) -> Part:
    """Where a table stands."""
    return Part(name, "python -m studies.better_vocabularies_page CORPORA")


if __name__ == "__main__":
    sys.exit(main())
