"""Settings of a tokenizer's folder that were guessed from the texts of its tokens.

A tokenizer that is saved from a file alone gets roles by the usual texts (``</s>`` ends a text) and
no clean-up. A model's folder says both, and what it says counts.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jeton._core import Tokenizer
from jeton.formats.documents import read_object
from jeton.formats.folders import PretrainedFolder
from jeton.formats.pretrained_files import pretrained_files

__all__ = ["CLEAN_UP", "known_roles", "without_guesses"]

_CONFIG = "tokenizer_config.json"
_IDS = "added_tokens_decoder"
CLEAN_UP = "clean_up_tokenization_spaces"


def without_guesses(folder: Path, tokenizer: Tokenizer) -> dict[str, Any] | None:
    """Returns the settings of a folder without its guesses; None if it has anything else.

    Args:
        folder: The folder of the new tokenizer.
        tokenizer: The new tokenizer.

    Raises:
        FormatError: The settings are damaged.
    """
    stated = read_object(folder / _CONFIG) if folder.is_dir() else None
    if stated is None:
        return None
    with warnings.catch_warnings():
        # The warning about the guess was for the one who saved the folder.
        warnings.simplefilter("ignore")
        guess = json.loads(pretrained_files(tokenizer, settings=None)[_CONFIG])
    if {**stated, _IDS: None} != {**guess, _IDS: None}:
        return None
    return {key: stated[key] for key in (_IDS, "tokenizer_class") if key in stated}


def known_roles(facts: PretrainedFolder, gone_tokens: Mapping[str, int]) -> dict[str, str]:
    """Returns the roles of a model's folder whose tokens the new vocabulary has, by their key."""
    return {f"{role}_token": text for role, text in facts.roles.items() if text not in gone_tokens}
