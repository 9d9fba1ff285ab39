"""Chats: rendered and encoded so that text of users never becomes a special token."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from transformers import BatchEncoding

from jeton.chat import ChatTemplate, encode_rendered
from jeton.compat.tokenizers import Encoding
from jeton.errors import UsageError

__all__ = ["apply_chat_template"]


def apply_chat_template(
    tokenizer: Any, usual: Callable[..., Any], conversation: Any, *args: Any, **kwargs: Any
) -> Any:
    """What ``tokenizer.apply_chat_template`` gives.

    Args:
        tokenizer: The tokenizer, one of ``transformers`` over Jeton's core.
        usual: The method of its class in ``transformers``.
        conversation: A chat, or several.
        args: As in ``transformers``.
        kwargs: As in ``transformers``.
    """
    bound = inspect.signature(usual).bind(conversation, *args, **kwargs)
    bound.apply_defaults()
    asked = dict(bound.arguments)
    variables = asked.pop("kwargs", {})
    if not asked["tokenize"]:
        return usual(conversation, *args, **kwargs)
    core = tokenizer._tokenizer._compiled().core
    _check(asked)
    chats, is_batched = _conversations(conversation)
    source = tokenizer.get_chat_template(asked["chat_template"], asked["tools"])
    template = ChatTemplate.from_source(source, special_tokens=tokenizer.special_tokens_map)
    encoded = []
    for messages in chats:
        rendered = template.render(
            [{k: v for k, v in message.items() if v is not None} for message in messages],
            tools=_schemas(asked["tools"]),
            documents=asked["documents"],
            add_generation_prompt=asked["add_generation_prompt"],
            continue_final_message=asked["continue_final_message"],
            **variables,
        )
        encoded.append(encode_rendered(core, rendered))
    return _outputs(tokenizer, encoded, asked, is_batched=is_batched)


def _check(asked: dict[str, Any]) -> None:
    """Refuse what contradicts itself, as ``transformers`` does."""
    if asked["return_assistant_tokens_mask"] and not asked["return_dict"]:
        raise ValueError("`return_assistant_tokens_mask=True` requires `return_dict=True`")
    if asked["continue_final_message"] and asked["add_generation_prompt"]:
        raise ValueError("continue_final_message and add_generation_prompt are not compatible")
    if asked["continue_final_message"] and asked["return_assistant_tokens_mask"]:
        raise ValueError(
            "continue_final_message is not compatible with return_assistant_tokens_mask"
        )


def _conversations(conversation: Any) -> tuple[list[Any], bool]:
    """Chats as lists of messages, and whether several were given."""
    if not len(conversation):
        raise ValueError(
            "Cannot apply chat template to an empty conversation. Provide at least one message."
        )
    first = conversation[0]
    is_batched = isinstance(first, list | tuple) or hasattr(first, "messages")
    chats = list(conversation) if is_batched else [conversation]
    return [getattr(chat, "messages", chat) for chat in chats], is_batched


def _schemas(tools: Sequence[Any] | None) -> list[Any] | None:
    """Tools as schemas; functions describe themselves, as in ``transformers``."""
    if tools is None:
        return None
    from transformers.utils import get_json_schema

    return [tool if isinstance(tool, dict) else get_json_schema(tool) for tool in tools]


def _outputs(tokenizer: Any, encoded: list[Any], asked: dict[str, Any], *, is_batched: bool) -> Any:
    options = dict(asked["tokenizer_kwargs"] or {})
    padding, truncation, max_length, options = tokenizer._get_padding_truncation_strategies(
        padding=asked["padding"],
        truncation=asked["truncation"],
        max_length=asked["max_length"],
        **options,
    )
    engine = tokenizer._tokenizer._compiled()
    masks = [encoding.assistant_mask.astype(int).tolist() for encoding in encoded]
    encodings = [_encoding(engine, encoding) for encoding in encoded]
    if truncation.value != "do_not_truncate" and max_length is not None:
        left = tokenizer.truncation_side == "left"
        for index, encoding in enumerate(encodings):
            if len(encoding) > max_length:
                encoding.truncate(max_length, 0, "left" if left else "right")
                mask = masks[index]
                masks[index] = mask[-max_length:] if left else mask[:max_length]
    tensors = asked["return_tensors"]
    many = is_batched or tensors is not None
    data: dict[str, Any] = {"input_ids": [encoding.ids for encoding in encodings]}
    if not many:
        data = {"input_ids": data["input_ids"][0]}
    unknown = set(options) - {"pad_to_multiple_of", "padding_side", "return_attention_mask"}
    if unknown:
        raise UsageError(f"apply_chat_template cannot pass on {', '.join(sorted(unknown))}")
    padded = tokenizer.pad(data, padding=padding, max_length=max_length, **options)
    if asked["return_assistant_tokens_mask"]:
        padded["assistant_masks"] = masks if many else masks[0]
    whole = BatchEncoding(dict(padded), encodings, tensor_type=tensors)
    return whole if asked["return_dict"] else whole["input_ids"]


def _encoding(engine: Any, encoded: Any) -> Encoding:
    """A chat's encoding: places in the rendered text, no words."""
    ids: list[int] = encoded.ids.tolist()
    n = len(ids)
    tokens = [engine.spelling(number) or "" for number in ids]
    places = list(zip(encoded.starts.tolist(), encoded.ends.tolist(), strict=True))
    return Encoding._of_columns(ids, [0] * n, tokens, [None] * n, places, [0] * n, [1] * n)
