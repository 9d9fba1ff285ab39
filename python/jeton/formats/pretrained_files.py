"""The small files that transformers puts beside a tokenizer.json."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any

from jeton._core import Tokenizer
from jeton.errors import LossyConversionWarning
from jeton.formats.model_settings import ModelSettings, template_files

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


_ENDS_OF_TURNS = (
    "<|im_end|>",
    "<|eot_id|>",
    "<end_of_turn>",
    "<|end|>",
    "<|eot|>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
)
"""Tokens of which a chat model may have one as its end, whatever else looks like an end."""


def pretrained_files(tokenizer: Tokenizer, *, settings: ModelSettings | None) -> dict[str, bytes]:
    """tokenizer_config.json, special_tokens_map.json and chat templates, by name.

    Args:
        tokenizer: The tokenizer of the folder.
        settings: Facts of the model; None: roles go by the usual texts of tokens.
    """
    added = json.loads(tokenizer.to_canonical())["added_tokens"]
    listed = {token["content"]: token for token in added}
    if settings is None or not settings.roles:
        roles = _guessed_roles(listed)
        _warn_of_guess(tokenizer, roles, listed)
    else:
        roles = {f"{role}_token": text for role, text in settings.roles.items()}
    entries = {} if settings is None else dict(settings.entries)
    additional = () if settings is None else settings.additional_special_tokens
    if additional and "extra_special_tokens" not in entries:
        entries["additional_special_tokens"] = list(additional)
    config: dict[str, Any] = {
        "added_tokens_decoder": {str(token["id"]): _flags(token) for token in added},
        **entries,
        **roles,
        "clean_up_tokenization_spaces": entries.get("clean_up_tokenization_spaces", False),
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    special_map: dict[str, Any] = {
        role: {"content": text, **_plain(listed[text])} if text in listed else text
        for role, text in roles.items()
        if role in _ROLES
    }
    if additional:
        special_map["additional_special_tokens"] = list(additional)
    files = {
        "tokenizer_config.json": _json(config),
        "special_tokens_map.json": _json(special_map),
    }
    return files if settings is None else files | template_files(settings)


def _guessed_roles(listed: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    special = {text for text, token in listed.items() if token["special"]}
    found = {}
    for role, texts in _ROLES.items():
        text = next((text for text in texts if text in special), None)
        if text is not None:
            found[role] = text
    return found


def _warn_of_guess(
    tokenizer: Tokenizer, roles: Mapping[str, str], listed: Mapping[str, Mapping[str, Any]]
) -> None:
    """Say so where the end token may as well be another one."""
    others = [text for text in _ENDS_OF_TURNS if text in listed and text != roles.get("eos_token")]
    if "eos_token" in roles and others:
        warnings.warn(
            f"nothing says which token ends a text of {tokenizer.name or 'this tokenizer'}: "
            f"eos_token is written as {roles['eos_token']!r}, though {others[0]!r} may be "
            "meant; the chat template is not known, either\nhint: load the model's folder instead "
            "of the file, and its roles and templates are saved, too",
            LossyConversionWarning,
            stacklevel=2,
        )


def _flags(token: Mapping[str, Any]) -> dict[str, Any]:
    return {"content": token["content"], **_plain(token), "special": token["special"]}


def _plain(token: Mapping[str, Any]) -> dict[str, Any]:
    return {key: token[key] for key in ("lstrip", "normalized", "rstrip", "single_word")}


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8")
