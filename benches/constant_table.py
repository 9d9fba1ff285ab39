"""The constants of the Rust core that steer its speed, and what scales one in a source file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["CONSTANTS", "Change", "Constant", "changes", "rewritten", "table"]


@dataclass(frozen=True, slots=True)
class Constant:
    """A number in the core that may have another value, with the same ids.

    Attributes:
        name: its name in the file; several files may have one of that name.
        file: below ``crates/``.
        unit: of what it is a number.
        rows: beginnings of the names of the workloads that show it.
        steps: how many times a scale is applied: twice where only every fourth value is natural.
    """

    name: str
    file: str
    unit: str
    rows: tuple[str, ...]
    steps: int = 1

    @property
    def key(self) -> str:
        """``file:NAME``, which no other constant has."""
        return f"{self.file}:{self.name}"


@dataclass(frozen=True, slots=True)
class Change:
    """A new value of a constant: a factor, or the value itself."""

    constant: Constant
    scale: float = 1.0
    value: str | None = None


_PASSES = ("first ", "warm ")

CONSTANTS = (
    *(
        Constant(name, f"jeton-core/src/cache/{file}", unit, _PASSES, steps)
        for file, name, unit, steps in (
            ("two_way.rs", "EARLY_DISPLACED", "pretokens for 16 sets", 1),
            ("two_way.rs", "LATE_DISPLACED", "pretokens for 16 sets", 1),
            ("records.rs", "PROBES", "slots", 1),
            ("records.rs", "FIRST_SLOTS", "slots", 1),
            ("tables.rs", "MIN_BYTES", "bytes", 2),
            ("doorkeeper.rs", "FIRST_WORDS", "words of 64 bits", 1),
            ("doorkeeper.rs", "MAX_WORDS", "words of 64 bits", 1),
            ("doorkeeper.rs", "BITS_PER_HASH", "bits", 1),
            ("doorkeeper.rs", "GROWTH", "times", 1),
        )
    ),
    Constant("WINDOW_BYTES", "jeton-core/src/pipeline/segments.rs", "bytes", _PASSES),
    Constant("SAMPLE_INTERVAL", "jeton-core/src/pipeline/segments.rs", "pretokens", _PASSES),
    Constant("TEXT_AHEAD", "jeton-core/src/cpu/prefetch.rs", "bytes", _PASSES),
    Constant(
        "FREE_WORDS",
        "jeton-core/src/models/bpe/lazy.rs",
        "words",
        ("first sentence", "first encode"),
    ),
    Constant(
        "ROOM_CHARACTERS",
        "jeton-core/src/documents/transcode/mod.rs",
        "characters",
        ("wide text",),
    ),
    Constant(
        "MIN_BYTES_FOR_THREADS",
        "jeton-core/src/documents/parallel.rs",
        "bytes",
        ("batch", "two threads"),
    ),
    Constant("CHUNK_BYTES", "jeton-core/src/documents/parallel.rs", "bytes", ("two threads",)),
    Constant(
        "CHUNKS_PER_THREAD", "jeton-core/src/documents/parallel.rs", "pieces", ("two threads",)
    ),
    Constant(
        "LOOK_BYTES",
        "jeton-core/src/pretokenize/likely_end.rs",
        "bytes",
        ("one text", "count one text"),
    ),
    Constant(
        "PASSED_ENDS",
        "jeton-core/src/pretokenize/likely_end.rs",
        "ends",
        ("one text", "count one text"),
    ),
    Constant("LOOK_BYTES", "jeton-core/src/tokenizer/growing/edit.rs", "bytes", ("edits",)),
    Constant("PART_BYTES", "jeton-core/src/compiled/image.rs", "bytes", ("load compiled",)),
    Constant(
        "MIN_BYTES_FOR_THREADS", "jeton-core/src/compiled/image.rs", "bytes", ("load compiled",)
    ),
    Constant(
        "MIN_BYTES_FOR_THREADS",
        "jeton-core/src/format/tiktoken/reading.rs",
        "bytes",
        ("load rank file",),
    ),
    Constant(
        "MERGES_IN_FLIGHT",
        "jeton-core/src/format/hf_json/model.rs",
        "merges",
        ("load tokenizer.json",),
    ),
    Constant("TOKENS_IN_FLIGHT", "jeton-core/src/vocab/bulk.rs", "tokens", ("load rank file",)),
    Constant(
        "TOKENS_IN_FLIGHT", "jeton-core/src/vocab/staged.rs", "tokens", ("load tokenizer.json",)
    ),
    Constant("SHORT_BYTES", "jeton-py/src/door.rs", "bytes", ("call",)),
    Constant("MIN_TABLE_BYTES", "jeton-py/src/tokenizer/chunk.rs", "bytes", ("chunks",)),
    Constant("BYTES_PER_TASK", "jeton-train/src/counts/job.rs", "bytes", ("count documents",)),
    Constant("BYTES_PER_STRETCH", "jeton-train/src/counts/job.rs", "bytes", ("count one text",)),
    Constant("PREFETCH_PLACES", "jeton-train/src/state.rs", "places", ("train",)),
    Constant("REFILL_SHARE", "jeton-train/src/queue.rs", "entries", ("train",)),
)


def _named(words: str) -> list[Constant]:
    found = [one for one in CONSTANTS if words in (one.name, one.key) or one.key.endswith(words)]
    if not found:
        raise ValueError(f"no constant {words!r}; expected one of the table, or its file:NAME")
    return found


def changes(words: Iterable[str], scale: float) -> list[Change]:
    """Read ``NAME``, ``file:NAME`` or ``NAME=VALUE``; nothing: all constants are scaled."""
    made = []
    for word in words:
        name, _, value = word.partition("=")
        made += [Change(one, scale, value or None) for one in _named(name)]
    return made or [Change(one, scale) for one in CONSTANTS]


def _number(words: str) -> int:
    """The value of ``65_536``, ``1 << 16`` or ``64 << 10``."""
    first, _, shift = words.partition("<<")
    return int(first.strip().replace("_", "")) << int(shift or 0)


def _scaled(words: str, factor: float) -> str:
    ends = [max(1, round(_number(end) * factor)) for end in words.split("..")]
    return "..".join(map(str, ends))


def rewritten(source: str, change: Change) -> str:
    """Return the source of a constant's file with its new value.

    Raises:
        ValueError: the file has no such constant, or several, or its value is no plain number.
    """
    name = change.constant.name
    pattern = re.compile(rf"^((?:pub(?:\([a-z ]+\))? )?const {name}: [^=]+= )([^;]+);$", re.M)
    if len(pattern.findall(source)) != 1:
        raise ValueError(f"{change.constant.key}: not one definition in the file")

    def new(found: re.Match[str]) -> str:
        factor = change.scale**change.constant.steps
        return f"{found[1]}{change.value or _scaled(found[2], factor)};"

    return pattern.sub(new, source)


def table() -> str:
    """Return the constants as a Markdown table."""
    lines = ["| constant | file | unit | workloads |", "| --- | --- | --- | --- |"]
    for one in CONSTANTS:
        rows = ", ".join(row.strip() for row in one.rows)
        lines.append(f"| {one.name} | {one.file} | {one.unit} | {rows} |")
    return "\n".join(lines)
