"""The work folder: what was trained and measured, so that a killed run goes on where it was.

Everything lies in a folder whose name is a digest of the corpora, of the vocabularies and of the
version of the recipes: other texts or recipes find nothing and begin anew. A file is written whole
or not at all.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton import _core
from jeton._core import from_canonical
from jeton._files import write_whole

__all__ = ["Work"]


@dataclass(frozen=True, slots=True)
class Work:
    """Results by name; what is not there is made.

    Attributes:
        folder: Of this text and these recipes.
    """

    folder: Path

    @classmethod
    def of(cls, folder: Path, data: Path, recipes: str) -> Work:
        """The part of the work folder for these texts and recipes.

        Args:
            folder: The work folder.
            data: The folder with ``corpora/`` and ``vocab/``.
            recipes: What the recipes are, in words.

        Raises:
            OSError: A folder cannot be made, a file cannot be read.
        """
        digest = sha256(recipes.encode())
        for path in sorted((data / "corpora").glob("*.zst")):
            digest.update(f"\0{path.name}\0".encode() + sha256(path.read_bytes()).digest())
        own = folder / digest.hexdigest()[:16]
        own.mkdir(parents=True, exist_ok=True)
        return cls(own)

    def tokenizer(self, name: str, make: Callable[[], _core.Tokenizer]) -> _core.Tokenizer:
        """A tokenizer that was trained before, or is now."""
        path = self.folder / f"{name}.jeton.json"
        if path.is_file():
            return from_canonical(path.read_bytes(), name=name)
        made = make()
        write_whole(path, made.to_canonical())
        return made

    def arrays(
        self, name: str, make: Callable[[], Mapping[str, NDArray[Any]]]
    ) -> Mapping[str, NDArray[Any]]:
        """Arrays by name."""
        path = self.folder / f"{name}.npz"
        if path.is_file():
            with np.load(path) as found:
                return {key: found[key] for key in found.files}
        made = make()
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **made)
        write_whole(path, buffer.getvalue())
        return made

    def values(self, name: str, make: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
        """Plain JSON values by name."""
        path = self.folder / f"{name}.json"
        if path.is_file():
            found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return found
        made = make()
        write_whole(path, json.dumps(made, ensure_ascii=False))
        return json.loads(json.dumps(made))  # type: ignore[no-any-return]
