"""Results of the measurements: growth of time, flagged cases, and the table of the docs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from scripts.long_inputs.measuring import Measured
from scripts.marked import Part

__all__ = ["PART", "Case", "flags", "render"]

PART = Part("long inputs", "python -m scripts.long_inputs --table")

MAX_EXPONENT = 1.25
"""Above it growth is called superlinear: n log n from 4 to 16 MB is 1.09, noise adds to that."""
MAX_SECONDS = 20.0
"""CPU seconds above which a case is called slow at any size."""
MIN_SECONDS = 0.25
"""Below it, at the larger size, growth is not judged: start-up and noise are as large."""
MAX_BYTES_PER_BYTE = 200.0
"""Peak memory over the text's bytes above which a case is called greedy."""


@dataclass(slots=True)
class Case:
    """One operation of one tokenizer on one text, at each size.

    Attributes:
        subject: the tokenizer.
        kind: what it is an example of.
        text: the text.
        operation: the operation.
        by_size: bytes of the text -> what was measured.
    """

    subject: str
    kind: str
    text: str
    operation: str
    by_size: dict[int, Measured] = field(default_factory=dict)

    def add(self, n_bytes: int, measured: Measured) -> None:
        """Keep a measurement, unless a faster one of this size is kept."""
        before = self.seconds(n_bytes)
        if before is None or (measured.seconds is not None and measured.seconds < before):
            self.by_size[n_bytes] = measured

    def seconds(self, n_bytes: int) -> float | None:
        """CPU seconds at a size; None when there are none."""
        measured = self.by_size.get(n_bytes)
        return None if measured is None else measured.seconds

    def exponent(self) -> float | None:
        """How time grows from the last size but one to the last: 1 is linear, 2 quadratic."""
        sizes = sorted(size for size in self.by_size if self.seconds(size) is not None)
        if len(sizes) < 2:
            return None
        before, last = sizes[-2:]
        less, more = self.seconds(before) or 0.0, self.seconds(last) or 0.0
        if more < MIN_SECONDS or less <= 0.0:
            return None
        return math.log(more / less) / math.log(last / before)

    def worst_seconds(self) -> float:
        """The most CPU seconds at any size; infinite when one did not finish."""
        if any(measured.failed is not None for measured in self.by_size.values()):
            return math.inf
        return max((measured.seconds or 0.0 for measured in self.by_size.values()), default=0.0)

    def memory_factor(self) -> float:
        """Peak memory over the text's bytes, at the largest size.

        Where normalization makes the text longer, over what it makes: a few characters become 18.
        """
        size = max(self.by_size)
        measured = self.by_size[size]
        return (measured.peak_bytes or 0) / max(size, measured.made_bytes)


def flags(case: Case) -> list[str]:
    """Faults of a case; nothing for most."""
    found = [measured.failed for measured in case.by_size.values() if measured.failed is not None]
    found += ["out of memory" for m in case.by_size.values() if m.refused == "MemoryError"]
    exponent = case.exponent()
    if exponent is not None and exponent > MAX_EXPONENT:
        found.append(f"grows with exponent {exponent:.2f}")
    if MAX_SECONDS < case.worst_seconds() < math.inf:
        found.append(f"takes more than {MAX_SECONDS:g} s")
    if case.memory_factor() > MAX_BYTES_PER_BYTE:
        found.append(f"needs {case.memory_factor():.0f} bytes of memory for a byte of text")
    return found


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:g} MB"


def _subject_line(subject: str, cases: Sequence[Case]) -> str:
    slowest = max(cases, key=lambda case: (case.worst_seconds(), case.text))
    steepest = max((case.exponent() or 0.0 for case in cases), default=0.0)
    greediest = max(case.memory_factor() for case in cases)
    size = max(slowest.by_size)
    seconds = slowest.seconds(size)
    cells = [
        _cell(subject),
        str(len(cases)),
        "none" if seconds is None else f"{seconds:.2f}",
        _size(size),
        _cell(f"{slowest.operation}; {slowest.text}"),
        f"{steepest:.2f}" if steepest else "",
        f"{greediest:.0f}",
        str(sum(bool(flags(case)) for case in cases)),
    ]
    return "| " + " | ".join(cells) + " |"


def render(cases: Iterable[Case], *, machine: str, n_not_loaded: int) -> str:
    """Return the part of the page that a run writes."""
    cases = list(cases)
    by_kind: dict[str, dict[str, list[Case]]] = defaultdict(lambda: defaultdict(list))
    for case in cases:
        by_kind[case.kind][case.subject].append(case)
    flagged = [case for case in cases if flags(case)]
    sizes = sorted({size for case in cases for size in case.by_size})
    subjects = {case.subject for case in cases}
    lines = [
        f"{machine}. {len(subjects)} tokenizers, {len(cases)} cases (tokenizer, text, operation), "
        f"each at {', '.join(map(_size, sizes))}; {len(flagged)} flagged"
        + (f"; {n_not_loaded} tokenizers did not load." if n_not_loaded else "."),
        "",
        "| tokenizer | cases | slowest, CPU s | at | which | steepest exponent | most memory, "
        "bytes a byte | flagged |",
        "| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    for kind, by_subject in by_kind.items():
        lines.append(f"| **{_cell(kind)}** | | | | | | | |")
        lines += [_subject_line(subject, of) for subject, of in by_subject.items()]
    lines += ["", "Flagged:", ""] if flagged else ["", "No case is flagged."]
    for case in sorted(flagged, key=lambda case: -case.worst_seconds()):
        times = ", ".join(
            f"{_size(size)}: {'none' if m.seconds is None else f'{m.seconds:.2f} s'}"
            for size, m in sorted(case.by_size.items())
        )
        lines.append(
            f"- {case.subject}, {case.text}, {case.operation}: {'; '.join(flags(case))} ({times})"
        )
    return "\n".join(lines)
