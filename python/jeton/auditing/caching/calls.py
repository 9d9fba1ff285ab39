"""Requests in the order of their times, each with its blocks and the tokens up to each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton.catalog.caches import CacheRule, cache_rules_for
from jeton.corpus.requests.sent import N_FACTS, PartKind, SentBlocks, path_of
from jeton.workload.inputs.requests import RequestEvidence

MAX_CALLS = 50_000
"""Requests that are replayed, the first ones: a cache shows in requests that follow one another."""

MAX_BLOCKS = 4_000_000
"""Blocks of the replayed requests, some 100 bytes each."""

_NO_MARK = ~(3 << 40)
_N_FITTED = 2_000
_RIDGE = 0.002
_USUAL_PICTURE = 4_000.0
"""Bytes of text that a picture is taken for at first: some 1,000 tokens."""
_LIFE_OF_MARK = {1: 300.0, 2: 3600.0, 3: 86_400.0}
N_STATIC_ROLES = 2
"""Roles of tools and instructions, which stand in front of the conversation."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block, or one piece of a long one.

    Attributes:
        hash: Hash of its text.
        role: 0 tools, 1 instructions, 2 user, 3 assistant, 4 tool.
        kind: Kind.
        place: Number of the tool, the instruction or the message.
        goes_on: True for a piece that goes on the one before it.
        tokens: Tokens, as the provider bills them.
    """

    hash: int
    role: int
    kind: PartKind
    place: int
    goes_on: bool
    tokens: float

    @property
    def path(self) -> str:
        """``tools[0]``, ``system[1]``, ``messages[4]``."""
        return path_of(self.role, self.place)

    @property
    def is_static(self) -> bool:
        """True for tools and instructions."""
        return self.role < N_STATIC_ROLES


@dataclass(frozen=True, slots=True)
class Mark:
    """A break point behind a block.

    Attributes:
        at: Number of the piece that it stands behind.
        life_seconds: How long the prefix is asked to live.
    """

    at: int
    life_seconds: float


@dataclass(frozen=True)
class Call:
    """One request.

    Attributes:
        row: Its row in the evidence.
        time: Seconds.
        model: Number of the model.
        blocks: Blocks in the order sent; empty: the log does not show it.
        marks: Break points.
        input_tokens: As billed, cached ones included.
        read: Tokens read from a cache, as logged; -1: not stated. So are the others.
        written: Tokens written.
        written_1h: Written tokens that live an hour.
        output_tokens: Generated.
        session: Key of the conversation; 0: not known.
        agent: Key of the sub-agent; 0: none.
        parameters: Hash of parameters beside the text.
        reason: The provider's reason of a miss; 0: none.
        is_cut: True if its text is shorter than its tokens can be: cut, or redacted.
    """

    row: int
    time: float
    model: int
    blocks: tuple[Block, ...]
    marks: tuple[Mark, ...]
    input_tokens: int
    read: int
    written: int
    written_1h: int
    output_tokens: int
    session: int
    agent: int
    parameters: int
    reason: int
    is_cut: bool = False

    def n_static(self) -> int:
        """Return the number of pieces of tools and instructions."""
        return self._n_static

    @cached_property
    def _n_static(self) -> int:
        for place, block in enumerate(self.blocks):
            if block.role >= N_STATIC_ROLES:
                return place
        return len(self.blocks)

    @cached_property
    def sums(self) -> tuple[float, ...]:
        """Tokens up to the end of each piece."""
        return tuple(accumulate(block.tokens for block in self.blocks))

    @cached_property
    def chain(self) -> tuple[int, ...]:
        """A hash of all blocks up to each piece."""
        link = 0
        chain = []
        for block in self.blocks:
            link = hash((link, block.hash, block.role))
            chain.append(link)
        return tuple(chain)

    @cached_property
    def chain_with_parameters(self) -> tuple[int, ...]:
        """The chain in which other parameters are another conversation."""
        if not self.parameters:
            return self.chain
        own = hash((self.parameters, 0))
        static = self.n_static()
        return (*self.chain[:static], *(hash((link, own)) for link in self.chain[static:]))

    def tokens_until(self, n_pieces: int) -> float:
        """Return the tokens of the first pieces."""
        return self.sums[n_pieces - 1] if n_pieces else 0.0


@dataclass(frozen=True, slots=True)
class Calls:
    """The replayed requests.

    Attributes:
        calls: In the order of their times.
        rules: Rules of each model, the usual lifetime first.
        n_requests: Requests of the log.
        unexamined: Requests that cannot be judged, by reason.
        knows_marks: Models whose log shows marks.
    """

    calls: tuple[Call, ...]
    rules: dict[int, tuple[CacheRule, ...]]
    n_requests: int
    unexamined: dict[str, int] = field(default_factory=dict)
    knows_marks: frozenset[int] = frozenset()

    def rule(self, call: Call) -> CacheRule:
        """Return the usual rule of a request."""
        return self.rules[call.model][0]


def calls_of(evidence: RequestEvidence) -> Calls:
    """Return the requests that can be replayed, and why others cannot."""
    columns = evidence.columns
    if columns is None:
        return Calls((), {}, len(evidence.model), {"the facts of requests were not kept": 1})
    why: dict[str, int] = {}
    usable = np.ones(len(columns), dtype=np.bool_)

    def without(mask: NDArray[np.bool_], reason: str) -> None:
        n = int((usable & ~mask).sum())
        if n:
            why[reason] = n
        usable[~mask] = False

    without(columns.n_requests == 1, "a row adds up several requests")
    without(columns.extra("summed_requests") == 0, "a row adds up several requests")
    without(~columns.from_gateway_cache, "a gateway answered from its own cache")
    without(columns.input_tokens >= 0, "the log states no usage")
    without(np.isfinite(columns.time_s), "the log states no time")
    rows = np.flatnonzero(usable)
    rows = rows[np.lexsort((rows, columns.time_s[rows]))]
    sent = evidence.sent or SentBlocks.of([b""] * len(columns))
    n_blocks = np.cumsum(np.diff(sent.offsets)[rows] >> 1)
    room = min(MAX_CALLS, int(np.searchsorted(n_blocks, MAX_BLOCKS)) + 1)
    if len(rows) > room:
        why["beyond the first requests that are replayed"] = len(rows) - room
        rows = rows[:room]
    rules = _rules(evidence, rows)
    weights = _weights(columns, sent, rows)
    known: dict[tuple[int, int, float], Block] = {}
    calls = tuple(_call(evidence, sent, int(row), weights, known) for row in rows)
    knows = frozenset(call.model for call in calls if call.marks)
    calls = _with_inferred_marks(calls, rules, knows)
    return Calls(calls, rules, len(columns), why, knows)


def _rules(evidence: RequestEvidence, rows: NDArray[np.intp]) -> dict[int, tuple[CacheRule, ...]]:
    columns = evidence.columns
    assert columns is not None
    found: dict[int, tuple[CacheRule, ...]] = {}
    for row in rows.tolist():
        model = int(columns.model[row])
        if model not in found:
            provider = int(columns.provider[row])
            found[model] = cache_rules_for(
                evidence.names.providers[provider] if provider >= 0 else "",
                evidence.models[model] if model >= 0 else "",
                _day_of(float(columns.time_s[row])),
            )
    return found


def _day_of(time_s: float) -> date | None:
    """Return the day of a time; None where no calendar has it."""
    try:
        return datetime.fromtimestamp(time_s, UTC).date()
    except (ValueError, OverflowError, OSError):
        return None


def _groups(words: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return bytes of each block, and its group: tools, instructions, the rest, no text."""
    facts = words[N_FACTS + 1 :: 2]
    sizes = (facts & 0xFFFFFFFF).astype(np.float64)
    role, kind = (facts >> 32 & 15).astype(np.int64), (facts >> 36 & 15).astype(np.int64)
    group = np.minimum(role, 2)
    group[kind >= PartKind.PICTURE] = 3
    return sizes, group


