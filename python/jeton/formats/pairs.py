"""GPT-2's two files: vocab.json and merges.txt, each of which finds the other beside it."""

from __future__ import annotations

from pathlib import Path

from jeton._core import Tokenizer, from_gpt2_files
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
