"""Model directories read without loading a model: configurations, headers and rows of weights.

Only what was asked for is read: of a safetensors file the header and single rows, of a GGUF file
the metadata. Nothing is unpickled, nothing is executed, and every size is checked before it is
believed, so that a directory from anywhere may be looked at.

    directory = read_model_directory("my-model/")
    directory.configuration.vocab_size, directory.weights.embedding.shape
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton._lazy import lazy_names

if TYPE_CHECKING:
    from jeton.checkpoint.configuration import ModelConfiguration, ModelKind, read_configuration
    from jeton.checkpoint.directory import ModelDirectory, read_model_directory
    from jeton.checkpoint.rows import RowStatistics, read_rows, row_statistics
    from jeton.checkpoint.safetensors import SafetensorsFile, Tensor, read_header
    from jeton.checkpoint.weights import FileProblem, Weights, read_weights
    from jeton.formats.gguf import GgufModel, GgufTensor, read_gguf

__all__ = [
    "FileProblem",
    "GgufModel",
    "GgufTensor",
    "ModelConfiguration",
    "ModelDirectory",
    "ModelKind",
    "RowStatistics",
    "SafetensorsFile",
    "Tensor",
    "Weights",
    "read_configuration",
    "read_gguf",
    "read_header",
    "read_model_directory",
    "read_rows",
    "read_weights",
    "row_statistics",
]

# Loaded when first asked for.
_LAZY = {
    **dict.fromkeys(
        ("ModelConfiguration", "ModelKind", "read_configuration"), "jeton.checkpoint.configuration"
    ),
    **dict.fromkeys(("ModelDirectory", "read_model_directory"), "jeton.checkpoint.directory"),
    **dict.fromkeys(("RowStatistics", "read_rows", "row_statistics"), "jeton.checkpoint.rows"),
    **dict.fromkeys(("SafetensorsFile", "Tensor", "read_header"), "jeton.checkpoint.safetensors"),
    **dict.fromkeys(("FileProblem", "Weights", "read_weights"), "jeton.checkpoint.weights"),
    **dict.fromkeys(("GgufModel", "GgufTensor", "read_gguf"), "jeton.formats.gguf"),
}

__getattr__, __dir__ = lazy_names(__name__, _LAZY)
