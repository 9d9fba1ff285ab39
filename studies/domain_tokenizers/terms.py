"""How the terms of a trade shatter under general and domain vocabularies.

No tokenizer of the page was trained on these lists. A term is cut as it stands inside a sentence
(``jeton.metrics.cut_term``); a superword that holds a term and the word after it counts as one
token of the term.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from jeton import _core
from jeton.metrics import cut_term
from studies.claims.data import Data
from studies.claims.figures import Figure, mean, share
from studies.domain_tokenizers.recipes import TARGET_SIZE, domain_tokenizers, general_tokenizer
from studies.domain_tokenizers.texts import Texts
from studies.domain_tokenizers.tokens import BASE
from studies.domain_tokenizers.work import Work

__all__ = ["LISTS", "MAX_TERMS", "measure_terms", "read_list"]

MAX_TERMS = 2_000
"""Terms of a list that are cut: those with the smallest digests."""

_MAX_BYTES = 1 << 28

LISTS: Mapping[str, tuple[str, str, int | str]] = {
    "words of medicine": ("medical", "medical_wordlist_en.txt", 0),
    "ICD-10 titles": ("medical", "icd10_categories.csv.zst", 1),
    "terms of US courts and agencies": (
        "legal",
        "lexpredict_legal_common_US_terms_top1000.csv.zst",
        "Term",
    ),
    "glossaries of courts": ("legal", "legal_glossary_terms.jsonl", "term"),
    "finance": ("finance", "lexpredict_financial_financial.csv.zst", "Term"),
    "US GAAP": ("finance", "lexpredict_accounting_us_gaap.csv.zst", "Term"),
}
"""Domain, file, and the column or field that holds the term."""


def read_list(path: Path, column: int | str) -> list[str]:
    """The distinct terms of a file of the shared folder, in their order."""
    text = _core.decompress(path.read_bytes(), max_bytes=_MAX_BYTES).decode("utf-8")
    return list(dict.fromkeys(term.strip() for term in _terms(path, text, column) if term.strip()))


def _terms(path: Path, text: str, column: int | str) -> Iterator[str]:
    lines = text.splitlines()
    if ".jsonl" in path.suffixes:
        yield from (str(json.loads(line)[column]) for line in lines)
    elif ".csv" not in path.suffixes:
        yield from lines
    elif isinstance(column, str):
        yield from (row[column] for row in csv.DictReader(lines))
    else:
        yield from (row[column] for row in csv.reader(lines))


def measure_terms(work: Work, texts: Texts, data: Data) -> dict[str, Figure]:
    """Tokens of a term and the share of terms that are one token, by list and vocabulary."""
    figures: dict[str, Figure] = {}
    for name, (domain, file, column) in LISTS.items():
        terms = read_list(data.folder / "terms" / file, column)
        terms = sorted(terms, key=lambda term: sha256(term.encode()).digest())[:MAX_TERMS]

        def make(domain: str = domain, terms: list[str] = terms) -> Mapping[str, list[int]]:
            own = domain_tokenizers(work, texts, domain)
            tokenizers = {
                BASE: data.tokenizer(BASE),
                "general": general_tokenizer(work, texts, domain).smaller(TARGET_SIZE),
                "plain": own["plain"].smaller(TARGET_SIZE),
                "superwords": own["superwords"].smaller(TARGET_SIZE),
            }
            return {
                key: [cut_term(tokenizer, term).n_tokens for term in terms]
                for key, tokenizer in tokenizers.items()
            }

        found = work.values(f"terms-{name}".replace(" ", "-"), make)
        for key, counts in found.items():
            figures[f"terms.{name}.{key}.tokens"] = mean(counts, unit="tokens")
            figures[f"terms.{name}.{key}.whole"] = share([n == 1 for n in counts])
    return figures
