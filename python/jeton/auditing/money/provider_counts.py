"""Token counts of a closed model's provider: calibrated from the logs, else estimated.

With usage in the logs, our count of each request stands beside the reported one, and a calibration
learns the provider's from ours. Without, the model's public stand-in counts, and a published factor
makes its tokens those of the provider.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from jeton.auditing.evidence import Evidence
from jeton.auditing.options.model_tokenizers import ModelTokenizer, tokenizer_of_model
from jeton.auditing.options.selection import MoneyTokenizer
from jeton.catalog import price as find_price
from jeton.catalog.api_price import USER_PROVIDER
from jeton.economics.billing.closed import Calibration, TokenEstimate, estimate_tokens
from jeton.economics.billing.provider_count import CountedRequests, ProviderCount, provider_count
from jeton.economics.waterfall import usd_of_kinds
from jeton.errors import CatalogError, UsageError
from jeton.workload.inputs.requests import RequestEvidence

MIN_MODEL_SHARE = 0.5
"""Share of the requests that one model must have for it to be the one that is calibrated where no
model was named; as for the price that logs give."""

MAX_CALIBRATION_REQUESTS = 20_000
"""Requests that are learnt from: a bootstrap of a million would take minutes."""

_MAX_LOGGED_MODELS = 100
"""Names of models in logs that are looked up in the price list, the most frequent first: a log may
name as many as it has requests."""


def provider_count_of(
    evidence: Evidence, *, closed_model: str | None, money: MoneyTokenizer | None, seed: int
) -> ProviderCount | None:
    """The workload in the tokens of the provider; None where they are those that were counted.

    Args:
        evidence: The measured figures.
        closed_model: The model as the user named it; None: that of the price.
        money: The tokenizer that counts the price's tokens.
        seed: Seed of the calibration's split and bootstrap.
    """
    price = evidence.traffic.price
    listed = price.model if price is not None and price.provider != USER_PROVIDER else None
    name = closed_model or listed
    calibrated = _calibrated(evidence, name, seed)
    if calibrated is not None:
        return calibrated
    return None if name is None else _estimated(evidence, name, None if closed_model else money)


def _calibrated(evidence: Evidence, name: str | None, seed: int) -> ProviderCount | None:
    """From the usage of the model's requests; None without enough of it."""
    requests = evidence.requests
    if requests is None or not len(requests.counted_tokens):
        return None
    rows, label = _rows_of(requests, name)
    counted, reported = requests.counted_tokens[rows], requests.input_tokens[rows]
    # Any order of the log, and of its shards, gives the same split.
    order = np.lexsort((reported, counted))
    # An even draw by length is enough: its interval is already far narrower than the noise.
    order = order[:: max(1, -(-len(order) // MAX_CALIBRATION_REQUESTS))]
    try:
        calibration = Calibration.fit(counted[order], reported[order], seed=seed)
    except UsageError:
        # Too few requests state their usage.
        return None
    current = evidence.current
    workload = _workload(evidence, current.name, n_tokens=current.n_tokens)
    estimate = calibration.apply_total(workload.n_tokens, n_requests=workload.n_requests)
    estimate = replace(estimate, formula=f"{estimate.formula} ({current.name})")
    return provider_count(workload, estimate, model=label, calibration=calibration)


def _rows_of(requests: RequestEvidence, name: str | None) -> tuple[NDArray[np.bool_], str]:
    """The requests of the model, with those that name none; and what to call them."""
    label = name
    if label is None and requests.summary.by_model:
        most = requests.summary.by_model[0]
        if most.name and most.n_requests >= MIN_MODEL_SHARE * requests.summary.n_requests:
            label = most.name
    if label is None:
        return np.ones(len(requests.model), dtype=np.bool_), "the logged requests"
    frequent = set(requests.summary.models[:_MAX_LOGGED_MODELS])
    same = [
        index
        for index, other in enumerate(requests.models)
        if other in frequent and _is_same(other, label)
    ]
    return np.isin(requests.model, [*same, -1]), label


def _is_same(logged: str, model: str) -> bool:
    """True if a log means a model, dated or not, with its provider's name or without."""
    if logged.casefold() == model.casefold():
        return True
    try:
        return find_price(logged).model == find_price(model).model
    except CatalogError:
        return False


def _estimated(evidence: Evidence, name: str, money: MoneyTokenizer | None) -> ProviderCount | None:
    """By the model's own tokenizer, or its public stand-in and its factor.

    None for a model of which neither is known, or whose own tokenizer is the one in use.
    """
    belongs = tokenizer_of_model(name)
    if belongs is None:
        return None
    counted = next((c for c in evidence.by_place if c.name == belongs.vocabulary), None)
    if counted is None and money is not None and money.is_right:
        counted = evidence.by_place[money.place]
    if counted is None:
        what = "its tokenizer" if belongs.is_own else "its public stand-in"
        return ProviderCount(
            model=name,
            tokenizer=belongs.vocabulary,
            n_requests=evidence.corpus.n_documents,
            n_counted_tokens=evidence.current.n_tokens,
            missing=(
                f"{name} is counted with {belongs.vocabulary}, {what}, which is not at hand "
                "(`jeton vocab fetch` or `jeton vocab add` brings it); the counts here are those "
                f"of {evidence.current.name}"
            ),
        )
    if belongs.is_own and counted.name == evidence.current.name and money is not None:
        # The report counts the provider's tokens.
        return None
    workload = _workload(evidence, counted.name, n_tokens=counted.lengths.total)
    return provider_count(workload, _estimate(belongs, workload.n_tokens), model=name)


def _estimate(belongs: ModelTokenizer, n_tokens: int) -> TokenEstimate:
    try:
        return estimate_tokens(n_tokens, model=belongs.model)
    except CatalogError:
        # An open model's own tokenizer: no table of closed models has it.
        return TokenEstimate(
            n_tokens=n_tokens,
            low=n_tokens,
            high=n_tokens,
            confidence=None,
            basis=belongs.basis,
            formula=f"{n_tokens:,} tokens of {belongs.vocabulary}",
            source="the model's own tokenizer",
        )


def _workload(evidence: Evidence, name: str, *, n_tokens: int) -> CountedRequests:
    return CountedRequests(
        tokenizer=name,
        n_tokens=n_tokens,
        n_requests=evidence.corpus.n_documents,
        ledger=evidence.ledger,
        prompt_usd=None
        if evidence.ledger is None
        else usd_of_kinds(evidence.ledger, "full", "read", "write"),
        is_logged=evidence.requests is not None,
    )
