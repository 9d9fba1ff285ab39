"""The small files that transformers puts beside a tokenizer.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from jeton._core import Tokenizer

__all__ = ["pretrained_files"]

# Roles by the usual texts of their tokens (transformers 5.23.0, the defaults of its classes); a
# token gets one only where it is special and its text leaves no doubt.
_ROLES = {
    "bos_token": ("<s>", "<bos>", "<|begin_of_text|>", "<|startoftext|>"),
    "eos_token": ("</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>"),
    "unk_token": ("<unk>", "[UNK]"),
    "sep_token": ("[SEP]",),
    "pad_token": ("<pad>", "[PAD]"),
    "cls_token": ("[CLS]",),
    "mask_token": ("<mask>", "[MASK]"),
}


def pretrained_files(tokenizer: Tokenizer, *, settings: Mapping[str, Any]) -> dict[str, bytes]:
    """tokenizer_config.json and special_tokens_map.json, by name.

    Args:
        tokenizer: The tokenizer of the folder.
        settings: Entries of tokenizer_config.json that are known better, such as roles.
    """
    added = json.loads(tokenizer.to_canonical())["added_tokens"]
    special = {token["content"]: token for token in added if token["special"]}
    roles = {key: value for key, value in settings.items() if key in _ROLES and value in special}
    if not any(key in settings for key in _ROLES):
        for role, texts in _ROLES.items():
            found = next((text for text in texts if text in special), None)
            if found is not None:
                roles[role] = found
    config: dict[str, Any] = {
        "added_tokens_decoder": {str(token["id"]): _flags(token) for token in added},
        **{key: value for key, value in settings.items() if key not in _ROLES},
        **roles,
        "clean_up_tokenization_spaces": settings.get("clean_up_tokenization_spaces", False),
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    special_map = {role: {"content": text, **_plain(special[text])} for role, text in roles.items()}
    return {
        "tokenizer_config.json": _json(config),
        "special_tokens_map.json": _json(special_map),
    }


def _flags(token: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": token["content"], **_plain(token), "special": token["special"]}


def _plain(token: Mapping[str, Any]) -> dict[str, Any]:
    return {key: token[key] for key in ("lstrip", "normalized", "rstrip", "single_word")}


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8")
