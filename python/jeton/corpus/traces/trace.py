"""A trace: the time of each request, and its numbers of tokens.

A trace is what providers publish instead of text: a time, a prompt length and an output length for
each request. Memory: 28 bytes for each request, 8 for each block of a prompt.

Numbers for the blocks that prompts are made of, so that equal beginnings have equal numbers.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from jeton.errors import EmptyCorpusError, LimitError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MAX_BLOCKS: Final = 20_000_000
"""Blocks of all prompts of a trace: 160 MB, and some GB while they are numbered."""


class BlockNumbers:
    """Numbers a block by itself and all that is before it, in the order in which blocks come up.

    Traces differ in what their ids stand for: Mooncake's for a block and what is before it,
    Qwen-Bailian's for the block alone. Numbered anew, two prompts have the same number at the same
    place if and only if their ids are the same up to there.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._numbers: dict[tuple[int, int | str], int] = {}
        self._n = 0

    def of(self, ids: Sequence[int | str]) -> array[int]:
        """Number the blocks of a prompt.

        Raises:
            LimitError: The trace has more than `MAX_BLOCKS`.
        """
        self._n += len(ids)
        if self._n > MAX_BLOCKS:
            raise LimitError(
                f"{self._path}: more than {MAX_BLOCKS:,} blocks are too many for a trace",
                what="blocks",
                limit=MAX_BLOCKS,
            )
        numbers, before = self._numbers, -1
        found = array("q")
        for block in ids:
            before = numbers.setdefault((before, block), len(numbers))
            found.append(before)
        return found


def are_block_ids(value: Any) -> bool:
    """True if these can be the ids of blocks: a list of whole numbers or of texts."""
    return isinstance(value, list) and all(type(b) is int or type(b) is str for b in value)


MAX_TRACE_REQUESTS: Final = 20_000_000
"""Requests of a trace. A simulation of more takes minutes and tells nothing new."""

MAX_TOKENS: Final = 100_000_000
"""Tokens of a prompt or an output: a larger number is a time or an id in the wrong column."""

