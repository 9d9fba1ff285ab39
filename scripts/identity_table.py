"""Write the table of identity.md: files of the same tokenizer, and which digests they share.

``python -m scripts.identity_table`` loads every file of the shared data folder that is listed here,
compares each with the first of its tokenizer, and rewrites the part between the two markers;
``--check`` only says whether it is up to date (exit code 1 when it is not). A file that does not
load yet has a row that says so, and its digests as soon as it does.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import jeton
from jeton import Tokenizer, _core
from jeton.errors import JetonError
from jeton.explaining import Explanation, explain
from jeton.training import DEFAULT_PATTERN
from scripts.marked import Part

__all__ = ["GROUPS", "Group", "Row", "main", "measure", "render"]

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "concepts" / "identity.md"
SHARED = ROOT.parent / "shared"
PART = Part("identity", "python -m scripts.identity_table")

_DIGEST_CHARS = 12
"""Characters shown of a digest: enough to tell two of them apart in a table."""

_N_CASES = 20_000
"""Generated texts on which files with equal probe digests are compared."""

Loader = Callable[[Path, Path], Tokenizer]
"""A tokenizer from the folder of vocabularies, with a folder for what is made on the way."""


@dataclass(frozen=True, slots=True)
class Group:
    """One tokenizer, and the forms in which it is published or can be saved."""

    name: str
    forms: tuple[tuple[str, Loader], ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One form of a tokenizer compared with the first one; None where it does not load."""

    group: str
    form: str
    probe_digest: str | None
    explanation: Explanation | None


def _file(name: str) -> tuple[str, Loader]:
    shown = name.removesuffix(".zst").removesuffix(".gz")
    return f"`{shown}`", lambda vocab, work: jeton.load(vocab / name)


def _saved(source: Loader, suffix: str) -> tuple[str, Loader]:
    """Save the tokenizer by ``tok.save`` and load it again."""

    def load(vocab: Path, work: Path) -> Tokenizer:
        path = work / f"saved{suffix}"
        source(vocab, work).save(path)
        return jeton.load(path)

    return f'`tok.save("x{suffix}")`', load


def _vocab_and_merges(stem: str) -> tuple[str, Loader]:
    """A folder with vocab.json and merges.txt, as GPT-2 was published."""

    def load(vocab: Path, work: Path) -> Tokenizer:
        folder = work / stem
        folder.mkdir()
        packed = (vocab / f"{stem}.vocab.json.zst").read_bytes()
        (folder / "vocab.json").write_bytes(_core.decompress(packed))
        (folder / "merges.txt").write_bytes((vocab / f"{stem}.merges.txt").read_bytes())
        return jeton.load(folder)

    return "`vocab.json` and `merges.txt`", load


def _bundled(name: str) -> tuple[str, Loader]:
    return "bundled", lambda vocab, work: jeton.load(name)


def _ranks_again(name: str) -> tuple[str, Loader]:
    """A bundled tokenizer as ranks; pattern and special tokens have to be given again."""

    def load(vocab: Path, work: Path) -> Tokenizer:
        tokenizer = jeton.load(name)
        path = work / "ranks.tiktoken"
        tokenizer.save(path)
        return jeton.load(
            path, pattern=DEFAULT_PATTERN, special_tokens=dict(tokenizer.special_tokens)
        )

    return '`tok.save("x.tiktoken")`', load


_CL100K = _file("cl100k_base.tiktoken.zst")
_GENERAL = "jeton-general-32k-v1"

