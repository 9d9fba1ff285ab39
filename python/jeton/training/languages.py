"""Counts by language: what an algorithm learns from that asks which language is worst off.

A document's language is the name of its file or folder, or a field of its record. Beside the text
that is learned from there may be a development text of each language, on which its cost is
measured; where these are translations of one another, they say what the same content costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jeton import _core
from jeton.corpus import open_documents
from jeton.corpus.domains import DomainsBy
from jeton.errors import EmptyCorpusError, UsageError
from jeton.training.counted import CountedCorpus, LanguageCounts, Source
from jeton.training.settings import TrainSettings

__all__ = ["LanguageCounter", "LanguageSource", "count_development", "count_languages"]

_MOST_LANGUAGES = 1_000
"""As many names as a stream of documents tells apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageSource:
    """What says which language a document is of, and what is measured.

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

    def __init__(self, settings: TrainSettings, source: LanguageSource) -> None:
        """Nothing was counted yet."""
        self._settings = settings
        self._source = source
        self._found: dict[str, LanguageCounts] = {}

    def add(
        self,
        batch: _core.TextBatch,
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
        batch: _core.TextBatch,
        *,
        weights: NDArray[np.uint64],
        n_documents: int,
        n_bytes: int,
        num_threads: int | None,
    ) -> None:
        known = self._found.get(name)
        if known is None:
            counts = self._settings.method.new_counts(self._settings)
            known = LanguageCounts(name, counts, 0, 0)
        known.counts.add(batch, weights=weights, num_threads=num_threads)
        self._found[name] = replace(
            known,
            n_documents=known.n_documents + n_documents,
            n_bytes=known.n_bytes + n_bytes,
        )

    def languages(
        self, development: Mapping[str, _core.PretokenCounts] | None = None
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


def count_development(
    settings: TrainSettings,
    source: LanguageSource,
    *,
    field: str,
    documents: Literal["file", "line"],
    strict: bool,
    num_threads: int | None,
) -> dict[str, _core.PretokenCounts]:
    """Count the development text of each language; empty where there is none.

    Raises:
        UsageError: A document names no language.
        CorpusError: Or what else ``open_documents`` raises.
    """
    if not source.development:
        return {}
    counter = LanguageCounter(settings, source)
    stream = open_documents(
        list(source.development), field=field, documents=documents, strict=strict, **source.reading
    )
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
        settings: Of these, only what decides how text is cut matters here.
        development: The same for the text that is measured; None: what is learned from.
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

    def counted(given: Mapping[str, Any]) -> tuple[LanguageCounter, dict[str, Source]]:
        counter = LanguageCounter(settings, LanguageSource())
        sources: dict[str, Source] = {}
        for name, texts in given.items():
            for file, batch in open_documents(texts, **reading):
                counter.add(
                    batch,
                    numbers=np.zeros(len(batch), dtype=np.int32),
                    names=[name],
                    weights=np.ones(len(batch), dtype=np.uint64),
                    num_threads=num_threads,
                )
                known = sources.get(f"{name}:{file.path}", Source(f"{name}:{file.path}", 0, 0))
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
