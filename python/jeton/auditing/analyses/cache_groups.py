"""Requests that share a prompt cache: those of one model, with its rules, prices and times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from jeton._core import Surveyor, TextBatch
from jeton.auditing.analyses.cache_plan import CachePlan, HitRate, hit_rate, plan_cache
from jeton.auditing.analyses.prefixes import SharedPrefix, shared_prefixes
from jeton.auditing.evidence import Evidence
from jeton.catalog import ApiPrice
from jeton.catalog import price as find_price
from jeton.catalog.caches import CacheRule, cache_rules_for
from jeton.errors import CatalogError
from jeton.workload.counting.prefix_sketch import BLOCK_BYTES, first_block_keys

ASSUMED_READ_FACTOR = 0.5
"""Price of a cached token over an uncached one where the price list has none, to choose break
points only, never for money: the smallest discount that was ever usual (OpenAI, October 2024)."""

_MIN_BYTES_PER_TOKEN = 1
_MAX_CHAR_BYTES = 4


@dataclass(frozen=True, slots=True)
class CacheGroup:
    """Sampled documents that are sent to one model.

    Attributes:
        model: The model as logged; empty where there is only one.
        documents: Indices of the sampled documents.
        rules: Rules that a caller may choose among, the usual lifetime first.
        read_factor: Price of a cached input token over an uncached one.
        is_read_price_listed: True if the price list says so.
        reported_share: Share of the model's input that was read from a cache; None: not reported.
    """

    model: str
    documents: tuple[int, ...]
    rules: tuple[CacheRule, ...]
    read_factor: float
    is_read_price_listed: bool
    reported_share: float | None


@dataclass(frozen=True, slots=True)
class Planned:
    """The best plan for a group, and what it was made from."""

    group: CacheGroup
    rule: CacheRule
    prefixes: tuple[SharedPrefix, ...]
    plan: CachePlan
    n_tokens: int
    median_gap_seconds: float | None


def cache_groups(evidence: Evidence) -> tuple[CacheGroup, ...]:
    """The groups of the sample, the one of the most documents first."""
    documents = evidence.sample.documents
    named = {document.model for document in documents}
    if evidence.requests is None or len(named) < 2:
        model = next(iter(named), "")
        return (_group(evidence, model, tuple(range(len(documents)))),)
    groups = []
    for model in named:
        own = tuple(i for i, document in enumerate(documents) if document.model == model)
        groups.append(_group(evidence, model, own))
    return tuple(sorted(groups, key=lambda group: (-len(group.documents), group.model)))


def _group(evidence: Evidence, model: str, documents: tuple[int, ...]) -> CacheGroup:
    price = _price(evidence, model)
    rules = (
        cache_rules_for("", "") if price is None else cache_rules_for(price.provider, price.model)
    )
    if price is not None:
        rules = tuple(_priced(rule, price) for rule in rules)
    pipeline = evidence.pipeline
    if pipeline is not None and pipeline.cache_ttl_seconds is not None:
        rules = (replace(rules[0], ttl_seconds=pipeline.cache_ttl_seconds),)
    listed = price is not None and bool(
        price.usd_per_mtok_cached_input is not None and price.usd_per_mtok_input
    )
    factor = ASSUMED_READ_FACTOR
    if listed and price is not None and price.usd_per_mtok_cached_input is not None:
        factor = float(price.usd_per_mtok_cached_input / price.usd_per_mtok_input)
    reported = _reported_share(evidence, model)
    return CacheGroup(model, documents, rules, factor, listed, reported)


def _price(evidence: Evidence, model: str) -> ApiPrice | None:
    """The price of a logged model; that of the report where no log names one."""
    ledger = evidence.ledger
    if evidence.requests is not None and ledger is not None and model:
        for use in ledger.by_model:
            if use.logged_as == model and use.model and use.provider:
                try:
                    return find_price(f"{use.provider}:{use.model}")
                except CatalogError:
                    break
    return evidence.traffic.price


def _priced(rule: CacheRule, price: ApiPrice) -> CacheRule:
    """A rule with what the price list says of writing."""
    tier = price.tiers[0]
    rate = tier.usd_per_mtok_cache_write
    if rule.lifetime == "1h":
        rate = tier.usd_per_mtok_cache_write_1h
    if not rate or not price.usd_per_mtok_input:
        return rule
    return replace(rule, write_factor=float(rate / price.usd_per_mtok_input))


def _rows(evidence: Evidence, model: str) -> NDArray[np.bool_]:
    """The logged requests of a model; all where none is named."""
    requests = evidence.requests
    if requests is None:
        return np.zeros(0, dtype=np.bool_)
    if not model:
        return np.ones(len(requests.model), dtype=np.bool_)
    numbers = [i for i, name in enumerate(requests.models) if name == model]
    return np.isin(requests.model, numbers)


def _reported_share(evidence: Evidence, model: str) -> float | None:
    """Share of the reported input that was read from a cache; None where nothing was reported."""
    requests = evidence.requests
    if requests is None:
        return None
    known = (requests.input_tokens > 0) & (requests.cache_read_tokens >= 0)
    known &= _rows(evidence, model)
    total = int(requests.input_tokens[known].sum())
    return int(requests.cache_read_tokens[known].sum()) / total if total else None


def planned(
    evidence: Evidence,
    group: CacheGroup,
    compared: Sequence[str],
    originals: Sequence[str],
    copies: Sequence[int] | None,
) -> Planned:
    """The best plan among the lifetimes that a group may have.

    Args:
        evidence: The measured figures.
        group: The group.
        compared: The texts of its documents as they are compared.
        originals: The originals as they are counted.
        copies: How many documents each stands for; None: one each.
    """
    rules = group.rules
    # A prefix of so few characters cannot have the tokens that a cache asks for.
    min_chars = max(1, rules[0].min_tokens * _MIN_BYTES_PER_TOKEN // _MAX_CHAR_BYTES)
    prefixes = shared_prefixes(
        compared,
        evidence.current.tokenizer,
        min_chars=min_chars,
        originals=originals,
        copies=copies,
    )
    n_documents = len(compared) if copies is None else sum(copies)
    arrivals = _Arrivals(evidence, group, originals, copies)
    best: tuple[CacheRule, CachePlan] | None = None
    for rule in rules:
        plan = plan_cache(
            prefixes,
            n_documents=n_documents,
            rule=rule,
            hits=arrivals.hits(rule.ttl_seconds),
            read_factor=group.read_factor,
            hits_of=arrivals.hits_of(rule.ttl_seconds),
        )
        if best is None or plan.n_saved_tokens > best[1].n_saved_tokens:
            best = rule, plan
    rule, plan = best if best is not None else (rules[0], CachePlan((), 0.0, 0.0, 0.0))
    return Planned(group, rule, prefixes, plan, 0, arrivals.median_gap(prefixes, plan))


class _Arrivals:
    """When requests of a group come: all of them, and those with one beginning."""

    def __init__(
        self,
        evidence: Evidence,
        group: CacheGroup,
        texts: Sequence[str],
        copies: Sequence[int] | None,
    ) -> None:
        self._scale = evidence.sample.scale
        requests, per_day = evidence.requests, evidence.traffic.requests_per_day
        self._per_day = None if per_day is None else float(per_day)
        self._times: NDArray[np.float64] | None = None
        self._by_key: dict[int, NDArray[np.float64]] = {}
        self._keys = np.zeros(len(texts), dtype=np.int64)
        self._weights = np.ones(len(texts)) if copies is None else np.asarray(copies, dtype=float)
        if requests is None:
            return
        rows = _rows(evidence, group.model)
        if self._per_day is not None and len(rows):
            self._per_day *= float(rows.mean())
        self._times = requests.time_s[rows]
        if len(requests.beginning) != len(rows) or not len(texts):
            return
        batch = TextBatch.from_texts(list(texts))
        survey = Surveyor([], block_bytes=BLOCK_BYTES, max_blocks=1).survey(batch)
        self._keys = first_block_keys(survey, np.diff(batch.offsets))
        beginning = requests.beginning[rows]
        for key in np.unique(self._keys).tolist():
            if key:
                self._by_key[key] = self._times[beginning == key]

    def hits(self, ttl_seconds: float) -> HitRate:
        """How often a prefix is found, from the times of all requests of the group."""
        return hit_rate(
            ttl_seconds,
            time_s=self._times,
            requests_per_day=self._per_day,
            scale=self._scale,
        )

    def hits_of(self, ttl_seconds: float) -> Callable[[SharedPrefix], float | None]:
        """How often one prefix is found, from the times of requests that begin like it."""

        def of(prefix: SharedPrefix) -> float | None:
            found = self._like(prefix)
            if found is None:
                return None
            times, share = found
            return hit_rate(ttl_seconds, time_s=times)(share, prefix.n_documents)

        return of

    def _like(self, prefix: SharedPrefix) -> tuple[NDArray[np.float64], float] | None:
        """Times of the requests with a prefix's first block, and its share of them."""
        if not prefix.documents:
            return None
        key = int(self._keys[prefix.documents[0]])
        times = self._by_key.get(key)
        if not key or times is None or np.isfinite(times).sum() < 2:
            return None
        weight = float(self._weights[self._keys == key].sum())
        return times, min(1.0, prefix.n_documents / weight) if weight else 1.0

    def median_gap(self, prefixes: Sequence[SharedPrefix], plan: CachePlan) -> float | None:
        """Seconds between requests with the largest planned prefix, median; None: not known."""
        if not plan.break_points:
            return None
        point = max(plan.break_points, key=lambda p: (p.n_tokens * p.n_documents, -p.prefix))
        found = self._like(prefixes[point.prefix])
        if found is None or found[1] < 1:
            return None
        known = np.sort(found[0][np.isfinite(found[0])])
        return float(np.median(np.diff(known))) if len(known) > 1 else None


def share(part: float, whole: float) -> Decimal:
    """A share as an exact number, between 0 and 1."""
    return Decimal(str(min(1.0, max(0.0, part / whole)))) if whole else Decimal(0)
