"""Files to tokenizers and back: what a file is, folders, options; the core parses.

``load_file`` looks at what a file holds, not at what it is called; ``save_file`` chooses the
format by the suffix and refuses one that does not hold everything, unless it is told otherwise;
``read_folder`` says what a ``save_pretrained`` folder holds. Every file may be compressed with
zstd or gzip. docs/guides/formats.md has the table of formats: what is read, what is written, and
whose ids a file gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton._lazy import lazy_names

if TYPE_CHECKING:
    from jeton.formats.detection import FileFormat, detect
    from jeton.formats.folders import PretrainedFolder, read_folder
    from jeton.formats.loading import load_file
    from jeton.formats.names import card_path, companions, name_of_file
    from jeton.formats.options import Reference
    from jeton.formats.reading import MAX_FILE_BYTES
    from jeton.formats.saving import save_file
    from jeton.formats.writing import FORMATS, Loss, Rewording, expressible, to_bytes

__all__ = [
    "FORMATS",
    "MAX_FILE_BYTES",
    "FileFormat",
    "Loss",
    "PretrainedFolder",
    "Reference",
    "Rewording",
    "card_path",
    "companions",
    "detect",
    "expressible",
    "load_file",
    "name_of_file",
    "read_folder",
    "save_file",
    "to_bytes",
]

# Loaded when first asked for: who loads a compiled tokenizer needs none of the readers.
_LAZY = {
    "FORMATS": "jeton.formats.writing",
    "FileFormat": "jeton.formats.detection",
    "Loss": "jeton.formats.writing",
    "MAX_FILE_BYTES": "jeton.formats.reading",
    "PretrainedFolder": "jeton.formats.folders",
    "Reference": "jeton.formats.options",
    "Rewording": "jeton.formats.writing",
    "card_path": "jeton.formats.names",
    "companions": "jeton.formats.names",
    "detect": "jeton.formats.detection",
    "expressible": "jeton.formats.writing",
    "load_file": "jeton.formats.loading",
    "name_of_file": "jeton.formats.names",
    "read_folder": "jeton.formats.folders",
    "save_file": "jeton.formats.saving",
    "to_bytes": "jeton.formats.writing",
}

__getattr__, __dir__ = lazy_names(__name__, _LAZY)
