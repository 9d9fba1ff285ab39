"""Random parts of tokenizer.json files: normalizers, splits, decoders, templates, added tokens."""

from __future__ import annotations

import base64
import functools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sentencepiece

from jeton import _core
from tests.differential.models import Json, chance, pick

_BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
_REGEXES = (
    *(r"\s+", r" ", r"\d", r"\p{L}+", r"[^\p{L}]", r"\p{P}", r"[\r\n]+", r" +", r"(?i)the", r"."),
    *(r"\p{N}{1,3}", r"\w+|[^\w\s]+", r"[\p{Han}]", r"(?<=\p{L})\p{N}", r"\s+(?!\S)", r"a|b|ab"),
    *(r"[aeiou]", r"\p{M}", r"[^\s]+", r"\b", r"(?=\p{Lu})", r"^\s+", r"\s+$", r"'s|'t"),
)
_STRINGS = (
    *(" ", "\u2581", "a", "the", "\n", "  ", "-", "''", "``", "e\u0301", "\u00e9"),
    "<unk>",
    "#",
)
_CONTENTS = ("", " ", "\u2581", '"', "x", "ab", "  ", "\u0301")


def _pattern(rng: random.Random) -> Json:
    if chance(rng, 0.4):
        return {"String": pick(rng, _STRINGS)}
    published = list(_core.published_patterns().values())
    return {"Regex": pick(rng, published if chance(rng, 0.3) else _REGEXES)}


# Charsmaps --------------------------------------------------------------------------------------


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Length-delimited fields of a protobuf message; others are stepped over."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 2:
            length = varint()
            yield key >> 3, message[at : at + length]
            at += length
        elif key & 7 == 0:
            varint()
        else:
            at += 4 if key & 7 == 5 else 8


@functools.cache
def charsmap(rule: str) -> str:
    """The compiled character map of a SentencePiece rule, in base64 as tokenizer.json holds it."""
    model = sentencepiece.SentencePieceNormalizer(rule_name=rule).serialized_model_proto()
    # ModelProto.normalizer_spec = 3, NormalizerSpec.precompiled_charsmap = 2.
    spec = next(value for number, value in _fields(model) if number == 3)
    return base64.b64encode(next(v for number, v in _fields(spec) if number == 2)).decode()


# Normalizers ------------------------------------------------------------------------------------


def _bert_normalizer(rng: random.Random) -> Json:
    return {
        "type": "BertNormalizer",
        "clean_text": chance(rng, 0.7),
        "handle_chinese_chars": chance(rng, 0.7),
        "strip_accents": pick(rng, (None, None, True, False)),
        "lowercase": chance(rng, 0.5),
    }


