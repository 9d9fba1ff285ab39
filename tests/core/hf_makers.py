"""Small tokenizers as Hugging Face's `transformers` has them, made here, and published ones."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import transformers
from tokenizers import Tokenizer as HfTokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

import jeton
from jeton import Tokenizer
from jeton._core import from_hf_json
from tests.core import makers

KINDS = ("bert", "roberta", "t5", "gpt2", "llama", "xlm-roberta")

# What `transformers` is told of each file, because it does not stand there.
PUBLISHED: dict[str, dict[str, str]] = {
    "bert_base_uncased.json.zst": {"pad_token": "[PAD]"},
    "roberta-base.json.zst": {"pad_token": "<pad>"},
    "t5-small.json.zst": {"pad_token": "<pad>"},
    "gpt2.json.zst": {"pad_token": "<|endoftext|>"},
    "llama2.json.zst": {"pad_token": "</s>"},
    "modernbert.json.zst": {"pad_token": "[PAD]"},
}


@dataclass(frozen=True, slots=True)
class WindowTypes:
    """True if the reference's windows have the token types of the template."""

    follow_segments: bool
    """The template gives the first text the type 0 and the second 1, as all windows have it."""
    is_roberta: bool
    """`RobertaProcessing`, which sets them if it adds its tokens."""

    def is_exact(self, *, add_special_tokens: bool) -> bool:
        return self.follow_segments or (self.is_roberta and add_special_tokens)


@dataclass(frozen=True, slots=True)
class Both:
    """Tokenizer here and in the other library."""

    ours: Tokenizer
    theirs: Any
    pad_token: str
    types: WindowTypes


def trained(tokenizer: HfTokenizer, trainer: Any) -> HfTokenizer:
    tokenizer.train_from_iterator(makers.prose()[:8], trainer=trainer)
    return tokenizer


def bert() -> HfTokenizer:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made = HfTokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    trained(
        made,
        trainers.WordPieceTrainer(vocab_size=400, special_tokens=special, show_progress=False),
    )
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made


def byte_level(special: list[str], *, add_prefix_space: bool) -> HfTokenizer:
    made = HfTokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return trained(
        made,
        trainers.BpeTrainer(
            vocab_size=500, special_tokens=special, initial_alphabet=alphabet, show_progress=False
        ),
    )


def roberta() -> HfTokenizer:
    made = byte_level(["<s>", "<pad>", "</s>", "<unk>", "<mask>"], add_prefix_space=True)
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True)
    return made


def gpt2() -> HfTokenizer:
    made = byte_level(["<|endoftext|>"], add_prefix_space=False)
    made.post_processor = processors.ByteLevel(trim_offsets=True, add_prefix_space=False)
    return made


def unigram(special: list[str]) -> HfTokenizer:
    made = HfTokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    return trained(
        made,
        trainers.UnigramTrainer(
            vocab_size=300, special_tokens=special, unk_token="<unk>", show_progress=False
        ),
    )


def t5() -> HfTokenizer:
    made = unigram(["<pad>", "</s>", "<unk>", "<extra_id_0>"])
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return made


def xlm_roberta() -> HfTokenizer:
    made = unigram(["<s>", "<pad>", "</s>", "<unk>"])
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    return made


def llama() -> HfTokenizer:
    made = HfTokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Sequence(
        [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
    )
    made.decoder = decoders.Sequence(
        [
            decoders.Replace("\u2581", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trained(
        made,
        trainers.BpeTrainer(
            vocab_size=600, special_tokens=special, show_progress=False, max_token_length=8
        ),
    )
    written = json.loads(made.to_str())
    written["added_tokens"] = written["added_tokens"][:3]  # bytes are no special tokens
    made = HfTokenizer.from_str(json.dumps(written))
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]
    )
    return made


MAKERS = {
    "bert": (bert, "[PAD]"),
    "roberta": (roberta, "<pad>"),
    "t5": (t5, "<pad>"),
    "gpt2": (gpt2, "<|endoftext|>"),
    "llama": (llama, "</s>"),
    "xlm-roberta": (xlm_roberta, "<pad>"),
}


@functools.cache
def small(kind: str) -> Both:
    make, pad_token = MAKERS[kind]
    return both(make(), pad_token)


@functools.cache
def published(shared: Path, name: str) -> Both:
    data = jeton._core.decompress((shared / "data" / "vocab" / name).read_bytes())
    made = HfTokenizer.from_str(data.decode("utf-8"))
    made.no_padding()
    made.no_truncation()
    return both(made, PUBLISHED[name]["pad_token"])


def both(made: HfTokenizer, pad_token: str) -> Both:
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_object=made, pad_token=pad_token)
    written = theirs.backend_tokenizer.to_str()
    processor = json.loads(written)["post_processor"]
    return Both(
        ours=from_hf_json(written.encode()),
        theirs=theirs,
        pad_token=pad_token,
        types=WindowTypes(
            follow_segments=follows_segments(processor),
            is_roberta=processor is not None and processor["type"] == "RobertaProcessing",
        ),
    )


def follows_segments(processor: Any) -> bool:
    if processor is None or processor["type"] in {"BertProcessing", "ByteLevel"}:
        return True
    if processor["type"] == "Sequence":
        return all(follows_segments(member) for member in processor["processors"])
    if processor["type"] == "RobertaProcessing":
        return False
    parts = [part["Sequence"] for part in processor["pair"] if "Sequence" in part]
    return all(part["type_id"] == int(part["id"] == "B") for part in parts)
