"""``AutoTokenizer``: what ``transformers`` would load, over Jeton's core."""

from __future__ import annotations

import os
from typing import Any

import transformers

from jeton.compat.transformers.at_hand import load_at_hand
from jeton.compat.transformers.backend import from_transformers
from jeton.compat.transformers.rebuilt import warn_of_other_ids

__all__ = ["AutoTokenizer"]


class AutoTokenizer:
    """Loads a tokenizer; which class it is of, the files say."""

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: str | os.PathLike[str], *inputs: Any, **kwargs: Any
    ) -> Any:
        """Load a folder, a vocabulary at hand, or what ``transformers`` finds under a name.

        Args:
            pretrained_model_name_or_path: A folder that ``save_pretrained`` wrote, or a name.
            inputs: As in ``transformers``.
            kwargs: As in ``transformers``.

        Returns:
            A ``JetonBackend``, and an instance of the class that ``transformers`` would load.

        Raises:
            UsageError: The class of the tokenizer has no backend that the core could stand in for.
            OSError: The error of ``transformers`` if there are no files.

        A class of ``transformers`` that builds its tokenizer anew may give other ids than the
        folder's tokenizer.json. Where it does, a ``JetonWarning`` shows a text and says how to get
        the file's ids.

        A name without a folder is looked for among the vocabularies at hand (``jeton vocab list``)
        before the hub is asked. A ``JetonWarning`` says so: a vocabulary has no chat template.
        """
        loaded = None if inputs else load_at_hand(pretrained_model_name_or_path, kwargs)
        if loaded is not None:
            return from_transformers(loaded)
        loaded = transformers.AutoTokenizer.from_pretrained(
            pretrained_model_name_or_path, *inputs, **kwargs
        )
        ours = from_transformers(loaded)
        warn_of_other_ids(ours, pretrained_model_name_or_path, kwargs.get("subfolder") or "")
        return ours

    @staticmethod
    def register(*arguments: Any, **options: Any) -> None:
        """Make a class known, as ``transformers.AutoTokenizer.register`` does."""
        transformers.AutoTokenizer.register(*arguments, **options)
