"""Roles of special tokens and chat templates, written into a GGUF file."""

from __future__ import annotations

from dataclasses import replace

from jeton._core import Tokenizer, from_gguf
from jeton.formats.gguf import gguf_of_bytes
from jeton.formats.gguf_pairs import ROLES_IN_GGUF, Value, with_pairs
from jeton.formats.model_settings import ModelSettings
from jeton.formats.writing import Rendering


def with_settings(rendering: Rendering, settings: ModelSettings) -> Rendering:
    """The file with what llama.cpp is to know: ids by role, chat templates.

    Settings of the file stay: the tokens that the tokenizer puts around a text.
    """
    data = rendering.files[""]
    model = gguf_of_bytes(data, path="tokenizer.gguf")
    known = {*model.metadata, *model.lengths}
    pairs: dict[str, Value] = {}
    for role, name in ROLES_IN_GGUF.items():
        number = _id_of(rendering.read, settings.roles.get(role))
        if number is not None:
            pairs[f"tokenizer.ggml.{name}_token_id"] = number
    if settings.chat_template is not None:
        pairs["tokenizer.chat_template"] = settings.chat_template
    others = settings.other_chat_templates
    if others:
        pairs["tokenizer.chat_templates"] = list(others)
        pairs |= {f"tokenizer.chat_template.{name}": text for name, text in others.items()}
    pairs = {key: value for key, value in pairs.items() if key not in known}
    if not pairs:
        return rendering
    data = with_pairs(data, pairs)
    read = from_gguf(data, name=rendering.read.name)
    return replace(rendering, files={**rendering.files, "": data}, read=read)


def _id_of(tokenizer: Tokenizer, text: str | None) -> int | None:
    if text is None:
        return None
    for token in tokenizer.fixed_tokens():
        if token.content == text:
            return token.id
    return tokenizer.special_tokens.get(text, tokenizer.bytes_to_id(text.encode("utf-8")))
