"""Settings of a tokenizer's folder that were guessed from the texts of its tokens.

A tokenizer that is saved from a file alone gets roles by the usual texts (``</s>`` ends a text) and
no clean-up. A model's folder says both, and what it says counts.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jeton._core import Tokenizer
from jeton._foreign import json_of
from jeton.formats.folders import PretrainedFolder
from jeton.formats.reading import read_object
from jeton.formats.saving import pretrained_files

_CONFIG = "tokenizer_config.json"
_IDS = "added_tokens_decoder"
_SIDE = "padding_side"
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
        guess = json_of(pretrained_files(tokenizer, settings=None)[_CONFIG])
    # The side is told by the kind of model alone, so it says nothing about roles.
    aside = {_IDS: None, _SIDE: None}
    if {**stated, **aside} != {**guess, **aside}:
        return None
    return {key: stated[key] for key in (_IDS, "tokenizer_class", _SIDE) if key in stated}


def roles_by_ids(model: Path, tokenizer: Tokenizer) -> dict[str, str]:
    """Returns the special tokens to which the ids of config.json give a role, by role.

    The first one of several ends of a text counts.
    """
    stated = read_object(model / "config.json") or {}
    texts = {id: text for text, id in tokenizer.special_tokens.items()}
    found = {}
    for role in ("bos", "eos", "unk", "pad"):
        value = stated.get(f"{role}_token_id")
        number = value[0] if isinstance(value, list) and value else value
        if type(number) is int and number in texts:
            found[role] = texts[number]
    return found


def known_roles(
    facts: PretrainedFolder, by_ids: Mapping[str, str], gone_tokens: Mapping[str, int]
) -> dict[str, str]:
    """Returns the roles of a model's folder whose tokens the new vocabulary has, by their key.

    Args:
        facts: The folder's small files.
        by_ids: The roles that only ids of config.json tell, for a folder that states none.
        gone_tokens: Tokens that the new vocabulary lacks.
    """
    roles = facts.roles or by_ids
    return {f"{role}_token": text for role, text in roles.items() if text not in gone_tokens}
