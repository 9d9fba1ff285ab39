"""Causes of a drift, by the exact decomposition of the gate: the one door to it.

A watch keeps no sums of features; it keeps a sample of its history as a side of the gate's
comparison, and the requests of late. When a signal moves, these become the other side (`billed`),
and the gate's rule says how much of the difference, in tokens and in dollars, each cause has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from jeton._core import Tokenizer
from jeton.auditing.gate.baseline import BASELINE_SCHEMA, Baseline, TokenizerIdentity
from jeton.auditing.gate.causes import CauseEffect, Compared, causes_of, label_of
from jeton.auditing.gate.documents import DocumentTable
from jeton.auditing.gate.features import FEATURES, OF_PRICE
from jeton.auditing.gate.levels import figure_of
from jeton.auditing.gate.side import BilledSide
from jeton.auditing.gate.statistics import Statistics
from jeton.auditing.gate.values import domain_values
from jeton.catalog.api_price import ApiPrice
from jeton.findings import Basis
from jeton.watch.billed import RecentRequest, repriced, watched_side

__all__ = [
    "BASELINE_SCHEMA",
    "DRIFT_CAUSES",
    "Baseline",
    "BilledSide",
    "CauseShare",
    "DriftCause",
    "TokenizerIdentity",
    "explain_drift",
]

_DAYS: Final = "usd_per_day"


@dataclass(frozen=True, slots=True)
class DriftCause:
    """A cause of drift: a family of the gate's causes.

    Attributes:
        name: Its stable name.
        label: Its name in sentences.
        of: Causes of the gate that are this one.
        remedy: The first thing to look at.
    """

    name: str
    label: str
    of: frozenset[str]
    remedy: str


def _causes(*causes: DriftCause) -> MappingProxyType[str, DriftCause]:
    return MappingProxyType({cause.name: cause for cause in causes})


_TEMPLATE: Final = frozenset({"shared_text", "chat_markers", "frame"})
_WHITE_SPACE: Final = frozenset({"white_space", "line_breaks", "json_layout"})
_FORM: Final = frozenset({"unicode_form", "compatibility_forms"})

DRIFT_CAUSES: Final = _causes(
    DriftCause(
        "tokenizer", "tokenizer", frozenset({"tokenizer", "tokenizer_or_text"}),
        "compare the tokenizer's fingerprint with that of the history: jeton lock --check",
    ),
    DriftCause(
        "language_mix", "mix of languages", frozenset({"language_mix"}),
        "see which languages grew; price them apart or route them to a model that knows them",
    ),
    DriftCause(
        "source_mix", "mix of sources", frozenset({"domain_mix"}),
        "see which source grew, and whether it was meant to",
    ),
    DriftCause(
        "length", "length of the requests", frozenset({"length", "number", "number_of_documents"}),
        "see which part of the request grew: passages, history, tools",
    ),
    DriftCause(
        "template", "template or text that requests share", _TEMPLATE,
        "compare the rendered prompt with yesterday's; put what is shared first and cache it",
    ),
    DriftCause(
        "white_space", "white space", _WHITE_SPACE,
        "keep one space and one line end at most before the prompt is built",
    ),
    DriftCause(
        "unicode_form", "Unicode form", _FORM,
        "normalize to NFC before encoding: unicodedata.normalize('NFC', text)",
    ),
    DriftCause(
        "preprocessing", "preprocessing", frozenset(FEATURES) - _TEMPLATE - _WHITE_SPACE - _FORM,
        "compare the text before and after the last deployed step",
    ),
    DriftCause(
        "wording", "wording", frozenset({"wording", "content"}),
        "see what the texts are about now; a vocabulary of the domain may pay",
    ),
    DriftCause(
        "unlogged", "tokens that the log does not show", frozenset({"unlogged"}),
        "see what is sent beside the text: tools, pictures, a hidden preamble",
    ),
    DriftCause(
        "answer", "length of the answers", frozenset({"answer", "reasoning"}),
        "compare max_tokens, the effort of reasoning and the instructions with yesterday's",
    ),
    DriftCause(
        "price", "price or traffic",
        frozenset(
            {"cache", *OF_PRICE, "list_price", "fees", "traffic"}
        ),
        "compare model, tariff and cached share with yesterday's: jeton audit --logs",
    ),
)  # fmt: skip
"""Every cause by name. A new one is an entry here; a test holds that each of the gate's has one."""

_HOME: Final = {name: cause for cause in DRIFT_CAUSES.values() for name in cause.of}


