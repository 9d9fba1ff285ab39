"""Ten families of chat models: a template, a small tokenizer of the family's kind, its special tokens.

The templates are our own, written from what each family's documentation says of its format (model cards and
tokenizer documentation, read 2026-11-21); the tokenizers have the families' special tokens with their flags and
a vocabulary of a few hundred entries.
"""

# ruff: noqa: E501 - data in one line

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import jeton
from jeton._core import PretokenCounts, TextBatch, from_hf_json, train_bpe
from jeton.chat import ChatTemplate

TEMPLATES = Path(__file__).parent / "templates"
WORDS = [
    "the",
    "user",
    "asks",
    "what",
    "is",
    "a",
    "token",
    "and",
    "the",
    "assistant",
    "answers",
    "in",
    "short",
    "words",
    "system",
    "tool",
    "weather",
    "city",
    "name",
    "start",
    "end",
    "think",
    "header",
    "call",
    "function",
    "json",
    "result",
    "text",
    "message",
    "of",
    "to",
    "it",
    "you",
    "that",
]


@dataclass(frozen=True)
class Family:
    """One family."""

    name: str
    kind: Callable[[], dict[str, Any]]
    special: dict[str, str]
    """Special tokens by role."""
    more: tuple[str, ...] = ()
    """Further special tokens."""
    added: tuple[str, ...] = ()
    """Added tokens that are not special."""
    flags: dict[str, dict[str, bool]] = field(default_factory=dict)
    has_system: bool = True

    @cached_property
    def source(self) -> str:
        return (TEMPLATES / f"{self.name}.jinja").read_text(encoding="utf-8")

    @cached_property
    def file(self) -> str:
        """The tokenizer.json."""
        made = json.loads(json.dumps(self.kind()))
        tokens = dict.fromkeys([*self.special.values(), *self.more, *self.added])
        vocab = made["model"]["vocab"]
        known = (
            {piece: at for at, (piece, _) in enumerate(vocab)} if isinstance(vocab, list) else vocab
        )
        free = max(known.values(), default=-1) + 1 if not isinstance(vocab, list) else len(vocab)
        for text in tokens:
            number = known.get(text)
            if number is None:
                number, free = free, free + 1
            flags = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False}
            flags |= self.flags.get(text, {})
            special = text not in self.added
            made["added_tokens"].append(
                {"id": number, "content": text, "special": special, **flags}
            )
        made["added_tokens"].sort(key=lambda token: token["id"])
        return json.dumps(made)

    @cached_property
    def tok(self) -> jeton.Tokenizer:
        return from_hf_json(self.file.encode())

    @cached_property
    def template(self) -> ChatTemplate:
        named = {f"{role}_token": text for role, text in self.special.items()}
        return ChatTemplate.from_source(self.source, special_tokens=named, is_trusted=True)

    @property
    def control(self) -> list[str]:
        """All tokens that only the template may write."""
        return [*self.special.values(), *self.more, *self.added]


def _file(**parts: Any) -> dict[str, Any]:
    empty = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder"))
    return (
        {"version": "1.0", "truncation": None, "padding": None, "added_tokens": []} | empty | parts
    )


@cache
def byte_level() -> dict[str, Any]:
    """Byte-level BPE with GPT-4's kind of split."""
    counts = PretokenCounts(pattern="cl100k_base")
    counts.add(TextBatch.from_texts([" ".join(WORDS)]))
    trained = train_bpe(counts, vocab_size=400)
    made: dict[str, Any] = json.loads(trained.to_hf_json())
    made["added_tokens"] = []
    made["post_processor"] = None
    return made


def _spelled(words: list[str]) -> tuple[list[str], list[list[str]]]:
    """Pieces and merges that build words from the left."""
    pieces = dict.fromkeys(c for word in words for c in word)
    merges: dict[tuple[str, str], None] = {}
    for word in words:
        for end in range(2, len(word) + 1):
            merges[word[: end - 1], word[end - 1]] = None
            pieces[word[:end]] = None
    return list(pieces), [list(pair) for pair in merges]


@cache
def llama() -> dict[str, Any]:
    """BPE on characters with bytes to fall back on, a space in front of each section: Llama 2."""
    pieces, merges = _spelled([f"▁{word}" for word in WORDS])
    signs = [c for c in '<>|[]/_{}:",.!?\n0123456789ABCDEINST' if c not in pieces]
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces, *signs]
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": "<unk>",
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": True,
        "ignore_merges": False,
        "vocab": {name: at for at, name in enumerate(names)},
        "merges": merges,
    }
    space = [
        {"type": "Prepend", "prepend": "▁"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    ]
    return _file(model=model, normalizer={"type": "Sequence", "normalizers": space}) | {
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        }
    }


@cache
def llama_without_prefix() -> dict[str, Any]:
    """Return the vocabulary without the space in front: Gemma."""
    made: dict[str, Any] = json.loads(json.dumps(llama()))
    made["normalizer"] = made["normalizer"]["normalizers"][1]
    made["decoder"]["decoders"].pop()
    return made


@cache
def unigram() -> dict[str, Any]:
    """A Unigram model with the special tokens as pieces, which it makes of text by itself, and NFKC."""
    pieces, _ = _spelled([f"▁{word}" for word in WORDS])
    signs = [c for c in '▁<>|[]/_{}:",.!?\n0123456789ABCDEINST' if c not in pieces]
    vocab: list[list[Any]] = [["<unk>", 0.0], ["<s>", 0.0], ["</s>", 0.0]]
    vocab += [[f"<0x{byte:02X}>", 0.0] for byte in range(256)]
    vocab += [[piece, -9.0 + len(piece) / 2] for piece in [*pieces, *signs]]
    vocab += [["<|user|>", 0.0], ["<|system|>", 0.0], ["<|assistant|>", 0.0]]
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": True}
    space = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}
    decoder = {
        "type": "Sequence",
        "decoders": [
            {"type": "ByteFallback"},
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True},
        ],
    }
    return _file(model=model, normalizer={"type": "NFKC"}, pre_tokenizer=space, decoder=decoder)