_MAX_EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Requests in the order of their arrival.

    Attributes:
        path: Where they come from.
        format: The shape that was recognised (``azure``, ``mooncake``, ``burstgpt``, ``lengths``,
            ``servegen``, ``csv``, ``jsonl``, or ``arrays``).
        arrival_seconds: float64 (n,), ascending, seconds after the first request.
        prompt_tokens: int64 (n,), at least 1.
        output_tokens: int64 (n,), at least 0.
        domain: int32 (n,), index into ``domains``; -1: none was named.
        domains: Names of the domains.
        block_tokens: Tokens of a block of ``blocks``; 0: the trace says nothing of shared prefixes.
        blocks: int64, numbers of the blocks of all prompts, one prompt after the other. A number
            stands for a block and all before it: no prompt has one twice.
        block_ends: int64 (n,), where each prompt's blocks end in ``blocks``; empty without blocks.
        rejected: Rows that cannot be meant, by reason.
        examples: The first places of each reason.
        n_out_of_order: Rows that came before a row above them; they were sorted in.
        has_times: True if the trace itself said when requests came; else they were drawn.
    """

    path: str
    format: str
    arrival_seconds: NDArray[np.float64]
    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    domain: NDArray[np.int32]
    domains: tuple[str, ...] = ()
    rejected: dict[str, int] = field(default_factory=dict)
    examples: dict[str, tuple[str, ...]] = field(default_factory=dict)
    n_out_of_order: int = 0
    has_times: bool = True
    block_tokens: int = 0
    blocks: NDArray[np.int64] | None = None
    block_ends: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        """Requests."""
        return len(self.arrival_seconds)

    @property
    def duration_seconds(self) -> float:
        """Seconds between the first and the last request."""
        return float(self.arrival_seconds[-1]) if len(self) else 0.0

    @property
    def requests_per_second(self) -> float:
        """Requests over the duration; 0 where all came at once."""
        return (len(self) - 1) / self.duration_seconds if self.duration_seconds > 0 else 0.0

    @classmethod
    def of(
        cls,
        arrival_seconds: Sequence[float] | NDArray[np.floating],
        prompt_tokens: Sequence[int] | NDArray[np.integer],
        output_tokens: Sequence[int] | NDArray[np.integer],
        *,
        domain: Sequence[int] | NDArray[np.integer] | None = None,
        domains: Sequence[str] = (),
        path: str = "memory",
        format: str = "arrays",  # noqa: A002 - the field's name
        rejected: dict[str, int] | None = None,
        examples: dict[str, tuple[str, ...]] | None = None,
        has_times: bool = True,
        block_tokens: int = 0,
        blocks: Sequence[Sequence[int | str]] | Sequence[Sequence[int]] | None = None,
    ) -> Trace:
        """Return the trace of some arrays; rows that cannot be meant are counted and left out.

        ``blocks`` has for each request the ids of the blocks of ``block_tokens`` tokens that its
        prompt is made of: prompts whose first ids are the same begin with the same text.

        Raises:
            UsageError: The arrays are not equally long, or blocks have no size.
            LimitError: There are more than 20 million blocks.
            EmptyCorpusError: No row is left.
        """
        import numpy as np

        times = np.asarray(arrival_seconds, dtype=np.float64)
        prompts = np.asarray(prompt_tokens)
        outputs = np.asarray(output_tokens)
        numbers = np.full(len(times), -1) if domain is None else np.asarray(domain)
        if not len(times) == len(prompts) == len(outputs) == len(numbers):
            raise UsageError(
                f"a trace has {len(times)} times, {len(prompts)} prompts and {len(outputs)} "
                "outputs; expected as many of each"
            )
        if blocks is not None and (len(blocks) != len(times) or block_tokens < 1):
            raise UsageError(
                f"a trace of {len(times)} requests has the blocks of {len(blocks)}, of "
                f"{block_tokens} tokens each; expected as many, of at least 1 token"
            )
        rows = np.arange(len(times))
        counted = dict(rejected or {})
        shown = dict(examples or {})
        good = np.ones(len(times), dtype=bool)
        for reason, bad in (
            ("bad_time", ~np.isfinite(times)),
            ("bad_prompt_tokens", ~((prompts >= 1) & (prompts <= MAX_TOKENS))),
            ("bad_output_tokens", ~((outputs >= 0) & (outputs <= MAX_TOKENS))),
        ):
            new = bad & good
            if new.any():
                counted[reason] = counted.get(reason, 0) + int(new.sum())
                places = tuple(f"request {i + 1}" for i in np.flatnonzero(new)[:_MAX_EXAMPLES])
                shown.setdefault(reason, places)
            good &= ~bad
        if not good.any():
            raise EmptyCorpusError(_nothing_left(path, counted, shown))
        times, prompts, outputs, numbers = (a[good] for a in (times, prompts, outputs, numbers))
        kept = rows[good]
        n_out_of_order = int((times < np.maximum.accumulate(times)).sum())
        if n_out_of_order:
            order = np.argsort(times, kind="stable")
            times, prompts, outputs, numbers = (
                a[order] for a in (times, prompts, outputs, numbers)
            )
            kept = kept[order]
        flat, ends = None, None
        if blocks is not None:
            from jeton.corpus.traces.trace import BlockNumbers

            number = BlockNumbers(path)
            chosen = [number.of(blocks[row]) for row in kept.tolist()]
            ends = np.cumsum([len(row) for row in chosen], dtype=np.int64)
            flat = np.concatenate([np.frombuffer(row, dtype=np.int64) for row in chosen])
        return cls(
            path=path,
            format=format,
            arrival_seconds=times - times[0],
            prompt_tokens=prompts.astype(np.int64),
            output_tokens=outputs.astype(np.int64),
            domain=numbers.astype(np.int32),
            domains=tuple(domains),
            rejected=counted,
            examples=shown,
            n_out_of_order=n_out_of_order,
            has_times=has_times,
            block_tokens=0 if blocks is None else block_tokens,
            blocks=flat,
            block_ends=ends,
        )

    def prompt_blocks(self) -> list[list[int]]:
        """The numbers of each prompt's blocks."""
        if self.blocks is None or self.block_ends is None:
            return [[] for _ in range(len(self))]
        numbers, ends = self.blocks.tolist(), self.block_ends.tolist()
        found, start = [], 0
        for end in ends:
            found.append(numbers[start:end])
            start = end
        return found

    def part(self, *, seconds: float | None = None, rate_factor: float = 1.0) -> Trace:
        """Return the requests of the first ``seconds``, ``rate_factor`` times as dense.

        Raises:
            UsageError: A number is not above 0.
        """
        from dataclasses import replace

        if not 0 < rate_factor < 1e9 or (seconds is not None and not 0 < seconds < 1e12):
            raise UsageError(
                f"cannot take {seconds} seconds of a trace at {rate_factor} times its rate; "
                "expected numbers above 0"
            )
        n = len(self)
        if seconds is not None:
            n = int((self.arrival_seconds < seconds).sum())
        return replace(
            self,
            arrival_seconds=self.arrival_seconds[:n] / rate_factor,
            prompt_tokens=self.prompt_tokens[:n],
            output_tokens=self.output_tokens[:n],
            domain=self.domain[:n],
            block_ends=None if self.block_ends is None else self.block_ends[:n],
        )

    def rows(
        self,
        index: NDArray[np.int64],
        *,
        arrivals: NDArray[np.float64] | None = None,
        with_blocks: bool = True,
        repeats: NDArray[np.int64] | None = None,
    ) -> Trace:
        """Return some requests, at their own times or at others.

        A request that is taken again shares no block with its earlier self: ``repeats`` says how
        often it was taken before.
        """
        blocks = None
        if with_blocks and self.blocks is not None:
            every = self.prompt_blocks()
            n_numbers = int(self.blocks.max(initial=-1)) + 1
            before = [0] * len(index) if repeats is None else repeats.tolist()
            blocks = [
                [number + n_numbers * again for number in every[i]]
                for i, again in zip(index.tolist(), before, strict=True)
            ]
        return type(self).of(
            self.arrival_seconds[index] if arrivals is None else arrivals,
            self.prompt_tokens[index],
            self.output_tokens[index],
            domain=self.domain[index],
            domains=self.domains,
            path=self.path,
            format=self.format,
            block_tokens=self.block_tokens if blocks is not None else 0,
            blocks=blocks,
        )


def _nothing_left(path: str, counted: dict[str, int], shown: dict[str, Any]) -> str:
    if not counted:
        return f"{path}: the trace has no request\nhint: record traffic first"
    reasons = ", ".join(f"{n:,} with {reason}" for reason, n in counted.items())
    first = next(iter(shown.values()))[0]
    return (
        f"{path}: no row of the trace is a request: {reasons}; the first is {first}\n"
        "hint: look whether the columns are the ones that their names say"
    )