def _weights(
    columns: object, sent: SentBlocks, rows: NDArray[np.intp]
) -> dict[int, NDArray[np.float64]]:
    """Return tokens of a byte of tools, instructions, messages and pictures of each model.

    The input of a request is one equation. Its marked prefix, read and written, is another. With
    pictures, the block that a read most likely ended at is a third: a picture that every request
    has cannot be told from the instructions otherwise.
    """
    by_model: dict[int, list[tuple[NDArray[Any], float]]] = {}
    reads: dict[int, list[tuple[NDArray[Any], int]]] = {}
    for row in rows.tolist():
        words = sent.of_request(row)
        model = int(columns.model[row])  # type: ignore[attr-defined]
        own = by_model.setdefault(model, [])
        if len(words) <= N_FACTS or len(own) >= 2 * _N_FITTED:
            continue
        sizes, group = _groups(words)
        if _is_cut(sizes, group, int(columns.input_tokens[row])):  # type: ignore[attr-defined]
            continue
        # Each picture or file counts as one of a usual size, until a request proves another.
        sizes = np.where(group == 3, _USUAL_PICTURE, sizes)
        total = float(columns.input_tokens[row])  # type: ignore[attr-defined]
        own.append((np.bincount(group, sizes, 4).astype(np.float64), total))
        marks = np.flatnonzero(words[N_FACTS + 1 :: 2] >> 40 & 3)
        read = int(columns.cache_read_tokens[row])  # type: ignore[attr-defined]
        written = int(columns.cache_write_tokens[row])  # type: ignore[attr-defined]
        if len(marks) and max(read, 0) + max(written, 0) > 0:
            end = int(marks[-1]) + 1
            prefix = np.bincount(group[:end], sizes[:end], 4).astype(np.float64)
            own.append((prefix, float(max(read, 0) + written)))
        if read > 0 and (group == 3).any():
            goes_on = words[N_FACTS + 1 :: 2] >> 42 & 1
            ends = np.cumsum(np.eye(4)[group] * sizes[:, None], axis=0)
            ends = ends[np.append(goes_on[1:] == 0, True)]
            reads.setdefault(model, []).append((ends, read))
    found = {}
    for model, equations in by_model.items():
        if not equations:
            continue
        found[model] = _solved(equations)
        more = [_where_read(ends, read, found[model]) for ends, read in reads.get(model, ())]
        if more:
            found[model] = _solved(equations + [entry for entry in more if entry is not None])
    return found


