"""A tiny vocabulary in several formats, made here, so that most tests need no data."""

from __future__ import annotations

import base64
import json
import struct

from jeton import Tokenizer
from jeton._core import from_tiktoken

MERGES = [b"he", b"ll", b"hell", b"hello", b" w", b"or", b" wor", b" worl", b" world"]
SPECIAL = {"<|end|>": 256 + len(MERGES)}
PATTERN = "gpt2"

_PAIRS = ["h e", "l l", "he ll", "hell o", "Ġ w", "o r", "Ġw or", "Ġwor l", "Ġworl d"]


def rank_lines() -> list[str]:
    """Lines of a rank file: all bytes, then `MERGES`."""
    tokens = [bytes([b]) for b in range(256)] + MERGES
    return [f"{base64.b64encode(token).decode()} {rank}" for rank, token in enumerate(tokens)]


def ranks() -> bytes:
    """The whole rank file."""
    return ("\n".join(rank_lines()) + "\n").encode()


def tokenizer(name: str = "small") -> Tokenizer:
    """The tokenizer of these ranks; "hello world" is two tokens."""
    return from_tiktoken(ranks(), pattern=PATTERN, special_tokens=SPECIAL, name=name)


def alphabet() -> list[str]:
    """GPT-2's character for each byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(b if b in printable else 256 + others.index(b)) for b in range(256)]


def spelled() -> list[str]:
    """The tokens in GPT-2's alphabet, by id."""
    return [*alphabet(), *(pair.replace(" ", "") for pair in _PAIRS)]


def vocab_json(*more: str) -> bytes:
    """A vocab.json of these tokens, and of others after them."""
    tokens = [*spelled(), *more]
    return json.dumps({token: number for number, token in enumerate(tokens)}).encode()


def merges_txt(*, head: str = "#version: 0.2\n") -> bytes:
    """The merges.txt that goes with it."""
    return (head + "\n".join(_PAIRS) + "\n").encode()


def tekken() -> bytes:
    """A tekken.json with two special tokens."""
    tokens = [bytes([b]) for b in range(256)] + MERGES
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(t).decode(), "token_str": None}
        for rank, t in enumerate(tokens)
    ]
    config = {
        "pattern": r"[^\s]+|\s+",
        "num_vocab_tokens": len(tokens),
        "default_vocab_size": len(tokens) + 2,
        "default_num_special_tokens": 2,
        "version": "v11",
    }
    special = [
        {"rank": 0, "token_str": "<s>", "is_control": True},
        {"rank": 1, "token_str": "</s>", "is_control": True},
    ]
    return json.dumps({"config": config, "vocab": vocab, "special_tokens": special}).encode()


def claude() -> bytes:
    """Claude's old JSON with one special token."""
    tokens = [bytes([b]) for b in range(256)] + MERGES
    ranks_text = "! 1 " + " ".join(base64.b64encode(t).decode() for t in tokens)
    value = {
        "explicit_n_vocab": len(tokens) + 1,
        "pat_str": r"[^\s]+|\s+",
        "special_tokens": {"<EOT>": 0},
        "bpe_ranks": ranks_text,
    }
    return json.dumps(value).encode()


def rwkv() -> bytes:
    """RWKV's list of every byte, and one word."""
    lines = [f"{byte + 1} {bytes([byte])!r} 1" for byte in range(128)]
    lines += [f"{byte + 1} {bytes([byte])!r} 1" for byte in range(128, 256)]
    return ("\n".join([*lines, "257 'hello' 5"]) + "\n").encode()


def gguf(*, filler_bytes: int = 0) -> bytes:
    """The header of a GGUF file with these tokens; `filler_bytes` of other metadata come first."""

    def text(value: str | bytes) -> bytes:
        data = value.encode() if isinstance(value, str) else value
        return struct.pack("<Q", len(data)) + data

    def texts(values: list[str]) -> bytes:
        return struct.pack("<IQ", 8, len(values)) + b"".join(text(v) for v in values)

    pairs = [
        (b"general.filler", 8, text(b"x" * filler_bytes)),
        (b"tokenizer.ggml.model", 8, text("gpt2")),
        (b"tokenizer.ggml.pre", 8, text("gpt-2")),
        (b"tokenizer.ggml.tokens", 9, texts(spelled())),
        (
            b"tokenizer.ggml.token_type",
            9,
            struct.pack("<IQ", 5, len(spelled())) + struct.pack("<i", 1) * len(spelled()),
        ),
        (b"tokenizer.ggml.merges", 9, texts(_PAIRS)),
    ]
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs))
    return head + b"".join(
        text(key) + struct.pack("<I", kind) + value for key, kind, value in pairs
    )


WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "hello", "world", "##s", "##ing")


def vocab_txt(*more: str) -> bytes:
    """BERT's word list."""
    return ("\n".join([*WORDS, *more]) + "\n").encode()
