"""Parts of logs that are read apart: a range of lines of a large file, or a whole file.

Where a file is cut depends on its size alone, and one machine reads part after part, too. Only JSON
lines that are neither compressed nor UTF-16 can be begun in the middle; any other file is one part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from jeton._core import TextBatch
from jeton.corpus.inputs import InputFile
from jeton.corpus.json_records import looks_like_values
from jeton.corpus.objects import read_range
from jeton.corpus.requests.records import PIECE_BYTES, RecordFormat, record_format_of

SHARD_BYTES: Final = 128 << 20
"""128 MiB: some ten seconds of work, which is what a worker that dies loses."""

MAX_FILES: Final = 1_024
"""Small files of one part."""

_BOM: Final = b"\xef\xbb\xbf"
_UNCUT: Final = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
"""Beginnings of files that are gzip, zstd, UTF-16 or UTF-32."""


@dataclass(frozen=True, slots=True)
class LogShard:
    """A part of a log.

    Attributes:
        file: The file.
        start: First byte of a range of lines; a line belongs to the range in which it begins.
        end: One past the last byte of the range; -1: up to the end of the file.
    """

    file: InputFile
    start: int = 0
    end: int = -1

    @property
    def is_whole(self) -> bool:
        """True if it is the whole file."""
        return not self.start and self.end < 0

    @property
    def n_bytes(self) -> int:
        """Bytes as stored."""
        return max(
            0, (self.file.n_bytes or 0) - self.start if self.end < 0 else self.end - self.start
        )


LogPart: TypeAlias = tuple[LogShard, ...]
"""A range of a file, or some whole files."""


def parts_of(shards: Sequence[LogShard]) -> list[LogPart]:
    """Shards as parts of about the same size: small files go together."""
    parts: list[LogPart] = []
    waiting: list[LogShard] = []
    for shard in shards:
        if waiting and (
            not shard.is_whole
            or sum(s.n_bytes for s in waiting) + shard.n_bytes > SHARD_BYTES
            or len(waiting) >= MAX_FILES
        ):
            parts.append(tuple(waiting))
            waiting = []
        if shard.is_whole:
            waiting.append(shard)
        else:
            parts.append((shard,))
    return [*parts, tuple(waiting)] if waiting else parts


def plan_shards(files: Sequence[InputFile], *, format: RecordFormat) -> list[LogShard]:  # noqa: A002
    """The parts of files, in order.

    Raises:
        OSError: A file cannot be read.
    """
    shards: list[LogShard] = []
    for file in files:
        starts = [0]
        if (file.n_bytes or 0) > SHARD_BYTES and _has_lines(file, format):
            starts = list(range(0, file.n_bytes or 0, SHARD_BYTES))
        shards += [
            LogShard(file, start, end) for start, end in zip(starts, [*starts[1:], -1], strict=True)
        ]
    return shards


def _has_lines(file: InputFile, format: RecordFormat) -> bool:  # noqa: A002
    if file.encoding or file.format == "memory":
        return False
    if format == "auto":
        format = record_format_of(file)  # noqa: A001
    if format not in ("auto", "jsonl"):
        return False
    head = read_range(file.path, 0, PIECE_BYTES)
    if head.startswith(_UNCUT):
        return False
    text = TextBatch.from_texts([head.removeprefix(_BOM)]).data.tobytes()
    return format == "jsonl" or not looks_like_values(text[: text.rfind(b"\n") + 1] or text)


def pieces_of_range(
    shard: LogShard,
    *,
    first_line: int,
    report: Callable[[str, int, str], None],
    on_bytes: Callable[[int], None],
    on_lines: Callable[[int], None],
) -> Iterator[bytes]:
    """The lines of a part, as valid UTF-8, a few MiB at a time.

    Args:
        shard: The part.
        first_line: Number of its first line.
        report: Called for what is replaced.
        on_bytes: Called with the bytes of the file up to where it was read.
        on_lines: Called with the lines of each piece.

    Raises:
        OSError: It cannot be read.
    """
    path, line = shard.file.path, first_line
    for at, data in _raw_pieces(path, shard.start, shard.end):
        batch = TextBatch.from_texts([data.removeprefix(_BOM) if not at else data])
        text = batch.data.tobytes()
        if batch.n_replacements:
            near = line + text.count(b"\n", 0, max(0, text.find("\ufffd".encode())))
            report("invalid_unicode", near, f"{batch.n_replacements:,} characters from here on")
        n_lines = text.count(b"\n")
        line += n_lines
        on_lines(n_lines)
        on_bytes(at + len(data))
        yield text


def lines_before(shard: LogShard) -> int:
    """Lines of the file before a part; reads all of them."""
    return sum(data.count(b"\n") for _, data in _raw_pieces(shard.file.path, 0, shard.start))


def _raw_pieces(path: str, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """The bytes of the lines that begin in a range, with their places, cut where characters end."""
    at = _next_line(path, start - 1) if start else 0
    waiting = b""
    while not 0 <= end <= at or waiting:
        data = waiting + read_range(path, at + len(waiting), at + PIECE_BYTES)
        # The line that begins before the end goes on behind it.
        last = data.find(b"\n", max(0, end - 1 - at)) + 1 if 0 <= end <= at + len(data) else 0
        if last or len(data) < PIECE_BYTES:
            if data:
                yield at, data[:last] if last else data
            return
        cut = data.rfind(b"\n") + 1 or _end_of_character(data)
        yield at, data[:cut]
        waiting, at = data[cut:], at + cut
        if 0 <= end <= at and not data[:cut].endswith(b"\n"):
            end = at + 1  # in the middle of the last line


def _next_line(path: str, at: int) -> int:
    """Return the place where the next line begins, or the end of the file."""
    while data := read_range(path, at, at + PIECE_BYTES):
        place = data.find(b"\n") + 1
        if place:
            return at + place
        at += len(data)
    return at


def _end_of_character(data: bytes) -> int:
    """Return the end of the last whole character, as far as the text is UTF-8."""
    for back in range(1, 5):
        if data[-back] & 0xC0 != 0x80:
            return len(data) - back
    return len(data)
