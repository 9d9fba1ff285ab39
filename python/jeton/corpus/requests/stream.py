"""Request logs in: what was sent, what came back, and what the provider counted.

``open_requests`` streams logs of any known shape as batches of texts with columns beside them. No
record is dropped in silence: what is odd about a log is counted in ``RequestStream.issues``.
Cost: O(bytes); memory of a batch and the longest record.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from jeton._core import TextBatch
from jeton.corpus.documents import (
    DEFAULT_BATCH_BYTES,
    MAX_TEXTS_PER_BATCH,
    MEMORY,
    read_progress,
)
from jeton.corpus.inputs import STANDARD_INPUT, DomainsBy, InputFile, domain_of_file
from jeton.corpus.json_records import without_collector
from jeton.corpus.names import OTHER, Names
from jeton.corpus.places import RecordPlaces
from jeton.corpus.requests.blocks import Blocks
from jeton.corpus.requests.columns import (
    STANDARD,
    UNKNOWN,
    ColumnsBuilder,
    Correction,
    HandedOut,
    History,
    RequestBatch,
    with_usage,
)
from jeton.corpus.requests.fields import FieldNames, is_known_column
from jeton.corpus.requests.issues import IssueLog, LogIssue, Place
from jeton.corpus.requests.joining import ReplacedRow
from jeton.corpus.requests.messages import ChatRenderer
from jeton.corpus.requests.parsed import Row
from jeton.corpus.requests.parsing import RecordParser
from jeton.corpus.requests.pool import MAX_PROCESSES, ReadingPool, processes_for
from jeton.corpus.requests.reading import ReadOptions, Turns
from jeton.corpus.requests.records import RecordFormat, files_or_records, records_of_file
from jeton.corpus.requests.seams import PartEntry, PartExit, stable_hash
from jeton.corpus.requests.sent import SentBlocks
from jeton.corpus.requests.shards import (
    LogPart,
    LogShard,
    lines_before,
    pieces_of_range,
    plan_shards,
)
from jeton.corpus.requests.summary import (
    UNREADABLE_WORDS,
    LogFacts,
    PartEdges,
    RequestsSummary,
    RequestsTally,
    empty_log,
)
from jeton.corpus.times import TimeUnit
from jeton.errors import RecordError, UsageError
from jeton.progress import OnProgress, Progress

MAX_RECORD_BYTES: Final = 32 << 20
"""32 MiB: a prompt of a million tokens has 4 to 5 MB, with images in base64 some tens. Parsed, a
hostile record of this size takes some 700 MB (a list of empty lists)."""

_UNREADABLE: Final = ("not_json", "line_too_long", "not_a_request")
"""Issues that are errors under strict reading."""

RequestInputs: TypeAlias = str | os.PathLike[str] | Iterable[Any]


class RequestStream(Iterator[RequestBatch]):
    """Batches of requests. Made by ``open_requests``.

    The counts below cover what has been handed out so far; after the last batch they are final.
    """

    def __init__(
        self,
        files: Sequence[InputFile],
        records: Callable[[RequestStream, LogShard], Iterator[tuple[int, Any]]],
        *,
        parser: Callable[[Callable[[int], Place]], RecordParser],
        issues: IssueLog,
        batch_bytes: int,
        domains_by: DomainsBy | None,
        strict: bool,
        on_progress: OnProgress | None,
        on_end: Callable[[], None],
        shards: Callable[[Sequence[InputFile]], Sequence[LogShard]],
        entry: PartEntry | None,
    ) -> None:
        """Not for callers: see ``open_requests``."""
        self.files: tuple[InputFile, ...] = tuple(f for f in files if not f.skipped_because)
        """The inputs that are read, in order."""
        self.skipped: tuple[InputFile, ...] = tuple(f for f in files if f.skipped_because)
        """The inputs that are not read; each says why."""
        self.n_records = 0
        """Records read, whether or not they gave a request."""
        self.n_bytes = 0
        """Bytes of what was sent, UTF-8."""
        self._parser = parser(self._place)
        self._issues = issues
        self._domains = Names()
        self._models = Names()
        self._providers = Names()
        self._tariffs = Names()
        self._tariffs.number(STANDARD)
        self._history = History()
        self._n_rows = 0
        self._tally = RequestsTally()
        self._batch_bytes = batch_bytes
        self._domains_by = domains_by
        self._file_domain: str | None = None
        self._strict = strict
        self._bytes_before = 0
        self._bytes_of_file = 0
        self._file = files[0] if files else InputFile(MEMORY, "memory")
        self._on_progress = on_progress
        self._on_end = on_end
        self._n_lines = 0
        self._shards = shards(self.files)
        self._entry = entry
        self._iterator = self._iterate(records)

    def __iter__(self) -> RequestStream:
        """The stream itself: it can be read once."""
        return self

    def __next__(self) -> RequestBatch:
        """The next batch; it has at least one request, or a correction of an earlier one."""
        return next(self._iterator)

    @property
    def n_requests(self) -> int:
        """Requests handed out so far."""
        return self._tally.n_requests

    @property
    def domains(self) -> list[str]:
        """The names of the domains, by the number in ``columns.domain``."""
        return self._domains.names

    @property
    def models(self) -> list[str]:
        """The names of the models, by the number in ``columns.model``."""
        return self._models.names

    @property
    def providers(self) -> list[str]:
        """The names of the providers, by the number in ``columns.provider``."""
        return self._providers.names

    @property
    def tariffs(self) -> list[str]:
        """The names of the tariffs, by the number in ``columns.tariff``; the first is standard."""
        return self._tariffs.names

    @property
    def joined(self) -> dict[str, int]:
        """Records that were joined with others instead of counted, by kind."""
        return dict(self._parser.joiner.joined)

    @property
    def issues(self) -> dict[str, LogIssue]:
        """Faults of the log, by kind (``issues.ISSUE_KINDS``)."""
        return self.facts().found_issues()

    @property
    def progress(self) -> Progress:
        """How far reading has come."""
        done = self._bytes_before + self._bytes_of_file
        return read_progress(self.files, n_bytes=done, n_documents=self.n_requests)

    def summary(self) -> RequestsSummary:
        """The log in figures, as far as it has been read."""
        return self.facts().summary()

    def facts(self) -> LogFacts:
        """Figures behind the summary; those of parts of a log add up to those of the whole."""
        parser = self._parser
        edges = PartEdges(
            path=self._shards[0].file.path if self._shards else "",
            begins_inside=bool(self._shards and self._shards[0].start),
            is_one_file=len(self.files) <= 1,
            first_timed=parser.first_timed,
            last_time_s=parser.last_time_s,
            n_lines=self._n_lines,
        )
        return LogFacts(
            tally=self._tally,
            models=tuple(self.models),
            shapes=parser.shapes,
            conventions=parser.conventions,
            unread=parser.unread,
            unread_units=parser.unread_units,
            joined=Counter(parser.joiner.joined),
            issues=self._issues,
            has_template=parser.has_template,
            uses_overhead=parser.uses_overhead,
            n_records=self.n_records,
            n_with_id=parser.joiner.n_with_id,
            n_rows=self._n_rows,
            edges=edges,
        )

    @property
    def part(self) -> int | None:
        """Number of the part of a log that this is; None: it is read by itself."""
        return None if self._entry is None else self._entry.part

    def part_exit(self) -> PartExit:
        """Facts for the parts of the log behind this one, after the last batch."""
        names = (self.domains, self.models, self.models, self.providers, self.tariffs)
        return PartExit(self._parser, self._history, names, self._entry, self._n_lines)

    def close(self) -> None:
        """Close the open file, where one is open; the stream has ended."""
        self._iterator.close()

    def report(self, kind: str, line: int, detail: str) -> None:
        """Used by the readers: something could not be read.

        Raises:
            RecordError: Under strict reading.
        """
        place = self._place(line)
        if self._strict and kind in _UNREADABLE:
            if self._shards and self._shards[0].start:
                line += lines_before(self._shards[0])
                place = place._replace(line=line)
            what = f": {detail}" if detail else ""
            raise RecordError(
                f"{place}: {UNREADABLE_WORDS[kind]}{what}\n"
                "hint: without strict, such records are counted and left out",
                path=self._file.path,
                line=line,
            )
        self._issues.add(kind, place, detail)

    def set_bytes_of_file(self, n_bytes: int) -> None:
        """Used by the readers: bytes taken from the current file so far."""
        self._bytes_of_file = n_bytes

    def add_lines(self, n_lines: int) -> None:
        """Used by the readers: lines of a part of a file that were taken."""
        self._n_lines += n_lines

    @property
    def n_lines(self) -> int:
        """Lines of the file that were taken, where it is read in parts."""
        return self._n_lines

    def _place(self, line: int) -> Place:
        unit = "row" if self._file.format in ("parquet", "memory") else "line"
        return Place(self._file.path, unit, line)

    def _iterate(
        self, records: Callable[[RequestStream, LogShard], Iterator[tuple[int, Any]]]
    ) -> Generator[RequestBatch, None, None]:
        try:
            for number, shard in enumerate(self._shards):
                is_new = not number or not shard.start
                if is_new:
                    self._start_file(shard.file)
                if number == 0 and self._entry is not None:
                    self._enter(self._entry)
                yield from self._iterate_shard(shard, records(self, shard))
        finally:
            self._on_end()
        if not self.n_requests and self._entry is None:
            raise empty_log(self.facts(), n_skipped=len(self.skipped))

    def _start_file(self, file: InputFile) -> None:
        self._file = file
        self._n_lines = 0
        self._parser.start_file(file.path)
        self._file_domain = domain_of_file(file, self._domains_by) if self._domains_by else None

    def _enter(self, entry: PartEntry) -> None:
        """Know what the parts of the log before this one say."""
        self._parser.joiner.seed(entry.joins)
        self._parser.go_on(entry.file)
        kinds = (self._domains, self._models, self._models, self._providers, self._tariffs)
        for ticket, row in entry.rows.items():
            numbers = [
                self._number(kind, name) for kind, name in zip(kinds, row.names, strict=False)
            ]
            self._history.change(ticket, row.renamed(numbers))

    def _iterate_shard(
        self, shard: LogShard, records: Iterator[tuple[int, Any]]
    ) -> Iterator[RequestBatch]:
        # A part ends a batch: parts that are read apart do the same.
        for rows, changes in self._batches_of_rows(records, is_end_of_file=shard.end < 0):
            batch = self._batch(shard.file, rows, changes)
            self._report_progress()
            yield batch
        if shard.end >= 0:
            return
        n_bytes = shard.file.n_bytes
        self._bytes_before += self._bytes_of_file if n_bytes is None else n_bytes
        self._bytes_of_file = 0
        self._report_progress()

    def _batches_of_rows(
        self, records: Iterator[tuple[int, Any]], *, is_end_of_file: bool
    ) -> Iterator[tuple[list[Row], list[ReplacedRow]]]:
        is_end = False
        while not is_end:
            # Records and rows are no cycles, and the collector walks all that wait for a batch.
            with without_collector():
                is_end = self._fill(records)
                if is_end and is_end_of_file:
                    self._parser.end_file(is_last=self._file is self.files[-1])
                rows, changes = self._parser.joiner.take()
            if rows or changes:
                yield rows, changes

    def _fill(self, records: Iterator[tuple[int, Any]]) -> bool:
        """Take records until there are enough for a batch; returns whether there are no more."""
        parser, joiner = self._parser, self._parser.joiner
        for line, record in records:
            self.n_records += 1
            n_unusable = self._issues.n("not_a_request") if self._strict else 0
            parser.take(record, line)
            if self._strict and self._issues.n("not_a_request") > n_unusable:
                self.report("not_a_request", line, "")
            # Characters stand in for bytes: batches need only be about as large.
            if joiner.n_chars >= self._batch_bytes or len(joiner.pending) >= MAX_TEXTS_PER_BATCH:
                return False
        return True

    def _batch(self, file: InputFile, rows: list[Row], changes: list[ReplacedRow]) -> RequestBatch:
        columns = ColumnsBuilder()
        # Column by column: most rows have the names of the row before.
        (
            sent, received, usages, models, asked, providers, tariffs, conversations, n_requests,
            from_caches, times, domains, overheads, has_text, lines, record_ids, blocks,
            hashed,
        ) = zip(*rows, strict=True) if rows else ((),) * len(Row._fields)  # fmt: skip
        if self._file_domain is not None:
            domains = (self._file_domain,) * len(rows)
        columns.extend(
            domain=self._numbers(self._domains, domains),
            model=self._numbers(self._models, models),
            model_asked=self._numbers(self._models, asked),
            provider=self._numbers(self._providers, providers),
            tariff=self._numbers(self._tariffs, tariffs),
            conversation=conversations,
            n_requests=n_requests,
            from_gateway_cache=from_caches,
            time_s=times,
            overhead_tokens=overheads,
            has_text=has_text,
            usage=[usage[:6] for usage in usages],
            extras=[usage.columns for usage in usages],
        )
        texts = TextBatch.from_texts(sent)
        has_response = np.array([response is not None for response in received], dtype=np.bool_)
        responses = None
        if has_response.any():
            responses = TextBatch.from_texts([response or "" for response in received])
        for batch in (texts, responses):
            if batch is not None and batch.n_replaced_documents:
                self._issues.add("invalid_unicode", Place(file.path), n=batch.n_replaced_documents)
        built = columns.build()
        self._tally.add(built, n_with_response=int(has_response.sum()))
        self.n_bytes += texts.n_bytes
        first_row = self._n_rows
        self._n_rows += len(built)
        self._history.add(first_row, built, np.diff(texts.offsets), has_response)
        corrections = tuple(
            made for made in (self._correction(change) for change in changes) if made is not None
        )
        return RequestBatch(
            file=file,
            texts=texts,
            columns=built,
            responses=responses,
            first_row=first_row,
            places=RecordPlaces(list(lines), list(record_ids)),
            blocks=Blocks.of(sent, blocks),
            sent=SentBlocks.of(hashed),
            corrections=corrections,
        )

    def _correction(self, change: ReplacedRow) -> Correction | None:
        """A change as a correction, and the sums corrected by it."""
        old = self._history.row(change.row)
        if old is None:
            return None  # it went
        now: HandedOut | None = None
        if change.by is not None:
            tariff = self._number(self._tariffs, change.by.tariff)
            now = old._replace(columns=with_usage(old.columns, change.by.usage, tariff))
        for row, sign in ((old, -1), (now, 1)):
            if row is not None:
                n_with_response = int(row.has_response)
                self._tally.add(row.columns, n_with_response=n_with_response, sign=sign)
        if now is None:
            self.n_bytes -= old.n_bytes
        self._history.change(change.row, now)
        number, part = change.row, None
        if number < 0 and self._entry is not None:
            place = self._entry.rows[number]
            number, part = place.row, place.part
        columns = None if now is None else now.columns
        return Correction(number, columns, old.columns, old.n_bytes, part)

    def _numbers(self, names: Names, given: Sequence[str | None]) -> list[int]:
        known: dict[str | None, int] = {}
        numbers = []
        for name in given:
            number = known.get(name)
            if number is None:
                number = self._number(names, name or None)
                if number != UNKNOWN and names.names[number] == OTHER:
                    numbers.append(number)  # each of the rest is counted
                    continue
                known[name] = number
            numbers.append(number)
        return numbers

    def _number(self, names: Names, name: str | None) -> int:
        if name is None:
            return UNKNOWN
        number, is_kept = names.number(name)
        if not is_kept:
            self._issues.add("too_many_names", Place(self._file.path), name[:80])
        return number

    def _report_progress(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self.progress)


def open_requests(
    inputs: RequestInputs,
    *,
    format: RecordFormat = "auto",  # noqa: A002 - the field's name in the documentation
    template: ChatRenderer | None = None,
    turns: Turns = "last",
    prompt_field: str = "",
    response_field: str = "",
    model_field: str = "",
    time_field: str = "",
    time_unit: TimeUnit = "auto",
    domain_field: str = "",
    domains_by: DomainsBy | None = None,
    strict: bool = False,
    num_processes: int | None = None,
    batch_bytes: int = DEFAULT_BATCH_BYTES,
    max_record_bytes: int = MAX_RECORD_BYTES,
    max_decompressed_bytes: int | None = None,
    part: LogPart | None = None,
    entry: PartEntry | None = None,
    on_progress: OnProgress | None = None,
) -> RequestStream:
    """Stream the requests of logs as batches of texts with columns.

    The shape of each record is told by its fields: OpenAI (chat completions, responses, batch
    files), Anthropic, Gemini, Bedrock, OpenTelemetry GenAI spans (JSON lines or OTLP JSON), or
    plain records with ``prompt`` or ``messages``, ``response``, ``model``, ``timestamp`` and
    ``usage`` by their usual names. docs/reference/inputs.md has them all.

    Args:
        inputs: Paths, folders, globs and ``"-"``, as for ``open_documents``; or records: an
            iterable of mappings.
        format: ``jsonl``, ``json`` (an array, or values over several lines), ``csv`` or
            ``parquet``; ``auto``: told by the name and the content of each file.
        template: Writes a chat as it is sent (``messages.ChatRenderer``). Without it
            messages are joined by line breaks, and ``columns.overhead_tokens`` has what OpenAI's
            published formula adds for their format.
        turns: A chat is one request (``last``: all of its messages were sent at once), or one
            for each answer in it (``each``: what precedes an answer was sent for it).
        prompt_field: Where what was sent is; dots descend. Empty: by the usual names.
        response_field: Where what came back is.
        model_field: Where the model's name is.
        time_field: Where the time is.
        time_unit: Unit of times that are numbers; ``auto`` tells it by their size.
        domain_field: Where the domain's name is (a service, a route, a language); for spans the
            name of an attribute.
        domains_by: The domain is the ``file`` or the ``folder`` of a record instead.
        strict: A record that cannot be read is an error instead of being counted and left out.
        num_processes: How many processes read JSON lines beside this one; the result is the same
            for any number. 0: none. By default two for a large log on several cores, else none.
        batch_bytes: Batches are about this large.
        max_record_bytes: A longer record is counted and left out unread.
        max_decompressed_bytes: A compressed file that becomes larger is an error.
        part: The part of the inputs that is read (``shards.parts_of``); they are its files.
        entry: Facts of the parts before it (``seams``); a part without a request is no error.
        on_progress: Called after each batch and each file.

    Raises:
        FileNotFoundError: An input is missing; the nearest existing name is offered.
        EmptyCorpusError: There is no request, while iterating.
        RecordError: A Parquet file or, under ``strict``, a record is unreadable, while iterating.
        LimitError: A file is larger than a limit against hostile files, while iterating.
        MissingExtraError: Parquet without pyarrow, while iterating.
        UsageError: Arguments that cannot be meant.
    """
    if num_processes is not None and not 0 <= num_processes <= MAX_PROCESSES:
        raise UsageError(
            f"num_processes is {num_processes}; it should be from 0 to {MAX_PROCESSES}\n"
            "hint: two or three keep the process busy that takes what they read"
        )
    if batch_bytes < 1 or max_record_bytes < 1:
        name, value = (
            ("batch_bytes", batch_bytes)
            if batch_bytes < 1
            else ("max_record_bytes", max_record_bytes)
        )
        raise UsageError(f"{name} is {value}; it should be at least 1")
    if domain_field and domains_by:
        raise UsageError(
            "domain_field and domains_by contradict one another\n"
            "hint: a domain is named by a field, or it is the file or folder"
        )
    fields = FieldNames(
        prompt=prompt_field,
        response=response_field,
        model=model_field,
        time=time_field,
        domain=domain_field,
    )
    files, memory = files_or_records(inputs)
    if any(f.path == STANDARD_INPUT for f in files) and format == "parquet":
        raise UsageError(
            "Parquet cannot be read from standard input: its index is at the end of the file\n"
            "hint: give the path of a file"
        )

    options = ReadOptions(fields, turns, time_unit)
    pool = None
    # Rendered, or by its turns, a chunk would grow beyond all bounds; strictness ends early.
    if template is None and turns == "last" and not strict and memory is None:
        if num_processes is None:
            num_processes = processes_for(file.n_bytes or 0 for file in files)
        if num_processes > 0:
            pool = ReadingPool(
                options, max_record_bytes=max_record_bytes, n_processes=num_processes
            )

    def records(stream: RequestStream, shard: LogShard) -> Iterator[tuple[int, Any]]:
        file = shard.file
        if memory is not None and file.format == "memory":
            yield from enumerate(memory, start=1)
            return
        yield from records_of_file(
            file,
            format=format,
            max_record_bytes=max_record_bytes,
            max_decompressed_bytes=max_decompressed_bytes,
            is_wanted=partial(is_known_column, fields),
            report=stream.report,
            on_bytes=stream.set_bytes_of_file,
            pool=pool,
            lines=None if shard.is_whole else partial(lines_of, stream, shard),
            first_line=stream.n_lines + 1,
        )

    def lines_of(
        stream: RequestStream, shard: LogShard, report: Callable[[str, int, str], None]
    ) -> Iterator[bytes]:
        return pieces_of_range(
            shard,
            first_line=stream.n_lines + 1,
            report=report,
            on_bytes=stream.set_bytes_of_file,
            on_lines=stream.add_lines,
        )

    issues = IssueLog()

    def parser(place: Callable[[int], Place]) -> RecordParser:
        hash_of = hash if entry is None else stable_hash
        return RecordParser(options, template=template, issues=issues, place=place, hash_of=hash_of)

    return RequestStream(
        files,
        records,
        parser=parser,
        issues=issues,
        batch_bytes=batch_bytes,
        domains_by=domains_by,
        strict=strict,
        on_progress=on_progress,
        on_end=pool.close if pool is not None else (lambda: None),
        shards=partial(plan_shards, format=format) if part is None else (lambda _: part),
        entry=entry,
    )
