"""Output of the commands that save a changed tokenizer with its change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jeton.cli import streams

if TYPE_CHECKING:
    from jeton.adapt.saving import SavedChange


def change_json(schema: str, saved: SavedChange) -> dict[str, Any]:
    """Return the fields that begin the JSON of each such command."""
    return {
        "schema_version": f"jeton.{schema}/1",
        "old_fingerprint": saved.change.old_fingerprint,
        "new_fingerprint": saved.change.new_fingerprint,
        "n_old_ids": saved.change.n_old_ids,
        "n_new_ids": saved.change.n_new_ids,
    }


def written_files(saved: SavedChange) -> list[str]:
    """Return the names of all files, that of the change last."""
    return [str(path) for path in (*saved.files, saved.change_file)]


def write_file_names(saved: SavedChange) -> None:
    """Write the names of all files, one a line."""
    for name in written_files(saved):
        streams.write_line(name)
