"""Bits per byte of a real model with new tokens, before any training, by how their rows are made.

Needs torch, transformers and safetensors beside jeton, and a causal model's directory:

    python -m studies.new_rows MODEL_DIR --domain medical=medical.jsonl.zst --domain legal=... \
        --general english.jsonl.zst --add 800

Documents are split by a hash of their text: the tokens are learned from one part and judged on the
other. Every figure is a difference to the model as it was on the same bytes, with an interval from
resampling documents.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import jeton
from jeton.adapt import Reading, adapted_target, extend, save_adapted
from jeton.adapt.weights import apply
from jeton.corpus import open_documents

METHODS = ("asymmetric", "mean", "exponential", "focus", "vocabulary-mean", "random", "zero")
HELD_OUT = 10
"""One document of so many is kept to judge by."""


def main() -> None:
    """Measures what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--domain", action="append", required=True, help="NAME=FILE")
    parser.add_argument("--general", help="file of general text")
    parser.add_argument("--add", type=int, default=800, help="new tokens")
    parser.add_argument("--documents", type=int, default=24, help="documents to judge on")
    parser.add_argument("--bytes", type=int, default=1200, help="of each document, from its start")
    parser.add_argument("--learn-bytes", type=int, default=4_000_000)
    parser.add_argument("--untied", action="store_true", help="an output layer of its own")
    parser.add_argument("--method", action="append", choices=METHODS)
    parser.add_argument("-o", "--output", type=Path, help="JSON, a line a row")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.output and options.output.parent) as place:
        model = untied(options.model, Path(place)) if options.untied else options.model
        for domain in options.domain:
            name, _, file = domain.partition("=")
            for row in measured(model, name, file, options, Path(place)):
                row["tied"] = not options.untied
                print(json.dumps(row), flush=True)
                if options.output:
                    with options.output.open("a") as out:
                        out.write(json.dumps(row) + "\n")


def measured(
    model: Path, name: str, file: str, options: argparse.Namespace, place: Path
) -> Iterator[dict[str, Any]]:
    """Measures one domain: the model as it was, then each way to make rows."""
    learn, judge = split(file, options)
    texts = {name: judge}
    if options.general:
        texts["general"] = split(options.general, options)[1]
    base = jeton.load(model / "tokenizer.json")
    found = extend(iter(learn), base=base, n_tokens=options.add, reading=Reading(hold_out=0))
    folder = place / f"tokenizer-{name}"
    saved = save_adapted(found.tokenizer, found.change, adapted_target(base, f"{folder}/"))
    before = {kind: bits(model, base, part) for kind, part in texts.items()}
    n_bytes = {kind: sizes(part) for kind, part in texts.items()}
    for kind, part in texts.items():
        n_old, n_new = (sum(map(tok.count, part)) for tok in (base, saved.tokenizer))
        whole = before[kind].sum() / n_bytes[kind].sum()
        yield {
            "domain": name, "text": kind, "init": None, "bits_per_byte": round(whole, 4),
            "tokens_saved": round(1 - n_new / n_old, 4), "documents": len(part),
        }  # fmt: skip
    for method in options.method or METHODS:
        output = place / f"{name}-{method}"
        apply(model, folder, output=output, init=method, link=True)
        for kind, part in texts.items():
            after = bits(output, saved.tokenizer, part)
            low, high = interval(after - before[kind], n_bytes[kind])
            yield {
                "domain": name, "text": kind, "init": method,
                "bits_per_byte": round(after.sum() / n_bytes[kind].sum(), 4),
                "more": round((after - before[kind]).sum() / n_bytes[kind].sum(), 4),
                "low": round(low, 4), "high": round(high, 4),
            }  # fmt: skip


def split(file: str, options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Returns texts to learn from, and beginnings of others to judge on."""
    learn: list[str] = []
    judge: list[tuple[bytes, str]] = []
    n_learn = 0
    for text in documents(file):
        mark = hashlib.sha256(text.encode()).digest()
        if mark[0] % HELD_OUT == 0:
            part = text.encode()[: options.bytes].decode("utf-8", "ignore")
            if len(part.encode()) > options.bytes // 2:
                judge.append((mark, part))
        elif mark[1] % 4 == 0 and n_learn < options.learn_bytes:
            learn.append(text[:20_000])
            n_learn += len(learn[-1])
    return learn, [part for _, part in sorted(judge)[: options.documents]]


def documents(file: str) -> Iterator[str]:
    """Returns the texts of a corpus file."""
    for _, batch, *_ in open_documents(file):
        for start, end in itertools.pairwise(batch.offsets):
            yield bytes(batch.data[start:end]).decode()


def bits(model: Path, tokenizer: jeton.Tokenizer, texts: Sequence[str]) -> NDArray[np.float64]:
    """Returns the bits that each text costs, (n_texts,)."""
    import torch
    from transformers import AutoModelForCausalLM

    network = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()
    start = network.config.bos_token_id or 0
    found = []
    for text in texts:
        ids = torch.tensor([[start, *tokenizer.encode(text)]])
        with torch.inference_mode():
            chances = torch.log_softmax(network(ids).logits[0, :-1].float(), dim=-1)
        told = chances.gather(1, ids[0, 1:, None]).double().sum()
        found.append(-float(told) / math.log(2))
    return np.array(found)


def sizes(texts: Sequence[str]) -> NDArray[np.float64]:
    """Returns the bytes of each text."""
    return np.array([len(text.encode()) for text in texts], dtype=np.float64)


def interval(more: NDArray[np.float64], n_bytes: NDArray[np.float64]) -> tuple[float, float]:
    """Returns the 95 % interval of a ratio, by resampling documents."""
    draws = np.random.default_rng(1).integers(0, len(more), (2000, len(more)))
    low, high = np.quantile(more[draws].sum(1) / n_bytes[draws].sum(1), [0.025, 0.975])
    return float(low), float(high)


def untied(model: Path, place: Path) -> Path:
    """Writes the model with an output layer of its own, which differs by one bit of one value."""
    from safetensors.numpy import load_file, save_file

    folder = place / "untied"
    folder.mkdir()
    for file in model.iterdir():
        (folder / file.name).symlink_to(file.resolve())
    index_file = folder / "model.safetensors.index.json"
    index = json.loads(index_file.read_text())
    table = "model.embed_tokens.weight"
    head = load_file(model / index["weight_map"][table])[table].copy()
    head[0, 0] = np.nextafter(head[0, 0], np.inf, dtype=head.dtype)
    save_file({"lm_head.weight": head}, folder / "head.safetensors", {"format": "pt"})
    index["weight_map"]["lm_head.weight"] = "head.safetensors"
    config = json.loads((model / "config.json").read_text()) | {"tie_word_embeddings": False}
    for file, document in ((index_file, index), (folder / "config.json", config)):
        file.unlink()
        file.write_text(json.dumps(document))
    return folder


if __name__ == "__main__":
    main()
