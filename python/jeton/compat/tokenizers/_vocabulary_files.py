"""The small files of models: ``vocab.json``, ``merges.txt``, ``vocab.txt``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from jeton._files import write_whole
from jeton.compat.tokenizers._arguments import MAX_ID
from jeton.errors import FormatError


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not UTF-8 at byte {error.start}", path=str(path)) from None


def read_json_vocab(path: Path) -> dict[str, int]:
    """Tokens with their ids, of a JSON object."""
    try:
        vocab = json.loads(_read(path))
    except ValueError as error:
        raise FormatError(f"{path} is not JSON: {error}", path=str(path)) from None
    if not isinstance(vocab, dict):
        raise FormatError(f"{path} holds no JSON object of tokens and ids", path=str(path))
    for token, number in vocab.items():
        if type(number) is not int or not 0 <= number <= MAX_ID:
            raise FormatError(f"{path}: {number!r} is no id of {token!r}", path=str(path))
    return vocab


def read_merges(path: Path) -> list[tuple[str, str]]:
    """Pairs, one a line; a first line of the version is left out, and so are empty ones."""
    merges = []
    for number, line in enumerate(_read(path).split("\n"), start=1):
        text = line.removesuffix("\r")
        if text.startswith("#version") or not text:
            continue
        parts = text.split(" ")
        if len(parts) != 2:
            reason = f"{path}:{number}: a pair of tokens with a space between is needed"
            raise FormatError(reason, path=str(path), line=number)
        merges.append((parts[0], parts[1]))
    return merges


def read_vocab_txt(path: Path) -> dict[str, int]:
    """Tokens, one a line; the line's number, from 0, is the id."""
    lines = _read(path).split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return {line.rstrip(): number for number, line in enumerate(lines)}


def write_json_vocab(path: Path, vocab: Mapping[str, int]) -> None:
    """Write tokens with their ids, by id."""
    ordered = dict(sorted(vocab.items(), key=lambda entry: entry[1]))
    text = json.dumps(ordered, ensure_ascii=False, separators=(",", ":"))
    write_whole(path, text)


def write_merges(path: Path, merges: Iterable[Iterable[str]]) -> None:
    """Write pairs, one a line."""
    lines = (f"{left} {right}\n" for left, right in merges)
    write_whole(path, "#version: 0.2\n" + "".join(lines))


def write_vocab_txt(path: Path, vocab: Mapping[str, int]) -> None:
    """Write tokens, one a line, by id."""
    ordered = sorted(vocab.items(), key=lambda entry: entry[1])
    write_whole(path, "".join(f"{token}\n" for token, _ in ordered))