def _solved(equations: list[tuple[NDArray[Any], float]]) -> NDArray[np.float64]:
    """Return the weights that fit the equations best, near one ratio where these leave a choice."""
    left = np.array([entry[0] for entry in equations])
    right = np.array([entry[1] for entry in equations])
    ratio = right.sum() / max(left.sum(), 1.0)
    pull = _RIDGE * np.sqrt(np.square(left).sum(axis=0).mean()) * np.eye(4)
    solved, *_ = np.linalg.lstsq(
        np.concatenate([left, pull]),
        np.concatenate([right, pull @ np.full(4, ratio)]),
        rcond=None,
    )
    return np.asarray(np.clip(solved, ratio / 3, ratio * 3), dtype=np.float64)


def _where_read(
    ends: NDArray[Any], read: int, weights: NDArray[np.float64]
) -> tuple[NDArray[Any], float] | None:
    """Return bytes by group up to the block that a read ended at; None where two are as near."""
    away = np.abs(ends @ weights - read)
    nearest = int(np.argmin(away))
    others = np.delete(away, nearest)
    if others.size and others.min() < 2 * away[nearest]:
        return None
    return ends[nearest], float(read)


def _call(
    evidence: RequestEvidence,
    sent: SentBlocks,
    row: int,
    weights: dict[int, NDArray[np.float64]],
    known: dict[tuple[int, int, float], Block],
) -> Call:
    columns = evidence.columns
    assert columns is not None
    words, model = sent.of_request(row), int(columns.model[row])
    total = int(columns.input_tokens[row])
    facts = [int(word) for word in words[:N_FACTS]] or [0] * N_FACTS
    blocks: list[Block] = []
    marks: list[Mark] = []
    is_cut = len(words) > N_FACTS and _is_cut(*_groups(words), total)
    if len(words) > N_FACTS and not is_cut:
        sizes, group = _groups(words)
        tokens = _tokens(sizes, group, total, weights.get(model))
        hashes, own = words[N_FACTS::2].tolist(), words[N_FACTS + 1 :: 2].tolist()
        for at, (digest, fact) in enumerate(zip(hashes, own, strict=True)):
            key = (digest, fact & _NO_MARK, round(tokens[at], 2))
            block = known.get(key)
            if block is None:
                kind = PartKind(min(fact >> 36 & 15, PartKind.FILE))
                block = known[key] = Block(
                    digest, fact >> 32 & 15, kind, fact >> 43, bool(fact >> 42 & 1), key[2]
                )
            blocks.append(block)
            if fact >> 40 & 3:
                marks.append(Mark(at, _LIFE_OF_MARK[fact >> 40 & 3]))
    return Call(
        row=row,
        time=float(columns.time_s[row]),
        model=model,
        blocks=tuple(blocks),
        marks=tuple(marks),
        input_tokens=total,
        read=int(columns.cache_read_tokens[row]),
        written=int(columns.cache_write_tokens[row]),
        written_1h=int(columns.cache_write_1h_tokens[row]),
        output_tokens=int(columns.output_tokens[row]),
        session=int(columns.conversation[row]),
        agent=facts[1],
        parameters=facts[0],
        reason=facts[2],
        is_cut=is_cut,
    )


