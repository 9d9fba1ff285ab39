"""Counts by language: what an algorithm learns from that asks which language is worst off.

A document's language is the name of its file or folder, or a field of its record. Beside the text
that is learned from there may be a development text of each language, on which its cost is
measured; where these are translations of one another, they say what the same content costs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jeton._core import PretokenCounts, TextBatch
from jeton.corpus import open_documents
from jeton.corpus.inputs import DomainsBy
from jeton.errors import EmptyCorpusError, UsageError
from jeton.training.counted import CountedCorpus, LanguageCounts, TrainingSource
from jeton.training.settings import TrainSettings

_MOST_LANGUAGES = 1_000
"""As many names as a stream of documents tells apart."""

_LEAST_SHARE = 1 << 20
"""1 MiB for each language: below that, tables are so small that everything is on disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageSource:
    """Source of a document's language, and the measured quantity.

    Attributes:
        by: Its file or its folder; not looked at where there is a field.
        field: JSONL and Parquet: the field that names it; empty: ``by`` decides.
        default: Language of documents without that field; empty: they are an error.
        development: Paths of the text that is measured, with languages in the same way.
    """

    by: DomainsBy = "file"
    field: str = ""
    default: str = ""
    development: tuple[str, ...] = ()

    @property
    def reading(self) -> dict[str, Any]:
        """As ``open_documents`` takes it."""
        return {"domain_field": self.field} if self.field else {"domains_by": self.by}


