"""Giving a model another vocabulary against copying its files: `jeton adapt apply` and `cp -r`.

    python -m benches.applying [--gigabytes 4] [--rounds 3] [--folder DIR]

A model of random weights with a bundled tokenizer is written once. Each round copies the folder and
applies a vocabulary with 1,000 more tokens, in turn. Both wait until the disk has the bytes, as
`apply` always does: a copy that is still in memory is no copy after a power cut. The time of `cp`
alone stands beside it. The folder needs three times the model's size.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import jeton
import jeton.adapt

BASE = "jeton-general-32k-v2"
HIDDEN, INNER, HEADS, KEY_VALUE_HEADS = 3072, 8192, 24, 8
NEW_TOKENS = 1000


def tensors(vocab_size: int, n_layers: int) -> dict[str, tuple[int, ...]]:
    """Returns the names and shapes of a Llama with tied embeddings."""
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (vocab_size, HIDDEN),
        "model.norm.weight": (HIDDEN,),
    }
    narrow = HIDDEN // HEADS * KEY_VALUE_HEADS
    for layer in range(n_layers):
        at = f"model.layers.{layer}."
        shapes[at + "input_layernorm.weight"] = (HIDDEN,)
        shapes[at + "post_attention_layernorm.weight"] = (HIDDEN,)
        for name, n_rows in (("q", HIDDEN), ("k", narrow), ("v", narrow), ("o", HIDDEN)):
            shapes[f"{at}self_attn.{name}_proj.weight"] = (n_rows, HIDDEN)
        shapes[at + "mlp.gate_proj.weight"] = (INNER, HIDDEN)
        shapes[at + "mlp.up_proj.weight"] = (INNER, HIDDEN)
        shapes[at + "mlp.down_proj.weight"] = (HIDDEN, INNER)
    return shapes


def write_model(folder: Path, tokenizer: jeton.Tokenizer, gigabytes: float) -> int:
    """Writes a model of about this size; returns the bytes of its weights."""
    layer_bytes = sum(
        2 * int(np.prod(shape))
        for name, shape in tensors(0, 1).items()
        if name.startswith("model.layers.")
    )
    n_layers = max(1, round(gigabytes * 1e9 / layer_bytes))
    shapes = tensors(tokenizer.vocab_size, n_layers)
    header: dict[str, object] = {}
    at = 0
    for name, shape in shapes.items():
        end = at + 2 * int(np.prod(shape))
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    folder.mkdir()
    tokenizer.save(folder / "tokenizer.json")
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": tokenizer.vocab_size,
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": n_layers,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_VALUE_HEADS,
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
    }
    (folder / "config.json").write_text(json.dumps(config))
    generator = np.random.Generator(np.random.PCG64(1))
    with (folder / "model.safetensors").open("wb") as stream:
        stream.write(struct.pack("<Q", len(text)) + text)
        for shape in shapes.values():
            # Exponents near those of real weights: no value is infinite or not a number.
            stream.write(generator.integers(0x3A00, 0x3D00, int(np.prod(shape)), np.uint16).data)
    return at


def seconds_of(command: list[str]) -> float:
    """Runs a program and returns its time by the clock."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def wait_for_disk(folder: Path) -> None:
    """Waits until the disk has every file of a folder."""
    for path in folder.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)


def fresh(run: Callable[[], float], output: Path) -> float:
    """Runs with nothing waiting for the disk, and removes the output afterwards."""
    os.sync()
    try:
        return run()
    finally:
        shutil.rmtree(output, ignore_errors=True)


def main() -> None:
    """Measures, checks the last output, and prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        print(json.dumps(measured(Path(name), given.gigabytes, given.rounds), indent=1))


def measured(root: Path, gigabytes: float, rounds: int) -> dict[str, object]:
    """Returns the times, and the median of the rounds' ratios."""
    model, domain, copied, applied = (
        root / one for one in ("model", "domain", "copied", "applied")
    )
    n_bytes = write_model(model, jeton.load(BASE), gigabytes)
    base = jeton.load(model)
    letters = "abcdefghij"
    terms = [f"quex{a}{b}{c}ium" for a in letters for b in letters for c in letters][:NEW_TOKENS]
    extended = jeton.adapt.extend(base=base, terms=terms)
    target = jeton.adapt.adapted_target(base, f"{domain}/")
    jeton.adapt.save_adapted(extended.tokenizer, extended.change, target)
    program = [sys.executable, "-m", "jeton", "adapt"]
    apply = [*program, "apply", str(model), str(domain), "-o", str(applied)]

    unsynced = 0.0

    def copy() -> float:
        nonlocal unsynced
        start = time.perf_counter()
        unsynced = seconds_of(["cp", "-r", str(model), str(copied)])
        wait_for_disk(copied)
        return time.perf_counter() - start

    rows = []
    for turn in range(rounds + 1):
        copy_seconds = fresh(copy, copied)
        apply_seconds = fresh(lambda: seconds_of(apply), applied)
        if turn:  # The first round brings the model into memory.
            rows.append((copy_seconds, unsynced, apply_seconds))
    subprocess.run(apply, check=True, stdout=subprocess.DEVNULL)
    verify = [*program, "verify", str(applied), "--base", str(model)]
    subprocess.run(verify, check=True, stdout=subprocess.DEVNULL)
    return {
        "model_bytes": n_bytes,
        "new_tokens": extended.tokenizer.vocab_size - base.vocab_size,
        "copy_seconds": [round(row[0], 2) for row in rows],
        "copy_in_memory_seconds": [round(row[1], 2) for row in rows],
        "apply_seconds": [round(row[2], 2) for row in rows],
        "ratio": round(statistics.median(row[2] / row[0] for row in rows), 2),
        "ratio_to_copy_in_memory": round(statistics.median(row[2] / row[1] for row in rows), 2),
    }


if __name__ == "__main__":
    main()