@dataclass(frozen=True, slots=True)
class CauseShare:
    """Part of a difference that one cause has.

    Attributes:
        cause: Name in `DRIFT_CAUSES`.
        label: Its name in sentences.
        detail: The gate's cause within it with the largest part, and the part of the request.
        share: Part of the difference in tokens; all shares add up to 1.
        groups: Sources or languages that it comes from, the largest first.
        usd_per_day: Dollars a day of it, all parts and kinds of tokens; None without price or
            traffic.
        basis: Exact, or estimated where the tokenizer of the history is not at hand.
        remedy: The first thing to look at.
    """

    cause: str
    label: str
    detail: str
    share: float
    groups: tuple[str, ...]
    usd_per_day: float | None
    basis: Basis
    remedy: str


def explain_drift(
    metric: str,
    before: BilledSide,
    requests: Sequence[RecentRequest],
    *,
    tokenizer: Tokenizer,
    before_tokenizer: Tokenizer | None = None,
    is_same_tokenizer: bool = True,
    domain: str | None = None,
    price: ApiPrice | None = None,
    requests_per_day: float | None = None,
) -> tuple[CauseShare, ...]:
    """Return the causes of a difference between a history and requests of late, largest first.

    Args:
        metric: ``tokens_per_document`` or ``bytes_per_token``.
        before: The history.
        requests: Requests of late; those without text are left out.
        tokenizer: The tokenizer in use.
        before_tokenizer: Tokenizer of the history, where it is another one and at hand.
        is_same_tokenizer: True if it is the same.
        domain: Source that is compared; None: all.
        price: Price of all requests, or of those whose model has none; None: by their models.
        requests_per_day: Traffic; None: not known, and so are the dollars.
    """
    kept = [request for request in requests if request.text is not None]
    if not kept:
        return ()
    after = watched_side(kept, tokenizer, other=before_tokenizer, price=price)
    sides = Compared(
        repriced(before, price),
        DocumentTable(),
        after.side,
        after.current,
        after.other,
        is_same_tokenizer,
    )
    found = _effects(metric, sides, domain)
    difference = sum((effect.value for effect in found), Fraction(0))
    if not difference:
        return ()
    dollars = _effects(_DAYS, sides, None, Fraction(requests_per_day or 0))
    shares: list[CauseShare] = []
    for cause in DRIFT_CAUSES.values():
        own = [effect for effect in found if effect.cause in cause.of]
        usd = [effect for effect in dollars if effect.cause in cause.of]
        if not own and not usd:
            continue
        main = max(own or usd, key=lambda effect: abs(effect.value))
        shares.append(
            CauseShare(
                cause=cause.name,
                label=cause.label,
                detail=label_of(main),
                share=float(sum((effect.value for effect in own), Fraction(0)) / difference),
                groups=_grown(cause.name, sides.before.text, sides.after.text),
                usd_per_day=float(sum(effect.value for effect in usd)) if dollars else None,
                basis=main.basis,
                remedy=FEATURES[main.cause].remedy if main.cause in FEATURES else cause.remedy,
            )
        )
    shares.sort(key=lambda share: -share.share)
    return tuple(shares)


def _effects(
    metric: str, sides: Compared, domain: str | None, requests_per_day: Fraction = Fraction(0)
) -> tuple[CauseEffect, ...]:
    """The gate's causes of a figure; none where a side does not have it."""
    values = []
    for side in (sides.before, sides.after):
        own = domain_values(side.text, domain)
        if metric == _DAYS and requests_per_day:
            usd = figure_of(_DAYS, side, requests_per_day=requests_per_day)
            own |= {"requests_per_day": requests_per_day}
            own |= {} if usd is None else {_DAYS: usd}
        values.append(own)
    return causes_of(metric, sides, domain=domain, before=values[0], after=values[1])


def _grown(cause: str, before: Statistics, after: Statistics) -> tuple[str, ...]:
    """Sources or languages whose share of the texts moved most; none for other causes."""
    if cause not in ("source_mix", "language_mix"):
        return ()
    place = 0 if cause == "source_mix" else 2
    shares: dict[str, float] = {}
    for sign, side in ((-1, before), (1, after)):
        n = sum(cell.n for cell in side.cells.values()) or 1
        for key, cell in side.cells.items():
            shares[key[place]] = shares.get(key[place], 0.0) + sign * cell.n / n
    ordered = sorted(shares, key=lambda name: (-abs(shares[name]), name))
    return tuple(name for name in ordered if name)[:3]
