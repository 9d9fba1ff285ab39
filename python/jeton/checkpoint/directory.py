"""A model directory: its configuration, its generation settings and its weights, in one object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jeton.checkpoint.configuration import ModelConfiguration, read_configuration, token_ids_of
from jeton.checkpoint.weights import FileProblem, Weights, damage, is_lfs_pointer, read_weights
from jeton.errors import JetonError
from jeton.formats.reading import read_object

_OTHER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "spiece.model",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "tekken.json",
)


@dataclass(frozen=True, slots=True)
class ModelDirectory:
    """Facts that a directory gives about its model.

    Attributes:
        path: The directory.
        configuration: config.json; None where there is none, or it is damaged.
        generation: generation_config.json, likewise.
        weights: The weight files.
        problems: Faults of any of the files.
    """

    path: Path
    configuration: ModelConfiguration | None
    generation: Mapping[str, Any] | None
    weights: Weights
    problems: tuple[FileProblem, ...]

    @property
    def n_rows(self) -> int | None:
        """Rows of the embedding matrix: of the weights, or else as config.json has it."""
        if self.weights.embedding is not None:
            return self.weights.embedding.shape[0]
        return None if self.configuration is None else self.configuration.vocab_size

    def token_ids(self, role: str) -> tuple[int, ...]:
        """Ids of a role (``"eos"``) that count in generation.

        generation_config.json counts where it has the field, as in ``generate``; else config.json.
        """
        if self.generation is not None:
            ids = token_ids_of(self.generation.get(f"{role}_token_id"))
            if ids:
                return ids
        return () if self.configuration is None else self.configuration.token_ids.get(role, ())


def read_model_directory(path: str | Path) -> ModelDirectory:
    """Read a model directory. Damaged files are problems of the result, not errors.

    Raises:
        NotADirectoryError: ``path`` is no directory.
        OSError: It cannot be read.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise NotADirectoryError(20, "Not a directory", str(folder))
    problems: list[FileProblem] = []
    configuration: ModelConfiguration | None = None
    generation: Mapping[str, Any] | None = None
    try:
        configuration = read_configuration(folder / "config.json")
    except (JetonError, OSError) as error:
        problems.append(damage(folder, "config.json", error))
    try:
        generation = read_object(folder / "generation_config.json")
    except (JetonError, OSError) as error:
        problems.append(damage(folder, "generation_config.json", error))
    for name in _OTHER_FILES:
        if is_lfs_pointer(folder / name):
            problems.append(FileProblem("lfs_pointer", name, f"{name} is a Git LFS pointer"))
    weights = read_weights(folder)
    return ModelDirectory(
        path=folder,
        configuration=configuration,
        generation=generation,
        weights=weights,
        problems=(*problems, *weights.problems),
    )
