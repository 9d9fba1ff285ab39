"""Cost of superwords: rarer tokens, time of the output layer, seams at the ends of prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

import numpy as np

from jeton import _core
from jeton.catalog import model
from jeton.economics.serving.compute import forward_flops_per_token
from jeton.economics.serving.latency import read_weight_bytes
from jeton.metrics.undertrained import RARE_BELOW
from studies.claims.data import Data
from studies.claims.figures import Figure, mean, share
from studies.domain_tokenizers.recipes import SIZES, TARGET_SIZE, domain_tokenizers
from studies.domain_tokenizers.texts import DOMAINS, Texts
from studies.domain_tokenizers.tokens import BASE
from studies.domain_tokenizers.work import Work

__all__ = ["MODELS", "cut_places", "lost_at_the_end", "measure_costs", "measure_layers"]

MODELS = ("llama-3.2-1b", "llama-3-8b")

N_PROMPTS = 2_000
"""Prompts cut from held-out documents."""

MAX_PROMPT_CHARS = 1_500
"""The whole text goes on for `_AFTER_CHARS` characters more: farther than any token reaches."""

_AFTER_CHARS = 500

_BYTES = 256


def cut_places(text: str) -> list[int]:
    """Ends of words: places before a space and after a letter, where a prompt may end."""
    return [
        place
        for place in range(1, min(len(text), MAX_PROMPT_CHARS))
        if text[place] == " " and text[place - 1].isalpha()
    ]


def lost_at_the_end(tokenizer: _core.Tokenizer, text: str, place: int) -> int:
    """Tokens at the end of a prompt that the same words do not have within the whole text."""
    prompt = tokenizer.encode(text[:place])
    whole = tokenizer.encode(text[: place + _AFTER_CHARS])
    same = 0
    for one, other in zip(prompt, whole, strict=False):
        if one != other:
            break
        same += 1
    return len(prompt) - same


def _prompts(documents: Sequence[str]) -> list[tuple[str, int]]:
    """One place of each document, by a digest of its text."""
    found = []
    for text in documents:
        places = cut_places(text)
        if places:
            digest = int.from_bytes(sha256(text.encode()).digest()[16:24], "big")
            found.append((digest, text, places[digest % len(places)]))
    return [(text, place) for _, text, place in sorted(found)[:N_PROMPTS]]


def measure_costs(work: Work, texts: Texts, data: Data, domain: str) -> dict[str, Figure]:
    """The tail of the vocabulary and the seams of a domain, plain and with superwords."""

    def make() -> Mapping[str, Mapping[str, object]]:
        own = domain_tokenizers(work, texts, domain)
        tokenizers = {
            BASE: data.tokenizer(BASE),
            "plain": own["plain"].smaller(TARGET_SIZE),
            "superwords": own["superwords"].smaller(TARGET_SIZE),
        }
        trained = [
            text for source in DOMAINS[domain] for text in texts.trained(domain, source.name)
        ]
        apart = [text for source in DOMAINS[domain] for text in texts.held_out(domain, source.name)]
        prompts = _prompts(apart)
        found: dict[str, Mapping[str, object]] = {}
        for name, tokenizer in tokenizers.items():
            seams = [lost_at_the_end(tokenizer, text, place) for text, place in prompts]
            found[name] = {"seams": seams}
            if name != BASE:
                seen = _uses(tokenizer, trained)
                found[name] = {
                    "seams": seams,
                    "rare": int((seen[_BYTES:] < RARE_BELOW).sum()),
                    "median": float(np.median(seen[_BYTES:])),
                    "unused": int((_uses(tokenizer, apart)[_BYTES:] == 0).sum()),
                }
        return found

    figures: dict[str, Figure] = {}
    for name, of in work.values(f"costs-{domain}", make).items():
        key = f"costs.{domain}.{name}"
        figures[f"{key}.seams"] = share([n > 0 for n in of["seams"]])
        figures[f"{key}.seam-tokens"] = mean([n for n in of["seams"] if n] or [0], unit="tokens")
        if "rare" in of:
            n_made = TARGET_SIZE - _BYTES
            figures[f"{key}.rare"] = Figure(of["rare"] / n_made, "share")
            figures[f"{key}.unused"] = Figure(of["unused"] / n_made, "share")
            figures[f"{key}.median"] = Figure(of["median"], "uses")
    return figures


def _uses(tokenizer: _core.Tokenizer, documents: Sequence[str]) -> np.ndarray:
    uses = np.zeros(tokenizer.vocab_size, dtype=np.int64)
    for start in range(0, len(documents), 2_000):
        ids = tokenizer.encode_batch(documents[start : start + 2_000]).ids
        uses += np.bincount(ids, minlength=tokenizer.vocab_size)
    return uses


def measure_layers(found: Mapping[str, Figure], domain: str) -> dict[str, Figure]:
    """FLOPs and weight bytes for a byte of text, with the tokens per byte that were measured.

    A step of decoding reads all weights, the output layer among them, so bytes read for a byte of
    text fall with the tokens and rise with the ids.
    """
    figures: dict[str, Figure] = {}
    for name in MODELS:
        facts = model(name)
        for vocabulary, size in (
            (BASE, 200_019),
            *((f"{kind}.{size}", size) for kind in ("plain", "superwords") for size in SIZES),
        ):
            per_byte = 1 / found[f"bytes-per-token.{domain}.same.{vocabulary}"].value
            key = f"layers.{domain}.{name}.{vocabulary}"
            head = 2 * size * facts.hidden_size
            flops = forward_flops_per_token(facts, vocab_size=size)
            read = read_weight_bytes(facts, 1, vocab_size=size)
            figures[f"{key}.head-share"] = Figure(head / flops, "share")
            figures[f"{key}.flops"] = Figure(flops * per_byte, "FLOPs per byte")
            figures[f"{key}.read"] = Figure(read * per_byte, "bytes per byte")
    return figures