class LanguageCounter:
    """Counts documents by language as they come."""

    def __init__(
        self,
        settings: TrainSettings,
        source: LanguageSource,
        *,
        max_memory: int | None = None,
        temp_dir: str | os.PathLike[str] | None = None,
    ) -> None:
        """Nothing was counted yet.

        Args:
            settings: How text is cut.
            source: The source of the language.
            max_memory: Bytes of memory for the counts of all languages together, shared evenly;
                None: as many as it takes.
            temp_dir: Where counts go that have no room; None: the system's place for that.
        """
        self._settings = settings
        self._source = source
        self._found: dict[str, LanguageCounts] = {}
        self._max_memory = max_memory
        self._temp_dir = None if temp_dir is None else os.fspath(temp_dir)
        self._n_shares = 1

    @classmethod
    def of(
        cls,
        settings: TrainSettings,
        source: LanguageSource | None,
        *,
        max_memory: int | None,
        temp_dir: str | os.PathLike[str] | None,
    ) -> LanguageCounter | None:
        """Counts by language in half of the memory, or None where nobody asks for them.

        The sum of all languages has a quarter, and so has the development text.
        """
        if source is None:
            return None
        half = None if max_memory is None else max_memory // 2
        return cls(settings, source, max_memory=half, temp_dir=temp_dir)

    def add(
        self,
        batch: TextBatch,
        *,
        numbers: NDArray[np.int32] | None,
        names: list[str],
        weights: NDArray[np.uint64],
        num_threads: int | None = None,
    ) -> None:
        """Count a batch.

        Args:
            batch: The documents.
            numbers: int32 (n_documents,): of each document, the place of its language in ``names``;
                -1 or None: it names none.
            names: Languages.
            weights: uint64 (n_documents,): how often each counts; 0 leaves it out.
            num_threads: Threads; None: all there are. Does not change the result.

        Raises:
            UsageError: A document names no language, and none is the default.
        """
        if numbers is None:
            numbers = np.full(len(batch), -1, dtype=np.int32)
        sizes = np.diff(batch.offsets)
        for number in np.unique(numbers[weights > 0]).tolist():
            of_language = numbers == number
            self._add(
                self._name(number, names),
                batch,
                weights=weights * of_language.astype(np.uint64),
                n_documents=int((of_language & (weights > 0)).sum()),
                n_bytes=int(sizes[of_language & (weights > 0)].sum()),
                num_threads=num_threads,
            )

    def _name(self, number: int, names: list[str]) -> str:
        if number >= 0:
            return names[number]
        if not self._source.default:
            raise UsageError(
                f"a document has no language: there is no field {self._source.field!r} in it\n"
                "hint: name another field (language_field), or say what language such documents "
                "are of (default_language)"
            )
        return self._source.default

    def _add(
        self,
        name: str,
        batch: TextBatch,
        *,
        weights: NDArray[np.uint64],
        n_documents: int,
        n_bytes: int,
        num_threads: int | None,
    ) -> None:
        self.counts_of(name).add(batch, weights=weights, num_threads=num_threads)
        self.add_totals(name, n_documents, n_bytes)

    def counts_of(self, name: str) -> PretokenCounts:
        """The counts of a language; new ones, within its share of the memory, if there are none.

        Raises:
            UsageError: There are so many languages that the shares are too small.
        """
        if name in self._found:
            return self._found[name].counts
        counts = self._settings.method.new_counts(self._settings)
        self._found[name] = LanguageCounts(name, counts, 0, 0)
        if self._max_memory is None:
            return counts
        limited = [counts]
        if len(self._found) > self._n_shares:
            # By doubling, since every change of a limit adds up what the threads have.
            self._n_shares *= 2
            limited = [language.counts for language in self._found.values()]
        share = self._max_memory // self._n_shares
        if share < _LEAST_SHARE:
            raise UsageError(
                f"max_memory leaves {share:,} bytes for each of {len(self._found)} languages; "
                f"expected at least {_LEAST_SHARE:,}\n"
                "hint: allow more memory, or count each language by itself and train from the files"
            )
        for one in limited:
            one.limit_memory(share, temp_dir=self._temp_dir)
        return counts

    @property
    def parts(self) -> dict[str, PretokenCounts]:
        """The counts so far, by language."""
        return {name: language.counts for name, language in self._found.items()}

    @property
    def totals(self) -> dict[str, tuple[int, int]]:
        """By language its documents and bytes."""
        return {name: (found.n_documents, found.n_bytes) for name, found in self._found.items()}

    def add_totals(self, name: str, n_documents: int, n_bytes: int) -> None:
        """Say of how much text the counts of a language are."""
        known = self._found[name]
        self._found[name] = replace(
            known, n_documents=known.n_documents + n_documents, n_bytes=known.n_bytes + n_bytes
        )

    def leave_out_rare(self, min_count: int) -> None:
        """Leave out pretokens that occur less often in a language, which makes room in memory."""
        for name, known in self._found.items():
            kept = known.counts.at_least(min_count).counts
            self._found[name] = replace(known, counts=kept)

    def languages(
        self, development: Mapping[str, PretokenCounts] | None = None
    ) -> tuple[LanguageCounts, ...]:
        """All languages with text, by name, so that the order of the inputs does not matter.

        Raises:
            UsageError: A language has no development text while others do, or there are more
                languages than can be told apart.
        """
        if len(self._found) > _MOST_LANGUAGES:
            raise UsageError(
                f"there are more than {_MOST_LANGUAGES:,} languages\n"
                "hint: is the field or folder that names them the right one?"
            )
        languages = [self._found[name] for name in sorted(self._found)]
        languages = [language for language in languages if language.counts.n_pretokens]
        if not development:
            return tuple(languages)
        missing = [
            language.name
            for language in languages
            if language.name not in development or not development[language.name].n_pretokens
        ]
        if missing:
            shown = ", ".join(missing[:5]) + (" ..." if len(missing) > 5 else "")
            raise UsageError(
                f"there is no development text of {len(missing)} of {len(languages)} languages: "
                f"{shown}\nhint: give one of each language, or none at all; it has "
                f"{', '.join(sorted(development)[:5])}"
            )
        return tuple(
            replace(language, development=development[language.name]) for language in languages
        )

    def added_to(
        self,
        counts: PretokenCounts,
        development: Mapping[str, PretokenCounts] | None = None,
    ) -> tuple[LanguageCounts, ...]:
        """The languages, as ``languages`` gives them, after adding all of them to counts.

        Raises:
            UsageError: See ``languages``.
        """
        languages = self.languages(development)
        for language in languages:
            counts.merge(language.counts)
        return languages


