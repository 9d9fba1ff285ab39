"""Request logs counted: whole, or in parts that other processes count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from jeton.auditing.options.logs import LogOptions, open_logs
from jeton.corpus import InputFile
from jeton.corpus.requests.seams import PartEntry, PartExit
from jeton.corpus.requests.shards import LogPart, parts_of, plan_shards
from jeton.progress import OnProgress
from jeton.workload.counting.counts import Counts, Setup
from jeton.workload.counting.scan import scan
from jeton.workload.inputs.log_pricing import LogPricing, PricingOptions
from jeton.workload.inputs.portions import RequestPortions
from jeton.workload.inputs.requests import RequestCollector

if TYPE_CHECKING:
    from jeton.corpus import RequestStream


@dataclass(frozen=True, slots=True)
class LogReading:
    """Options for reading and pricing logs.

    Attributes:
        logs: How the files are written.
        domain_field: Field that names the domain; empty: none.
        domains_by: The domain is the file or the folder; None: it is not.
        strict: True if a record that cannot be read is an error.
        pricing: How requests are priced.
    """

    logs: LogOptions
    domain_field: str
    domains_by: str | None
    strict: bool
    pricing: PricingOptions

    def open(
        self,
        inputs: Any,
        *,
        part: LogPart | None = None,
        entry: PartEntry | None = None,
        num_processes: int | None = None,
        on_progress: OnProgress | None = None,
    ) -> tuple[RequestStream, RequestPortions, RequestCollector]:
        """Open logs; errors as those of `jeton.corpus.open_requests`."""
        stream = open_logs(
            inputs,
            self.logs,
            domain_field=self.domain_field,
            domains_by=self.domains_by,
            strict=self.strict,
            part=part,
            entry=entry,
            num_processes=num_processes,
            on_progress=on_progress,
        )
        collector = RequestCollector(pricing=LogPricing(self.pricing))
        return stream, RequestPortions(stream, collector), collector


@dataclass(frozen=True, slots=True)
class LogJob:
    """Logs to be counted in parts, with all that a process has to know; it can be pickled.

    Attributes:
        reading: How logs are read and priced.
        setup: With what they are counted.
        parts: The parts, in order.
        skipped: Files that are not read.
    """

    reading: LogReading
    setup: Setup
    parts: tuple[LogPart, ...]
    skipped: tuple[InputFile, ...]

    @classmethod
    def of(cls, reading: LogReading, setup: Setup, stream: RequestStream) -> LogJob:
        """The job of a stream that was opened, and is not read."""
        shards = plan_shards(stream.files, format=reading.logs.format)
        return cls(reading, setup, tuple(parts_of(shards)), stream.skipped)

    def count(self, number: int, entry: PartEntry, *, num_threads: int) -> tuple[PartExit, Counts]:
        """Count a part.

        Args:
            number: Number of the part.
            entry: Facts that the part knows of the parts before it.
            num_threads: Threads of the core.

        Raises:
            RecordError: A file is unreadable, or, under strict reading, a record.
            OSError: A file is gone.
        """
        part = self.parts[number]
        stream, portions, collector = self.reading.open(
            [shard.file for shard in part],
            part=part,
            entry=replace(entry, part=number),
            num_processes=0,
        )
        counts = scan(portions, self.setup, num_threads=num_threads)
        counts.requests = collector
        return stream.part_exit(), counts
