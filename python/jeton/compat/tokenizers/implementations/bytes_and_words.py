"""BERT's, GPT-2's and GPT's tokenizers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jeton.compat.tokenizers import decoders, pre_tokenizers, processors, trainers
from jeton.compat.tokenizers.added_token import AddedToken
from jeton.compat.tokenizers.implementations.base_tokenizer import TrainableTokenizer
from jeton.compat.tokenizers.models import BPE, WordPiece
from jeton.compat.tokenizers.normalizers import (
    BertNormalizer,
    Lowercase,
    Normalizer,
    unicode_normalizer_from_str,
)
from jeton.compat.tokenizers.normalizers import Sequence as Normalizers
from jeton.compat.tokenizers.tokenizer import Tokenizer

__all__ = ["BertWordPieceTokenizer", "ByteLevelBPETokenizer", "CharBPETokenizer"]

Vocab = str | Mapping[str, int]
Merges = str | Sequence[tuple[str, str]]
Name = str | AddedToken

_BERT_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# Defaults of the other library's classes: characters beyond this many are left out of a vocabulary.
_ALPHABET = 1000


def _settings(scope: Mapping[str, Any], model: str) -> dict[str, Any]:
    """The arguments of a constructor, as its ``repr`` shows them."""
    left_out = {"self", "vocab", "merges", "__class__"}
    given = {name: value for name, value in scope.items() if name not in left_out}
    return {"model": model, **given}


def _several(normalizers: list[Normalizer]) -> Normalizer | None:
    if len(normalizers) > 1:
        return Normalizers(normalizers)
    return normalizers[0] if normalizers else None


class BertWordPieceTokenizer(TrainableTokenizer):
    """BERT's tokenizer."""

    def __init__(
        self,
        vocab: Vocab | None = None,
        unk_token: Name = "[UNK]",
        sep_token: Name = "[SEP]",
        cls_token: Name = "[CLS]",
        pad_token: Name = "[PAD]",
        mask_token: Name = "[MASK]",
        clean_text: bool = True,
        handle_chinese_chars: bool = True,
        strip_accents: bool | None = None,
        lowercase: bool = True,
        wordpieces_prefix: str = "##",
    ) -> None:
        settings = _settings(locals(), "BertWordPiece")
        tokenizer = Tokenizer(WordPiece(vocab, unk_token=str(unk_token)))
        for token in (unk_token, sep_token, cls_token, pad_token, mask_token):
            if tokenizer.token_to_id(str(token)) is not None:
                tokenizer.add_special_tokens([str(token)])
        tokenizer.normalizer = BertNormalizer(
            clean_text=clean_text,
            handle_chinese_chars=handle_chinese_chars,
            strip_accents=strip_accents,
            lowercase=lowercase,
        )
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        if vocab is not None:
            ids = {name: tokenizer.token_to_id(str(name)) for name in (sep_token, cls_token)}
            if ids[sep_token] is None:
                raise TypeError("sep_token not found in the vocabulary")
            if ids[cls_token] is None:
                raise TypeError("cls_token not found in the vocabulary")
            tokenizer.post_processor = processors.BertProcessing(
                (str(sep_token), ids[sep_token] or 0), (str(cls_token), ids[cls_token] or 0)
            )
        tokenizer.decoder = decoders.WordPiece(prefix=wordpieces_prefix)
        super().__init__(tokenizer, settings)

    @staticmethod
    def from_file(vocab: str, **options: Any) -> BertWordPieceTokenizer:
        """From a ``vocab.txt``."""
        return BertWordPieceTokenizer(WordPiece.read_file(vocab), **options)

    @staticmethod
    def _trainer(options: dict[str, Any]) -> trainers.WordPieceTrainer:
        options.setdefault("min_frequency", 2)
        options.setdefault("limit_alphabet", _ALPHABET)
        options.setdefault("special_tokens", list(_BERT_TOKENS))
        prefix = options.pop("wordpieces_prefix", "##")
        return trainers.WordPieceTrainer(continuing_subword_prefix=prefix, **options)