def _is_cut(sizes: NDArray[np.float64], group: NDArray[np.int64], total: int) -> bool:
    """True if a text has fewer bytes than its request has tokens, pictures and files apart."""
    return not bool((group == 3).any()) and float(sizes.sum()) < total


def _tokens(
    sizes: NDArray[np.float64],
    group: NDArray[np.int64],
    total: int,
    weights: NDArray[np.float64] | None,
) -> list[float]:
    """Return the tokens of each block; those of a request add up to its bill."""
    if weights is None:
        share = total / max(float(sizes.sum()), 1.0)
        return [float(size) * share for size in sizes]
    is_other = group == 3
    tokens = np.where(is_other, 0.0, sizes * weights[group])
    rest = total - float(tokens.sum())
    if is_other.any() and rest > 0:
        # Pictures and files have the tokens that the text does not have.
        tokens[is_other] = rest / int(is_other.sum())
    else:
        tokens *= total / max(float(tokens.sum()), 1.0)
    return [float(number) for number in tokens]


def _with_inferred_marks(
    calls: tuple[Call, ...], rules: dict[int, tuple[CacheRule, ...]], knows: frozenset[int]
) -> tuple[Call, ...]:
    """Return requests with the marks that their usage proves, where the log shows no marks."""
    found = []
    static: set[int] = set()
    for call in calls:
        is_known = call.model in knows or rules[call.model][0].is_automatic
        ends = () if is_known else _proved(call)
        found.append((call, ends))
        if len(ends) > 1 and ends[0] == call.n_static() - 1:
            static.add(call.model)
    made = []
    for call, ends in found:
        if ends and call.model in static and call.n_static() - 1 not in ends:
            # Other requests of the model prove a mark behind tools and instructions.
            ends = (call.n_static() - 1, *ends)
        life = 3600.0 if call.written_1h > 0 else 300.0
        marks = tuple(Mark(at, life) for at in sorted(set(ends)))
        made.append(replace(call, marks=marks) if marks else call)
    return tuple(made)


def _proved(call: Call) -> tuple[int, ...]:
    """Return the pieces behind which the usage of a request proves a mark."""
    cached = max(call.read, 0) + max(call.written, 0)
    if cached <= 0 or not call.blocks:
        return ()
    sums = np.cumsum([block.tokens for block in call.blocks])
    ends = [i for i in range(len(call.blocks)) if is_end(call.blocks, i)]
    places = [min(ends, key=lambda i: abs(float(sums[i]) - cached))]
    if call.read > 0 and call.written > 0:
        # An earlier prefix was read, and a later one was written.
        places.insert(0, min(ends, key=lambda i: abs(float(sums[i]) - call.read)))
    return tuple(dict.fromkeys(places))


def is_end(blocks: Sequence[Block], at: int) -> bool:
    """True if a piece is the last one of its block."""
    return at + 1 >= len(blocks) or not blocks[at + 1].goes_on
