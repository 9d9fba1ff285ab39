"""The result of a run: where the data set lies, and what is in it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jeton.datasets.formats.base import ShardRecord
from jeton.datasets.manifest import SCHEMA_VERSION, DatasetManifest
from jeton.datasets.pieces import PieceCounts


@dataclass(frozen=True, slots=True)
class TokenizedDataset:
    """A data set on the disk.

    Attributes:
        folder: Where it lies.
        format: The format of its files.
        dtype: Type of the ids, as NumPy names it.
        n_tokens: Tokens, special ones included.
        n_documents: Documents, empty ones left out.
        shards: The shards, in order.
        read: Counts of the documents that were read.
        skipped: Files that were not read: (path, reason).
        n_resumed_shards: Shards that an earlier run had finished.
        around: The special tokens before and behind each document, as text; none where ids were
            copied.
        is_transcoded: Ids were copied from another data set.
    """

    folder: Path
    format: str
    dtype: str
    n_tokens: int
    n_documents: int
    shards: tuple[ShardRecord, ...]
    read: PieceCounts
    skipped: tuple[tuple[str, str], ...] = ()
    n_resumed_shards: int = 0
    around: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    is_transcoded: bool = False

    @classmethod
    def of(cls, folder: Path, manifest: DatasetManifest, **facts: Any) -> TokenizedDataset:
        """The result that a manifest tells."""
        return cls(
            folder=folder,
            format=manifest.options.format,
            dtype=manifest.dtype,
            n_tokens=manifest.n_tokens,
            n_documents=manifest.n_documents,
            shards=manifest.shards,
            read=manifest.counts,
            **facts,
        )

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON has it."""
        return {
            "schema_version": SCHEMA_VERSION,
            "folder": str(self.folder),
            "format": self.format,
            "dtype": self.dtype,
            "n_tokens": self.n_tokens,
            "n_documents": self.n_documents,
            "shards": [shard.to_dict() for shard in self.shards],
            "read": asdict(self.read),
            "skipped": [{"path": path, "reason": reason} for path, reason in self.skipped],
            "n_resumed_shards": self.n_resumed_shards,
            "around": {"before": list(self.around[0]), "behind": list(self.around[1])},
        }
