"""The process that reads chunks of a log: questions on standard input, answers on standard output.

A question is the number of the first line (8 bytes), the length (8 bytes) and the lines; an answer
its length (8 bytes) and its bytes. The first question is the options. The end of the input ends the
process.
"""

from __future__ import annotations

import gc
import marshal
import signal
import sys
from dataclasses import astuple
from itertools import count
from typing import Final

from jeton.corpus.requests.chunks import ChunkReader
from jeton.corpus.requests.fields import FieldNames
from jeton.corpus.requests.reading import ReadOptions

_CHUNKS_PER_COLLECTION: Final = 64


def packed_options(options: ReadOptions, max_record_bytes: int) -> bytes:
    """Options as the process takes them."""
    names, turns, time_unit = options
    return marshal.dumps((astuple(names), turns, time_unit, max_record_bytes))


def main() -> None:
    """Answer until there are no more questions."""
    # Ctrl-C is the business of the process that asks.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    reader: ChunkReader | None = None
    # Records are no cycles, and the collector walks them all while they are made.
    gc.disable()
    for n_chunks in count(1):
        if n_chunks % _CHUNKS_PER_COLLECTION == 0:
            gc.collect()
        head = questions.read(16)
        if len(head) < 16:
            return
        first_line, size = int.from_bytes(head[:8], "little"), int.from_bytes(head[8:], "little")
        data = questions.read(size)
        if len(data) < size:
            return
        if reader is None:
            names, turns, time_unit, max_record_bytes = marshal.loads(data)
            options = ReadOptions(FieldNames(*names), turns, time_unit)
            reader = ChunkReader(options, max_record_bytes=max_record_bytes)
            continue
        answer = reader.read(first_line, data)
        answers.write(len(answer).to_bytes(8, "little"))
        answers.write(answer)
        answers.flush()
