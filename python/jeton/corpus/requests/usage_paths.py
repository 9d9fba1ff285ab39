"""Amounts of a usage by their meaning, found by ``usage_names`` whatever shape the usage has.

A log has few kinds of usages and many of each: names are looked up once for each set of keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from jeton.corpus.requests.counts import MAX_TOKENS, Report, count_of, milliseconds_of
from jeton.corpus.requests.usage_names import (
    CONVENTIONS,
    FLAT_PATHS,
    IGNORED,
    LISTS,
    PATHS,
    SECONDS,
    WRITE_1H,
    WRITE_5M,
    snake,
)

_MAX_DEPTH: Final = 4
_MAX_NAME_CHARS: Final = 120
_MAX_NODES: Final = 4096
_MAX_KEYS: Final = 256

_MODALITIES: Final = {
    "audio": "audio", "image": "image", "document": "image", "video": "video",
}  # fmt: skip
_PARENTS: Final = frozenset(
    path.rsplit(".", depth)[0]
    for path in PATHS
    for depth in range(1, path.count(".") + 1)
)  # fmt: skip
"""Paths that lead to a table of numbers."""


class UsageAmounts:
    """Amounts that a usage states, by meaning.

    Attributes:
        inputs: By scheme (``usage_names.SCHEMES``).
        outputs: By scheme.
        rest: By name: an amount of ``jeton.dimensions``, or a constant of ``usage_names``.
        words: Words of the tariff: ``tier``, ``speed``, ``geo``.
        costs: Stated costs by their meaning (``usage_names.COSTS``), as they stand.
        steps: Steps of the answer that the usage lists one by one (Anthropic's iterations).
        unread: Numbers under names that are not known: path, and what it may hold.
        is_inside: True if details of the input were there at all: they split it.
        is_strict: True if unknown paths are noted.
        tables: By the kind of an entry.
    """

    __slots__ = (
        "costs", "inputs", "is_inside", "is_strict", "outputs", "rest", "steps", "tables",
        "unread", "words",
    )  # fmt: skip

    def __init__(self) -> None:
        self.inputs: dict[str, int] = {}
        self.outputs: dict[str, int] = {}
        self.rest: dict[str, int] = {}
        self.words: dict[str, str] = {}
        self.costs: dict[str, Any] = {}
        self.steps: list[Any] = []
        self.unread: list[tuple[str, int]] = []
        self.is_inside = False
        self.is_strict = True
        self.tables = (
            self.rest, self.rest, self.rest, self.rest, self.inputs, self.outputs,
        )  # fmt: skip

    @property
    def is_whole(self) -> bool:
        """True if the input and the output are stated."""
        return bool(self.inputs) and bool(self.outputs)

    @property
    def is_settled(self) -> bool:
        """True if both are stated, and not only as zeros."""
        inputs, outputs = self.inputs, self.outputs
        if not inputs or not outputs:
            return False
        return any(inputs.values()) or any(outputs.values())

    @property
    def is_known(self) -> bool:
        """True if anything is stated."""
        return bool(self.inputs or self.outputs or self.rest)


_UNREAD, _WORD, _EXTRA, _AMOUNT, _IN, _OUT, _COST = range(7)
_KINDS: Final = {
    "": _UNREAD, "steps": _UNREAD, "word": _WORD, "amount": _AMOUNT, "in": _IN, "out": _OUT,
    "cost": _COST,
}  # fmt: skip
_MAX_UNREAD: Final = 10**15


class _Entry(NamedTuple):
    key: str
    kind: int
    name: str
    path: str
    is_parent: bool


_nodes: dict[tuple[str, bool, tuple[str, ...]], tuple[_Entry, ...]] = {}


def _node(prefix: str, keys: tuple[Any, ...], *, is_flat: bool) -> tuple[_Entry, ...]:
    """The keys that matter, with their meanings."""
    found = _nodes.get((prefix, is_flat, keys))
    if found is not None:
        return found
    table = FLAT_PATHS if is_flat else PATHS
    entries = []
    for key in keys[:_MAX_KEYS]:
        if not isinstance(key, str) or len(key) > _MAX_NAME_CHARS:
            continue
        path = prefix + snake(key)
        if is_flat:
            path = _without_place(path)
        meaning = table.get(path)
        is_parent = path in _PARENTS or path in LISTS
        if meaning is not None and not meaning.kind and not is_parent:
            continue
        is_unknown = meaning is None and not is_parent
        if is_unknown and (is_flat or IGNORED.search(path)):
            continue
        kind, name = meaning or ("", "")
        number = _KINDS[kind]
        if number == _AMOUNT and name not in CONVENTIONS:
            number = _EXTRA
        entries.append(_Entry(key, number, name, path, is_parent))
    node = tuple(entries)
    # A hostile log has names of its own; those are not kept.
    if len(keys) <= _MAX_KEYS and sum(map(len, filter(_is_text, keys))) <= _MAX_NODES:
        if len(_nodes) >= _MAX_NODES:
            _nodes.clear()
        _nodes[prefix, is_flat, keys] = node
    return node


def _is_text(key: Any) -> bool:
    return isinstance(key, str)


_PLACES: Final = (
    "response.usage.", "usage.", "usage_metadata.", "metadata.usage.", "metadata.usage_object.",
    "token_usage.", "response.usage_metadata.",
)  # fmt: skip


def _without_place(path: str) -> str:
    """A column of a table that was made of nested records: ``usage.prompt_tokens``."""
    for place in _PLACES:
        if path.startswith(place):
            return path[len(place) :]
    return path


def collect(
    usage: Mapping[str, Any], into: UsageAmounts, report: Report, *, prefix: str = "", most: int = 0
) -> None:
    """Take the amounts of a usage.

    Args:
        usage: As a provider returned it.
        into: Where amounts go; the larger one stays where two names mean the same.
        report: Called for what is no count.
        prefix: Path of the usage inside what the names are of, with its dot.
        most: Counts above this are absurd; 0: above what one request can have.
    """
    _collect(usage, into, report, prefix, most or MAX_TOKENS, 0)


def collect_flat(
    record: Mapping[str, Any], into: UsageAmounts, report: Report, *, most: int = 0
) -> None:
    """Take the amounts that stand among the other fields of a record."""
    entries = _node("", tuple(record), is_flat=True)
    if entries:
        _take(record, entries, into, report, most or MAX_TOKENS, 0)


def _collect(
    usage: Mapping[str, Any], into: UsageAmounts, report: Report, prefix: str, most: int, depth: int
) -> None:
    entries = _nodes.get((prefix, False, tuple(usage)))
    if entries is None:
        entries = _node(prefix, tuple(usage), is_flat=False)
    _take(usage, entries, into, report, most, depth)


def _take(
    usage: Mapping[str, Any],
    entries: Iterable[_Entry],
    into: UsageAmounts,
    report: Report,
    most: int,
    depth: int,
) -> None:
    tables = into.tables
    for key, kind, name, path, is_parent in entries:
        value = usage[key]
        if kind == _COST and type(value) is not dict:
            if value is not None:
                into.costs.setdefault(name, value)
            continue
        if type(value) is int and 0 <= value <= most:
            if kind <= _EXTRA and not value:
                continue  # none of something that is not told apart from nothing said
            if kind <= _WORD:
                if kind == _UNREAD and not is_parent and into.is_strict:
                    into.unread.append((path, value))
                continue
            number = value * 1_000 if name == SECONDS else value
        elif value is None or value is False or value == "":
            continue
        elif isinstance(value, dict):
            if depth < _MAX_DEPTH and value:
                if path.startswith(("prompt", "input")) and path.endswith("_details"):
                    into.is_inside = True
                _collect(value, into, report, f"{path}.", most, depth + 1)
            continue
        elif isinstance(value, list):
            if kind >= _AMOUNT and not any(isinstance(entry, dict) for entry in value):
                count_of(value, path, report, most=most)
            _take_list(value, path, into, report, most, depth)
            continue
        elif kind == _WORD:
            if isinstance(value, str):
                into.words[name] = value
            continue
        elif kind == _UNREAD:
            is_number = isinstance(value, int | float) and value is not True and value > 0
            if is_number and not is_parent and into.is_strict:
                into.unread.append((path, int(min(value, _MAX_UNREAD))))
            continue
        elif name == SECONDS:
            number = milliseconds_of(value, path, report)
        else:
            number = count_of(value, path, report, most=most)
        table = tables[kind]
        if number >= 0 and number > table.get(name, -1):
            table[name] = number


def _take_list(
    values: list[Any], path: str, into: UsageAmounts, report: Report, most: int, depth: int
) -> None:
    """A list inside a usage: of modalities, of lifetimes, of results; its entries add up."""
    if path in ("iterations", "raw.iterations"):
        into.steps = values
        return
    split = LISTS.get(path)
    if split is not None:
        for entry in values:
            if isinstance(entry, dict):
                _take_modality(entry, split, into, report, most)
    elif path == "cache_details":
        for entry in values:
            if isinstance(entry, dict):
                count = count_of(entry.get("inputTokens", 0), path, report, most=most)
                name = WRITE_1H if entry.get("ttl") == "1h" else WRITE_5M
                into.rest[name] = into.rest.get(name, 0) + max(count, 0)
    elif path == "details.prefill":
        if values:
            into.inputs["tgi"] = len(values)
    elif path == "results" and depth < _MAX_DEPTH:
        for entry in values:
            if isinstance(entry, dict):
                part = UsageAmounts()
                _collect(entry, part, report, "results.", most, depth + 1)
                for own, other in ((into.inputs, part.inputs), (into.outputs, part.outputs)):
                    for scheme, number in other.items():
                        # Each result of a batch of prompts has its own input.
                        own[scheme] = own.get(scheme, 0) + number
    elif path in _PARENTS or IGNORED.search(path):
        return
    elif into.is_strict and any(isinstance(entry, dict) for entry in values):
        into.unread.append((path, sum(map(_numbers_in, values[:_MAX_KEYS]))))


def _numbers_in(entry: Any) -> int:
    """Sum of the whole numbers of an entry that is not read."""
    values = entry.values() if isinstance(entry, dict) else ()
    return sum(min(n, _MAX_UNREAD) for n in values if type(n) is int and n > 0)


def _take_modality(
    entry: Mapping[str, Any], split: str, into: UsageAmounts, report: Report, most: int
) -> None:
    value = entry.get("tokenCount", entry.get("token_count"))
    modality = _MODALITIES.get(str(entry.get("modality", "")).lower())
    if value is None or modality is None:
        return
    number = count_of(value, f"{split or 'input'} tokens of {modality}", report, most=most)
    if number <= 0:
        return
    name = (
        f"cache_{modality}_read_tokens"
        if split == "cache"
        else f"{split or 'input'}_{modality}_tokens"
    )
    into.rest[name] = into.rest.get(name, 0) + number