def count_development(
    settings: TrainSettings,
    source: LanguageSource,
    *,
    reading: Mapping[str, Any],
    num_threads: int | None,
    max_memory: int | None = None,
    temp_dir: str | os.PathLike[str] | None = None,
) -> dict[str, PretokenCounts]:
    """Count the development text of each language; empty where there is none.

    Args:
        settings: How text is cut.
        source: Where it is, and what says the language.
        reading: ``field``, ``documents`` and ``strict`` of ``open_documents``.
        num_threads: Threads; None: all there are.
        max_memory: Bytes of memory; None: as many as it takes.
        temp_dir: Where counts go that have no room.

    Raises:
        UsageError: A document names no language.
        CorpusError: Or what else ``open_documents`` raises.
    """
    if not source.development:
        return {}
    counter = LanguageCounter(settings, source, max_memory=max_memory, temp_dir=temp_dir)
    stream = open_documents(list(source.development), **reading, **source.reading)
    for _, batch in stream:
        counter.add(
            batch,
            numbers=stream.batch_domains,
            names=stream.domains,
            weights=np.ones(len(batch), dtype=np.uint64),
            num_threads=num_threads,
        )
    return {language.name: language.counts for language in counter.languages()}


def count_languages(
    inputs: Mapping[str, Any],
    *,
    settings: TrainSettings,
    development: Mapping[str, Any] | None = None,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    strict: bool = False,
    num_threads: int | None = None,
) -> CountedCorpus:
    """Count the pretokens of languages that are given by name.

    Args:
        inputs: By language, text as ``jeton.train`` takes it: paths, or an iterator of texts.
        settings: Only the settings that decide how text is cut matter here.
        development: Counts of the measured text; None: the text of the training.
        field: JSONL and Parquet: where the text is.
        documents: Text files: the whole file is one document, or each line.
        strict: Text that is not valid Unicode is an error instead of being replaced.
        num_threads: Threads; None: all there are. Does not change the result.

    Raises:
        EmptyCorpusError: There is no text.
        UsageError: A language has no development text while others do.
        CorpusError: Or what else ``open_documents`` raises.
    """
    settings.check()
    reading: dict[str, Any] = {"field": field, "documents": documents, "strict": strict}

    def counted(given: Mapping[str, Any]) -> tuple[LanguageCounter, dict[str, TrainingSource]]:
        counter = LanguageCounter(settings, LanguageSource())
        sources: dict[str, TrainingSource] = {}
        for name, texts in given.items():
            for file, batch in open_documents(texts, **reading):
                counter.add(
                    batch,
                    numbers=np.zeros(len(batch), dtype=np.int32),
                    names=[name],
                    weights=np.ones(len(batch), dtype=np.uint64),
                    num_threads=num_threads,
                )
                known = sources.get(
                    f"{name}:{file.path}", TrainingSource(f"{name}:{file.path}", 0, 0)
                )
                sources[known.name] = replace(
                    known,
                    n_documents=known.n_documents + len(batch),
                    n_bytes=known.n_bytes + batch.n_bytes,
                    n_replaced_documents=known.n_replaced_documents + batch.n_replaced_documents,
                )
        return counter, sources

    counter, sources = counted(inputs)
    measured = None
    if development is not None:
        found, _ = counted(development)
        measured = {language.name: language.counts for language in found.languages()}
        if not measured:
            raise EmptyCorpusError("the development text of all languages is empty")
    languages = counter.languages(measured)
    if not languages:
        raise EmptyCorpusError("there is no text in any of the languages")
    counts = settings.method.new_counts(settings)
    for language in languages:
        counts.merge(language.counts)
    return CountedCorpus(counts=counts, sources=tuple(sources.values()), languages=languages)
