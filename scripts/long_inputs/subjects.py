"""The tokenizers: published ones of every family, and made ones for every component."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jeton
from jeton import Tokenizer, _core
from jeton._core import from_canonical, from_hf_json, from_rwkv, from_vocab_txt

__all__ = ["SUBJECTS", "Subject"]

_MAX_BYTES = 2**28
"""No published vocabulary file comes near 256 MiB."""


@dataclass(frozen=True, slots=True)
class Subject:
    """One tokenizer.

    Attributes:
        name: as the tables say it.
        kind: what it is an example of.
        load: from the folder of vocabularies.
    """

    name: str
    kind: str
    load: Callable[[Path], Tokenizer]


def _stored(vocab: Path, name: str) -> bytes:
    path = vocab / name
    return _core.decompress(path.read_bytes(), max_bytes=_MAX_BYTES, path=str(path))


def _load_published(name: str, vocab: Path) -> Tokenizer:
    return jeton.load(vocab / name)


def _published(kind: str, *names: str) -> list[Subject]:
    return [
        Subject(name.removesuffix(".zst"), kind, partial(_load_published, name)) for name in names
    ]


def _rwkv(vocab: Path) -> Tokenizer:
    return from_rwkv(_stored(vocab, "rwkv_vocab_v20230424.txt.zst"))


def _vocab_txt(vocab: Path) -> Tokenizer:
    return from_vocab_txt(_stored(vocab, "bert_chinese.vocab.txt"))


def _byte_alphabet() -> list[str]:
    """GPT-2's alphabet by byte: printable Latin-1 stands for itself, the rest from U+0100 on."""
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = iter(range(0x100, 0x200))
    return [chr(byte) if byte in visible else chr(next(hidden)) for byte in range(256)]


def _bytes_model() -> dict[str, Any]:
    """Byte-level BPE with a few merges, so that long runs have something to merge."""
    vocab = {character: id for id, character in enumerate(_byte_alphabet())}
    merges = []
    for left, right in [("a", "a"), ("\u0120", "\u0120"), ("aa", "aa"), ("a", "b"), ("1", "2")]:
        merges.append(f"{left} {right}")
        vocab[left + right] = len(vocab)
    return {"type": "BPE", "vocab": vocab, "merges": merges}


def _characters_model(**options: Any) -> dict[str, Any]:
    vocab = {token: id for id, token in enumerate(["<unk>", *"ab12 ", "\u2581", "aa", "ab"])}
    model = {"type": "BPE", "vocab": vocab, "merges": ["a a", "a b"], "unk_token": "<unk>"}
    return {**model, "fuse_unk": False, "byte_fallback": False, **options}


def _byte_fallback_model() -> dict[str, Any]:
    vocab = {"<unk>": 0, **{f"<0x{byte:02X}>": byte + 1 for byte in range(256)}, "a": 257, " ": 258}
    return {
        "type": "BPE",
        "vocab": vocab,
        "merges": [],
        "unk_token": "<unk>",
        "byte_fallback": True,
    }


_WORD_LEVEL = {
    "type": "WordLevel",
    "vocab": {"<unk>": 0, "a": 1, "ab": 2, "\u4e2d": 3},
    "unk_token": "<unk>",
}
_WHOLE_BYTES = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": False,
}


def _token(id: int, content: str, **flags: bool) -> dict[str, Any]:
    usual = {
        "special": False,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
    }
    return {"id": id, "content": content, **usual, **flags}


def _made(
    *,
    model: Mapping[str, Any] | None = None,
    normalizer: Mapping[str, Any] | None = None,
    pre_tokenizer: Mapping[str, Any] | None = _WHOLE_BYTES,
    post_processor: Mapping[str, Any] | None = None,
    decoder: Mapping[str, Any] | None = None,
    added_tokens: Sequence[Mapping[str, Any]] = (),
) -> Tokenizer:
    data = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": list(added_tokens),
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": post_processor,
        "decoder": decoder,
        "model": model or _bytes_model(),
    }
    return from_hf_json(json.dumps(data).encode())


def _part(kind: str, name: str, **parts: Any) -> Subject:
    return Subject(f"{kind}: {name}", kind, lambda _: _made(**parts))


def _precompiled(vocab: Path) -> Tokenizer:
    """The charsmap of T5 before byte-level BPE."""
    normalizer = json.loads(_stored(vocab, "t5-small.json.zst"))["normalizer"]
    return _made(normalizer=normalizer)


