"""Counts in files: written, read, added up, and the settings that they were cut by."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from jeton._core import PretokenCounts, __version__, published_patterns
from jeton._foreign import json_of
from jeton.corpus import InputFile
from jeton.corpus.care import CareTally
from jeton.corpus.inputs import domain_of_file
from jeton.corpus.weights import integer_weights, weight_of_file
from jeton.errors import EmptyCorpusError, FormatError, UsageError
from jeton.pretokenizing.rules import normalizer_names, pattern_and_rules
from jeton.training.counted import (
    CountedCorpus,
    LanguageCounts,
    RareCounts,
    TrainingSource,
    explained_full_disk,
    limit_memory,
)
from jeton.training.languages import LanguageCounter, LanguageSource, count_development
from jeton.training.settings import TrainSettings

_COUNTS_KIND = "jeton.counts/1"


def save_counts(path: str | os.PathLike[str], corpus: CountedCorpus) -> None:
    """Write counts to a file, whole or not at all: to train later, or to add up with others.

    Raises:
        OSError: The folder is missing, the disk is full ...
    """
    info = {
        "kind": _COUNTS_KIND,
        "jeton_version": __version__,
        "unit": corpus.unit,
        "sources": [asdict(source) for source in corpus.sources],
        "left_out": corpus.left_out.to_dict(),
        "pattern": corpus.pattern,
        "reading": dict(corpus.reading),
        "care": dict(corpus.care),
        "n_null_documents": corpus.n_null_documents,
        "n_bad_records": corpus.n_bad_records,
        **({"indents": True} if corpus.indents else {}),
    }
    corpus.counts.save(os.fspath(path), info=json.dumps(info))


def save_language_counts(folder: str | os.PathLike[str], corpus: CountedCorpus) -> list[Path]:
    """Write the counts of each language to a file of its name: ``FOLDER/LANGUAGE.counts``.

    Returns:
        The files, by language.

    Raises:
        UsageError: The name of a language cannot be that of a file.
        OSError: The disk is full ...
    """
    place = Path(folder)
    for language in corpus.languages:
        name = language.name
        if name.startswith(".") or not name.isprintable() or set(name) & set('/\\:*?"<>|'):
            raise UsageError(
                f"the name of the language {name!r} cannot be that of a file\n"
                "hint: train from the text, or give the languages other names"
            )
    place.mkdir(exist_ok=True)
    files = []
    for language in corpus.languages:
        # The share of an input is not known by language, and nobody asks for it again.
        source = TrainingSource(language.name, language.n_documents, language.n_bytes)
        files.append(place / f"{language.name}.counts")
        save_counts(
            files[-1],
            CountedCorpus(counts=language.counts, sources=(source,), unit=corpus.unit),
        )
    return files


def load_counts(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    settings: TrainSettings | None = None,
    weights: dict[str, Fraction] | None = None,
    max_memory: int | None = None,
    temp_dir: str | os.PathLike[str] | None = None,
    min_count: int = 1,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    strict: bool = False,
    on_bad_record: Literal["stop", "skip"] = "stop",
    num_threads: int | None = None,
) -> CountedCorpus:
    """Load files of counts and add them up.

    Args:
        paths: The files; all must have been cut the same way.
        settings: For an algorithm that learns by language: each file has the language of its name
            or folder, as ``language_by`` has it. Others need none.
        weights: By name of a file (a path, its name, its folder's, a glob): how much it counts.
        max_memory: Bytes of memory, at least 16 MiB; None: as many as it takes.
        temp_dir: Where counts go that have no room; None: the system's place for temporary files.
        min_count: Leave out pretokens that occur less often, which makes room: no string occurs
            more often in what was left out than that has bytes (``CountedCorpus.left_out`` does
            not count it; the core's ``at_least`` says how much it is). By language, where those
            are asked for.
        field: For the development text of an algorithm that has one: the field of its text.
        documents: For that text: the whole file is one document, or each line.
        strict: For that text: invalid Unicode is an error.
        on_bad_record: For that text: ``"stop"`` or ``"skip"``.
        num_threads: For that text: threads; None: all there are.

    Raises:
        FormatError: A file is not one of counts, or is damaged.
        UsageError: Files that were cut in different ways, a weight that matches none of them, or
            files that cannot say of which language they are.
        EmptyCorpusError: There are no pretokens.
    """
    names = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = [InputFile(os.fspath(path), "memory") for path in names]
    if not files:
        raise UsageError("no file of counts was given")
    for file in files:
        if sum(other.path == file.path for other in files) > 1:
            raise UsageError(f"the file of counts {file.path!r} was given twice")
        if Path(file.path).exists() and not Path(file.path).is_file():
            raise FormatError(
                f"{file.path} is no regular file, which counts are read from more than once\n"
                "hint: save what it gives to a file first",
                path=file.path,
                format="pretoken counts",
            )
    described = {file.path: PretokenCounts.describe_file(file.path) for file in files}
    infos = {path: _info(path, json_of(file.info)) for path, file in described.items()}
    indents = infos[files[0].path].indents
    for path, info in infos.items():
        if info.indents != indents:
            with_indents, without = (path, files[0].path)[:: 1 if info.indents else -1]
            raise UsageError(
                f"{with_indents} was counted with indents and {without} was not\n"
                "hint: count both with or both without --indents"
            )
    first = files[0].path
    for path, file_of_counts in described.items():
        if file_of_counts.cutting != described[first].cutting:
            one = _named_cutting(infos[path], file_of_counts.cutting)
            other = _named_cutting(infos[first], described[first].cutting)
            raise UsageError(
                f"{path} and {first} were cut in different ways: {one} and {other}\n"
                "hint: count both with the same algorithm, pattern, normalizer and rules"
            )
    matched = {file.path: weight_of_file(file, weights or {}) for file in files}
    for name in weights or {}:
        if not any(name in found for found, _ in matched.values()):
            raise UsageError(f"the weight of {name!r} matches no file of counts")
    # A file whose weights were made whole by a unit counts that many times too much.
    shares = {path: weight / infos[path].unit for path, (_, weight) in matched.items()}
    whole, unit = integer_weights({**shares, "": Fraction(1)})
    counts = PretokenCounts.cut_by(described[files[0].path].cutting)
    spoken: LanguageSource | None = None
    if settings is not None:
        settings = settings_of_counts(counts, settings)
        spoken = settings.method.languages(settings)
    if spoken is not None and spoken.field:
        raise UsageError(
            f"a file of counts has no field {spoken.field!r}: it is of one language\n"
            "hint: name it or its folder after the language (language_by)"
        )
    limit_memory(counts, max_memory, temp_dir, shares=1 if spoken is None else 4)
    by_language = LanguageCounter.of(
        settings or TrainSettings(), spoken, max_memory=max_memory, temp_dir=temp_dir
    )
    # One source may come with several weights.
    sources: dict[tuple[str, str], TrainingSource] = {}
    with explained_full_disk(temp_dir):
        for file in files:
            read = infos[file.path].sources
            if spoken is not None and by_language is not None:
                language = domain_of_file(file, spoken.by)
                if whole[file.path]:
                    by_language.counts_of(language).add_file(file.path, weight=whole[file.path])
                    for source in read:
                        by_language.add_totals(language, source.n_documents, source.n_bytes)
            elif whole[file.path]:
                counts.add_file(file.path, weight=whole[file.path])
            for source in read:
                weight = str(Fraction(source.weight) * matched[file.path][1])
                source = replace(source, weight=weight)
                known = sources.get((source.name, weight))
                sources[source.name, weight] = source if known is None else _sum(known, source)
    reading = {
        "field": field,
        "documents": documents,
        "strict": strict,
        "on_bad_record": on_bad_record,
    }
    rare = RareCounts()
    languages: tuple[LanguageCounts, ...] = ()
    if settings is not None and spoken is not None and by_language is not None:
        if min_count > 1:
            by_language.leave_out_rare(min_count)
        with explained_full_disk(temp_dir):
            development = count_development(
                settings,
                spoken,
                reading=reading,
                num_threads=num_threads,
                max_memory=None if max_memory is None else max_memory // 4,
                temp_dir=temp_dir,
            )
            languages = by_language.added_to(counts, development)
    elif min_count > 1:
        frequent = counts.at_least(min_count)
        counts = frequent.counts
        rare = RareCounts(
            n_distinct=frequent.n_distinct_left_out,
            n_pretokens=frequent.n_pretokens_left_out,
            n_bytes=frequent.n_bytes_left_out,
        )
    if not counts.n_pretokens:
        raise EmptyCorpusError("the files of counts hold no pretokens")
    return CountedCorpus(
        counts=counts,
        sources=tuple(sources.values()),
        unit=unit,
        languages=languages,
        indents=indents,
        n_null_documents=sum(info.n_null_documents for info in infos.values()),
        n_bad_records=sum(info.n_bad_records for info in infos.values()),
        pattern=infos[files[0].path].pattern,
        reading=infos[files[0].path].reading,
        care=infos[files[0].path].care,
        left_out=_tally(infos.values()),
        min_count=min_count,
        rare=rare,
    )


def _named_cutting(info: _Info, cutting: str) -> str:
    """How a file was counted, in the words in which that was asked for."""
    steps = json_of(cutting)
    found = [f"pattern {info.pattern!r}" if info.pattern else "another algorithm or base"]
    rules = pattern_and_rules(steps.get("pretokenizer", []))
    if rules is not None and rules[1]:
        found.append(f"the rules {', '.join(rules[1])}")
    try:
        names = normalizer_names(steps.get("normalizer", []))
    except ValueError:
        names = "another"
    if names:
        listed = names if isinstance(names, str) else ", ".join(names)
        found.append(f"the normalizer {listed}")
    return " with ".join(found)


def _tally(infos: Collection[_Info]) -> CareTally:
    """Documents left out of all the files together."""
    names = [part.name for part in fields(CareTally) if part.name != "n_broken"]
    total = {name: sum(int(info.left_out.get(name, 0)) for info in infos) for name in names}
    broken = Counter[str]()
    for info in infos:
        broken.update(info.left_out.get("n_broken", {}))
    return CareTally(**total, n_broken=dict(broken))


def settings_of_counts(
    counts: PretokenCounts, settings: TrainSettings, *, named: str = ""
) -> TrainSettings:
    """Settings that tell of the pattern and normalizer that counts were made with.

    Counts that were cut in a way that settings have no words for (SentencePiece's lines) leave
    them as they are.
    """
    if settings.method.new_counts(settings).cutting == counts.cutting:
        return settings
    cutting = json_of(counts.cutting)
    found_rules = pattern_and_rules(cutting.get("pretokenizer", []))
    if found_rules is None:
        return settings
    pattern, rules = found_rules
    if "rules" in settings.method.takes:
        settings = replace(settings, rules=rules)
    published = published_patterns()
    # Some have several names: the one that was asked for comes first.
    for name in (settings.pattern, *([named] if named else ()), *published):
        if pattern == published.get(name, name):
            pattern = name
            break
    try:
        normalizer = normalizer_names(cutting.get("normalizer", []))
    except ValueError:
        return settings
    found = replace(settings, pattern=pattern, normalizer=normalizer)
    return found if settings.method.new_counts(found).cutting == counts.cutting else settings


@dataclass(frozen=True, slots=True)
class _Info:
    """Header of a file of counts."""

    unit: int
    sources: tuple[TrainingSource, ...]
    indents: bool
    pattern: str
    reading: Mapping[str, Any]
    care: Mapping[str, Any]
    left_out: Mapping[str, Any]
    n_null_documents: int
    n_bad_records: int


def _info(path: str, info: Any) -> _Info:
    """Check the header of a file of counts."""
    if not isinstance(info, dict) or info.get("kind") != _COUNTS_KIND:
        kind = info.get("kind") if isinstance(info, dict) else None
        raise UsageError(
            f"{path} is no file of finished counts (its kind is {kind!r})\n"
            "hint: a checkpoint is taken up again with resume"
        )
    try:
        unit = int(info["unit"])
        sources = tuple(TrainingSource(**source) for source in info["sources"])
        for source in sources:
            Fraction(source.weight)
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise UsageError(f"{path}: its sources cannot be read: {error}") from error
    if unit < 1:
        raise UsageError(f"{path}: its unit is {unit}; expected at least 1")
    return _Info(
        unit,
        sources,
        bool(info.get("indents", False)),
        str(info.get("pattern", "")),
        dict(info.get("reading", {})),
        dict(info.get("care", {})),
        dict(info.get("left_out", {})),
        int(info.get("n_null_documents", 0)),
        int(info.get("n_bad_records", 0)),
    )


def _sum(a: TrainingSource, b: TrainingSource) -> TrainingSource:
    return TrainingSource(
        name=a.name,
        n_documents=a.n_documents + b.n_documents,
        n_bytes=a.n_bytes + b.n_bytes,
        n_replaced_documents=a.n_replaced_documents + b.n_replaced_documents,
        weight=a.weight,
        n_left_out_documents=a.n_left_out_documents + b.n_left_out_documents,
        sha256=a.sha256 if a.sha256 == b.sha256 else "",
    )
