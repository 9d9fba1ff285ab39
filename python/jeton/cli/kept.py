"""Options of commands whose outputs hold fields of their records, and list records left out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from jeton._plain import counted, picked, strict_json
from jeton.cli import streams
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.corpus.places import LeftOutRecord


def kept_names(keep: str, *, taken: Sequence[str]) -> tuple[str, ...]:
    """Return the names of ``--keep``.

    Raises:
        UsageError: The output has a column of that name, or a name is empty or given twice.
    """
    names = [name.strip() for name in keep.split(",")] if keep else []
    for number, name in enumerate(names):
        if not name or name in names[:number]:
            raise UsageError(f"--keep {keep}: {name!r} is {'given twice' if name else 'no name'}")
        if name in (*taken, "fields"):
            raise UsageError(
                f"--keep {keep}: the output has a column {name!r} of its own\n"
                "hint: --keep-all writes all fields into one column"
            )
    return tuple(names)


def as_text(value: Any) -> str | None:
    """Return a field as a column of texts holds it: a string as it is, anything else as JSON."""
    return value if value is None or isinstance(value, str) else strict_json(value)


class LeftOutList:
    """Lists records that are left out, in a file that is made with the first of them."""

    def __init__(self, path: str | None, output: str | None) -> None:
        """Take the path that was asked for, or one beside the output; None and None: no list."""
        beside = None if output is None else f"{output.rstrip('/')}.left-out.jsonl"
        self.path = path or beside
        self.n_records = 0
        self._asked = path is not None
        self._stack = ExitStack()
        self._file: IO[bytes] | None = None

    def __enter__(self) -> LeftOutList:
        if self.path is not None:
            from jeton.cli.outputs import check_folder

            check_folder("--left-out", Path(self.path))
            if self._asked:
                self._open()
            else:
                # A list of an earlier run is of other records.
                Path(self.path).unlink(missing_ok=True)
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def add(self, record: LeftOutRecord) -> None:
        """Write a record to the list."""
        self.n_records += 1
        if self.path is None:
            return
        if self._file is None:
            self._open()
        told = {
            **picked(record, "source record line reason"),
        }
        assert self._file is not None
        self._file.write(strict_json(told).encode() + b"\n")

    def say(self) -> None:
        """Say where the list is."""
        if self.n_records and self.path is not None:
            streams.say(f"listed {counted(self.n_records, 'record')} left out in {self.path}")

    def _open(self) -> None:
        from jeton._files import written_whole

        assert self.path is not None
        self._file = self._stack.enter_context(written_whole(self.path))
