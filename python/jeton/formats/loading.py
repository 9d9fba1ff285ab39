"""One file, or one folder, to a tokenizer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from jeton._core import Tokenizer
from jeton.formats.names import samples_path, user_path
from jeton.formats.options import LoadOptions, Reference
from jeton.formats.single import load_one


def load_file(
    path: str | Path,
    *,
    pattern: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    lowercase: bool | None = None,
    add_prefix_space: bool | None = None,
    name: str | None = None,
    reference: Reference | None = None,
) -> Tokenizer:
    """Load a tokenizer from a file or a folder.

    Args:
        path: The file, compressed or not, or a folder that holds one (see ``read_folder``).
        pattern: Split pattern of a rank file that is not a published one: the name of a
            published pattern or a regular expression. Other formats carry their own.
        special_tokens: Special tokens of a rank file, a mapping from text to id, since the ids
            are the model's. (``train``, which gives out ids, takes a list.) Given alone, they
            replace those of a published vocabulary.
        lowercase: True if a WordPiece vocab.txt wants text in lower case. None: what
            ``do_lower_case`` in a tokenizer_config.json beside it says; without one the vocabulary
            decides: where one in a hundred of its words has a capital, it is cased.
        add_prefix_space: True if a vocab.json with merges.txt wants a space put before a text that
            does not begin with one; by default not.
        name: Name of the tokenizer; by default the file's name without suffixes. Where several
            published vocabularies share one rank file it also chooses among them.
        reference: The library whose ids to give, where another one than the file's own may run it:
            ``"hf"`` for rank files and tekken.json (as ``tokenizers`` runs these ranks).

    Raises:
        FormatError: The file is not in a supported format, is damaged, its other half
            (merges.txt of a vocab.json) is missing, or a sample that it was saved with gets
            other ids.
        UsageError: An option that does not apply to the format of the file.
        LimitError: The file is larger than ``MAX_FILE_BYTES``.
        OSError: The file cannot be read.
    """
    file = user_path(path)
    options = LoadOptions(
        pattern=pattern,
        special_tokens=special_tokens,
        lowercase=lowercase,
        add_prefix_space=add_prefix_space,
        reference=reference,
    )
    if file.is_dir():
        # Modules for folders and samples are imported for them only: a file alone needs half of it.
        from jeton.formats.homes import find_tokenizer_file, resolve_folder
        from jeton.formats.pretrained import load_folder

        tokenizer = load_folder(file, options=options, name=name)
        file = find_tokenizer_file(resolve_folder(file)) or file
    else:
        tokenizer = load_one(file, options=options, name=name)[0]
    if os.path.lexists(samples_path(file)):
        from jeton.formats.samples import verify_samples

        verify_samples(tokenizer, file)
    return tokenizer
