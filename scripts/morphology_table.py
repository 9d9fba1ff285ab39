"""Does morphology-aware BPE begin tokens where morphemes begin? The table of morphology.md.

    python -m scripts.morphology_table DATA [--write docs/guides/morphology.md]

``DATA`` holds ``corpora/`` (JSON lines) and ``morph/`` (gold words of SIGMORPHON 2022). For each
language, gold words are parted into those whose morphemes are supplied and those that are measured,
which nobody saw; so no method can know a measured word by heart.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import jeton
from jeton._core import Tokenizer, decompress
from jeton.errors import JetonWarning
from jeton.metrics import BoundaryScore, GoldWord, boundary_scores, read_gold
from jeton.pretokenizing import (
    MorphemeLexicon,
    SegmentedTokenizer,
    Segmenter,
    learn_morphemes,
)
from jeton.pretokenizing.segmenters import words_of_counts
from jeton.training import TrainSettings, count_pretokens, train_from_counts
from scripts.marked import Part

PART = Part("table", "python -m scripts.morphology_table")

LANGUAGES = {
    "English": ("eng", ("english",), 16_000),
    "French": ("fra", ("multilingual", "po_parallel"), 8_000),
    "Italian": ("ita", ("multilingual",), 4_000),
    "Czech": ("ces", (), 4_000),
    "Hungarian": ("hun", (), 4_000),
    "Mongolian": ("mon", (), 2_000),
}
"""Name: code of the gold words, corpora with text (none: the words are the text), size."""

CODES = {"eng": "en", "fra": "fr", "ita": "it"}
MEASURED_WORDS = 10_000
MORFESSOR_WORDS = 10_000
"""Enough for the table to be made in minutes; more words teach Morfessor more."""


@dataclass(frozen=True, slots=True)
class Row:
    """A way to train and to encode, measured."""

    name: str
    score: BoundaryScore
    tokens_per_word: float


def _lines(path: Path) -> list[str]:
    return (
        decompress(path.read_bytes(), path=str(path)).decode("utf-8").removesuffix("\n").split("\n")
    )


def _digest(word: str) -> int:
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")


def gold_words(data: Path, code: str) -> tuple[list[GoldWord], list[GoldWord]]:
    """Words with supplied morphemes, and others that are measured."""
    supplied: list[GoldWord] = []
    for part in ("train", "dev"):
        path = data / "morph" / f"sigmorphon2022.{code}.word.{part}.tsv.zst"
        if path.exists():
            supplied += read_gold(_lines(path))
    test = list(read_gold(_lines(data / "morph" / f"sigmorphon2022.{code}.word.test.gold.tsv.zst")))
    if not supplied:
        supplied = [item for item in test if _digest(item.word) % 2]
        test = [item for item in test if not _digest(item.word) % 2]
    known = {item.word.lower() for item in supplied}
    test = sorted({item.word: item for item in test}.values(), key=lambda item: _digest(item.word))
    return supplied, [item for item in test if item.word.lower() not in known][:MEASURED_WORDS]


def texts(data: Path, code: str, corpora: Sequence[str], words: Sequence[GoldWord]) -> list[str]:
    """The text to learn from; without corpora, the supplied words, each once."""
    found: list[str] = []
    for corpus in corpora:
        for line in _lines(data / "corpora" / f"{corpus}.jsonl.zst"):
            record = json.loads(line)
            if corpus == "english" or record.get("lang") == CODES[code]:
                found.append(record["text"])
    return found or [f" {item.word}" for item in words]


def rows(data: Path, language: str) -> Iterator[Row]:
    """All ways for one language, plain BPE first."""
    code, corpora, vocab_size = LANGUAGES[language]
    supplied, measured = gold_words(data, code)
    learned_from = texts(data, code, corpora, supplied)
    corpus = count_pretokens(iter(learned_from))
    lexicon = MorphemeLexicon.of_words(supplied)
    words = words_of_counts(corpus.counts)
    unsupervised = learn_morphemes(words, max_words=MORFESSOR_WORDS)

    def trained(segmenter: Segmenter | None) -> Tokenizer:
        settings = TrainSettings(vocab_size=vocab_size, segmenter=segmenter)
        return train_from_counts(corpus, settings=settings)

    def row(name: str, tokenizer: Tokenizer | SegmentedTokenizer) -> Row:
        report = boundary_scores(tokenizer, measured)
        score = report.all_words
        return Row(name, score, 1 + score.n_token / score.n_words)

    yield row("plain BPE", trained(None))
    ways: tuple[tuple[str, Segmenter], ...] = (("supplied", lexicon), ("learned", unsupervised))
    for name, segmenter in ways:
        tokenizer = trained(segmenter)
        yield row(f"{name}, the file alone", tokenizer)
        if segmenter is not lexicon:
            yield row(
                f"{name}, segmented in use", SegmentedTokenizer(tokenizer, segmenter=segmenter)
            )


def table(data: Path, languages: Iterable[str]) -> str:
    """The table as Markdown."""
    lines = [
        "| language | size | morphemes | precision | recall | F1 | against plain "
        "| tokens per word |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for language in languages:
        started = time.perf_counter()
        plain = None
        for item in rows(data, language):
            plain = item.score.f1 if plain is None else plain
            change = item.score.f1 - plain
            lines.append(
                f"| {language} | {LANGUAGES[language][2]:,} | {item.name} | "
                f"{item.score.precision:.3f} | {item.score.recall:.3f} | {item.score.f1:.3f} | "
                f"{change:+.3f} | {item.tokens_per_word:.2f} |"
            )
            sys.stderr.write(lines[-1] + "\n")
        sys.stderr.write(f"{language}: {time.perf_counter() - started:.0f} s\n")
    return "\n".join(lines)


def main() -> int:
    """Print the table, or write it between the markers of a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with corpora/ and morph/")
    parser.add_argument("--language", action="append", choices=list(LANGUAGES))
    parser.add_argument("--write", type=Path, metavar="PAGE", help="rewrite its table")
    options = parser.parse_args()
    warnings.simplefilter("ignore", JetonWarning)
    made = table(options.data, options.language or LANGUAGES)
    if options.write is None:
        sys.stdout.write(f"{made}\n\n{_versions()}\n")
        return 0
    old = PART.of(options.write.read_text(encoding="utf-8"))
    PART.rewrite(options.write, f"{merged(old, made)}\n\n{_versions()}")
    return 0


def merged(old: str, new: str) -> str:
    """The new table, with the old one's rows of the languages that were not measured anew."""
    head = new.split("\n")[:2]
    of_language: dict[str, list[str]] = {}
    for part in (old, new):
        found: dict[str, list[str]] = {}
        for line in part.split("\n"):
            language = line.removeprefix("| ").partition(" |")[0]
            if language in LANGUAGES:
                found.setdefault(language, []).append(line)
        of_language.update(found)
    rows = [line for language in LANGUAGES for line in of_language.get(language, [])]
    return "\n".join([*head, *rows])


def _versions() -> str:
    return f"Jeton {jeton.__version__}, Morfessor {version('morfessor')}."


if __name__ == "__main__":
    sys.exit(main())
