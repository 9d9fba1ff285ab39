"""Tiny checkpoints and tokenizers: right names and shapes, random values, biases included."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import jeton
from jeton.adapt import VocabularyChange
from jeton.checkpoint.rows import encoded

N_OLD = 53
"""Ids of the old tokenizer; no other axis of a tiny checkpoint is as long."""


def write_tokenizer(folder: Path, tokens: list[str]) -> jeton.Tokenizer:
    """Writes a tokenizer of whole words; its ids are the places of the words."""
    folder.mkdir(parents=True, exist_ok=True)
    document: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {token: id for id, token in enumerate(tokens)},
            "unk_token": tokens[0],
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(document), encoding="utf-8")
    return jeton.load(folder / "tokenizer.json")


def old_tokens() -> list[str]:
    return [f"w{i}" for i in range(N_OLD)]


@dataclass(frozen=True)
class Parts:
    """Old ids that a new token is made of, and their bytes."""

    ids: list[int]
    lengths: list[int]


def write_change(
    folder: Path, old: jeton.Tokenizer, old_of: list[int], added: dict[int, Parts]
) -> VocabularyChange:
    """Writes a tokenizer whose ids carry on the given old ids, and the change beside it."""
    tokens = [f"w{old_id}" if old_id >= 0 else f"n{new}" for new, old_id in enumerate(old_of)]
    new = write_tokenizer(folder, tokens)
    sizes = [len(parts.ids) for parts in added.values()]
    change = VocabularyChange(
        old_fingerprint=old.fingerprint,
        new_fingerprint=new.fingerprint,
        n_old_ids=old.vocab_size,
        old_of=np.array(old_of),
        holes=np.zeros(0, np.int64),
        added_ids=np.array(sorted(added), np.int64),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        parts=np.array([i for parts in added.values() for i in parts.ids], np.int64),
        part_bytes=np.array([n for parts in added.values() for n in parts.lengths], np.int64),
    )
    change.write(folder / "vocabulary_change.json")
    return change


def extension(folder: Path, old: jeton.Tokenizer, n: int = 7) -> VocabularyChange:
    """Writes a tokenizer with some more tokens, each of two or three old ones."""
    added = {
        N_OLD + i: Parts(
            [(p + i) % N_OLD for p in (7, 20, 30)][: 2 + i % 2], [1, 4, 2][: 2 + i % 2]
        )
        for i in range(n)
    }
    return write_change(folder, old, [*range(N_OLD), *[-1] * n], added)


def pruning(folder: Path, old: jeton.Tokenizer) -> VocabularyChange:
    """Writes a tokenizer without some tokens; what is left is in another order."""
    kept = [*range(6), *[i for i in range(N_OLD - 1, 5, -1) if i % 5]]
    return write_change(folder, old, kept, {})


def replacement(folder: Path, old: jeton.Tokenizer) -> VocabularyChange:
    """Writes a tokenizer that lacks some tokens and has others."""
    order = [*range(6), *range(20, N_OLD)]
    old_of = [*order[:10], -1, *order[10:], -1]
    return write_change(folder, old, old_of, {10: Parts([8], [3]), len(old_of) - 1: Parts([], [])})


def random_values(rng: np.random.Generator, shape: list[int]) -> NDArray[np.float32]:
    return rng.normal(size=shape).astype(np.float32)


def write_safetensors(
    file: Path, tensors: dict[str, tuple[str, list[int], bytes]], metadata: dict[str, str] | None
) -> None:
    """Writes a file of tensors: type, shape and bytes by name, in that order."""
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    at = 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with file.open("wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for _, _, data in tensors.values():
            out.write(data)


def write_shards(folder: Path, tensors: dict[str, tuple[str, list[int], bytes]], n: int) -> None:
    """Writes tensors into numbered files, with their index."""
    names = list(tensors)
    weight_map: dict[str, str] = {}
    for number in range(n):
        file = f"model-{number + 1:05d}-of-{n:05d}.safetensors"
        mine = {name: tensors[name] for name in names[number::n]}
        write_safetensors(folder / file, mine, {"format": "pt"})
        weight_map |= dict.fromkeys(mine, file)
    total = sum(len(data) for _, _, data in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2))


def read_tensors(folder: Path) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Reads all tensors of a folder by a few lines of our own: type, shape and bytes by name."""
    found: dict[str, tuple[str, tuple[int, ...], bytes]] = {}
    for file in sorted(folder.rglob("*.safetensors")):
        data = file.read_bytes()
        n = int.from_bytes(data[:8], "little")
        for name, entry in json.loads(data[8 : 8 + n]).items():
            if name != "__metadata__":
                start, end = entry["data_offsets"]
                assert name not in found
                found[name] = (
                    entry["dtype"], tuple(entry["shape"]), data[8 + n + start : 8 + n + end]
                )  # fmt: skip
    return found


def stored(dtype: str, values: NDArray[np.float32]) -> tuple[str, list[int], bytes]:
    return dtype, list(values.shape), encoded(dtype, values)
