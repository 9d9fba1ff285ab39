"""Origin of the measurements: the machine, the date and the versions above every table."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["CAVEATS", "describe_machine", "header"]

CAVEATS = (
    "one machine, two of whose cores may be shared with others: ratios within a run hold better "
    "than absolute speeds, and a difference below 10% is not one",
    "each kind of processor has lines of its own, by its newest record of each part",
    "each library is called as its documentation says for speed; what it returns differs (lists, "
    "arrays, its own objects), so rows of one table do the same work only up to that",
    "ids are compared with the reference's on the very texts that are timed; a library whose ids "
    "differ is listed apart, and its speed is not compared",
    "each library runs in a process of its own, asked in turn; with one thread, on one core of "
    "its own",
    "our wheel is compiled by a profile, of text that is not timed here "
    "(docs/log/engine-2026-11.md: 1.0 to 1.1 times as fast); of one compiled once are the records "
    "before 2026-11-26; the profile of Intel's of that day had not seen rank files (load and first "
    "encode, from the file)",
    "warm: the same text has been encoded before in the same process, so caches are as full as "
    "they get; first pass: the first call of a process after loading, start-up of threads "
    "included; Jeton has loaded what an earlier process kept in the user's cache, as by default",
    "before each process of a first pass or a load, and before each round over one document (on "
    "AMD), 512 MB of memory are written to and given back, so that none waits for the host of a "
    "virtual machine to find memory, 5 ms for 2 MB; numpy's own threads are not begun (Intel's "
    "first batches of a process were recorded before that)",
    "medians of 11 rounds (warm; 7 in records that say so) or 9 (first pass; 5 in records before "
    "2026-11-25; 15 of first passes over English, code, medical text, logs and, since 2026-11-27, "
    "languages on AMD); of 3 or 1 for libraries over three times slower than the fastest of the "
    "others (ours not counted), once for those over ten times slower; over twenty times slower in "
    "the first of cases that are alike: left out of the rest, and named",
    "all warm rounds of a library are of one process, and processes differ: Thai under cl100k_base "
    "took ours 6.5 to 7.0 ms in ten of them, 11.2 in another and 7.6 in the record (AMD, "
    "2026-11-26, a throwaway script that asks the same workers)",
    "records before 2026-11-28 are of engines which also remembered passages of Thai and whole "
    "texts of few words: warm Thai and Llama 2 over Chinese are lower now "
    "(docs/log/low-id-pairs.md has the other changes); what else the deletions cost was found and"
    " put back (docs/log/2026-11-28-engine-on-intel.md); AMD's records of that day are of a "
    "faster machine: warm passes of other libraries take 0.6 to 0.9 of the time before; "
    "processors without AVX-512 VBMI use the AVX2 code, and their ratios are lower: 1.06 to 1.36 "
    "of the best other library for warm rows (docs/log/2026-11-28-scripts-on-avx2.md)",
)


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.lower().startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _memory_gib() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, OSError, ValueError):
        return None


def describe_machine() -> dict[str, Any]:
    """Return what of this machine bears on speed, and nothing that names it or its user."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gib": _memory_gib(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {sys.version.split()[0]}",
    }


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "absent"


def header(
    *, kind: str, command: str, distributions: Iterable[str], caveats: Iterable[str] = CAVEATS
) -> Mapping[str, Any]:
    """Return the head of a record: what, where, when, with which versions, with which caveats."""
    return {
        "schema_version": 1,
        "kind": kind,
        "command": command,
        "date": datetime.now(tz=UTC).strftime("%Y-%m-%d"),
        "machine": describe_machine(),
        "versions": {name: _version(name) for name in sorted(distributions)},
        "caveats": list(caveats),
    }
