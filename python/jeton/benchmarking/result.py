"""Result of a benchmark of libraries."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from jeton._shown import NotebookResult

SCHEMA_VERSION = "jeton.bench/1"

Status = Literal["ok", "differs", "cannot", "failed", "absent"]


@dataclass(frozen=True, slots=True)
class Machine:
    """Facts about this machine that bear on speed, and nothing that names it or its user."""

    cpu: str
    cores: int
    memory_bytes: int | None
    system: str
    python: str


@dataclass(frozen=True, slots=True)
class Timing:
    """Rounds of one way of encoding the whole text.

    Attributes:
        seconds: Median.
        seconds_low: The fastest round.
        seconds_high: The slowest.
        bytes_per_second: Bytes a second of the median.
        ratio: Speed over that of the library all are compared with; None for ids that differ.
    """

    seconds: float
    seconds_low: float
    seconds_high: float
    bytes_per_second: float
    ratio: float | None


@dataclass(frozen=True, slots=True)
class LibraryResult:
    """One library.

    Attributes:
        name: Import name.
        version: Installed version; empty where it is not installed.
        status: ``ok``; ``differs``: some ids are not the reference's; ``cannot``: it does not read
            this tokenizer; ``failed``: it raised, crashed or took too long; ``absent``.
        why: Reason of the status; empty where it is ``ok``.
        is_reference: True if the ids of the others are compared with its own.
        n_different_texts: Texts whose ids are not the reference's; None where it did not encode.
        import_s: Seconds to import it in a fresh process.
        load_s: Seconds to load the tokenizer from its file.
        first_call_s: Seconds that the first encoding of a short text takes after that.
        first_pass_s: Seconds of the first pass over the whole text, one text after another: caches
            are as empty as they are for text that was never seen.
        one_by_one: One text after another, one thread.
        batch: All texts at once, all threads; None where the library has no batch.
        load_bytes: Resident memory that import and loading added; None where it is not known.
        peak_bytes: That encoding added at most, above the process with the texts loaded.
    """

    name: str
    version: str
    status: Status
    why: str = ""
    is_reference: bool = False
    n_different_texts: int | None = None
    import_s: float | None = None
    load_s: float | None = None
    first_call_s: float | None = None
    first_pass_s: float | None = None
    one_by_one: Timing | None = None
    batch: Timing | None = None
    load_bytes: int | None = None
    peak_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class BenchReport(NotebookResult):
    """Libraries on one text with one tokenizer.

    Attributes:
        schema_version: ``jeton.bench/1``.
        jeton_version: Version of the package.
        date: UTC, ``YYYY-MM-DD``.
        machine: Where it was measured.
        tokenizer: Its name.
        fingerprint: SHA-256 of its canonical form.
        reference: The library whose ids the others are compared with.
        compared_with: The library that ratios are over.
        n_documents: Texts that were encoded.
        n_bytes: Their bytes.
        is_whole: True if these were all of the inputs, not an even draw.
        n_rounds: Rounds after one that warmed the caches.
        num_threads: Threads of the batches.
        libraries: The fastest batch first; then those whose ids differ, then the others.
    """

    _table = "libraries"
    _line = ("n_documents", "libraries")

    schema_version: str
    jeton_version: str
    date: str
    machine: Machine
    tokenizer: str
    fingerprint: str
    reference: str
    compared_with: str
    n_documents: int
    n_bytes: int
    is_whole: bool
    n_rounds: int
    num_threads: int
    libraries: tuple[LibraryResult, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self)
