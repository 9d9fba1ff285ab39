"""One sentence for a cause, with the counts that show it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from jeton.auditing.gate import features as of
from jeton.auditing.gate.causes import CauseEffect, Compared
from jeton.auditing.gate.features import FEATURES
from jeton.auditing.gate.rewriting import STEPS
from jeton.auditing.gate.shared_text import Divergence
from jeton.auditing.gate.side import PRICED_KINDS, BilledSide, GatePriceKey
from jeton.auditing.gate.statistics import CLASSES, BlockSums, Statistics
from jeton.economics.billed import OUTPUT_PARTS
from jeton.findings import Basis

_MAX_SHARES = 3
"""Domains, languages or models named in a sentence."""

_MIN_SHARE_CHANGE = 0.01
"""A share that moved by less than a percentage point explains nothing."""

_UNITS = {"tools": "tool", "earlier": "message", "passages": "passage", "prompt": "document"}
"""Words for the blocks of a part; the blocks of other parts have no word of their own."""


def detail(
    part: CauseEffect,
    sides: Compared,
    *,
    domain: str | None,
    before: Mapping[str, Fraction],
    after: Mapping[str, Fraction],
    divergence: Divergence | None = None,
) -> str:
    """Say what shows a cause; lower case start, no full stop."""
    cause, known = part.cause, sides.bridge()
    if known is None or cause == of.UNRESOLVED:
        return (
            "the tokenizer was exchanged, the baseline's is not at hand, and no document is the "
            "same on both sides"
        )
    if cause in of.OF_PRICE:
        return _moved_prices(sides, cause)
    if cause == of.LIST_PRICE:
        return _rates(sides)
    if cause == of.CACHE:
        return _cache(sides, divergence)
    if cause == of.FEES:
        return "searches, pictures and other units that are billed beside text tokens"
    if cause == of.TRAFFIC:
        return (
            f"{_of(before, 'requests_per_day')} -> {_of(after, 'requests_per_day')} requests a day"
        )
    if cause == of.UNLOGGED or cause in OUTPUT_PARTS:
        return _billed(sides, part)
    bridge, factor = known
    scale = float(factor)
    if cause == of.TOKENIZER:
        return _tokenizer(part, sides, bridge, domain, scale)
    if cause == of.DOCUMENTS:
        old, new = sides.before.text.total(domain), bridge.total(domain)
        return f"{old.n:,} -> {new.n:,} documents"
    if cause in (of.DOMAIN_MIX, of.LANGUAGE_MIX):
        position = 0 if cause == of.DOMAIN_MIX else 2
        return _shares(sides.before.text, bridge, position, domain, part.where)
    if cause == of.FRAME:
        return "role markers, and the line ends between messages"
    if cause == of.CONTENT:
        return "of the wording alone, without all features above"
    if part.where:
        old, new = (side.of_part(part.where, domain) for side in (sides.before.text, bridge))
        n_old, n_new = (side.total(domain).n for side in (sides.before.text, bridge))
    else:
        old, new = sides.before.text.total(domain), bridge.total(domain)
        n_old, n_new = old.n, new.n
    unit = _UNITS.get(part.where or "prompt", "block")
    if cause == of.NUMBER:
        each = [_per(cell.n_tokens[0], cell.n) for cell in (old, new)]
        return (
            f"{_number(_per(old.n, n_old))} -> {_number(_per(new.n, n_new))} a request, "
            f"{_number(each[0])} -> {_number(each[1] * scale)} tokens each"
        )
    if cause in STEPS:
        step = STEPS.index(cause)
        extra = [_per(c.n_tokens[step] - c.n_tokens[step + 1], c.n) for c in (old, new)]
        return (
            f"{FEATURES[cause].says}; {_number(extra[0])} -> {_number(extra[1] * scale)} tokens a "
            f"{unit}"
        )
    if cause == of.WORDING:
        rates = [_per(cell.n_tokens[-1], cell.n_chars[-1]) for cell in (old, new)]
        text = f"{rates[0]:.4g} -> {rates[1] * scale:.4g} tokens per character of wording"
        classes = _class_changes(old, new)
        return f"{text}; {classes}" if classes else text
    if cause == of.LENGTH:
        chars = [_per(cell.n_chars[-1], cell.n) for cell in (old, new)]
        return f"{_number(chars[0])} -> {_number(chars[1])} characters of wording a {unit}"
    return ""


def _tokenizer(
    part: CauseEffect, sides: Compared, bridge: Statistics, domain: str | None, scale: float
) -> str:
    after = sides.current.statistics.total(domain).n_tokens[0]
    before = bridge.total(domain).n_tokens[0] * scale
    if round(before) == after:
        return "the provider bills another number of tokens for the same text"
    text = f"{before:,.0f} -> {after:,} tokens for the same text"
    if part.basis is Basis.ESTIMATED:
        text += " (estimated from the documents that did not change)"
    return text


def _billed(sides: Compared, part: CauseEffect) -> str:
    old, new = (
        _per(side.billed.part(part.where or part.cause), side.billed.n_requests)
        for side in (sides.before, sides.after)
    )
    words = f"{_number(old)} -> {_number(new)} tokens a request"
    if part.cause == of.UNLOGGED:
        return f"{words}, billed beside the logged text: pictures, files, tools or hidden text"
    return words


def _cache(sides: Compared, divergence: Divergence | None) -> str:
    shares, written = (
        [_per(s.billed.kind(kind), s.billed.input_tokens) for s in (sides.before, sides.after)]
        for kind in ("cached", "written")
    )
    words = f"{_share(shares[0])} -> {_share(shares[1])} of the prompt read from a cache"
    if abs(written[1] - written[0]) >= _MIN_SHARE_CHANGE:
        words += f", {_share(written[0])} -> {_share(written[1])} written to one"
    old, new = sides.before.beginning, sides.after.beginning
    if shares[1] < shares[0] and old.n_requests and new.mean_tokens < 0.9 * old.mean_tokens:
        words += (
            f"; requests shared {_number(old.mean_tokens)} tokens at their beginning and now share "
            f"{_number(new.mean_tokens)}"
        )
        if divergence is not None:
            words += (
                f": behind {divergence.before[-24:]!r} one goes on {divergence.first[:24]!r}, "
                f"another {divergence.second[:24]!r}"
            )
    return words


def _moved_prices(sides: Compared, cause: str) -> str:
    """Shares by model, provider, region, tariff or step: of requests; of a cache: of its writes."""
    place = of.OF_PRICE.index(cause)
    of_writes = cause == of.CACHE_LIFETIME
    counts: list[dict[str, int]] = []
    for side in (sides.before, sides.after):
        sums: dict[str, int] = {}
        for key, cell in side.prices.items():
            n = cell.tokens[PRICED_KINDS.index("written")] if of_writes else cell.n_requests
            sums[key[place]] = sums.get(key[place], 0) + n
        counts.append(sums)
    none = {of.PRICE_STEP: "shorter prompts", of.CACHE_LIFETIME: "5m"}.get(cause, "(none)")
    return _moved(counts, none=none, of_what="tokens written" if of_writes else "requests")


def _rates(sides: Compared) -> str:
    """Rates that moved for the same model, provider, region and tariff."""
    found = []
    for key in sides.before.prices.keys() & sides.after.prices.keys():
        for place, kind in enumerate(PRICED_KINDS[:-1]):
            old, new = (_rate(side, key, place) for side in (sides.before, sides.after))
            if old is not None and new is not None and old != new:
                name = f" of {key.model}" if key.model else ""
                found.append(f"{float(old):g} -> {float(new):g} USD a million {kind} tokens{name}")
    return "; ".join(sorted(found)[:_MAX_SHARES])


def _rate(side: BilledSide, key: GatePriceKey, place: int) -> Fraction | None:
    cell = side.prices[key]
    return cell.usd[place] / cell.tokens[place] * 1_000_000 if cell.tokens[place] else None


def _class_changes(old: BlockSums, new: BlockSums) -> str:
    """How the make-up of the wording moved, where it did."""
    totals = [sum(cell.n_class_bytes) for cell in (old, new)]
    if not all(totals):
        return ""
    found = []
    for name, a, b in zip(CLASSES, old.n_class_bytes, new.n_class_bytes, strict=True):
        shares = (a / totals[0], b / totals[1])
        if abs(shares[1] - shares[0]) >= _MIN_SHARE_CHANGE:
            found.append(
                (-abs(shares[1] - shares[0]), f"{name} {shares[0]:.0%} -> {shares[1]:.0%}")
            )
    words = [words for _, words in sorted(found)[:_MAX_SHARES]]
    return f"of its bytes, {', '.join(words)}" if words else ""


def _shares(old: Statistics, new: Statistics, position: int, domain: str | None, where: str) -> str:
    """Shares of documents by domain, or of blocks by language, those that moved most."""
    counts: list[dict[str, int]] = []
    for side in (old, new):
        sums: dict[str, int] = {}
        if position == 0:
            sums = {name: own.n for name, own in side.wholes.items()}
        else:
            for key, cell in side.cells.items():
                if (domain is None or key[0] == domain) and key[1] == where:
                    sums[key[position]] = sums.get(key[position], 0) + cell.n
        counts.append(sums)
    what = "documents" if position == 0 or where in ("", "prompt") else "blocks"
    return _moved(counts, none="(no domain)", of_what=what) or "within the domains"


def _moved(counts: list[dict[str, int]], *, none: str, of_what: str) -> str:
    """The names whose share moved most, with their shares."""
    totals = [max(1, sum(side.values())) for side in counts]
    moved = []
    for name in counts[0].keys() | counts[1].keys():
        a, b = (side.get(name, 0) / total for side, total in zip(counts, totals, strict=True))
        moved.append((-abs(b - a), name or none, a, b))
    moved.sort()
    gone = [name for change, name, a, b in moved if (a, b) == (1.0, 0.0)]
    new = [name for change, name, a, b in moved if (a, b) == (0.0, 1.0)]
    if gone and new:
        return f"{gone[0]} -> {new[0]}"
    words = [
        f"{name} {_share(a)} -> {_share(b)}" for change, name, a, b in moved[:_MAX_SHARES] if change
    ]
    return f"of the {of_what}, {', '.join(words)}" if words else ""


def _per(total: float, n: float) -> float:
    return total / n if n else 0.0


def _share(value: float) -> str:
    return f"{value:.0%}" if value in (0.0, 1.0) or 0.1 <= value <= 0.9 else f"{value:.1%}"


def _number(value: float) -> str:
    return f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"


def _of(values: Mapping[str, Fraction], name: str) -> str:
    value = values.get(name)
    return "unknown" if value is None else f"{float(value):,g}"
