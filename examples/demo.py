"""The demo behind ``make demo``: audit real text that this machine has, without the network.

Text: the language documentation that comes with Python (one topic is one request), a quarter of the
modules of the standard library, and, where the folder of real corpora stands beside the project, an
even slice of its medical and legal text. Tokenizers: all that are bundled, and the public
vocabularies that can be found. The choice is deterministic: the same machine gets the same report.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import textwrap
from collections.abc import Iterator
from pathlib import Path

from jeton import load
from jeton._core import Tokenizer
from jeton.auditing import AuditReport, audit
from jeton.corpus import open_documents
from jeton.errors import JetonError, UnknownTokenizerError, UsageError
from jeton.registry import list_vocabularies
from jeton.report import write_html, write_json

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "demo"
CORPUS = DEMO / "corpus"
SHARED_CORPORA = ROOT.parent / "shared" / "data" / "corpora"
SHARED_VOCAB = ROOT.parent / "shared" / "data" / "vocab"

PUBLIC_VOCABULARIES = ("llama3", "cl100k_base", "o200k_base")
CURRENT = "llama3"
"""The tokenizer of the model below, where its vocabulary can be found; else the first bundled."""

MODEL = "llama-3.1-8b"
GPU = "l4"
PRICE_MODEL = "usd:0.05/0.08"
"""A price of one's own, as hosts ask for the model: its vocabulary is then one's own to change."""

REQUESTS_PER_DAY = 1_000_000
"""An assumption, so that tokens can be told in dollars."""

OUTPUT_TOKENS_PER_REQUEST = 200
"""An assumption: a short answer to each document."""

STDLIB_STEP = 4
SHARED_STEPS = {"medical": 20, "legal": 25}
"""Every n-th document, so that about 2 MB of each are audited."""

_NOT_LIBRARY = {"__pycache__", "idlelib", "lib2to3", "pydoc_data", "site-packages", "test", "tests"}

TERMS = (
    # Python
    "asyncio", "coroutine", "docstring", "metaclass", "memoryview", "namedtuple", "subclass",
    # medicine
    "adenocarcinoma", "angiotensin", "atherosclerosis", "bronchodilator", "carcinoma",
    "cardiomyopathy", "corticosteroids", "cyclophosphamide", "echocardiography", "electromyography",
    "glioblastoma", "hepatocellular", "hydrochlorothiazide", "hydroxychloroquine",
    "hypercholesterolemia", "immunohistochemistry", "levothyroxine", "lymphadenopathy",
    "methotrexate", "myocardial infarction", "nephrectomy", "oxybutynin", "pharmacokinetics",
    "schizophrenia", "thrombocytopenia", "tolterodine", "urinary incontinence",
    # law
    "amicus curiae", "appellant", "certiorari", "estoppel", "fiduciary", "force majeure",
    "habeas corpus", "hereinafter", "indemnification", "indemnitee", "interlocutory",
    "jurisdiction", "lessee", "lis pendens", "mortgagee", "prima facie", "sublicensee",
    "subrogation", "tortfeasor",
)  # fmt: skip


def main() -> int:
    """Collect the text, audit it, write the report, say what matters most."""
    inputs = collect_text()
    tokenizers, current = find_tokenizers()
    report = audit(
        inputs,
        tokenizers=tokenizers,
        current=current,
        model=MODEL,
        gpu=GPU,
        price_model=PRICE_MODEL,
        requests_per_day=REQUESTS_PER_DAY,
        output_tokens_per_request=OUTPUT_TOKENS_PER_REQUEST,
        terms=TERMS,
    )
    write_json(report, DEMO / "report.json")
    write_html(report, DEMO / "report.html")
    print_outcome(report)
    return 0


def collect_text() -> list[Path]:
    """Write the text to be audited as JSONL, one file for each kind."""
    CORPUS.mkdir(parents=True, exist_ok=True)
    kinds = {"python-documentation": python_documentation(), "python-library": python_library()}
    for kind, step in SHARED_STEPS.items():
        path = SHARED_CORPORA / f"{kind}.jsonl.zst"
        if path.exists():
            kinds[kind] = every_nth_document(path, step)
    paths = []
    for kind, texts in kinds.items():
        path = CORPUS / f"{kind}.jsonl"
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for text in texts:
                file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
        # Relative, so that the report does not depend on where the project lies.
        paths.append(Path(os.path.relpath(path)))
    return paths


def python_documentation() -> Iterator[str]:
    """The topics of ``help()`` in the interpreter, by name."""
    from pydoc_data.topics import topics

    return (topics[name] for name in sorted(topics))


def python_library() -> Iterator[str]:
    """Every fourth module of the standard library, by path."""
    library = Path(sysconfig.get_path("stdlib"))
    modules = (
        path
        for path in sorted(library.rglob("*.py"))
        if not _NOT_LIBRARY.intersection(path.relative_to(library).parts)
    )
    for index, path in enumerate(modules):
        if index % STDLIB_STEP == 0:
            yield path.read_text(encoding="utf-8", errors="replace")


def every_nth_document(path: Path, step: int) -> Iterator[str]:
    """An even slice of a corpus."""
    index = 0
    for _, batch in open_documents(path):
        for text in batch:
            if index % step == 0:
                yield text
            index += 1


def find_tokenizers() -> tuple[list[Tokenizer], Tokenizer]:
    """All bundled tokenizers and the public ones at hand; and which one is in use."""
    # A bundled tokenizer is listed with its version and without: one file, one tokenizer.
    bundled = {entry.path: entry.name for entry in list_vocabularies() if entry.where == "bundled"}
    found = [load(name) for name in bundled.values()]
    if "JETON_VOCAB_DIR" not in os.environ and SHARED_VOCAB.is_dir():
        os.environ["JETON_VOCAB_DIR"] = str(SHARED_VOCAB)
    for name in PUBLIC_VOCABULARIES:
        try:
            found.append(load(name))
        except UnknownTokenizerError:
            continue
    if not found:
        raise UsageError(
            "no tokenizer was found\nhint: set JETON_VOCAB_DIR to a folder of vocabularies"
        )
    by_name = {tokenizer.name: tokenizer for tokenizer in found}
    general = [t for name, t in by_name.items() if name and name.startswith("jeton-general")]
    return found, by_name.get(CURRENT) or (general or found)[0]


def print_outcome(report: AuditReport) -> None:
    """The three findings that matter most, and where the rest is."""
    corpus = report.corpus
    current = next(tokenizer for tokenizer in report.tokenizers if tokenizer.is_current)
    print(
        f"audited {corpus.n_documents:,} documents, {corpus.n_bytes / 1e6:.1f} MB, with "
        f"{len(report.tokenizers)} tokenizers; in use: {current.name}; {REQUESTS_PER_DAY:,} "
        "requests a day are assumed\n"
    )
    for number, finding in enumerate(report.findings[:3], start=1):
        saving = finding.saving_usd_per_year
        money = "" if saving is None else f" [{saving:,.0f} USD a year]"
        print_wrapped(f"{number}. {finding.title}{money}", indent="   ")
        print_wrapped(f"   to do: {finding.remedy}", indent="   ")
    print(f"\nthe report: {DEMO / 'report.html'}\nits numbers: {DEMO / 'report.json'}")


def print_wrapped(text: str, *, indent: str) -> None:
    """Print at the width of a terminal."""
    print(textwrap.fill(text, width=96, subsequent_indent=indent))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (JetonError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
