"""GPT-2's two files: vocab.json and merges.txt, each of which finds the other beside it."""

from __future__ import annotations

from pathlib import Path

from jeton._core import Tokenizer
from jeton.errors import FormatError
from jeton.formats.detection import FileFormat, detect
from jeton.formats.names import COMPRESSED_SUFFIXES, name_of_file, plain_name
from jeton.formats.reading import read
from jeton.formats.samples import samples_path

__all__ = ["companions", "load_pair", "partner_names"]

# As transformers names them, and as OpenAI did.
_NAMES = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))


def load_pair(
    data: bytes, file: Path, found: FileFormat, *, add_prefix_space: bool, name: str
) -> Tokenizer:
    """The tokenizer of a vocab.json and a merges.txt; no special tokens, nothing around a text.

    Args:
        data: What the file holds.
        file: One of the two.
        found: Which of the two it is.
        add_prefix_space: Put a space before a text that does not begin with one.
        name: The tokenizer's name.

    Raises:
        FormatError: The other file is missing, or one is damaged.
        OSError: The other file cannot be read.
    """
    other, other_data = _partner(file, found)
    vocab, merges = (data, other_data) if found is FileFormat.GPT2_VOCAB else (other_data, data)
    return Tokenizer.from_gpt2_files(
        vocab,
        merges,
        add_prefix_space=add_prefix_space,
        name=name,
        path=f"{file} with {other.name}",
    )


def companions(file: Path) -> list[Path]:
    """Files beside a file that may decide, too, what it loads as; most are not there."""
    names = partner_names(file, FileFormat.GPT2_VOCAB) + partner_names(file, FileFormat.GPT2_MERGES)
    paths = [file.with_name(n + s) for n in names for s in ("", *COMPRESSED_SUFFIXES)]
    return [*paths, file.with_name("tokenizer_config.json"), samples_path(file)]


def partner_names(file: Path, found: FileFormat) -> list[str]:
    """Names that the other of the two files may have, uncompressed, the likeliest first."""
    own, other = (0, 1) if found is FileFormat.GPT2_VOCAB else (1, 0)
    name = plain_name(file)
    # In the case of letters that the file has.
    stored = file.name[: len(name)]
    names = [stored[: -len(pair[own])] + pair[other] for pair in _NAMES if name.endswith(pair[own])]
    if not names:
        names = [f"{name_of_file(file)}.{_NAMES[0][other]}", _NAMES[0][other]]
    return names


def _partner(file: Path, found: FileFormat) -> tuple[Path, bytes]:
    wanted = FileFormat.GPT2_MERGES if found is FileFormat.GPT2_VOCAB else FileFormat.GPT2_VOCAB
    names = partner_names(file, found)
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
