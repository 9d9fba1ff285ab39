"""Train on whole corpora here and with the references, and compare what was learned, in order.

    python -m scripts.conformance.training --table

``tokenizers``: byte-level BPE with the same split; the merges. ``sentencepiece``: BPE; the pieces.
Each corpus is given to both whole. One line a comparison, with the first step that differs; exit
code 0 where all is equal, 1 where something differs, 2 where the shared data or a reference is
missing. ``--table`` rewrites the rows of docs/reference/equal-training.md that were compared.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jeton
from jeton import _core
from scripts.marked import Part

__all__ = ["CORPORA", "PART", "Compared", "against", "main", "render"]

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "reference" / "equal-training.md"
PART = Part("equal training", "python -m scripts.conformance.training --table")
CORPORA = ("english", "code", "multilingual", "medical", "chat")
VOCAB_SIZE = 32_000
SPECIAL = "<|endoftext|>"
LONGEST_LINE = 1 << 24
LEFT_OUT = "\u2585"
"""``sentencepiece`` leaves out lines that hold it; so they are left out for both."""

Learned = list[Any]


@dataclass(frozen=True, slots=True)
class Compared:
    """One corpus against one reference.

    Attributes:
        corpus: its name.
        n_bytes: of its text.
        reference: the library, with its version.
        n_theirs: merges or pieces that it learned.
        n_equal: how many of them, from the first on, are ours.
        difference: the first that is not, in words; None where all are equal.
    """

    corpus: str
    n_bytes: int
    reference: str
    n_theirs: int
    n_equal: int
    difference: str | None


def merges_of(tokenizer_json: str | bytes) -> Learned:
    """The merges of a ``tokenizer.json`` in order."""
    merges = json.loads(tokenizer_json)["model"]["merges"]
    return [tuple(each.split(" ")) if isinstance(each, str) else tuple(each) for each in merges]


def _tokenizers(texts: Sequence[str], vocab_size: int) -> tuple[Learned, Learned]:
    import tokenizers
    from tokenizers import models, pre_tokenizers, trainers

    from jeton.training import DEFAULT_PATTERN

    pattern = _core.published_patterns()[DEFAULT_PATTERN]
    theirs = tokenizers.Tokenizer(models.BPE())
    # Their stubs do not know that a sequence may hold different kinds.
    steps: Any = [
        pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
    theirs.pre_tokenizer = pre_tokenizers.Sequence(steps)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=1,
        special_tokens=[SPECIAL],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    theirs.train_from_iterator(texts, trainer)
    ours = jeton.train(
        iter(texts),
        algorithm="bpe",
        vocab_size=vocab_size,
        special_tokens=[SPECIAL],
        min_frequency=1,
    )
    return merges_of(ours.to_hf_json()), merges_of(theirs.to_str())


def _sentencepiece(texts: Sequence[str], vocab_size: int) -> tuple[Learned, Learned]:
    import sentencepiece

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        path.write_text("\n".join(_lines(texts)) + "\n", encoding="utf-8")
        sentencepiece.SentencePieceTrainer.train(
            input=str(path),
            model_type="bpe",
            model_prefix=str(path.with_suffix("")),
            vocab_size=vocab_size,
            normalization_rule_name="identity",
            max_sentence_length=LONGEST_LINE,
            minloglevel=2,
        )
        theirs = jeton.load(path.with_suffix(".model"))
        ours = jeton.train(
            path, algorithm="sentencepiece-bpe", vocab_size=vocab_size, documents="line"
        )
    return _pieces(ours), _pieces(theirs)


def _lines(texts: Iterable[str]) -> list[str]:
    lines = (line for text in texts for line in text.splitlines())
    return [line for line in lines if line.strip() and LEFT_OUT not in line]


def _pieces(tokenizer: jeton.Tokenizer) -> list[str]:
    return [tokenizer.id_to_bytes(id).decode() for id in range(tokenizer.vocab_size)]


REFERENCES: dict[str, Callable[[Sequence[str], int], tuple[Learned, Learned]]] = {
    "tokenizers": _tokenizers,
    "sentencepiece": _sentencepiece,
}
"""Library -> what trains both ways and returns what we learned and what it learned."""


def against(
    reference: str, corpus: str, texts: Sequence[str], *, vocab_size: int = VOCAB_SIZE
) -> Compared:
    """Train both ways and compare."""
    ours, theirs = REFERENCES[reference](texts, vocab_size)
    n_equal = next(
        (i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b),
        min(len(ours), len(theirs)),
    )
    difference = None
    if ours != theirs:
        mine = ours[n_equal] if n_equal < len(ours) else "the end"
        other = theirs[n_equal] if n_equal < len(theirs) else "the end"
        difference = f"{mine!r} here, {other!r} there"
    return Compared(
        corpus=corpus,
        n_bytes=sum(len(text.encode()) for text in texts),
        reference=f"{reference} {version(reference)}",
        n_theirs=len(theirs),
        n_equal=n_equal,
        difference=difference,
    )


def render(results: Sequence[Compared], *, vocab_size: int, date: str, before: str = "") -> str:
    """The table of equal training; rows ``before`` that were not compared again stay."""
    rows = {}
    for line in before.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] in CORPORA:
            rows[cells[0], cells[2].split()[0]] = line
    for each in results:
        library = each.reference.split()[0]
        what = "merges" if library == "tokenizers" else "pieces"
        rows[each.corpus, library] = (
            f"| {each.corpus} | {each.n_bytes / 1e6:.1f} | {each.reference} "
            f"| {each.n_theirs:,} {what} | {each.n_equal:,} | {_cell(each.difference)} | {date} |"
        )
    order = [(corpus, library) for corpus in CORPORA for library in REFERENCES]
    lines = [
        f"`python -m scripts.conformance.training --table`, {vocab_size:,} tokens:",
        "",
        "| corpus | MB | reference | learned there | equal from the first on | first difference "
        "| compared |",
        "| --- | ---: | --- | ---: | ---: | --- | --- |",
        *(rows[key] for key in order if key in rows),
    ]
    return "\n".join(lines)


def _cell(difference: str | None) -> str:
    return "none" if difference is None else difference.replace("|", "\\|")


def _write(found: Compared, vocab_size: int) -> None:
    """Rewrite the row of one comparison."""
    before = PART.of(DOCUMENT.read_text(encoding="utf-8"))
    date = datetime.now(tz=UTC).strftime("%Y-%m-%d")
    table = render([found], vocab_size=vocab_size, date=date, before=before)
    PART.rewrite(DOCUMENT, table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m scripts.conformance.training",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--corpus", action="append", choices=CORPORA, help="may be repeated")
    parser.add_argument("--reference", action="append", choices=REFERENCES, help="may be repeated")
    parser.add_argument("--vocab-size", type=int, default=VOCAB_SIZE)
    parser.add_argument(
        "--table", action="store_true", help="rewrite rows in docs/reference/equal-training.md"
    )
    parser.add_argument(
        "--shared",
        type=Path,
        default=ROOT.parent / "shared",
        help="the shared folder (default: ../shared beside the project)",
    )
    options = parser.parse_args(arguments)
    if options.table and options.vocab_size != VOCAB_SIZE:
        parser.error(f"the table is about {VOCAB_SIZE:,} tokens")
    results = []
    for corpus in options.corpus or CORPORA:
        path = options.shared / "data" / "corpora" / f"{corpus}.jsonl.zst"
        try:
            batches = _core.DocumentReader(str(path), format="jsonl")
            texts = [text for batch in batches for text in batch]
        except OSError as error:
            print(f"error: {error}\nhint: pass --shared FOLDER", file=sys.stderr)
            return 2
        for reference in options.reference or REFERENCES:
            try:
                found = against(reference, corpus, texts, vocab_size=options.vocab_size)
            except ImportError as error:
                print(f"error: {error}\nhint: make setup installs it", file=sys.stderr)
                return 2
            results.append(found)
            equal = f"{found.n_equal:,} of {found.n_theirs:,} equal"
            print(
                f"{corpus} ({found.n_bytes / 1e6:.1f} MB), {found.reference}: {equal}"
                f"{'' if found.difference is None else f'; then {found.difference}'}",
                flush=True,
            )
            if options.table:
                _write(found, options.vocab_size)
    return 1 if any(found.difference for found in results) else 0


if __name__ == "__main__":
    sys.exit(main())