def _canonical_model(model: Mapping[str, Any]) -> Tokenizer:
    """A model that no file format names, through the canonical form."""
    data = json.loads(_made().to_canonical())
    data |= {"pretokenizer": [], "decoder": None, "added_tokens": [], "model": model}
    return from_canonical(json.dumps(data).encode())


def _character_level() -> Tokenizer:
    # Base64 of "a", "b" and " ", then the unknown token.
    tokens = ["YQ==", "Yg==", "IA==", "PHVuaz4="]
    missing = {"unknown": 3}
    return _canonical_model(
        {"type": "character", "tokens": tokens, "opaque": [3], "missing": missing}
    )


def _split(pattern: str, behavior: str = "Isolated", *, invert: bool = False) -> dict[str, Any]:
    split = {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": behavior,
        "invert": invert,
    }
    return {"type": "Sequence", "pretokenizers": [split, _WHOLE_BYTES]}


def _replace(pattern: Mapping[str, str], content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _metaspace(scheme: str, *, split: bool) -> dict[str, Any]:
    return {
        "type": "Metaspace",
        "replacement": "\u2581",
        "prepend_scheme": scheme,
        "split": split,
    }


_BERT = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": True,
    "lowercase": True,
}
_NORMALIZERS: Mapping[str, Mapping[str, Any]] = {
    **{form: {"type": form} for form in ("NFC", "NFD", "NFKC", "NFKD")},
    **{name: {"type": name} for name in ("Lowercase", "StripAccents", "Nmt", "ByteLevel")},
    "Bert": _BERT,
    "Strip": {"type": "Strip", "strip_left": True, "strip_right": True},
    "Prepend": {"type": "Prepend", "prepend": "\u2581"},
    "Replace, text": _replace({"String": " "}, "\u2581"),
    "Replace, pattern": _replace({"Regex": " {2,}"}, " "),
    "Replace, empty matches": _replace({"Regex": "x*"}, "-"),
    "all at once": {
        "type": "Sequence",
        "normalizers": [
            {"type": "NFKD"},
            {"type": "Lowercase"},
            {"type": "StripAccents"},
            _replace({"Regex": "a+"}, "bb"),
            {"type": "NFC"},
            {"type": "Prepend", "prepend": " "},
        ],
    },
}
_PRE_TOKENIZERS: Mapping[str, Mapping[str, Any]] = {
    **{
        name: {"type": "Sequence", "pretokenizers": [{"type": name}, _WHOLE_BYTES]}
        for name in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts")
    },
    "Punctuation": {
        "type": "Sequence",
        "pretokenizers": [{"type": "Punctuation", "behavior": "Contiguous"}, _WHOLE_BYTES],
    },
    "Digits": {
        "type": "Sequence",
        "pretokenizers": [{"type": "Digits", "individual_digits": True}, _WHOLE_BYTES],
    },
    "FixedLength": {
        "type": "Sequence",
        "pretokenizers": [{"type": "FixedLength", "length": 5}, _WHOLE_BYTES],
    },
    "Split that runs ahead": _split("[ab]*c|[^c]"),
    "Split, merged with next": _split(r"\s", "MergedWithNext"),
    "Split with a look-ahead": _split(r"\p{L}+(?=\d)|\p{L}|\s+(?!\S)|\s|."),
    "Split with a look-behind": _split(r"(?<=\s)\S|\s+$"),
    "Split with a back-reference": _split(r"(\w)\1"),
    "Split that matches nothing": _split("x*"),
}
_DECODERS: Mapping[str, Mapping[str, Any]] = {
    "ByteLevel": {"type": "ByteLevel"},
    "WordPiece": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    "Metaspace": _metaspace("always", split=True),
    "BPEDecoder": {"type": "BPEDecoder", "suffix": "</w>"},
    "CTC": {
        "type": "CTC",
        "pad_token": "<pad>",
        "word_delimiter_token": "|",
        "cleanup": True,
    },
    "Fuse, Strip": {
        "type": "Sequence",
        "decoders": [
            {"type": "Fuse"},
            {"type": "Strip", "content": "a", "start": 100_000_000, "stop": 100_000_000},
        ],
    },
    "Replace": _replace({"Regex": "a|b"}, "x"),
}


def _every(kind: str, keyword: str, parts: Mapping[str, Mapping[str, Any]]) -> list[Subject]:
    return [_part(kind, name, **{keyword: part}) for name, part in parts.items()]


def _greedy_strips(*contents: str) -> list[dict[str, Any]]:
    """Added tokens that take white space along on both sides."""
    return [_token(300 + i, c, lstrip=True, rstrip=True) for i, c in enumerate(contents)]


