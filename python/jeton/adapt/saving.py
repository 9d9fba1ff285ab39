"""A changed tokenizer and its change, written together or not at all."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from jeton._core import Tokenizer
from jeton.adapt.change import CHANGE_FILE, VocabularyChange
from jeton.errors import AdaptError, LossyConversionError
from jeton.formats.names import is_folder_name, name_of_file
from jeton.formats.saving import write_files
from jeton.formats.writing import Target, find_target, render
from jeton.registry import TokenizerLike, resolve


@dataclass(frozen=True, slots=True)
class SavedChange:
    """Files that were written.

    Attributes:
        files: The files of the tokenizer.
        change_file: The file of the change.
        change: The change, with the fingerprint that the files load as.
        tokenizer: The tokenizer that the files load as.
    """

    files: tuple[Path, ...]
    change_file: Path
    change: VocabularyChange
    tokenizer: Tokenizer


def adapted_target(base: TokenizerLike, path: str | os.PathLike[str]) -> Target:
    """Returns where a tokenizer that is made from another one goes.

    A folder gets the format of the old tokenizer, so that it loads as that did, unless that format
    does not hold all of it: what is put around texts may be said by files beside a model.

    Raises:
        UsageError: The name tells no format.
    """
    base = resolve(base, argument="base")
    name = os.fspath(path)
    is_folder = name.endswith(("/", "\\")) or is_folder_name(Path(name))
    is_model = (
        is_folder and base.reference == "sentencepiece" and not render(base, "sentencepiece").losses
    )
    return find_target(name, wanted="sentencepiece" if is_model else None)


def save_adapted(tokenizer: TokenizerLike, change: VocabularyChange, target: Target) -> SavedChange:
    """Writes a tokenizer with its change beside it.

    The file is ``vocabulary_change.json`` in a folder, else ``NAME.vocabulary_change.json``.

    Raises:
        FormatError: The format cannot hold the tokenizer.
        OSError: A file cannot be written.
    """
    tokenizer = resolve(tokenizer)
    # A tokenizer loaded later may say less than the one that was made, and then has another
    # fingerprint.
    read = render(tokenizer, target.format).read
    if read.vocab_size != tokenizer.vocab_size:
        raise AdaptError(
            f"{target.format} keeps {read.vocab_size:,} ids of {tokenizer.vocab_size:,}\n"
            "hint: save it as a folder"
        )
    change = replace(change, new_fingerprint=read.fingerprint)
    place = (
        target.folder / CHANGE_FILE
        if target.folder is not None
        else target.main.with_name(f"{name_of_file(target.main)}.{CHANGE_FILE}")
    )
    try:
        saved = write_files(
            tokenizer, target, lossy=False, beside={place: change.to_json().encode()}
        )
    except LossyConversionError as error:
        told = str(error).partition("\nhint:")[0]
        raise LossyConversionError(
            f"{told}\nhint: -o {target.main.parent / 'tokenizer.jeton.json'} holds everything, and "
            "`jeton adapt apply` takes it",
            format=error.format,
            losses=error.losses,
        ) from None
    if saved.read.fingerprint != change.new_fingerprint:
        # A folder can say more than its tokenizer's file: what is loaded later counts.
        change = replace(change, new_fingerprint=saved.read.fingerprint)
        change.write(place)
    files = tuple(file for file in saved.files if file != place)
    return SavedChange(files, place, change, saved.read)
