"""GPT-2's two files: vocab.json and merges.txt, each of which finds the other beside it.

CLIP's vocab.json and merges.txt, put together as ``CLIPTokenizer`` of transformers does it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jeton._core import Tokenizer, from_gpt2_files, from_hf_json
from jeton._foreign import json_of
from jeton.errors import FormatError
from jeton.formats.detection import FileFormat, detect
from jeton.formats.names import COMPRESSED_SUFFIXES, partner_names
from jeton.formats.reading import read


def load_pair(
    data: bytes, file: Path, found: FileFormat, *, add_prefix_space: bool, name: str
) -> Tokenizer:
    """The tokenizer of a vocab.json and a merges.txt; no special tokens, nothing around a text.

    Args:
        data: Content of the file.
        file: One of the two.
        found: Which of the two it is.
        add_prefix_space: Put a space before a text that does not begin with one.
        name: The tokenizer's name.

    Raises:
        FormatError: The other file is missing, or one is damaged.
        OSError: The other file cannot be read.
    """
    vocab, merges, other = pair_data(data, file, found)
    return from_gpt2_files(
        vocab,
        merges,
        add_prefix_space=add_prefix_space,
        name=name,
        path=f"{file} with {other.name}",
    )


def pair_data(data: bytes, file: Path, found: FileFormat) -> tuple[bytes, bytes, Path]:
    """The vocab.json, the merges.txt, and the path of the one that was looked for.

    Raises:
        FormatError: The other file is missing, or is something else.
        OSError: It cannot be read.
    """
    other, other_data = _partner(file, found)
    vocab, merges = (data, other_data) if found is FileFormat.GPT2_VOCAB else (other_data, data)
    return vocab, merges, other


def _partner(file: Path, found: FileFormat) -> tuple[Path, bytes]:
    wanted = FileFormat.GPT2_MERGES if found is FileFormat.GPT2_VOCAB else FileFormat.GPT2_VOCAB
    names = partner_names(file, of_vocab=found is FileFormat.GPT2_VOCAB)
    for name in names:
        for suffix in ("", *COMPRESSED_SUFFIXES):
            path = file.with_name(name + suffix)
            if not path.is_file():
                continue
            data = read(path)
            seen = detect(data, path=str(path))
            if seen is not wanted:
                raise FormatError(
                    f"{path} should be the {wanted.value} of {file.name}, but it holds {seen.value}"
                    "\nhint: copy both files of one tokenizer side by side",
                    path=str(path),
                    format=wanted.value,
                )
            return path, data
    raise FormatError(
        f"{file} is a {found.value}, which needs its {wanted.value} beside it: no "
        f"{' or '.join(names)} in {file.parent}\n"
        f"hint: copy {names[0]} there; a tokenizer.json holds both",
        path=str(file),
        format=found.value,
    )


CLIP_ROLES = {
    "bos": "<|startoftext|>",
    "eos": "<|endoftext|>",
    "unk": "<|endoftext|>",
    "pad": "<|endoftext|>",
}
"""The roles that the class takes for granted."""

# transformers 5.23.0, models/clip/tokenization_clip.py.
_PATTERN = (
    r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
)
_END = "</w>"


def load_clip_pair(
    vocab: bytes, merges: bytes, *, roles: Mapping[str, str], name: str, path: Path
) -> Tokenizer:
    """The tokenizer of CLIP's two files.

    Args:
        vocab: The vocab.json.
        merges: The merges.txt.
        roles: Texts of the special tokens by role; those of the class where they are missing.
        name: The tokenizer's name.
        path: The vocab.json's path, for messages.

    Raises:
        FormatError: A file is damaged, or lacks the tokens at both ends.
    """
    ids: dict[str, int] = json_of(vocab)
    known = {**CLIP_ROLES, **roles}
    missing = [known[role] for role in ("bos", "eos") if known[role] not in ids]
    if missing:
        raise FormatError(
            f"{path} lacks {', '.join(map(repr, missing))}, which CLIP puts around a text\n"
            "hint: fetch or copy it again",
            path=str(path),
        )
    lines = merges.decode("utf-8", "replace").splitlines()
    pairs = [line for line in lines if line.strip() and not line.startswith("#version")]
    ends: dict[str, list[Any]] = {role: [known[role], ids[known[role]]] for role in ("bos", "eos")}
    tree: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            _special(text, ids[text]) for text in dict.fromkeys(end[0] for end in ends.values())
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "NFC"},
                {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
                {"type": "Lowercase"},
            ],
        },
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {
                    "type": "Split",
                    "pattern": {"Regex": _PATTERN},
                    "behavior": "Removed",
                    "invert": True,
                },
                _byte_level(add_prefix_space=False),
            ],
        },
        "post_processor": {
            "type": "RobertaProcessing",
            "sep": ends["eos"],
            "cls": ends["bos"],
            "trim_offsets": False,
            "add_prefix_space": False,
        },
        "decoder": _byte_level(add_prefix_space=True),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": known["unk"],
            "continuing_subword_prefix": "",
            "end_of_word_suffix": _END,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": ids,
            "merges": pairs,
        },
    }
    data = json.dumps(tree, ensure_ascii=False).encode("utf-8")
    return from_hf_json(data, name=name, path=str(path))


def _byte_level(*, add_prefix_space: bool) -> dict[str, Any]:
    return {
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": True,
        "use_regex": True,
    }


def _special(text: str, number: int) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": text, **flags, "special": True}
