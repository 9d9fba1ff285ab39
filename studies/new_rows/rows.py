"""Rows of new tokens as ``jeton adapt apply`` writes them, for a tied and an untied model."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jeton
from jeton.adapt import Reading, adapted_target, extend, save_adapted
from jeton.adapt.change import CHANGE_FILE
from jeton.adapt.weights import apply
from studies.new_rows.donor import write_donor
from studies.new_rows.network import NewRows

__all__ = ["WAYS", "Extension", "Way", "extended", "made_rows", "rows_hash", "untied"]

TABLE, HEAD = "model.embed_tokens.weight", "lm_head.weight"


@dataclass(frozen=True, slots=True)
class Way:
    """A way to make rows.

    Attributes:
        init: Name of the initialisation.
        with_donor: True if a donor says what is similar.
        is_untied: True if the model has an output layer of its own.
    """

    init: str
    with_donor: bool = False
    is_untied: bool = False

    @property
    def name(self) -> str:
        """The way in a word."""
        donor = "+donor" if self.with_donor else ""
        return f"{self.init}{donor}{'+untied' if self.is_untied else ''}"


WAYS = (
    Way("mean"),
    Way("asymmetric"),
    Way("copy"),
    Way("asymmetric", is_untied=True),
    Way("exponential"),
    Way("vocabulary-mean"),
    Way("random"),
    Way("focus"),
    Way("zero"),
    Way("omp", with_donor=True),
    Way("focus", with_donor=True),
    Way("exponential", is_untied=True),
)
"""Every way; those that are not here with an output layer of their own make equal rows for it."""


@dataclass(frozen=True, slots=True)
class Extension:
    """A tokenizer with new tokens, in files.

    Attributes:
        folder: Where it is.
        tokenizer: The tokenizer.
        texts: Texts that it was learned from.
    """

    folder: Path
    tokenizer: jeton.Tokenizer
    texts: tuple[str, ...]

    def donor(self) -> Path:
        """Returns the folder of a donor for it, made when it is asked for first."""
        place = self.folder.parent / "donor"
        if not (place / "config.json").is_file():
            write_donor(place, self.tokenizer, self.texts)
        return place


def extended(model: Path, texts: tuple[str, ...], n_tokens: int, place: Path) -> Extension:
    """Gives the model's tokenizer new tokens of a domain; what is there already is read."""
    folder = place / "tokenizer"
    if not (folder / CHANGE_FILE).is_file():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        base = jeton.load(model / "tokenizer.json")
        found = extend(iter(texts), base=base, n_tokens=n_tokens, reading=Reading(hold_out=0))
        save_adapted(found.tokenizer, found.change, adapted_target(base, f"{folder}/"))
    return Extension(folder, jeton.load(folder / "tokenizer.json"), texts)


def made_rows(model: Path, extension: Extension, way: Way, place: Path, n_old: int) -> NewRows:
    """Applies the extension to the model and reads the rows behind the old ones.

    Raises:
        ValueError: An old row is not what it was.
    """
    output = place / "applied"
    shutil.rmtree(output, ignore_errors=True)
    donor = extension.donor() if way.with_donor else None
    apply(model, extension.folder, output=output, init=way.init, donor=donor, link=True)
    table = _tensor(output, TABLE)
    if not bool((table[:n_old] == _tensor(model, TABLE)).all()):
        raise ValueError(f"{way.name}: old rows changed")
    head = _tensor(output, HEAD) if way.is_untied else table
    shutil.rmtree(output)
    return NewRows(table[n_old:].float().clone(), head[n_old:].float().clone())


def rows_hash(rows: NewRows) -> str:
    """Returns a hash of all values: equal rows need to be judged once."""
    data = (side.numpy().tobytes() for side in (rows.input, rows.head))
    return hashlib.sha256(b"".join(data)).hexdigest()[:16]


def untied(model: Path, folder: Path) -> Path:
    """Writes the model with an output layer of its own, which differs in one bit of one value."""
    import torch
    from safetensors.torch import save_file

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in model.iterdir():
        (folder / file.name).symlink_to(file.resolve())
    head = _tensor(model, TABLE).clone()
    head[0, 0] = torch.nextafter(head[0, 0], head.new_tensor(float("inf")))
    save_file({HEAD: head}, folder / "head.safetensors", {"format": "pt"})
    index = {"metadata": {}, "weight_map": {**_weight_map(model), HEAD: "head.safetensors"}}
    config = json.loads((model / "config.json").read_text()) | {"tie_word_embeddings": False}
    for name, document in ((_INDEX, index), ("config.json", config)):
        (folder / name).unlink(missing_ok=True)
        (folder / name).write_text(json.dumps(document))
    return folder


_INDEX = "model.safetensors.index.json"


def _tensor(model: Path, name: str) -> Any:
    from safetensors import safe_open

    with safe_open(model / _weight_map(model)[name], framework="pt") as file:
        return file.get_tensor(name)


def _weight_map(model: Path) -> dict[str, str]:
    from safetensors import safe_open

    if (model / _INDEX).is_file():
        found: dict[str, str] = json.loads((model / _INDEX).read_text())["weight_map"]
        return found
    with safe_open(model / "model.safetensors", framework="pt") as file:
        return dict.fromkeys(file.keys(), "model.safetensors")
