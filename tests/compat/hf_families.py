"""Small tokenizers of the usual kinds, made by the other library on a few sentences."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

TEXTS = [
    "The quick brown fox jumps over the lazy dog. The dog sleeps, the fox does not!",
    "Tokenizers cut text into tokens; models read tokens, not text. Don't they?",
    "In 2026 there were 1,024 tokens and 65,536 ids (about 3.5 bytes a token).",
    "Größe, naïve café, Москва и Киев, 東京の天気は晴れです。 नमस्ते दुनिया",
    "def main(argv):\n    return [x ** 2 for x in argv if x > 0]\n",
] * 3


def _trained(tokenizer: tokenizers.Tokenizer, trainer: Any) -> None:
    tokenizer.train_from_iterator(TEXTS, trainer)


def _id(tokenizer: tokenizers.Tokenizer, token: str) -> int:
    number = tokenizer.token_to_id(token)
    assert number is not None
    return int(number)


def bert() -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=220, special_tokens=special, show_progress=False, limit_alphabet=60
    )
    _trained(tokenizer, trainer)
    cls, sep = _id(tokenizer, "[CLS]"), _id(tokenizer, "[SEP]")
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", sep), ("[CLS]", cls))
    return tokenizer


def bert_template() -> tokenizers.Tokenizer:
    tokenizer = bert()
    cls, sep = _id(tokenizer, "[CLS]"), _id(tokenizer, "[SEP]")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[("[CLS]", cls), ("[SEP]", sep)],
    )
    return tokenizer


def _bytes(special: list[str], *, prefix: bool) -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    _trained(tokenizer, trainer)
    return tokenizer


def roberta() -> tokenizers.Tokenizer:
    tokenizer = _bytes(["<s>", "<pad>", "</s>", "<unk>"], prefix=True)
    mask = tokenizers.AddedToken("<mask>", lstrip=True, special=True, normalized=False)
    tokenizer.add_special_tokens([mask])
    sep, cls = (("</s>", _id(tokenizer, "</s>")), ("<s>", _id(tokenizer, "<s>")))
    tokenizer.post_processor = processors.RobertaProcessing(sep, cls, trim_offsets=True)
    return tokenizer


def gpt2() -> tokenizers.Tokenizer:
    tokenizer = _bytes(["<|endoftext|>"], prefix=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def llama3() -> tokenizers.Tokenizer:
    tokenizer = _bytes(["<|begin_of_text|>", "<|eot_id|>"], prefix=False)
    start = tokenizer.token_to_id("<|begin_of_text|>")
    template = processors.TemplateProcessing(
        single="<|begin_of_text|> $A",
        pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1",
        special_tokens=[("<|begin_of_text|>", start)],
    )
    tokenizer.post_processor = processors.Sequence(
        [processors.ByteLevel(trim_offsets=True), template]
    )
    return tokenizer


def t5() -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Nmt(),
            normalizers.NFKC(),
            normalizers.Replace(tokenizers.Regex(" {2,}"), " "),
        ]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=180,
        special_tokens=["<pad>", "</s>", "<unk>"],
        unk_token="<unk>",
        show_progress=False,
    )
    _trained(tokenizer, trainer)
    end = tokenizer.token_to_id("</s>")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=["$A", "</s>"], pair=["$A", "</s>", "$B", "</s>"], special_tokens=[("</s>", end)]
    )
    tokenizer.add_special_tokens(["<extra_id_0>"])
    return tokenizer


def llama2() -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    special = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=440, special_tokens=special, show_progress=False)
    _trained(tokenizer, trainer)
    written = json.loads(tokenizer.to_str())
    # Byte tokens are no added tokens there, and no special ones.
    written["added_tokens"] = written["added_tokens"][:3]
    written["model"]["byte_fallback"] = True
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(written))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    return tokenizer


def words() -> tokenizers.Tokenizer:
    tokenizer = tokenizers.Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(special_tokens=["<unk>"], show_progress=False)
    _trained(tokenizer, trainer)
    tokenizer.add_tokens(
        [
            tokenizers.AddedToken("Yesterday"),
            tokenizers.AddedToken("ing", single_word=True),
            tokenizers.AddedToken("<<", lstrip=True, rstrip=True, normalized=False),
        ]
    )
    return tokenizer


FAMILIES: dict[str, Callable[[], tokenizers.Tokenizer]] = {
    "bert": bert,
    "bert_template": bert_template,
    "roberta": roberta,
    "gpt2": gpt2,
    "llama3": llama3,
    "t5": t5,
    "llama2": llama2,
    "words": words,
}


@cache
def family_json(name: str) -> str:
    """The ``tokenizer.json`` of a family."""
    text: str = FAMILIES[name]().to_str()
    return text
