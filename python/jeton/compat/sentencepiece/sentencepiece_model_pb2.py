"""Messages of a model file: ``ModelProto`` and what it consists of.

Fields, numbers and defaults: ``sentencepiece_model.proto`` of sentencepiece 0.2.3.
"""

from __future__ import annotations

from typing import Any, ClassVar

from jeton.compat.sentencepiece._messages import Field, Message

__all__ = ["ModelProto", "NormalizerSpec", "TrainerSpec"]


def _texts(**numbers: tuple[int, str | None]) -> dict[str, Field]:
    return {name: Field(n, "string", default=default) for name, (n, default) in numbers.items()}


def _numbers(kind: str, **numbers: tuple[int, Any]) -> dict[str, Field]:
    return {name: Field(n, kind, default=default) for name, (n, default) in numbers.items()}


def _lists(**numbers: int) -> dict[str, Field]:
    return {name: Field(n, "string", repeated=True) for name, n in numbers.items()}


class TrainerSpec(Message):
    """How a model was trained."""

    UNIGRAM: ClassVar[int] = 1
    BPE: ClassVar[int] = 2
    WORD: ClassVar[int] = 3
    CHAR: ClassVar[int] = 4
    FIELDS: ClassVar[dict[str, Field]] = {
        **_lists(input=1, accept_language=5, control_symbols=30, user_defined_symbols=31),
        **_texts(
            model_prefix=(2, None),
            input_format=(7, None),
            required_chars=(36, None),
            unk_surface=(44, " \u2047 "),
            unk_piece=(45, "<unk>"),
            bos_piece=(46, "<s>"),
            eos_piece=(47, "</s>"),
            pad_piece=(48, "<pad>"),
            pretokenization_delimiter=(53, None),
            seed_sentencepieces_file=(54, None),
        ),
        **_numbers(
            "int",
            model_type=(3, 1),
            vocab_size=(4, 8000),
            self_test_sample_size=(6, 0),
            mining_sentence_size=(12, 0),
            training_sentence_size=(13, 0),
            seed_sentencepiece_size=(14, 1_000_000),
            num_threads=(16, 16),
            num_sub_iterations=(17, 2),
            max_sentence_length=(18, 4192),
            max_sentencepiece_length=(20, 16),
            unk_id=(40, 0),
            bos_id=(41, 1),
            eos_id=(42, 2),
            pad_id=(43, -1),
        ),
        **_numbers(
            "uint",
            input_sentence_size=(11, 0),
            differential_privacy_clipping_threshold=(52, 0),
        ),
        **_numbers(
            "float",
            character_coverage=(10, 0.9995),
            shrinking_factor=(15, 0.75),
            differential_privacy_noise_level=(51, 0.0),
        ),
        **_numbers(
            "bool",
            shuffle_input_sentence=(19, True),
            split_by_unicode_script=(21, True),
            split_by_whitespace=(22, True),
            split_by_number=(23, True),
            treat_whitespace_as_suffix=(24, False),
            split_digits=(25, False),
            allow_whitespace_only_pieces=(26, False),
            vocabulary_output_piece_score=(32, True),
            hard_vocab_limit=(33, True),
            use_all_vocab=(34, False),
            byte_fallback=(35, False),
            train_extremely_large_corpus=(49, False),
            enable_differential_privacy=(50, False),
            auto_character_coverage=(55, False),
        ),
    }


class NormalizerSpec(Message):
    """Normalization of text before the model sees it."""

    FIELDS: ClassVar[dict[str, Field]] = {
        "name": Field(1, "string"),
        "precompiled_charsmap": Field(2, "bytes"),
        "add_dummy_prefix": Field(3, "bool", default=True),
        "remove_extra_whitespaces": Field(4, "bool", default=True),
        "escape_whitespaces": Field(5, "bool", default=True),
        "normalization_rule_tsv": Field(6, "string"),
    }


class _SentencePiece(Message):
    """An entry of the vocabulary."""

    NORMAL: ClassVar[int] = 1
    UNKNOWN: ClassVar[int] = 2
    CONTROL: ClassVar[int] = 3
    USER_DEFINED: ClassVar[int] = 4
    UNUSED: ClassVar[int] = 5
    BYTE: ClassVar[int] = 6
    FIELDS: ClassVar[dict[str, Field]] = {
        "piece": Field(1, "string"),
        "score": Field(2, "float"),
        "type": Field(3, "int", default=1),
    }


class ModelProto(Message):
    """A model; the id of a piece is its place."""

    SentencePiece = _SentencePiece
    FIELDS: ClassVar[dict[str, Field]] = {
        "pieces": Field(1, _SentencePiece, repeated=True),
        "trainer_spec": Field(2, TrainerSpec),
        "normalizer_spec": Field(3, NormalizerSpec),
        "denormalizer_spec": Field(5, NormalizerSpec),
    }