GROUPS = (
    Group("cl100k_base", (_CL100K, _saved(_CL100K[1], ".json"), _saved(_CL100K[1], ".jeton.json"))),
    Group(
        "GPT-2",
        (_file("r50k_base.tiktoken.zst"), _file("gpt2.json.zst"), _vocab_and_merges("gpt2")),
    ),
    Group("RoBERTa", (_file("roberta-base.json.zst"), _vocab_and_merges("roberta-base"))),
    Group(
        _GENERAL,
        (
            _bundled(_GENERAL),
            _saved(_bundled(_GENERAL)[1], ".json"),
            _saved(_bundled(_GENERAL)[1], ".jeton.json.zst"),
            _ranks_again(_GENERAL),
        ),
    ),
    Group("Llama 2", (_file("llama2.model"), _file("llama2.json.zst"))),
    Group("Mistral v1", (_file("mistral_v1.model"), _file("mistral01.json.zst"))),
    Group("Mistral v3", (_file("mistral_v3.model"), _file("mistral03.json.zst"))),
    Group("XLNet cased", (_file("xlnet_base_cased.model.zst"), _file("xlnet_base_cased.json.zst"))),
    Group("Pegasus", (_file("pegasus.model.zst"), _file("pegasus_hf.json.zst"))),
    Group(
        "BERT uncased", (_file("bert_base_uncased.vocab.txt"), _file("bert_base_uncased.json.zst"))
    ),
    Group("BERT cased", (_file("bert_base_cased.vocab.txt"), _file("bert_base_cased.json.zst"))),
    Group("CLIP", (_file("bpe_simple_vocab_16e6.txt.gz"), _file("clip_base.json.zst"))),
)


def measure(vocab: Path, groups: Sequence[Group] = GROUPS) -> Iterator[Row]:
    """Load every form, and compare each with the first of its tokenizer that loads.

    Args:
        vocab: The folder of vocabularies.
        groups: Tokenizers to measure; all of the table unless told.
    """
    for group in groups:
        first: Tokenizer | None = None
        for form, load in group.forms:
            with tempfile.TemporaryDirectory() as work:
                try:
                    tokenizer = load(vocab, Path(work))
                except JetonError:
                    yield Row(group.name, form, None, None)
                    continue
            explanation = None
            if first is None:
                first = tokenizer
            else:
                explanation = explain(first, tokenizer, n_cases=_N_CASES)
            yield Row(group.name, form, jeton.probe_digest(tokenizer), explanation)


def render(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| tokenizer | form | fingerprint | probe digest | beside the first form |",
        "| --- | --- | --- | --- | --- |",
    ]
    group = ""
    for row in rows:
        name = row.group if row.group != group else ""
        group = row.group
        lines.append(f"| {name} | {row.form} | {' | '.join(_cells(row))} |")
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, str, str]:
    if row.probe_digest is None:
        return "", "", "does not load yet"
    version, digits = row.probe_digest.split(":")
    digest = f"`{version}:{digits[:_DIGEST_CHARS]}…`"
    explanation = row.explanation
    if explanation is None:
        return "", digest, ""
    if explanation.verdict == "same_fingerprint":
        return "the same", "the same", "the same tokenizer"
    shown = "the same" if explanation.is_same_on_probe else digest
    difference = explanation.difference
    if difference is None:
        # The parts of one component are one reason.
        components = dict.fromkeys(
            part.path.split(".")[0].split("[")[0] for part in explanation.parts
        )
        written = ", ".join(f"`{name}`" for name in components)
        words = (
            f"no difference found in {explanation.n_texts:,} texts; written differently: {written}"
        )
        return "another", shown, words
    text = ascii(difference.text).replace("|", "\\|")
    where = ", ".join(f"`{path}`" for path in difference.paths) or f"`{difference.component}`"
    around = " with special tokens" if difference.special_tokens else ""
    return "another", shown, f"differs on `{text}`{around}: {where}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="only say whether it is up to date")
    chosen = parser.parse_args(arguments)
    vocab = SHARED / "data" / "vocab"
    if not vocab.is_dir():
        print(f"error: {vocab} is not there", file=sys.stderr)
        return 2
    return PART.update(PAGE, render(list(measure(vocab))), check=chosen.check)


if __name__ == "__main__":
    sys.exit(main())
