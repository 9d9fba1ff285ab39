"""Model directories read without loading a model: configurations, headers and rows of weights.

Only what was asked for is read: of a safetensors file the header and single rows, of a GGUF file
the metadata. Nothing is unpickled, nothing is executed, and every size is checked before it is
believed, so that a directory from anywhere may be looked at.

    directory = read_model_directory("my-model/")
    directory.configuration.vocab_size, directory.weights.embedding.shape
"""

from __future__ import annotations

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
