"""Counting that can be stopped and taken up again: a file of counts that says how far it came.

A checkpoint is a file of counts whose header names the inputs, how they were read, and the number
of documents counted. Taking it up again reads on behind those: the counts, and whatever is trained
from them, are those of a run that was never stopped. Counts by language lie in files beside it, one
each, of two generations by turns: the header names those that belong to it.

Facts about documents (digests, signatures of near-duplicates, figures of quality) are not in it.
The counted documents are read again, which gives the same result, takes no room, and costs the
reading.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any

from jeton._core import PretokenCounts
from jeton._files import write_whole
from jeton._foreign import json_of
from jeton.corpus import InputFile
from jeton.corpus.objects import is_address
from jeton.errors import CorpusError, FormatError, UsageError
from jeton.training.settings import TrainSettings

CHECKPOINT_SECONDS = 300.0
"""Seconds between checkpoints: what a killed run loses at most. Writing one takes about a second
for ten million distinct pretokens."""

_KIND = "jeton.counting/1"


@dataclass(frozen=True, slots=True)
class Identity:
    """Identity of a file: tells if it has changed.

    Attributes:
        path: Its path as given.
        n_bytes: Its size; None for what is no regular file.
        time_ns: When it was last changed, in nanoseconds since 1970; None likewise.
    """

    path: str
    n_bytes: int | None
    time_ns: int | None


def identity_of(file: InputFile) -> Identity:
    """The identity of an input as it is now; without size and time where it is no regular file."""
    if file.n_bytes is None or is_address(file.path):
        return Identity(file.path, file.n_bytes, None)
    try:
        status = Path(file.path).stat()
    except OSError:
        return Identity(file.path, None, None)
    return Identity(file.path, status.st_size, status.st_mtime_ns)


def sha256_of(file: InputFile) -> str:
    """The digest of an input as it is stored; empty for what is no regular file of a disk."""
    if file.n_bytes is None or is_address(file.path):
        return ""
    with Path(file.path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@dataclass(slots=True)
class Checkpoint:
    """Where a checkpoint lies, and what a run must have in common with the one that left it.

    Attributes:
        path: The file.
        options: How inputs are read and cared for, as JSON values.
        inputs: The inputs.
        seconds: Time between two checkpoints.
    """

    path: str
    options: Mapping[str, Any]
    inputs: Sequence[Identity]
    seconds: float = CHECKPOINT_SECONDS
    _last: float = 0.0
    _generation: int = 0

    def start(self) -> None:
        """Begin to measure time.

        Raises:
            UsageError: An input cannot be read a second time.
        """
        for file in self.inputs:
            if file.n_bytes is None:
                raise UsageError(
                    f"{file.path!r} can be read only once, so that counting cannot be taken up "
                    "again\nhint: write it to a file first, or count without a checkpoint"
                )
        self._last = time.monotonic()

    def is_due(self) -> bool:
        """True if it is time to write one."""
        return time.monotonic() - self._last >= self.seconds

    def write(
        self,
        counts: PretokenCounts,
        state: Mapping[str, Any],
        parts: Mapping[str, PretokenCounts] | None = None,
    ) -> None:
        """Write it, whole or not at all; ``parts``: further counts by name."""
        self._generation = 1 - self._generation
        places = {name: f"{self._generation}-{number}" for number, name in enumerate(parts or {})}
        for name, part in (parts or {}).items():
            part.save(f"{self.path}.{places[name]}")
        info = {
            "kind": _KIND,
            "options": self.options,
            "inputs": [[file.path, file.n_bytes, file.time_ns] for file in self.inputs],
            "state": state,
            "generation": self._generation,
            "parts": places,
        }
        # Only now do the parts of the generation before become useless.
        counts.save(self.path, info=json.dumps(info))
        self._last = time.monotonic()

    def read(
        self,
        counts: PretokenCounts,
        part: Callable[[str], PretokenCounts] | None = None,
    ) -> dict[str, Any] | None:
        """Load what an earlier run left into empty counts; None where there is nothing.

        Args:
            counts: The counts to add to.
            part: Empty counts for a part of this name.

        Raises:
            UsageError: It was left by a run with other inputs or options.
            CorpusError: An input has changed since.
            FormatError: It is no file of counts.
        """
        if not Path(self.path).exists():
            return None
        info = json.loads(PretokenCounts.describe_file(self.path).info)
        if not isinstance(info, dict) or info.get("kind") != _KIND:
            raise UsageError(
                f"{self.path} holds counts, but no checkpoint\n"
                "hint: train from it with from_counts, or give another file"
            )
        # Through JSON, so that tuples and lists are alike.
        if info["options"] != json.loads(json.dumps(self.options)):
            raise UsageError(
                f"{self.path} was left by a run with other options\n"
                "hint: give the same options, or remove the file to begin anew"
            )
        before = [Identity(*file) for file in info["inputs"]]
        if [file.path for file in before] != [file.path for file in self.inputs]:
            raise UsageError(
                f"{self.path} was left by a run with other inputs\n"
                "hint: give the same inputs, or remove the file to begin anew"
            )
        for old, new in zip(before, self.inputs, strict=True):
            if old != new:
                raise CorpusError(
                    f"{new.path} has changed since the checkpoint {self.path} was written\n"
                    "hint: remove the checkpoint to begin anew"
                )
        counts.add_file(self.path)
        self._generation = info.get("generation", 0)
        if part is not None:
            for name, place in info.get("parts", {}).items():
                part(name).add_file(f"{self.path}.{place}")
        state: dict[str, Any] = info["state"]
        return state

    def remove(self) -> None:
        """Counting is done: what was for taking it up again goes."""
        remove_checkpoint(self.path)


def remove_checkpoint(path: str | os.PathLike[str]) -> None:
    """Remove a checkpoint with all that lies beside it; none need be there."""
    name = os.fspath(path)
    with suppress(FileNotFoundError):
        os.unlink(name)  # noqa: PTH108 - a plain string
    for generation in (0, 1):
        for number in count():
            try:
                os.unlink(f"{name}.{generation}-{number}")  # noqa: PTH108 - a plain string
            except FileNotFoundError:
                break


class Interrupts:
    """True if Ctrl-C (or SIGTERM) came meanwhile."""

    def __init__(self) -> None:
        """Neither came yet."""
        self.number: int | None = None

    @contextmanager
    def noted(self, *, wanted: bool) -> Iterator[None]:
        """Note them instead of stopping at once, so that what was begun can be completed.

        Only the main thread may; in others, and where not ``wanted``, nothing changes.
        """
        if not wanted or threading.current_thread() is not threading.main_thread():
            yield
            return

        def note(number: int, frame: FrameType | None) -> None:
            self.number = number

        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, note)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


# Learning that was interrupted: the merges so far, and what they were learned from.
#
# The counts and settings of the next run must be those of the one that left it; the core besides
# refuses merges that its counts do not have. The merges learned then are those of one run.

_MERGES_KIND = "jeton.merges/1"


def merges_path(checkpoint: str | os.PathLike[str]) -> Path:
    """Where the merges of a run lie whose counting has this checkpoint: ``FILE.merges``."""
    path = Path(checkpoint)
    return path.with_name(f"{path.name}.merges")


@dataclass(frozen=True, slots=True)
class MergesSoFar:
    """Where merges lie, and what a run must have in common with the one that left them.

    Attributes:
        path: The file.
        settings: Settings of learning.
        counts: The counts to learn from.
        unit: Counts of a document of weight 1.
    """

    path: Path
    settings: TrainSettings
    counts: PretokenCounts
    unit: int

    @property
    def _run(self) -> Mapping[str, Any]:
        return {
            "settings": self.settings.to_dict(),
            "cutting": self.counts.cutting,
            "n_distinct": len(self.counts),
            "n_pretokens": self.counts.n_pretokens,
            "n_bytes": self.counts.n_bytes,
            "unit": self.unit,
        }

    def read(self) -> list[tuple[int, int]]:
        """The merges of the run that was interrupted; none where there is no file.

        Raises:
            UsageError: They are of a run with other counts or settings.
            FormatError: It is no file of merges.
        """
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        try:
            found = json_of(text)
            if found["kind"] != _MERGES_KIND:
                raise ValueError(f"its kind is {found['kind']!r}")
            run = found["run"]
            merges = [(int(left), int(right)) for left, right in found["merges"]]
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(
                f"{self.path}: these are not the merges of a run that was interrupted: {error}",
                path=str(self.path),
                format="merges so far",
            ) from error
        if run != json.loads(json.dumps(self._run)):
            raise UsageError(
                f"{self.path} was left by a run with other text or settings\n"
                "hint: give the same ones, or remove the file to begin anew"
            )
        return merges

    def write(self, merges: Sequence[tuple[int, int]]) -> None:
        """Write them, whole or not at all."""
        found = {"kind": _MERGES_KIND, "run": self._run, "merges": merges}
        write_whole(self.path, json.dumps(found))

    def remove(self) -> None:
        """Learning is done."""
        with suppress(FileNotFoundError):
            self.path.unlink()
