"""``AutoTokenizer``: what ``transformers`` would load, over Jeton's core."""

from __future__ import annotations

import os
from typing import Any

import transformers

from jeton.compat.transformers.backend import from_transformers

__all__ = ["AutoTokenizer"]


class AutoTokenizer:
    """Loads a tokenizer; which class it is of, the files say."""

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: str | os.PathLike[str], *inputs: Any, **kwargs: Any
    ) -> Any:
        """Load a folder, or what ``transformers`` finds under a name.

        Args:
            pretrained_model_name_or_path: A folder that ``save_pretrained`` wrote, or a name.
            inputs: As in ``transformers``.
            kwargs: As in ``transformers``.

        Returns:
            A ``JetonBackend``, and an instance of the class that ``transformers`` would load.

        Raises:
            UsageError: The class of the tokenizer has no backend that the core could stand in for.
            OSError: What ``transformers`` raises if there are no files.
        """
        loaded = transformers.AutoTokenizer.from_pretrained(
            pretrained_model_name_or_path, *inputs, **kwargs
        )
        return from_transformers(loaded)

    @staticmethod
    def register(*arguments: Any, **options: Any) -> None:
        """Make a class known, as ``transformers.AutoTokenizer.register`` does."""
        transformers.AutoTokenizer.register(*arguments, **options)
