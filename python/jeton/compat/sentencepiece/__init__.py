"""Stands in for ``sentencepiece``: ``import jeton.compat.sentencepiece as spm``.

The public interface of sentencepiece 0.2.3 on Jeton's core, but for conversion to FlatBuffers.
Differences: ``docs/guides/coming-from-sentencepiece.md``.
"""

from __future__ import annotations

from typing import Any, NoReturn

from jeton.compat.sentencepiece import _work, errors
from jeton.compat.sentencepiece._work import ThreadPool
from jeton.compat.sentencepiece.errors import UnsupportedError
from jeton.compat.sentencepiece.normalizer import SentencePieceNormalizer
from jeton.compat.sentencepiece.processor import SentencePieceProcessor
from jeton.compat.sentencepiece.trainer import SentencePieceTrainer

__all__ = [
    "ConvertToFlatbuffer",
    "SentencePieceNormalizer",
    "SentencePieceProcessor",
    "SentencePieceTrainer",
    "SetDataDir",
    "SetMinLogLevel",
    "SetNBestTimeout",
    "SetRandomGeneratorSeed",
    "ThreadPool",
    "convert_to_flatbuffer",
    "set_data_dir",
    "set_min_log_level",
    "set_nbest_timeout",
    "set_random_generator_seed",
]

__version__ = "0.2.3"
"""The version of sentencepiece whose interface this is."""


def SetRandomGeneratorSeed(seed: int) -> None:
    """Begin the stream of random numbers anew. Draws are not those of sentencepiece's generator."""
    _work.set_seed(seed)


def SetMinLogLevel(v: int) -> None:
    """Accepted; nothing is logged here."""
    errors.as_int(v)


def SetNBestTimeout(timeout_ms: int) -> None:
    """Accepted; the search ends by the number of its hypotheses, on every machine alike."""
    errors.as_int(timeout_ms)


def SetDataDir(data_dir: str) -> None:
    """Accepted; no data is read from a folder."""
    errors.as_bytes(data_dir)


def ConvertToFlatbuffer(
    model_file: Any = None,
    model_proto: Any = None,
    serialized_model_proto: Any = None,
    output_file: Any = None,
    skip_char_bigrams: bool = False,  # noqa: FBT001, FBT002 - sentencepiece's signature
    treat_null_byte_as_unused: bool = False,  # noqa: FBT001, FBT002
    allow_unsupported_model_type: bool = False,  # noqa: FBT001, FBT002
) -> NoReturn:
    """Refuse: the format is sentencepiece's own.

    Raises:
        UnsupportedError: Always (a ``ValueError`` and a ``NotImplementedError``).
    """
    raise UnsupportedError("jeton does not write FlatBuffers models")


set_random_generator_seed = SetRandomGeneratorSeed
set_min_log_level = SetMinLogLevel
set_nbest_timeout = SetNBestTimeout
set_data_dir = SetDataDir
convert_to_flatbuffer = ConvertToFlatbuffer
