"""Makers of the cases of known failures: directories, batches and texts, ill or healthy."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import jeton
from jeton._core import Tokenizer, from_vocab_txt
from jeton.doctor import Diagnosis, Output, Settings, diagnose
from jeton.doctor.settings import write_snapshot
from jeton.errors import LossyConversionWarning
from jeton.formats.model_settings import ModelSettings, settings_of
from jeton.formats.saving import write_files
from jeton.formats.writing import find_target
from tests.doctor import ward
from tests.doctor.ward import model_dir
from tests.formats import small

Make = Callable[[Path], Diagnosis]


@dataclass(frozen=True)
class Case:
    ill: Make
    healthy: Make


def directory(**changes: Any) -> Make:
    """A model directory with changes."""
    return lambda path: diagnose(model_dir(path / "model", **changes))


def adapted(
    *,
    n_old_ids: int | None = None,
    n_rows: int = ward.N_ROWS,
    leads_here: bool = True,
    added: tuple[int, ...] = (),
) -> Make:
    """A model directory with the change file of a pruned tokenizer."""
    own = ward.tokenizer()

    def make(path: Path) -> Diagnosis:
        names = ("model.embed_tokens.weight", "lm_head.weight")
        tables = {name: ward.matrix(n_rows, seed=i) for i, name in enumerate(names)}
        folder = model_dir(path / "model", config={"vocab_size": n_rows}, tensors=tables)
        tokenizer = jeton.load(folder)
        change = {
            "old": {"n_ids": n_old_ids or own.vocab_size, "fingerprint": "0" * 64},
            "new": {
                "n_ids": own.vocab_size,
                "fingerprint": tokenizer.fingerprint if leads_here else "1" * 64,
            },
            "added": [[id, [], []] for id in added],
        }
        (folder / "vocabulary_change.json").write_text(json.dumps(change))
        return diagnose(folder)

    return make


def batch(
    arrays: Any, *, task: Any = None, config: Any = None, tokens: Any = None, **more: Any
) -> Make:
    """A batch beside the model directory."""
    return lambda path: diagnose(
        model_dir(path / "model", config=config, tokens=tokens, **more),
        batches=[arrays],
        task=task,
    )


def outputs(*items: Output, **changes: Any) -> Make:
    return lambda path: diagnose(model_dir(path / "model", **changes), outputs=items)


def texts(*items: str, tokenizer: Tokenizer | None = None, **options: Any) -> Make:
    return lambda path: diagnose(tokenizer or ward.tokenizer(), texts=items, **options)


def gguf(**changes: Any) -> Make:
    def make(path: Path) -> Diagnosis:
        file = path / "model.gguf"
        file.write_bytes(ward.gguf(**changes))
        return diagnose(file)

    return make


def against(here: dict[str, Any], there: dict[str, Any]) -> Make:
    def make(path: Path) -> Diagnosis:
        write_snapshot(path / "there.json", there)
        return diagnose(
            ward.tokenizer(),
            against=path / "there.json",
            settings=Settings("here", here, kind="snapshot"),
        )

    return make


def tokenizers(one: Tokenizer, two: Tokenizer) -> Make:
    return lambda path: diagnose(one, against=two)


def retrieval(embedder: Tokenizer, *items: str, max_tokens: int = 16, **options: Any) -> Make:
    return lambda path: diagnose(
        ward.tokenizer(),
        texts=items,
        embedder=embedder,
        embedder_max_tokens=max_tokens,
        **options,
    )


def wordpiece(*more: str, lowercase: bool = False) -> Tokenizer:
    data = small.vocab_txt(*more)
    return from_vocab_txt(data, lowercase=lowercase, strip_accents=False, name="words")


def rows_changed(changes: dict[int, float | list[float]]) -> dict[str, np.ndarray[Any, Any]]:
    rows = ward.matrix(seed=1)
    for row, value in changes.items():
        rows[row] = value
    return {"model.embed_tokens.weight": rows}


def index(*names: str) -> bytes:
    shard = "model.safetensors"
    return json.dumps({"weight_map": {name: shard for name in names}}).encode()


def gguf_against(merged: Tokenizer) -> Make:
    def make(path: Path) -> Diagnosis:
        file = path / "model.gguf"
        file.write_bytes(ward.gguf())
        return diagnose(file, against=merged)

    return make


def gguf_inside(metadata: dict[str, Any]) -> Make:
    """A folder with the GGUF file that Jeton makes of it, with other metadata."""

    def make(path: Path) -> Diagnosis:
        folder = model_dir(path / "model")
        settings = settings_of(jeton.load(folder))
        assert settings is not None
        file = folder / "model.gguf"
        save_with(jeton.load(folder), file, replace(settings, **metadata))
        return diagnose(folder)

    return make


def save_with(tokenizer: Tokenizer, file: Path, settings: ModelSettings) -> None:
    with warnings.catch_warnings():
        # What is put around pairs of texts is lost, which is not looked at here.
        warnings.simplefilter("ignore", LossyConversionWarning)
        write_files(tokenizer, find_target(file), lossy=True, settings=settings)
