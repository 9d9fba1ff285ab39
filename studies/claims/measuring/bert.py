"""BERT's vocabularies and a scientific one on medicine and law: words, terms, 512 tokens."""

from __future__ import annotations

import numpy as np

from jeton.metrics import cut_term
from studies.claims.data import Data
from studies.claims.figures import Figure, mean, ratio, saving, share

__all__ = ["ABOUT", "DOMAINS", "KIND", "TERMS", "TOKENIZERS", "measure"]

ABOUT = "BERT cased (BioBERT's), uncased, SciBERT, ModernBERT: tokens per word, terms, truncation"
KIND = "long"

TOKENIZERS = ("bert_base_cased", "bert_base_uncased", "scibert", "modernbert")

DOMAINS = {
    "news": ("english", "english-news"),
    "medical abstracts": ("medical", "medical-abstract"),
    "clinical dialogues": ("medical", "clinical-dialogue"),
    "court opinions": ("legal", "legal-court-opinion"),
    "contracts": ("legal", "legal-contract"),
}

TERMS = {"drug names": "drug_names.tsv", "legal terms": "legal_glossary_terms.jsonl"}

_LIMIT = 512
"""Positions of BERT (arXiv:1810.04805 section A.2), two of them special tokens."""

_SPECIAL = 2


def measure(data: Data) -> dict[str, Figure]:
    """All figures of this group."""
    figures: dict[str, Figure] = {}
    for name, (corpus, domain) in DOMAINS.items():
        texts = data.drawn(corpus, domain)
        words = [len(text.split()) for text in texts]
        base = data.counts("bert_base_uncased", texts)
        for tokenizer in TOKENIZERS:
            counts = data.counts(tokenizer, texts)
            figures[f"tokens-per-word.{name}.{tokenizer}"] = ratio(counts, words)
            figures[f"saving.{name}.{tokenizer}"] = saving(counts, base)
            figures[f"over-512.{name}.{tokenizer}"] = share(counts + _SPECIAL > _LIMIT)
            over = np.maximum(counts + _SPECIAL - _LIMIT, 0)
            figures[f"cut.{name}.{tokenizer}"] = ratio(over, counts, unit="share")
            figures[f"unknown.{name}.{tokenizer}"] = _unknown(data, tokenizer, texts)
    for name, file in TERMS.items():
        terms = data.words(file)
        for tokenizer in (*TOKENIZERS, "cl100k_base", "jeton-medical-32k"):
            found = data.tokenizer(tokenizer)
            pieces = [cut_term(found, term).n_tokens for term in terms]
            figures[f"pieces.{name}.{tokenizer}"] = mean(pieces, unit="tokens")
            figures[f"whole.{name}.{tokenizer}"] = share([n == 1 for n in pieces])
    for tokenizer in TOKENIZERS:
        figures[f"ids.{tokenizer}"] = Figure(data.tokenizer(tokenizer).vocab_size, "ids")
    return figures | _common(data)


def _unknown(data: Data, name: str, texts: list[str]) -> Figure:
    tokenizer = data.tokenizer(name)
    if tokenizer.unknown_id is None:
        return Figure(0, "share", n=len(texts))
    batch = tokenizer.encode_batch(texts)
    unknown = [int(np.count_nonzero(ids == tokenizer.unknown_id)) for ids in batch]
    return ratio(unknown, [len(ids) for ids in batch], unit="share")


def _common(data: Data) -> dict[str, Figure]:
    """How much two uncased vocabularies of the same algorithm have in common."""
    sets = []
    for name in ("bert_base_uncased", "scibert"):
        tokenizer = data.tokenizer(name)
        sets.append({tokenizer.id_to_bytes(id_) for id_ in range(tokenizer.vocab_size)})
    return {"common": Figure(len(sets[0] & sets[1]) / len(sets[1]), "share", n=len(sets[1]))}
