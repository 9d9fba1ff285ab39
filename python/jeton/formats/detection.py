"""Format of a file: by its content, and by its name only where the content leaves it open."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path

from jeton._foreign import json_of
from jeton.formats.compiled import is_compiled
from jeton.formats.names import plain_name

_HEAD_BYTES = 4096
"""Bytes of the first look; formats with a signature have it there."""

_WORD_LIST_BYTES = 4 << 20
"""Where the special tokens of a WordPiece vocabulary are looked for: the largest published one
that we know, that of multilingual BERT, has 1 MB."""

_DIGITS = b"0123456789"
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

# Not compiled here: a file needs one or two of them, and who loads it would wait for all.
# A vocab.json may begin with the word, too: there numbers alone follow.
_CANONICAL_START = rb'\{\s*"jeton"\s*:(?!\s*[0-9]+\s*,\s*"(?:[^"\\]|\\.)*"\s*:\s*[0-9])'
_HF_MODEL = rb'"model"\s*:\s*\{'
_TEKKEN_CONFIG = rb'\s*\{\s*"config"\s*:\s*\{[^{}]*"default_vocab_size"'
_CLIP_START = b'"bpe_simple_vocab_16e6.txt#version'
_RWKV_LINE = rb"[0-9]+ b?(?:'.*'|\".*\") [0-9]+\s*$"
_BERT_TOKEN = rb"(?m)^\[(?:UNK|PAD|CLS|SEP|MASK)\]\s*$"
_TWO_COLUMNS = rb"[^\s]+ [^\s]+\s*$"


class FileFormat(Enum):
    """Format that a file was recognised as; the value is its name in messages."""

    HF_JSON = "tokenizer.json"
    TIKTOKEN = "tiktoken ranks"
    CANONICAL = "jeton canonical form"
    SENTENCEPIECE = "SentencePiece model"
    WORDPIECE_TXT = "WordPiece vocab.txt"
    GPT2_MERGES = "GPT-2 merges.txt"
    GPT2_VOCAB = "GPT-2 vocab.json"
    TEKKEN = "Tekken tokenizer"
    CLAUDE = "Claude's JSON"
    CLIP = "CLIP merges"
    RWKV = "RWKV vocabulary"
    GGUF = "GGUF model"
    COMPILED = "compiled tokenizer"
    OTHER_JSON = "JSON of another kind"
    BINARY = "binary data"
    TEXT = "text"


def detect(data: bytes, *, path: str | None = None) -> FileFormat:
    """Tell what uncompressed bytes are, from the bytes. Never raises.

    Args:
        data: The whole file, uncompressed; of a GGUF file the beginning is enough.
        path: The file's name. It decides only where the bytes do not: a rank file whose
            first line is damaged is still a rank file, so that the error names the line; a
            merges.txt without a first line of comment is one only by its name.
    """
    start = data[:_HEAD_BYTES]
    name = "" if path is None else plain_name(path)
    if start.startswith(b"GGUF"):
        return FileFormat.GGUF
    if is_compiled(start):
        return FileFormat.COMPILED
    unspaced = start.lstrip()
    if unspaced.startswith(b"{") and re.match(_CANONICAL_START, unspaced):
        return FileFormat.CANONICAL
    stripped = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    # A word list may start with "[PAD]", which is no JSON.
    if stripped.startswith(b"{") or (stripped.startswith(b"[") and not stripped[1:2].isalpha()):
        found = _detect_json(data, name)
        # A word list, or merges, may begin with a brace.
        if found is not FileFormat.OTHER_JSON or not name.endswith(".txt"):
            return found
        as_lines = _detect_lines(data, stripped, name)
        return found if as_lines is FileFormat.TEXT else as_lines
    if _is_rank_line(start):
        return FileFormat.TIKTOKEN
    if _is_sentencepiece(start):
        return FileFormat.SENTENCEPIECE
    if ".tiktoken" in Path(name).suffixes:
        return FileFormat.TIKTOKEN
    if name.endswith(".model") and start.startswith(b"\x0a"):
        return FileFormat.SENTENCEPIECE
    if b"\0" in start:
        return FileFormat.BINARY
    return _detect_lines(data, stripped, name)


def json_seen(data: bytes) -> str:
    """Describe JSON that is no tokenizer, in words."""
    import json  # most files are told without it

    try:
        value = json_of(data, any_integer=True)
    except json.JSONDecodeError as error:
        if error.msg == "nested too deeply":
            return "its JSON is nested too deeply"
        return f"its JSON breaks off or is damaged at line {error.lineno}, column {error.colno}"
    except ValueError:
        return "its text is not UTF-8"
    except RecursionError:
        return "its JSON is nested too deeply"
    if not isinstance(value, dict):
        return "its JSON is not an object"
    if "model" in value:
        return 'the "model" of its JSON is no object'
    keys = [repr(key) for key in list(value)[:5]]
    return f'its JSON has no "model", only {", ".join(keys) or "nothing"}'


def _detect_json(data: bytes, name: str) -> FileFormat:
    if re.match(_TEKKEN_CONFIG, data[:_HEAD_BYTES]):
        return FileFormat.TEKKEN
    if re.search(_HF_MODEL, data):
        return FileFormat.HF_JSON
    # The rest is small, or will be refused.

    try:
        value = json_of(data)
    except (ValueError, RecursionError):
        return FileFormat.OTHER_JSON
    if isinstance(value, dict):
        # Any of these words may be a token of a vocab.json, whose values are numbers.
        # One number alone is a vocabulary only by its name.
        fewest = 1 if name.endswith(("vocab.json", "encoder.json")) else 2
        if len(value) >= fewest and all(type(item) is int for item in value.values()):
            return FileFormat.GPT2_VOCAB
        if {"config", "vocab"} <= value.keys():
            return FileFormat.TEKKEN
        if {"bpe_ranks", "pat_str"} <= value.keys():
            return FileFormat.CLAUDE
    return FileFormat.OTHER_JSON


def _detect_lines(data: bytes, stripped: bytes, name: str) -> FileFormat:
    first_line = stripped.split(b"\n", 1)[0]
    if first_line.startswith(_CLIP_START):
        return FileFormat.CLIP
    if b"#version" in first_line:
        return FileFormat.GPT2_MERGES
    if re.match(_RWKV_LINE, first_line):
        return FileFormat.RWKV
    if re.search(_BERT_TOKEN, data[:_WORD_LIST_BYTES]):
        return FileFormat.WORDPIECE_TXT
    # Only a name tells a list of words from a list of anything else.
    if name.endswith("merges.txt") and re.match(_TWO_COLUMNS, first_line):
        return FileFormat.GPT2_MERGES
    lines = [line.rstrip() for line in stripped.split(b"\n")[:-1]]
    if name.endswith("vocab.txt") and lines and not any(b" " in line for line in lines):
        return FileFormat.WORDPIECE_TXT
    return FileFormat.TEXT


def _is_rank_line(start: bytes) -> bool:
    """True if the first line is base64, a space and a number.

    By hand: to compile a pattern for it takes 0.2 ms, a fiftieth of what loading cl100k_base takes.
    """
    unspaced = start.lstrip()
    n_spaces = len(start) - len(unspaced)
    # The token may be empty.
    if start[:n_spaces].endswith(b" ") and _ends_with_number(unspaced):
        return True
    token, space, number = unspaced.partition(b" ")
    padding = token.lstrip(_BASE64)
    return bool(space) and padding in (b"", b"=", b"==") and _ends_with_number(number)


def _ends_with_number(text: bytes) -> bool:
    """True if a text begins with a number, behind which nothing else is in its line."""
    behind = text.lstrip(_DIGITS)
    rest = behind.lstrip()
    spaces = behind[: len(behind) - len(rest)]
    return len(behind) < len(text) and (not rest or b"\n" in spaces or b"\r" in spaces)


def _is_sentencepiece(start: bytes) -> bool:
    """Field 1 of the model is a piece, whose field 1 is its text: 0x0A, size, 0x0A, size, text."""
    return (
        len(start) > 4
        and start[0] == 0x0A
        and start[2] == 0x0A
        and start[1] >= start[3] + 2
        and start[1] < 0x80
    )