_RSTRIP = {"rstrip": True}

FAMILIES = {
    family.name: family
    for family in (
        Family(
            "qwen25",
            byte_level,
            {"eos": "<|im_end|>", "pad": "<|endoftext|>"},
            more=("<|im_start|>",),
            added=("<tool_call>", "</tool_call>", "<|fim_prefix|>"),
        ),
        Family(
            "qwen3",
            byte_level,
            {"eos": "<|im_end|>"},
            more=("<|im_start|>",),
            added=("<think>", "</think>"),
        ),
        Family("llama2", llama, {"bos": "<s>", "eos": "</s>", "unk": "<unk>"}),
        Family(
            "llama31",
            byte_level,
            {"bos": "<|begin_of_text|>", "eos": "<|eot_id|>"},
            more=("<|start_header_id|>", "<|end_header_id|>", "<|python_tag|>"),
        ),
        Family(
            "mistral_v3",
            llama,
            {"bos": "<s>", "eos": "</s>", "unk": "<unk>"},
            more=(
                "[INST]",
                "[/INST]",
                "[TOOL_CALLS]",
                "[AVAILABLE_TOOLS]",
                "[/AVAILABLE_TOOLS]",
                "[TOOL_RESULTS]",
                "[/TOOL_RESULTS]",
            ),
        ),
        Family(
            "gemma",
            llama_without_prefix,
            {"bos": "<bos>", "eos": "<eos>"},
            more=("<start_of_turn>", "<end_of_turn>"),
            added=("\n\n", "▁▁"),
            has_system=False,
        ),
        Family(
            "phi3",
            llama,
            {"bos": "<s>", "eos": "<|endoftext|>", "unk": "<unk>"},
            more=("<|assistant|>", "<|user|>", "<|system|>", "<|end|>"),
            flags={t: _RSTRIP for t in ("<|assistant|>", "<|user|>", "<|system|>", "<|end|>")},
        ),
        Family(
            "deepseek_r1",
            byte_level,
            {"bos": "<｜begin▁of▁sentence｜>", "eos": "<｜end▁of▁sentence｜>"},
            more=("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁sep｜>"),
            added=(
                "<｜User｜>",
                "<｜Assistant｜>",
                "<think>",
                "</think>",
                "<｜tool▁call▁begin｜>",
                "<｜tool▁call▁end｜>",
            ),
        ),
        Family(
            "zephyr",
            unigram,
            {"bos": "<s>", "eos": "</s>", "unk": "<unk>"},
            more=("<|user|>", "<|system|>", "<|assistant|>"),
            flags={"<|user|>": {"normalized": True}, "<|system|>": {"normalized": True}},
        ),
        Family(
            "command_r",
            byte_level,
            {"bos": "<BOS_TOKEN>", "eos": "<|END_OF_TURN_TOKEN|>"},
            more=(
                "<|START_OF_TURN_TOKEN|>",
                "<|USER_TOKEN|>",
                "<|CHATBOT_TOKEN|>",
                "<|SYSTEM_TOKEN|>",
            ),
        ),
    )
}

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city, in words",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": 'Its name, e.g. "Köln"'}},
            "required": ["city"],
        },
    },
}


def conversations(family: Family) -> list[tuple[list[dict[str, Any]], dict[str, Any]]]:
    """Honest chats that the family's template can write, with the options of rendering."""
    plain = [
        {"role": "user", "content": "What is a token?\n\n  In short words: été, 東京 🙂"},
        {"role": "assistant", "content": "A token is text.\n"},
        {"role": "user", "content": "the end"},
    ]
    system = [{"role": "system", "content": 'You answer in JSON: {"a": [1, 2]}\n'}]
    chats: list[tuple[list[dict[str, Any]], dict[str, Any]]] = [
        (plain, {"add_generation_prompt": True}),
        (plain[:2], {}),
        (
            [{"role": "user", "content": "  two  spaces\tand a tab "}],
            {"add_generation_prompt": True},
        ),
        (plain[:1], {}),
    ]
    if family.has_system:
        chats += [(system + plain, {"add_generation_prompt": True}), (system + plain[:2], {})]
    arguments = {"city": "Köln"}
    call = {
        "type": "function",
        "id": "abcdefghi",
        "function": {"name": "weather", "arguments": arguments},
    }
    with_tools: list[dict[str, Any]] = [
        {"role": "user", "content": "the weather of Köln?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": '{"result": "rain"}', "tool_call_id": "abcdefghi"},
    ]
    if family.name in ("qwen25", "llama31", "mistral_v3", "deepseek_r1"):
        chats.append((with_tools, {"tools": [WEATHER], "add_generation_prompt": True}))
    if family.name == "command_r":
        documents = [
            {"title": "a title", "text": "line one\n\nline two"},
            {"title": "b", "text": ""},
        ]
        chats.append((plain, {"documents": documents, "add_generation_prompt": True}))
    if family.name == "qwen3":
        thinking = [
            plain[0],
            {"role": "assistant", "content": "the end", "reasoning": "it is short\n"},
        ]
        chats += [
            (thinking, {}),
            (plain, {"enable_thinking": False, "add_generation_prompt": True}),
        ]
    return chats