class ByteLevelBPETokenizer(TrainableTokenizer):
    """GPT-2's tokenizer."""

    def __init__(
        self,
        vocab: Vocab | None = None,
        merges: Merges | None = None,
        add_prefix_space: bool = False,
        lowercase: bool = False,
        dropout: float | None = None,
        unicode_normalizer: str | None = None,
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        trim_offsets: bool = False,
    ) -> None:
        settings = _settings(locals(), "ByteLevelBPE")
        if vocab is not None and merges is not None:
            model = BPE(
                vocab,
                merges,
                dropout=dropout,
                continuing_subword_prefix=continuing_subword_prefix or "",
                end_of_word_suffix=end_of_word_suffix or "",
            )
        else:
            model = BPE()
        tokenizer = Tokenizer(model)
        normalizers = []
        if unicode_normalizer:
            normalizers.append(unicode_normalizer_from_str(unicode_normalizer))
        if lowercase:
            normalizers.append(Lowercase())
        tokenizer.normalizer = _several(normalizers)
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
        super().__init__(tokenizer, settings)

    @staticmethod
    def from_file(
        vocab_filename: str, merges_filename: str, **options: Any
    ) -> ByteLevelBPETokenizer:
        """From a ``vocab.json`` and a ``merges.txt``."""
        return ByteLevelBPETokenizer(*BPE.read_file(vocab_filename, merges_filename), **options)

    @staticmethod
    def _trainer(options: dict[str, Any]) -> trainers.BpeTrainer:
        options.setdefault("min_frequency", 2)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        return trainers.BpeTrainer(initial_alphabet=alphabet, **options)


class CharBPETokenizer(TrainableTokenizer):
    """GPT's tokenizer: BPE on characters, a suffix at the end of words."""

    def __init__(
        self,
        vocab: Vocab | None = None,
        merges: Merges | None = None,
        unk_token: Name = "<unk>",
        suffix: str = "</w>",
        dropout: float | None = None,
        lowercase: bool = False,
        unicode_normalizer: str | None = None,
        bert_normalizer: bool = True,
        split_on_whitespace_only: bool = False,
    ) -> None:
        settings = _settings(locals(), "BPE")
        known = (vocab, merges) if vocab is not None and merges is not None else (None, None)
        model = BPE(*known, dropout=dropout, unk_token=str(unk_token), end_of_word_suffix=suffix)
        tokenizer = Tokenizer(model)
        if tokenizer.token_to_id(str(unk_token)) is not None:
            tokenizer.add_special_tokens([str(unk_token)])
        normalizers: list[Normalizer] = []
        if unicode_normalizer:
            normalizers.append(unicode_normalizer_from_str(unicode_normalizer))
        if bert_normalizer:
            normalizers.append(BertNormalizer(lowercase=False))
        if lowercase:
            normalizers.append(Lowercase())
        tokenizer.normalizer = _several(normalizers)
        tokenizer.pre_tokenizer = (
            pre_tokenizers.WhitespaceSplit()
            if split_on_whitespace_only
            else pre_tokenizers.BertPreTokenizer()
        )
        tokenizer.decoder = decoders.BPEDecoder(suffix=suffix)
        super().__init__(tokenizer, settings)

    @staticmethod
    def from_file(vocab_filename: str, merges_filename: str, **options: Any) -> CharBPETokenizer:
        """From a ``vocab.json`` and a ``merges.txt``."""
        return CharBPETokenizer(*BPE.read_file(vocab_filename, merges_filename), **options)

    @staticmethod
    def _trainer(options: dict[str, Any]) -> trainers.BpeTrainer:
        options.setdefault("min_frequency", 2)
        options.setdefault("limit_alphabet", _ALPHABET)
        options.setdefault("special_tokens", ["<unk>"])
        suffix = options.pop("suffix", "</w>")
        return trainers.BpeTrainer(end_of_word_suffix=suffix, **options)
