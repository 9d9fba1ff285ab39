"""Measure each way, and keep each result as soon as it is there."""

from __future__ import annotations

import itertools
import json
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import jeton
from jeton._files import write_whole
from studies.new_rows import texts, training
from studies.new_rows.network import Judge, Network, NewRows
from studies.new_rows.rows import WAYS, Extension, Way, extended, made_rows, rows_hash, untied
from studies.new_rows.texts import DOMAINS, GENERAL

__all__ = ["SIZES", "TRAINED", "Measured", "Work"]

FILES = {"medical": "medical.jsonl.zst", "legal": "legal.jsonl.zst", GENERAL: "english.jsonl.zst"}
SIZES = (1000, 5000)
TRAINED = (
    ("medical", 1000, Way("asymmetric", is_untied=True)),
    ("medical", 1000, Way("mean", is_untied=True)),
)
"""Cases that are trained a little, half an hour of a core each: two candidates for the default."""


KINDS = ("old", "tokens", "before", "after")


class Measured:
    """Results in files of JSON, one a result: two runs may share a folder.

    Attributes:
        found: The results by kind and name.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.found: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
        self.read()

    def read(self) -> None:
        """Reads what is there, the oldest result first: another run may have added some."""
        for kind in KINDS:
            files = sorted(
                (self._folder / kind).glob("*.json"), key=lambda file: file.stat().st_mtime
            )
            for file in files:
                name = file.stem.replace(",", "/")
                self.found[kind][name] = json.loads(file.read_text(encoding="utf-8"))

    def put(self, kind: str, key: str, value: dict[str, Any]) -> None:
        """Keeps a result."""
        self.found[kind][key] = value
        (self._folder / kind).mkdir(parents=True, exist_ok=True)
        name = f"{key.replace('/', ',')}.json"
        write_whole(self._folder / kind / name, json.dumps(value) + "\n")
        print(f"{time.strftime('%H:%M:%S')} {kind} {key}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Work:
    """Where things lie.

    Attributes:
        model: Folder of the old model.
        corpora: Folder of the corpora.
        place: Folder for what is made on the way, and stays.
        scratch: Folder for what does not stay, of this run alone.
        measured: The results.
    """

    model: Path
    corpora: Path
    place: Path
    scratch: Path
    measured: Measured

    def rows(self) -> None:
        """Counts tokens and judges every way before training: first what says most."""
        places = list(itertools.product(SIZES, DOMAINS))
        for n_tokens, domain in places:
            self._extension(domain, n_tokens)
        for n_tokens, domain in places:
            self._before(domain, n_tokens, WAYS[0])
        for (n_tokens, domain), way in itertools.product(places, WAYS):
            self._before(domain, n_tokens, way)

    def training(self) -> None:
        """Trains some ways a little and judges them again."""
        for domain, n_tokens, way in TRAINED:
            key = f"{domain}/{n_tokens}/{way.name}"
            if key in self.measured.found["after"]:
                continue
            extension = self._extension(domain, n_tokens)
            rows = self._made(extension, way)
            windows = training.windows_of(
                extension.tokenizer, self.splits[domain].learned, start=self.network.start
            )
            losses: list[float] = []

            def told(step: int, loss: float, losses: list[float] = losses) -> None:
                losses.append(loss)
                if step % 20 == 0:
                    print(
                        f"  step {step}: {np.mean(losses[-20:]):.3f}", file=sys.stderr, flush=True
                    )

            begun = time.monotonic()
            done = training.trained(
                self.network, rows, windows, is_untied=way.is_untied, on_step=told
            )
            value = {
                "steps": len(windows),
                "tokens_per_step": int(windows[0].size),
                "loss": [round(float(np.mean(part)), 4) for part in np.array_split(losses, 15)],
                "seconds": round(time.monotonic() - begun),
                "bits": self._bits(domain, extension, done),
            }
            self.measured.put("after", key, value)
            self._before(domain, n_tokens, way)

    def _before(self, domain: str, n_tokens: int, way: Way) -> None:
        self.measured.read()
        key = f"{domain}/{n_tokens}/{way.name}"
        if key in self.measured.found["before"]:
            return
        begun = time.monotonic()
        extension = self._extension(domain, n_tokens)
        rows = self._made(extension, way)
        mark = rows_hash(rows)
        known = self.measured.found["before"]
        for other, value in known.items():
            if other.startswith(f"{domain}/{n_tokens}/") and value["rows"] == mark:
                self.measured.put("before", key, {**value, "equal_to": other, "seconds": 0})
                return
        value = {"rows": mark, "bits": self._bits(domain, extension, rows)}
        self.measured.put("before", key, {**value, "seconds": round(time.monotonic() - begun)})

    def _bits(self, domain: str, extension: Extension, rows: NewRows) -> dict[str, list[float]]:
        encode = extension.tokenizer.encode
        return {
            text: np.round(self._judge(text).bits(encode, rows), 2).tolist()
            for text in (domain, GENERAL)
        }

    def _extension(self, domain: str, n_tokens: int) -> Extension:
        place = self.place / f"{domain}-{n_tokens}"
        extension = extended(self.model, self.splits[domain].learned, n_tokens, place)
        key = f"{domain}/{n_tokens}"
        if key not in self.measured.found["tokens"]:
            value: dict[str, Any] = {"learned_bytes": _size(self.splits[domain].learned)}
            for text in (domain, GENERAL):
                value[text] = self._saved(self.splits[text].counted, extension)
            self.measured.put("tokens", key, value)
        return extension

    def _saved(self, counted: tuple[str, ...], extension: Extension) -> dict[str, Any]:
        old, new = (
            np.array(tokenizer.count_batch(counted), dtype=np.float64)
            for tokenizer in (self._old, extension.tokenizer)
        )
        low, high = texts.interval(old - new, old)
        return {
            "bytes": _size(counted),
            "documents": len(counted),
            "tokens_before": int(old.sum()),
            "tokens_after": int(new.sum()),
            "saved": round(1 - new.sum() / old.sum(), 5),
            "low": round(low, 5),
            "high": round(high, 5),
        }

    def _made(self, extension: Extension, way: Way) -> NewRows:
        model = self._untied if way.is_untied else self.model
        return made_rows(model, extension, way, self.scratch, self.network.n_rows)

    @cached_property
    def splits(self) -> dict[str, texts.Split]:
        """The texts by name."""
        return {name: texts.split(self.corpora / file) for name, file in FILES.items()}

    @cached_property
    def network(self) -> Network:
        """The old model, loaded."""
        return Network(self.model)

    @cached_property
    def _old(self) -> jeton.Tokenizer:
        return jeton.load(self.model / "tokenizer.json")

    @cached_property
    def _untied(self) -> Path:
        return untied(self.model, self.scratch / "untied")

    @cached_property
    def _judges(self) -> dict[str, Judge]:
        return {}

    def _judge(self, text: str) -> Judge:
        if text not in self._judges:
            judged = self.splits[text].judged
            judge = Judge(self.network, self._old.encode, judged)
            self._judges[text] = judge
            bits = judge.bits(self._old.encode, self.network.no_rows())
            value = {
                "bits": np.round(bits, 2).tolist(),
                "bytes": texts.n_bytes(judged).astype(int).tolist(),
            }
            if text in self.measured.found["old"]:
                known = self.measured.found["old"][text]
                if not np.allclose(known["bits"], value["bits"], rtol=1e-3):
                    raise ValueError(
                        f"the old model now costs other bits on {text} text\n"
                        f"hint: the results in {self.place} are of another model or other texts"
                    )
            else:
                self.measured.put("old", text, value)
        return self._judges[text]


def _size(parts: tuple[str, ...]) -> int:
    return sum(len(part.encode()) for part in parts)
