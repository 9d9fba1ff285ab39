"""Run the comparisons that were asked for, one after another, and say each in one line."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from scripts.conformance.checks import SetResult, check_set
from scripts.conformance.corpora import VOCABULARIES, corpus_differences, read_expected
from scripts.conformance.crosscheck import CrossResult, check_one, samples_by_name
from scripts.conformance.known import known_differences
from scripts.conformance.references import reference_of
from scripts.conformance.sets import SETS, GoldenSet, read_set
from scripts.conformance.smallest import smallest

__all__ = ["CorpusResult", "Outcome", "run"]

SHOWN_FAULTS = 3


@dataclass(frozen=True, slots=True)
class CorpusResult:
    """Result of one corpus with one vocabulary."""

    corpus: str
    vocabulary: str
    n_documents: int
    differences: tuple[str, ...]


@dataclass(slots=True)
class Outcome:
    """All results of a run."""

    threads: tuple[int, ...]
    sets: list[SetResult] = field(default_factory=list)
    examples: dict[str, str] = field(default_factory=dict)
    """Set -> its smallest text with other ids, with both."""
    crosschecks: list[CrossResult] = field(default_factory=list)
    corpora: list[CorpusResult] = field(default_factory=list)

    @property
    def n_unexpected(self) -> int:
        """Sets, foreign vocabularies and corpora with a difference that is not listed."""
        return (
            sum(not each.ok for each in self.sets)
            + sum(each.n_different > 0 for each in self.crosschecks)
            + sum(bool(each.differences) for each in self.corpora)
        )

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "schema": "jeton.conformance/1",
            "threads": list(self.threads),
            "sets": [{**asdict(s), "n_equal": s.n_equal} for s in self.sets],
            "smallest_examples": self.examples,
            "crosschecks": [asdict(c) for c in self.crosschecks],
            "corpora": [asdict(c) for c in self.corpora],
            "n_unexpected": self.n_unexpected,
        }


def run(
    shared: Path,
    *,
    only: str | None,
    threads: Sequence[int],
    with_corpora: bool,
    say: Callable[[str], None],
) -> Outcome:
    """Compare; ``say`` gets each line as soon as it is known.

    Args:
        shared: The shared folder.
        only: A shell pattern on the names of sets, ``crosscheck/NAME`` and ``corpus/NAME``, or a
            part of such names; None: everything.
        threads: Numbers of threads for the batches.
        with_corpora: Whether whole corpora are encoded too.
        say: Where lines go.

    Raises:
        OSError: The shared data is incomplete.
        ValueError: It is damaged, or ``known_differences.json`` is.
    """
    outcome = Outcome(threads=tuple(threads))
    known = known_differences()
    for name in SETS:
        if _asked_for(name, only):
            golden = read_set(shared, name)
            reference = reference_of(golden)
            result = check_set(
                golden, threads=threads, reference=reference, known=known.get(name, ())
            )
            outcome.sets.append(result)
            if result.n_different and not result.not_loaded:
                outcome.examples[name] = _example(golden)
            for line in _set_lines(result):
                say(line)
    for name, samples in samples_by_name(shared).items():
        if _asked_for(f"crosscheck/{name}", only):
            cross = check_one(shared, name, samples)
            outcome.crosschecks.append(cross)
            say(_crosscheck_line(cross))
    if with_corpora:
        for file in read_expected(shared):
            corpus = file.removesuffix(".jsonl.zst")
            if _asked_for(f"corpus/{corpus}", only):
                for vocabulary in VOCABULARIES:
                    n_documents, differences = corpus_differences(shared, file, vocabulary)
                    one = CorpusResult(corpus, vocabulary, n_documents, tuple(differences))
                    outcome.corpora.append(one)
                    say(_corpus_line(one))
    return outcome


def _asked_for(name: str, only: str | None) -> bool:
    return only is None or only in name or fnmatch.fnmatchcase(name, only)


def _example(golden: GoldenSet) -> str:
    """A smallest text with other ids than the reference's, and both ids."""
    tokenizer, reference = golden.tokenizer(), reference_of(golden)
    allow = golden.allow_special("ids")
    different = [c for c in golden.cases if tokenizer.encode(c.text, allow_special=allow) != c.ids]
    if not different:
        return ""
    case = min(different, key=lambda each: len(each.text))
    text, theirs = case.text, case.ids
    if reference is not None:
        text = smallest(
            case.text,
            lambda t: (
                tokenizer.encode(t, allow_special=allow) != reference.encode(t, special=False)
            ),
        )
        theirs = reference.encode(text, special=False)
    ours = tokenizer.encode(text, allow_special=allow)
    return f"{text!r}: {ours[:8]}, the reference {theirs[:8]}"


def _set_lines(result: SetResult) -> Iterator[str]:
    head = f"{result.name:36} {_short(result.reference)} {result.version}"
    if result.not_loaded is not None:
        yield f"{head:62}  not loaded: {result.not_loaded}"
        return
    counts = f"{result.n_cases} cases {result.n_equal:4} equal {result.n_different:4} different"
    listed = f" ({result.n_known} of them listed)" if result.n_known else ""
    yield f"{head:62}  {counts}{listed}"
    for fault in result.faults[:SHOWN_FAULTS]:
        yield f"    case {fault.case}: {fault.what}"
    if len(result.faults) > SHOWN_FAULTS:
        yield f"    and {len(result.faults) - SHOWN_FAULTS} more"


def _short(library: str) -> str:
    return library.split(" ", 1)[0]


def _crosscheck_line(result: CrossResult) -> str:
    head = f"{'crosscheck/' + result.name:48} {result.vocabulary or '-':24}"
    if result.vocabulary is None:
        return f"{head}  {result.n_cases} cases not compared: its vocabulary is not at hand"
    if result.not_loaded is not None:
        return f"{head}  not loaded: {result.not_loaded}"
    n_equal = result.n_cases - result.n_different
    line = f"{head}  {result.n_cases} cases {n_equal:4} equal {result.n_different:4} different"
    return f"{line}\n    {result.first}" if result.first else line


def _corpus_line(result: CorpusResult) -> str:
    head = f"{'corpus/' + result.corpus:24} {result.vocabulary:16} {result.n_documents:6} documents"
    if not result.differences:
        return f"{head}  counts and digest equal"
    return "\n    ".join([f"{head}  different", *result.differences])
