"""Requests of a sample as they are billed: what becomes of a bill when a prompt changes.

A request keeps what it has beside its text. A token that goes is one of the kind that its place
has: the cache holds the beginning of a prompt. Where a block is partly cached, the tokens that go
are taken for the cheapest ones, so that no saving is promised too high.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton.auditing.replaying.prompts import Prompts
from jeton.catalog.caches import CacheRule
from jeton.economics.billed import cut_by_cache
from jeton.economics.ledger import Ledger

Columns = Any
"""Rows of usage (`jeton.economics.ledger.rows.UsageColumns`), a dataclass."""

_Ints = NDArray[np.int64]
_FRESH, _WRITTEN, _CACHED = range(3)


@dataclass(frozen=True, slots=True, eq=False)
class BilledRequests:
    """Requests of a sample, in a state between remedies.

    Attributes:
        columns: Usage of each request, as it would be billed now.
        prompt: int64 (n,), the prompt of each request.
        slope: float64 (n,), tokens that the provider bills for each counted one.
        low: float64 (n,), the least slope that its interval allows; what goes is billed by it.
        rounding: float64 (n,), tokens of the first change that the provider's rounding may keep.
        head: int64 (n,), tokens beside the text, in front of it; the rest stands behind it.
        times: float64 (n,), when each is sent, seconds; NaN: not known.
        prompts: The prompts now.
        rules: Rules of the caches of the models, the usual lifetime first, by number in ``rule``.
        rule: int64 (n,).
        rows: int64 (n,), the row of each in the log's evidence; -1: none.
        price: Prices columns; the names of domains of their own may be given.
    """

    columns: Columns
    prompt: _Ints
    slope: NDArray[np.float64]
    low: NDArray[np.float64]
    rounding: NDArray[np.float64]
    head: _Ints
    times: NDArray[np.float64]
    prompts: Prompts
    rules: tuple[tuple[CacheRule, ...], ...]
    rule: _Ints
    rows: _Ints
    price: Callable[[Columns, Sequence[str]], Ledger] = field(repr=False)

    def __len__(self) -> int:
        """Number of requests."""
        return len(self.prompt)

    def ledger(self) -> Ledger:
        """Return the bill of the requests as they are now."""
        return self.price(self.columns, ())

    def usd_of_each(self) -> NDArray[np.float64]:
        """float64 (n,), what each request costs; 0 without a price."""
        n = len(self)
        columns = replace(self.columns, domain=np.arange(n, dtype=np.int32))
        each = np.zeros(n)
        for use in self.price(columns, [str(row) for row in range(n)]).by_domain:
            each[int(use.domain)] = float(use.usd)
        return each

    def with_prompts(self, prompts: Prompts) -> BilledRequests:
        """Return the requests with other prompts, which are billed again."""
        if prompts is self.prompts:
            return self
        changed = self.prompts.prompt_of_block[prompts.tokens != self.prompts.tokens]
        is_changed = np.isin(self.prompt, changed)
        if not is_changed.any():
            return replace(self, prompts=prompts)
        return replace(
            self,
            prompts=prompts,
            columns=self._billed_again(np.flatnonzero(is_changed), prompts),
            rounding=np.where(is_changed, 0, self.rounding),
        )

    def kept(self, mask: NDArray[np.bool_]) -> BilledRequests:
        """Return some of the requests; the others are not sent any more."""
        return replace(
            self,
            columns=taken(self.columns, mask),
            prompt=self.prompt[mask],
            slope=self.slope[mask],
            low=self.low[mask],
            rounding=self.rounding[mask],
            head=self.head[mask],
            times=self.times[mask],
            rule=self.rule[mask],
            rows=self.rows[mask],
        )

    def with_cache(self, read: _Ints, written: _Ints, written_1h: _Ints) -> BilledRequests:
        """Return the requests with other parts of their prompts read from a cache or written."""
        known = self.columns.input_tokens >= 0
        columns = replace(
            self.columns,
            cache_read_tokens=np.where(known, read, self.columns.cache_read_tokens),
            cache_write_tokens=np.where(known, written, self.columns.cache_write_tokens),
            cache_write_1h_tokens=np.where(known, written_1h, self.columns.cache_write_1h_tokens),
        )
        return replace(self, columns=with_extras(columns, self.columns))

    def _blocks(self, prompts: Prompts) -> tuple[_Ints, _Ints, _Ints]:
        """Return billed tokens of the blocks of all requests, and those that other prompts save.

        Returns:
            int64 (n + 1,), the first block of each request; int64 (n_blocks,), their tokens;
            int64 (n_blocks,), the tokens that each loses, below 0 where it grows.
        """
        n_blocks = np.diff(self.prompts.offsets)[self.prompt]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(n_blocks)])
        row = np.repeat(np.arange(len(self)), n_blocks)
        place = self.prompts.offsets[self.prompt[row]] - offsets[row] + np.arange(offsets[-1])
        slope, low = self.slope[row], self.low[row]
        was, now = self.prompts.tokens[place], prompts.tokens[place]
        sizes = _rounded(was, offsets[row], slope)
        less = (was - now) * np.where(was > now, low, slope)
        lost = np.bincount(row, np.maximum(less, 0), len(self))
        kept = np.maximum(lost - self.rounding, 0) / np.maximum(lost, 1e-9)
        less = np.where(less > 0, less * kept[row], less)
        # Over all requests, too: alike requests do not all round to the same side.
        whole = np.diff(np.rint(np.cumsum(less)), prepend=0).astype(np.int64)
        # A bill that is our own count is counted again.
        return (
            offsets,
            sizes,
            np.where(low < slope, whole, sizes - _rounded(now, offsets[row], slope)),
        )

    def _billed_again(self, rows: NDArray[np.intp], prompts: Prompts) -> Columns:
        own = replace(self.kept(_mask(rows, len(self))), prompts=self.prompts)
        offsets, *by_block = own._blocks(prompts)
        width = int(np.diff(offsets).max(initial=0))
        sizes, less = (_padded(values, offsets, width) for values in by_block)
        columns = own.columns
        billed = np.maximum(columns.input_tokens, 0)
        read = np.clip(columns.cache_read_tokens, 0, billed)
        written = np.clip(columns.cache_write_tokens, 0, billed - read)
        head = np.minimum(own.head, np.maximum(billed - sizes.sum(axis=1), 0))
        tail = np.maximum(billed - head - sizes.sum(axis=1), 0)
        order = np.concatenate([head[:, None], sizes, tail[:, None]], axis=1)
        cut = cut_by_cache(order, read, written)[:, 1:-1]
        gone = _gone(less, cut)
        fresh = billed - read - written - gone[:, _FRESH]
        read_now, written_now = read - gone[:, _CACHED], written - gone[:, _WRITTEN]
        read_now, written_now, fresh = self._by_rules(
            rows, (read, written), (read_now, written_now, fresh)
        )
        hour = np.maximum(columns.cache_write_1h_tokens, 0)
        hour = np.where(written > 0, np.rint(hour * written_now / np.maximum(written, 1)), hour)
        return self._written_back(rows, fresh, read_now, written_now, hour.astype(np.int64))

    def _by_rules(
        self, rows: NDArray[np.intp], before: tuple[_Ints, _Ints], now: tuple[_Ints, _Ints, _Ints]
    ) -> tuple[_Ints, _Ints, _Ints]:
        """Apply a cache's steps and its least length to prompts that changed."""
        read, written, fresh = now
        for number, (rule, *_) in enumerate(self.rules):
            own = self.rule[rows] == number
            # A cache that read whole steps goes on to do so; another one is not counted in steps.
            steps = rule.step_tokens if not (before[0][own] % rule.step_tokens).any() else 1
            shorter = own & (read < before[0])
            floor = np.where(shorter, read // steps * steps, read)
            too_short = own & (before[0] + before[1] >= rule.min_tokens)
            too_short &= floor + written < rule.min_tokens
            lost = np.where(too_short, floor + written, 0) + read - floor
            fresh = fresh + lost
            read = np.where(too_short, 0, floor)
            written = np.where(too_short, 0, written)
        return read, written, fresh

    def _written_back(
        self, rows: NDArray[np.intp], fresh: _Ints, read: _Ints, written: _Ints, hour: _Ints
    ) -> Columns:
        columns = self.columns

        def put(name: str, values: _Ints) -> _Ints:
            column: _Ints = getattr(columns, name).copy()
            # An amount that the log does not state stays unknown.
            column[rows] = np.where(column[rows] >= 0, values, column[rows])
            return column

        new = replace(
            columns,
            input_tokens=put("input_tokens", fresh + read + written),
            cache_read_tokens=put("cache_read_tokens", read),
            cache_write_tokens=put("cache_write_tokens", written),
            cache_write_1h_tokens=put("cache_write_1h_tokens", hour),
        )
        return with_extras(new, columns)


def taken(columns: Columns, mask: NDArray[np.bool_]) -> Columns:
    """Return some rows of columns."""
    fields = {
        name: getattr(columns, name)[mask]
        for name in columns.__dataclass_fields__
        if isinstance(getattr(columns, name), np.ndarray)
    }
    return replace(columns, **fields, extras={k: v[mask] for k, v in columns.extras.items()})


def with_extras(new: Columns, old: Columns) -> Columns:
    """Return columns whose parts of the input follow the input that they are part of."""
    extras = dict(old.extras)
    follows = (
        ("input_text_tokens", "input_tokens"),
        ("cache_text_read_tokens", "cache_read_tokens"),
        ("cache_text_write_tokens", "cache_write_tokens"),
    )
    for part, whole in follows:
        if part in extras:
            change = np.maximum(getattr(new, whole), 0) - np.maximum(getattr(old, whole), 0)
            stated = extras[part] > 0
            extras[part] = np.where(stated, np.maximum(extras[part] + change, 0), extras[part])
    if "cache_write_5m_tokens" in extras:
        hour = np.maximum(new.cache_write_1h_tokens, 0)
        extras["cache_write_5m_tokens"] = np.where(
            extras["cache_write_5m_tokens"] > 0,
            np.maximum(new.cache_write_tokens - hour, 0),
            extras["cache_write_5m_tokens"],
        )
    return replace(new, extras=extras)


def amounts_of_ledger(ledger: Ledger) -> Mapping[tuple[str, str], tuple[Decimal, Decimal]]:
    """Return amount and dollars of each model and dimension."""
    sums: dict[tuple[str, str], tuple[Decimal, Decimal]] = {}
    for use in ledger.by_model:
        for entry in use.dimensions:
            amount, usd = sums.get((use.logged_as, entry.name), (Decimal(0), Decimal(0)))
            sums[use.logged_as, entry.name] = amount + entry.amount, usd + entry.usd
    return sums


def _gone(less: _Ints, cut: _Ints) -> _Ints:
    """Return the tokens that go, by their kind.

    Args:
        less: int64 (n, m), tokens that each block loses; below 0 it grows.
        cut: int64 (n, m, 3), its tokens by kind.
    """
    left = np.maximum(less, 0)
    gone = np.zeros((len(less), 3), dtype=np.int64)
    # The cheapest first: a saving is rather too low than too high.
    for kind in (_CACHED, _FRESH, _WRITTEN):
        own = np.minimum(left, cut[:, :, kind])
        left = left - own
        gone[:, kind] += own.sum(axis=1)
    more = np.maximum(-less, 0)
    # Tokens that come are of the dearest kind that the block has.
    has_written, has_fresh = cut[:, :, _WRITTEN] > 0, cut[:, :, _FRESH] > 0
    gone[:, _WRITTEN] -= np.where(has_written, more, 0).sum(axis=1)
    gone[:, _FRESH] -= np.where(~has_written & has_fresh, more, 0).sum(axis=1)
    gone[:, _CACHED] -= np.where(~has_written & ~has_fresh, more, 0).sum(axis=1)
    return gone


def _rounded(counted: _Ints, first: _Ints, slope: NDArray[np.float64]) -> _Ints:
    """Return billed tokens of blocks; edges are rounded, so that their cuts change no sum.

    Args:
        counted: int64 (n,), our counts.
        first: int64 (n,), place of the first block of each one's request.
        slope: float64 (n,), tokens billed for each counted one.
    """
    edges = np.concatenate([np.zeros(1, np.int64), np.cumsum(counted)])
    starts, ends = ((edge - edges[first]) * slope for edge in (edges[:-1], edges[1:]))
    sizes: _Ints = (np.rint(ends) - np.rint(starts)).astype(np.int64)
    return sizes


def _mask(rows: NDArray[np.intp], n: int) -> NDArray[np.bool_]:
    mask = np.zeros(n, dtype=np.bool_)
    mask[rows] = True
    return mask


def _padded(values: _Ints, offsets: _Ints, width: int) -> _Ints:
    """Return ragged rows as a matrix, zeros behind."""
    n = len(offsets) - 1
    padded = np.zeros((n, width), dtype=np.int64)
    row = np.repeat(np.arange(n), np.diff(offsets))
    padded[row, np.arange(len(values)) - offsets[row]] = values
    return padded
