"""Folders and files of cases, written as a case describes them.

A file's value in a case is text, JSON, or an object with one of these keys:

- ``$bytes``: text that is written as it is.
- ``$json``: JSON.
- ``$tokenizer``: a small byte-level BPE as tokenizer.json; its value has ``special`` (text to id),
  ``bos`` and ``normalizer``, as ``tests.doctor.ward.tokenizer_json`` takes them.
- ``$ranks``: a rank file of the bytes and of these further tokens.
- ``$pieces``: a SentencePiece model of these pieces (text, score, number of the kind); ``type`` is
  the number of its algorithm, and with ``bytes`` the 256 byte pieces stand behind the third.
- ``$shared``: a vocabulary of the shared data; the case is skipped where that is absent.
- ``$merge``: a path in the tokenizer.json of ``$tokenizer`` and what stands there.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from jeton.compat.sentencepiece import sentencepiece_model_pb2
from jeton.formats.reading import read
from tests.conftest import SHARED
from tests.doctor import ward

__all__ = ["contains", "load_cases", "put_files"]

HERE = Path(__file__).parent


def load_cases(area: str) -> list[Any]:
    """The cases of an area, each with the name of its file."""
    files = sorted((HERE / area).glob("*.json"))
    return [pytest.param(json.loads(f.read_text(encoding="utf-8")), id=f.stem) for f in files]


def put_files(folder: Path, files: Mapping[str, Any]) -> Path:
    """Write the files of a case."""
    for name, value in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(_data(value))
    return folder


def _data(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8")
    if isinstance(value, dict):
        if "$bytes" in value:
            return str(value["$bytes"]).encode("utf-8")
        if "$tokenizer" in value:
            tree = ward.tokenizer_json(**value["$tokenizer"])
            for path, part in value.get("$merge", {}).items():
                tree[path] = part
            return json.dumps(tree).encode("utf-8")
        if "$ranks" in value:
            tokens = [bytes([i]) for i in range(256)]
            tokens += [text.encode("utf-8") for text in value["$ranks"]]
            lines = (base64.b64encode(t) + b" %d\n" % i for i, t in enumerate(tokens))
            return b"".join(lines)
        if "$pieces" in value:
            return _model(value)
        if "$tekken" in value:
            return _tekken(value["$tekken"])
        if "$shared" in value:
            if not SHARED.is_dir():
                pytest.skip("needs the shared data folder beside the project")
            return read(SHARED / "data" / "vocab" / value["$shared"])
        value = value.get("$json", value)
    return json.dumps(value).encode("utf-8")


def _tekken(special: list[str]) -> bytes:
    """A tekken.json of the single bytes behind its special tokens."""
    config = {
        "pattern": r"\p{L}+|\s+|[^\s\p{L}]+",
        "num_vocab_tokens": 256,
        "default_vocab_size": 256 + len(special),
        "default_num_special_tokens": len(special),
        "version": "v3",
    }
    vocab = [
        {"rank": i, "token_bytes": base64.b64encode(bytes([i])).decode(), "token_str": None}
        for i in range(256)
    ]
    named = [{"rank": i, "token_str": text, "is_control": True} for i, text in enumerate(special)]
    tree = {"config": config, "vocab": vocab, "special_tokens": named}
    return json.dumps(tree).encode("utf-8")


def _model(told: Mapping[str, Any]) -> bytes:
    pieces = list(told["$pieces"])
    if told.get("bytes"):
        pieces[3:3] = [[f"<0x{number:02X}>", 0, 6] for number in range(256)]
    model = sentencepiece_model_pb2.ModelProto()
    for text, score, kind in pieces:
        piece = model.pieces.add()
        piece.piece, piece.score, piece.type = text, score, kind
    model.trainer_spec.model_type = told["type"]
    model.trainer_spec.byte_fallback = bool(told.get("bytes"))
    model.normalizer_spec.add_dummy_prefix = True
    model.normalizer_spec.escape_whitespaces = True
    data: bytes = model.SerializeToString()
    return data


def contains(whole: Any, part: Any) -> bool:
    """True if JSON has at least what another has: keys of objects, and everything else equal."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and contains(whole[key], value) for key, value in part.items())
    return bool(whole == part)
