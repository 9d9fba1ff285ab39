"""Data sets: documents become files of ids that training programs read.

``tokenize_dataset`` writes them, ``transcode_dataset`` writes them in another format without
tokenizing again, ``verify_dataset`` reads them again and compares.
"""

from __future__ import annotations

from jeton.datasets.id_checks import DatasetCheck, DatasetFault
from jeton.datasets.options import DatasetOptions
from jeton.datasets.result import TokenizedDataset
from jeton.datasets.run import tokenize_dataset
from jeton.datasets.transcoding import transcode_dataset
from jeton.datasets.verifying import verify_dataset

__all__ = [
    "DatasetCheck",
    "DatasetFault",
    "DatasetOptions",
    "TokenizedDataset",
    "tokenize_dataset",
    "transcode_dataset",
    "verify_dataset",
]