_NORMALIZERS: tuple[Callable[[random.Random], Json], ...] = (
    _bert_normalizer,
    lambda rng: {"type": "Strip", "strip_left": chance(rng, 0.6), "strip_right": chance(rng, 0.6)},
    lambda _: {"type": "StripAccents"},
    lambda _: {"type": "NFC"},
    lambda _: {"type": "NFD"},
    lambda _: {"type": "NFKC"},
    lambda _: {"type": "NFKD"},
    lambda _: {"type": "Lowercase"},
    lambda _: {"type": "Nmt"},
    lambda rng: {
        "type": "Precompiled",
        "precompiled_charsmap": charsmap(pick(rng, ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf"))),
    },
    lambda rng: {"type": "Replace", "pattern": _pattern(rng), "content": pick(rng, _CONTENTS)},
    lambda rng: {"type": "Prepend", "prepend": pick(rng, ("\u2581", " ", "x", "\u2581\u2581"))},
    lambda _: {"type": "ByteLevel"},
)

_SPACES_TO_MARKS: Json = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}


def normalizer(rng: random.Random) -> Json | None:
    """A normalizer, several, or none; the published combinations among them."""
    kind = rng.random()
    if kind < 0.3:
        return None
    if kind < 0.4:  # Llama 2
        prepend = {"type": "Prepend", "prepend": "\u2581"}
        return {"type": "Sequence", "normalizers": [prepend, dict(_SPACES_TO_MARKS)]}
    if kind < 0.45:  # CLIP
        spaces = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
        return {"type": "Sequence", "normalizers": [{"type": "NFC"}, spaces, {"type": "Lowercase"}]}
    if kind < 0.5:  # XLNet, ALBERT
        quotes = [
            {"type": "Replace", "pattern": {"String": mark}, "content": '"'}
            for mark in ("``", "''")
        ]
        rest = [{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]
        return {"type": "Sequence", "normalizers": [*quotes, *rest]}
    if kind < 0.75:
        return pick(rng, _NORMALIZERS)(rng)  # type: ignore[no-any-return]
    several = [pick(rng, _NORMALIZERS)(rng) for _ in range(2 + int(rng.random() * 2))]
    return {"type": "Sequence", "normalizers": several}


# Pre-tokenizers ---------------------------------------------------------------------------------


def byte_level(rng: random.Random) -> Json:
    """The settings of a ByteLevel part, whichever role it has."""
    return {
        "type": "ByteLevel",
        "add_prefix_space": chance(rng, 0.3),
        "trim_offsets": chance(rng, 0.5),
        "use_regex": chance(rng, 0.6),
    }


def _metaspace(rng: random.Random) -> Json:
    return {
        "type": "Metaspace",
        "replacement": pick(rng, ("\u2581", "\u2581", "\u2581", "_")),
        "prepend_scheme": pick(rng, ("always", "first", "never")),
        "split": chance(rng, 0.6),
    }


_PRE_TOKENIZERS: tuple[Callable[[random.Random], Json], ...] = (
    lambda _: {"type": "BertPreTokenizer"},
    byte_level,
    byte_level,
    _metaspace,
    _metaspace,
    lambda rng: {
        "type": "CharDelimiterSplit",
        "delimiter": pick(rng, (" ", "a", "\u2581", "\u4e2d")),
    },
    lambda _: {"type": "Whitespace"},
    lambda _: {"type": "WhitespaceSplit"},
    lambda rng: {
        "type": "Split",
        "pattern": _pattern(rng),
        "behavior": pick(rng, _BEHAVIORS),
        "invert": chance(rng, 0.3),
    },
    lambda rng: {
        "type": "Split",
        "pattern": _pattern(rng),
        "behavior": pick(rng, _BEHAVIORS),
        "invert": chance(rng, 0.3),
    },
    lambda rng: {"type": "Punctuation", "behavior": pick(rng, _BEHAVIORS)},
    lambda rng: {"type": "Digits", "individual_digits": chance(rng, 0.5)},
    lambda _: {"type": "UnicodeScripts"},
    lambda rng: {"type": "FixedLength", "length": 1 + int(rng.random() * 6)},
)


def pre_tokenizer(rng: random.Random) -> Json | None:
    """A pre-tokenizer, several, or none."""
    kind = rng.random()
    if kind < 0.12:
        return None
    if kind < 0.3:  # the pattern first, bytes after it: every published byte-level model since
        split = {
            "type": "Split",
            "pattern": {"Regex": pick(rng, list(_core.published_patterns().values()))},
            "behavior": pick(rng, ("Isolated", "Removed")),
        }
        split["invert"] = split["behavior"] == "Removed"
        return {
            "type": "Sequence",
            "pretokenizers": [split, {**byte_level(rng), "use_regex": False}],
        }
    if kind < 0.36:  # T5
        return {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, _metaspace(rng)]}
    if kind < 0.7:
        return pick(rng, _PRE_TOKENIZERS)(rng)  # type: ignore[no-any-return]
    several = [pick(rng, _PRE_TOKENIZERS)(rng) for _ in range(2 + int(rng.random() * 2))]
    return {"type": "Sequence", "pretokenizers": several}


def byte_level_pre_tokenizer(rng: random.Random) -> Json:
    """Splits of any kind, then bytes: the shapes of published byte-level files."""
    if chance(rng, 0.25):
        return byte_level(rng)
    steps: list[Json] = []
    for _ in range(1 + int(rng.random() * 3)):
        kind = int(rng.random() * 4)
        if kind == 0:
            steps.append({"type": "Digits", "individual_digits": chance(rng, 0.5)})
        elif kind == 1:
            steps.append({"type": "Punctuation", "behavior": pick(rng, _BEHAVIORS)})
        else:
            published = list(_core.published_patterns().values())
            regex = pick(rng, published if chance(rng, 0.5) else _REGEXES)
            behavior = pick(rng, ("Isolated", "Isolated", *_BEHAVIORS))
            pattern = {"Regex": regex} if chance(rng, 0.8) else {"String": pick(rng, _STRINGS)}
            split = {"type": "Split", "pattern": pattern, "behavior": behavior}
            steps.append({**split, "invert": chance(rng, 0.3)})
    return {"type": "Sequence", "pretokenizers": [*steps, byte_level(rng)]}


# Decoders ---------------------------------------------------------------------------------------

_DECODERS: tuple[Callable[[random.Random], Json], ...] = (
    lambda rng: {"type": "BPEDecoder", "suffix": pick(rng, ("</w>", "a", ""))},
    byte_level,
    byte_level,
    lambda rng: {
        "type": "WordPiece",
        "prefix": pick(rng, ("##", "@@")),
        "cleanup": chance(rng, 0.5),
    },
    _metaspace,
    lambda rng: {
        "type": "CTC",
        "pad_token": pick(rng, ("<pad>", "a")),
        "word_delimiter_token": "|",
        "cleanup": chance(rng, 0.5),
    },
    lambda rng: {"type": "Replace", "pattern": _pattern(rng), "content": pick(rng, _CONTENTS)},
    lambda _: {"type": "Fuse"},
    lambda rng: {
        "type": "Strip",
        "content": pick(rng, (" ", "\u2581", "a")),
        "start": int(rng.random() * 3),
        # Never from the end: the reference does not return where a token is shorter than that.
        "stop": 0,
    },
    lambda _: {"type": "ByteFallback"},
)


def decoder(rng: random.Random) -> Json | None:
    """A decoder, several, or none."""
    kind = rng.random()
    if kind < 0.15:
        return None
    if kind < 0.3:  # Llama 2
        steps = [
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ]
        return {"type": "Sequence", "decoders": steps}
    if kind < 0.75:
        return pick(rng, _DECODERS)(rng)  # type: ignore[no-any-return]
    several = [pick(rng, _DECODERS)(rng) for _ in range(2 + int(rng.random() * 2))]
    return {"type": "Sequence", "decoders": several}


# Added tokens and templates ---------------------------------------------------------------------

_ADDED = (
    *("<s>", "</s>", "<pad>", "<mask>", "[CLS]", "[SEP]", "<|end|>", "<|endoftext|>", "<", "<s"),
    *(
        "the",
        " the",
        "The",
        "a",
        "\n",
        "  ",
        "\u00c9",
        "\u00e9",
        "e\u0301",
        "\u4e2d",
        "A B",
        "\u2581",
    ),
    *(
        "\ud55c",
        "\ufb03",
        "\U0001f600",
        "1",
        "12",
        "'s",
        "\u0130",
        "##a",
        "\xa0",
        "<0x41>",
        "x y z",
    ),
)


def added_tokens(rng: random.Random, vocab: dict[str, int], n_ids: int) -> list[Json]:
    """Added tokens with every mixture of flags; some are in the vocabulary, most are not."""
    found: dict[str, Json] = {}
    for _ in range(pick(rng, (0, 0, 1, 2, 3, 6))):
        content = pick(rng, list(vocab)) if vocab and chance(rng, 0.2) else pick(rng, _ADDED)
        if not content or content in found:
            continue
        number = vocab.get(content)
        if number is None:
            number, n_ids = n_ids, n_ids + 1
        found[content] = {
            "id": number,
            "content": content,
            "single_word": chance(rng, 0.25),
            "lstrip": chance(rng, 0.25),
            "rstrip": chance(rng, 0.25),
            "normalized": chance(rng, 0.5),
            "special": chance(rng, 0.5),
        }
    return sorted(found.values(), key=lambda token: int(token["id"]))


def post_processor(rng: random.Random, tokens: Sequence[tuple[str, int]]) -> Json | None:
    """A post-processor over these (token, id), several, or none."""
    kind = rng.random()
    if kind < 0.35 or not tokens:
        return None
    if kind < 0.85:
        return _one_post_processor(rng, tokens)
    several = [_one_post_processor(rng, tokens) for _ in range(2)]
    return {"type": "Sequence", "processors": several}


def _one_post_processor(rng: random.Random, tokens: Sequence[tuple[str, int]]) -> Json:
    first, last = pick(rng, tokens), pick(rng, tokens)
    around: Json = {"sep": list(last), "cls": list(first)}
    kind = int(rng.random() * 5)
    if kind == 0:
        return {"type": "BertProcessing", **around}
    if kind == 1:
        flags = {"trim_offsets": chance(rng, 0.5), "add_prefix_space": chance(rng, 0.5)}
        return {"type": "RobertaProcessing", **around, **flags}
    if kind == 2:
        return byte_level(rng)
    before: list[Any] = [{"SpecialToken": {"id": first[0], "type_id": 0}}]
    after: list[Any] = [{"SpecialToken": {"id": last[0], "type_id": 0}}]
    single = [{"Sequence": {"id": "A", "type_id": 0}}]
    single = (before if chance(rng, 0.7) else []) + single + (after if chance(rng, 0.7) else [])
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            token: {"id": token, "ids": [number], "tokens": [token]}
            for token, number in (first, last)
        },
    }