_ADDED: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "white space that takes white space": _greedy_strips("\n", " ", "\t"),
    "white space, right only": [
        _token(300, "\n", rstrip=True),
        _token(301, " "),
        _token(302, "\u0301", rstrip=True),
    ],
    "single words": [_token(300, "a", single_word=True), _token(301, "ab", single_word=True)],
    "many prefixes": [_token(300 + i, "a" * (i + 1) + "!") for i in range(500)],
    "special prefixes": [_token(300 + i, "a" * (i + 1), special=True) for i in range(500)],
    "normalized": [_token(300, "b", normalized=True), _token(301, "[MASK]", normalized=True)],
    "masks": _greedy_strips("[MASK]", "<mask>", "<|endoftext|>", "<s>", "</s>"),
}

SUBJECTS: tuple[Subject, ...] = (
    *_published(
        "byte-level BPE, ranks",
        "cl100k_base.tiktoken.zst",
        "o200k_base.tiktoken.zst",
        "llama3.tiktoken.zst",
        "kimi_k2.tiktoken.zst",
        "qwen.tiktoken.zst",
    ),
    *_published(
        "byte-level BPE, merges",
        "gpt2.json.zst",
        "falcon.json.zst",
        "deepseek_v3.recon.json.zst",
        "modernbert.json.zst",
        "roberta-base.json.zst",
        "starcoder.recon.json.zst",
    ),
    *_published(
        "character BPE",
        "llama2.json.zst",
        "phi-3-mini.json.zst",
        "mistral03.json.zst",
        "chatglm.json.zst",
        "envit5.json.zst",
        "clip_base.json.zst",
        "focus_de_bpe_50k.json.zst",
    ),
    *_published("WordPiece", "bert_base_uncased.json.zst", "bert_base_cased.json.zst"),
    Subject("bert_chinese.vocab.txt", "WordPiece", _vocab_txt),
    *_published(
        "Unigram of tokenizers",
        "t5-small.json.zst",
        "xlnet_base_cased.json.zst",
        "pegasus_hf.json.zst",
        "focus_ar_xlmr_unigram_50k.json.zst",
    ),
    *_published(
        "SentencePiece Unigram",
        "albert_30k-clean.model.zst",
        "xlm_roberta_recon.model.zst",
        "nai-t5.model.zst",
        "chatglm_ice_text.model.zst",
        "nmt_joint.spm.model",
    ),
    *_published(
        "SentencePiece BPE",
        "llama2.model",
        "mistral_v3.model",
        "nerdstash.model.zst",
        "bpemb_en_100k.model.zst",
    ),
    Subject("rwkv_vocab_v20230424.txt", "greedy", _rwkv),
    _part("model", "words", model=_WORD_LEVEL, pre_tokenizer=None),
    _part("model", "words between spaces", model=_WORD_LEVEL, pre_tokenizer={"type": "Whitespace"}),
    Subject("model: characters", "model", lambda _: _character_level()),
    _part("model", "BPE on bytes, no split"),
    _part("model", "BPE on characters", model=_characters_model(), pre_tokenizer=None),
    _part(
        "model",
        "BPE on characters, unknown fused",
        model=_characters_model(fuse_unk=True),
        pre_tokenizer=None,
    ),
    _part(
        "model",
        "BPE with bytes to fall back on",
        model=_byte_fallback_model(),
        pre_tokenizer=None,
        decoder={"type": "ByteFallback"},
    ),
    *_every("normalizer", "normalizer", _NORMALIZERS),
    Subject("normalizer: Precompiled", "normalizer", _precompiled),
    *_every("pre-tokenizer", "pre_tokenizer", _PRE_TOKENIZERS),
    _part(
        "pre-tokenizer",
        "Metaspace, first",
        model=_characters_model(),
        pre_tokenizer={
            "type": "Sequence",
            "pretokenizers": [{"type": "WhitespaceSplit"}, _metaspace("first", split=True)],
        },
        normalizer={"type": "NFKC"},
    ),
    _part(
        "pre-tokenizer",
        "Metaspace, not split",
        model=_characters_model(),
        pre_tokenizer=_metaspace("always", split=False),
    ),
    *_every("decoder", "decoder", _DECODERS),
    *(_part("added tokens", name, added_tokens=tokens) for name, tokens in _ADDED.items()),
    *(
        _part(
            "added tokens",
            f"{name}, offsets trimmed",
            added_tokens=tokens,
            post_processor={**_WHOLE_BYTES, "add_prefix_space": True},
        )
        for name, tokens in list(_ADDED.items())[:2]
    ),
)
