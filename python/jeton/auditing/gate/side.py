"""One side of a comparison: its text and its bill; two corpora audited side by side.

A `BilledSide` holds three statistics that add up: the text by part and feature (`Statistics`), the
billed tokens by part and kind (`jeton.economics.billed`), and the dollars by price
(`GatePriceCell`). `levels.explain` takes two of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import localcontext
from fractions import Fraction
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from jeton.auditing.gate.shared_text import SharedBeginning
from jeton.auditing.gate.statistics import Statistics, counts
from jeton.dimensions import DIMENSIONS
from jeton.economics.billed import BilledTable
from jeton.economics.ledger import Ledger
from jeton.economics.waterfall import kind_of
from jeton.errors import FormatError

PRICED_KINDS: Final = ("fresh", "written", "cached", "output", "other")
"""Kinds of a price: three of prompt tokens, output, and everything else that is billed."""

_KIND = {"full": "fresh", "write": "written", "read": "cached", "output": "output"}
_CACHED = {"cached": "cache_read_tokens", "written": "cache_write_tokens"}
_REGION = re.compile(r"^(us|us-gov|eu|apac|ap|jp|au|ca|global|regional)\.")
_DIGITS = 60


class GatePriceKey(NamedTuple):
    """Facts that decide a price. Empty: not stated, or the user's own price.

    ``price_step`` is the length of prompt above which the rates hold, ``cache_lifetime`` the time
    that written tokens stay in the cache, where it has a rate of its own.
    """

    model: str
    provider: str
    region: str
    tariff: str
    price_step: str = ""
    cache_lifetime: str = ""


@dataclass(frozen=True, slots=True)
class GatePriceCell:
    """Requests of one price: tokens and dollars by `PRICED_KINDS`.

    Attributes:
        n_requests: Requests.
        tokens: Tokens of each kind; 0 for ``other``.
        usd: Their dollars.
    """

    n_requests: int = 0
    tokens: tuple[int, ...] = (0,) * len(PRICED_KINDS)
    usd: tuple[Fraction, ...] = (Fraction(0),) * len(PRICED_KINDS)

    def merge(self, other: GatePriceCell) -> GatePriceCell:
        """The sums of both."""
        return GatePriceCell(
            self.n_requests + other.n_requests,
            tuple(a + b for a, b in zip(self.tokens, other.tokens, strict=True)),
            tuple(a + b for a, b in zip(self.usd, other.usd, strict=True)),
        )


def price_cells(ledger: Ledger) -> dict[GatePriceKey, GatePriceCell]:
    """Return the dollars of a ledger by price: exactly its own, by kind of token."""
    found: dict[GatePriceKey, GatePriceCell] = {}

    def add_cell(
        key: GatePriceKey, n: int, tokens: Mapping[str, int], usd: Mapping[str, Fraction]
    ) -> None:
        cell = GatePriceCell(
            n,
            tuple(tokens.get(kind, 0) for kind in PRICED_KINDS),
            tuple(usd.get(kind, Fraction(0)) for kind in PRICED_KINDS),
        )
        found[key] = found.get(key, GatePriceCell()).merge(cell)

    with localcontext(prec=_DIGITS):
        for use in ledger.by_step():
            is_own = use.provider in ("", "user")
            region = _REGION.match(use.logged_as)
            above = use.above_input_tokens
            key = GatePriceKey(
                "" if is_own else _REGION.sub("", use.model),
                "" if is_own else use.provider,
                region[1] if region else "",
                use.tariff,
                f"prompts above {above:,} tokens" if above else "",
            )
            tokens = dict.fromkeys(PRICED_KINDS, 0)
            usd = dict.fromkeys(PRICED_KINDS, Fraction(0))
            for dimension in use.dimensions:
                kind = _KIND.get(kind_of(dimension.name), "other")
                usd[kind] += Fraction(dimension.usd)
                tokens[kind] += int(dimension.amount) if kind != "other" else 0
            # Dollars without a dimension are still billed.
            usd["other"] += Fraction(use.usd) - sum(usd.values())
            for kind, amount in _CACHED.items():
                # Where a price has no rate for a cache, its tokens stand among the fresh ones.
                moved = min(use.amounts.get(amount, 0) - tokens[kind], tokens["fresh"])
                if moved > 0:
                    part = usd["fresh"] * moved / tokens["fresh"]
                    tokens["fresh"], tokens[kind] = tokens["fresh"] - moved, tokens[kind] + moved
                    usd["fresh"], usd[kind] = usd["fresh"] - part, usd[kind] + part
            for dimension in use.dimensions:
                lifetime = DIMENSIONS[dimension.name].lifetime
                if lifetime and dimension.amount:
                    own = {"written": int(dimension.amount)}
                    paid = {"written": Fraction(dimension.usd)}
                    tokens["written"] -= own["written"]
                    usd["written"] -= paid["written"]
                    add_cell(key._replace(cache_lifetime=lifetime), 0, own, paid)
            add_cell(key, use.n_requests, tokens, usd)
    return found


@dataclass(frozen=True, slots=True)
class BilledSide:
    """One side of a comparison; `merge` adds two up.

    Attributes:
        text: The text as one tokenizer counts it, by domain, part, language and feature.
        billed: Billed tokens by model, part and kind; empty: documents, or logs without usage.
        prices: Dollars by price; empty: not priced.
        price_list: Name of the price list.
        beginning: Shared beginnings.
    """

    text: Statistics = field(default_factory=Statistics)
    billed: BilledTable = field(default_factory=BilledTable)
    prices: Mapping[GatePriceKey, GatePriceCell] = field(default_factory=dict)
    price_list: str = ""
    beginning: SharedBeginning = field(default_factory=SharedBeginning)

    @property
    def n_priced(self) -> int:
        """Requests with a price."""
        return sum(cell.n_requests for cell in self.prices.values())

    @property
    def usd(self) -> Fraction:
        """Dollars of all requests."""
        return sum((usd for cell in self.prices.values() for usd in cell.usd), Fraction(0))

    def merge(self, other: BilledSide) -> BilledSide:
        """The sums of both sides."""
        prices = dict(self.prices)
        for key, cell in other.prices.items():
            prices[key] = prices.get(key, GatePriceCell()).merge(cell)
        return BilledSide(
            self.text.merge(other.text),
            self.billed.merge(other.billed),
            prices,
            self.price_list or other.price_list,
            self.beginning.merge(other.beginning),
        )

    def to_plain(self) -> dict[str, Any]:
        """As JSON values; no text is in them."""
        return {
            "text": self.text.to_plain(),
            "billed": self.billed.to_dict(),
            "prices": [
                {
                    **key._asdict(),
                    "n_requests": cell.n_requests,
                    "tokens": list(cell.tokens),
                    "usd": [[str(u.numerator), str(u.denominator)] for u in cell.usd],
                }
                for key, cell in sorted(self.prices.items())
            ],
            "price_list": self.price_list,
            "beginning": [self.beginning.n_requests, self.beginning.n_tokens],
        }

    @classmethod
    def from_plain(cls, plain: Any) -> BilledSide:
        """From JSON values.

        Raises:
            FormatError: They are no side.
        """
        if not isinstance(plain, Mapping):
            raise FormatError("the baseline has no statistics")
        text = Statistics.from_plain(plain["text"])
        try:
            prices = {}
            for entry in plain["prices"]:
                # Baselines of earlier versions have the first four facts.
                key = GatePriceKey(*(str(entry[name]) for name in GatePriceKey._fields[:4]))
                rest = {name: str(entry.get(name, "")) for name in GatePriceKey._fields[4:]}
                key = key._replace(**rest)
                usd = tuple(Fraction(int(a), int(b)) for a, b in entry["usd"])
                if len(usd) != len(PRICED_KINDS):
                    raise FormatError("a price of the baseline has the wrong number of kinds")
                tokens = tuple(counts(entry["tokens"], len(PRICED_KINDS)))
                prices[key] = GatePriceCell(counts([entry["n_requests"]], 1)[0], tokens, usd)
            return cls(
                text,
                BilledTable.from_dict(plain["billed"]),
                prices,
                str(plain["price_list"]),
                SharedBeginning(*counts(plain["beginning"], 2)),
            )
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"the bill in the baseline is damaged: {error!r}") from None


COMPARED_FIGURES = (
    "tokens_per_document",
    "tokens_per_document_p50",
    "tokens_per_document_p95",
    "tokens_per_document_p99",
    "tokens_per_document_max",
    "bytes_per_token",
    "bytes_per_document",
    "n_documents",
    "n_tokens",
    "input_tokens_per_request",
    "cached_share",
    "output_tokens_per_request",
    "reasoning_tokens_per_request",
    "usd_per_request",
    "usd_per_day",
    "usd_per_month",
    "usd_per_year",
    "kv_bytes_per_request_mean",
    "kv_bytes_per_request_p95",
    "concurrent_requests_mean",
    "concurrent_requests_p95",
    "concurrent_requests_safe",
)
"""Figures that are shown of two corpora side by side, those that there are."""

_BEFORE = frozenset(
    (
        "before", "old", "older", "prev", "previous", "baseline", "base", "orig", "original",
        "v1", "main", "master", "control", "earlier", "yesterday",
    )
)  # fmt: skip
_AFTER = frozenset(
    (
        "after", "new", "newer", "next", "current", "now", "candidate", "changed", "v2", "branch",
        "head", "pr", "treatment", "today", "updated", "patched",
    )
)  # fmt: skip
_WORD = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")


def look_like_two_states(inputs: Sequence[str]) -> tuple[str, str] | None:
    """Two inputs whose names say before and after, in that order; None: they do not."""
    if len(inputs) != 2:
        return None
    states = [_state(name) for name in inputs]
    if set(states) != {"before", "after"}:
        return None
    first, second = inputs if states[0] == "before" else reversed(inputs)
    return first, second


def in_order(
    before: Sequence[str], after: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Both corpora as given, exchanged where their names say the opposite."""
    states = [{_state(name) for name in side} for side in (before, after)]
    if "after" in states[0] and "before" in states[1] and not states[0] & states[1]:
        before, after = after, before
    return tuple(before), tuple(after)


def _state(name: str) -> str:
    path = PurePath(name)
    for part in (path.name, path.parent.name):
        words = {word.lower() for word in _WORD.findall(part)}
        is_before, is_after = bool(words & _BEFORE), bool(words & _AFTER)
        if is_before != is_after:
            return "before" if is_before else "after"
    return ""
