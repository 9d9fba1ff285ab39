"""The exactness board: the part of docs/concepts/exactness.md that a run writes."""

from __future__ import annotations

from collections import Counter, defaultdict

from scripts.conformance.running import Outcome
from scripts.marked import Part

__all__ = ["PART", "render"]

PART = Part("board")


def render(outcome: Outcome) -> str:
    """Return the board as Markdown."""
    return "\n".join([*_sets(outcome), "", *_crosschecks(outcome), *_corpora(outcome)])


def _sets(outcome: Outcome) -> list[str]:
    special = sum(result.n_special_cases for result in outcome.sets)
    threads = ", ".join(map(str, outcome.threads))
    lines = [
        f"Each case compares ids, count and places of one text alone, and ids in a batch with "
        f"{threads} threads. {special} cases run again where special tokens in the text count. "
        "The decoded text is compared where the reference is installed or the text must come back.",
        "",
        "| set | vocabulary | reference | version | cases | equal | different | example |",
        "| --- | --- | --- | --- | ---: | ---: | ---: | --- |",
    ]
    for result in outcome.sets:
        note = _cell(outcome.examples.get(result.name, ""))
        if result.not_loaded is not None:
            note = "not loaded"
        if result.reasons:
            note = f"{note} ({'; '.join(map(_plain, result.reasons))})"
        lines.append(
            f"| {result.name} | {result.files} | {result.reference} | {result.version} "
            f"| {result.n_cases} | {result.n_equal} | {result.n_different} | {note} |"
        )
    n_cases = sum(result.n_cases for result in outcome.sets)
    n_equal = sum(result.n_equal for result in outcome.sets)
    lines.append(
        f"| **{len(outcome.sets)} sets** | | | | {n_cases} | {n_equal} | {n_cases - n_equal} | |"
    )
    return lines


def _crosschecks(outcome: Outcome) -> list[str]:
    lines = [
        "Ids that two other projects keep for their own tests (kitoken, and llama.cpp, whose ids "
        "transformers made):",
        "",
        "| their name | vocabulary | cases | equal | different |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for result in outcome.crosschecks:
        if result.vocabulary is not None:
            n_equal = result.n_cases - result.n_different
            note = "not loaded" if result.not_loaded else str(result.n_different)
            lines.append(
                f"| {result.name} | {result.vocabulary} | {result.n_cases} | {n_equal} | {note} |"
            )
    without = [result.name for result in outcome.crosschecks if result.vocabulary is None]
    return [*lines, "", f"Not compared, for want of the vocabulary: {', '.join(without)}.", ""]


def _corpora(outcome: Outcome) -> list[str]:
    if not outcome.corpora:
        return []
    documents: Counter[str] = Counter()
    equal: Counter[str] = Counter()
    by_vocabulary: defaultdict[str, int] = defaultdict(int)
    for result in outcome.corpora:
        documents[result.vocabulary] += result.n_documents
        equal[result.vocabulary] += not result.differences
        by_vocabulary[result.vocabulary] += 1
    lines = [
        "Whole corpora: the number of tokens of each domain, and a digest of all ids.",
        "",
        "| vocabulary | reference | corpora | documents | corpora equal |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {name} | tiktoken 0.14.0 | {n} | {documents[name]} | {equal[name]} |"
        for name, n in by_vocabulary.items()
    ]
    return [*lines, ""]


def _cell(example: str) -> str:
    return f"`{_plain(example).replace('`', chr(0x2BC))}`" if example else ""


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
