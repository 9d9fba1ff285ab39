"""What the provider of a closed model counts: calibrated from the logs, else estimated.

With usage in the logs, our count of each request stands beside the reported one, and a calibration
learns the provider's from ours. Without, the model's public stand-in counts, and a published factor
makes its tokens those of the provider.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from jeton.auditing.evidence import Evidence, Measured, RequestEvidence
from jeton.catalog import price as find_price
from jeton.catalog.api_price import USER_PROVIDER
from jeton.economics import Calibration, ProviderCount, estimate_tokens, stand_in
from jeton.economics.provider_count import CountedRequests, provider_count
from jeton.errors import CatalogError, UsageError
from jeton.findings import Basis
from jeton.registry import load

__all__ = ["provider_count_of"]

MIN_MODEL_SHARE = 0.5
"""Share of the requests that one model must have for it to be the one that is calibrated where no
model was named; as for the price that logs give."""

_MAX_LOGGED_MODELS = 100
"""Names of models in logs that are looked up in the price list, the most frequent first: a log may
name as many as it has requests."""


def provider_count_of(
    evidence: Evidence, *, closed_model: str | None, seed: int
) -> ProviderCount | None:
    """The workload in the tokens of the provider; None where they are those that were counted.

    Args:
        evidence: What was measured.
        closed_model: The model as the user named it; None: that of the price.
        seed: Of the calibration's split and bootstrap.
    """
    price = evidence.traffic.price
    listed = price.model if price is not None and price.provider != USER_PROVIDER else None
    name = closed_model or listed
    calibrated = _calibrated(evidence, name, seed)
    if calibrated is not None:
        return calibrated
    return None if name is None else _estimated(evidence, name, is_asked=closed_model is not None)


def _calibrated(evidence: Evidence, name: str | None, seed: int) -> ProviderCount | None:
    """From the usage of the model's requests; None without enough of it."""
    requests = evidence.requests
    if requests is None or not len(requests.counted_tokens):
        return None
    rows, label = _rows_of(requests, name)
    counted, reported = requests.counted_tokens[rows], requests.input_tokens[rows]
    # Any order of the log, and of its shards, gives the same split.
    order = np.lexsort((reported, counted))
    try:
        calibration = Calibration.fit(counted[order], reported[order], seed=seed)
    except UsageError:
        # Too few requests state their usage.
        return None
    current = evidence.current
    workload = _workload(evidence, current, n_tokens=current.n_tokens)
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
    """Whether a log means a model, dated or not, with its provider's name or without."""
    if logged.casefold() == model.casefold():
        return True
    try:
        return find_price(logged).model == find_price(model).model
    except CatalogError:
        return False


def _estimated(evidence: Evidence, name: str, *, is_asked: bool) -> ProviderCount | None:
    """By the public stand-in and its factor; None for a model that is not closed."""
    try:
        entry = stand_in(name)
    except CatalogError:
        return None
    if entry.basis is Basis.EXACT and not is_asked:
        # Its tokenizer is public: whoever wants its counts audits with it.
        return None
    at_hand = next((m for m in evidence.tokenizers if m.name == entry.tokenizer), None)
    if at_hand is not None:
        workload = _workload(evidence, at_hand, n_tokens=at_hand.n_tokens)
        return provider_count(workload, estimate_tokens(workload.n_tokens, model=name), model=name)
    try:
        ratio, said = _ratio(evidence, entry.tokenizer)
    except (CatalogError, OSError):
        return ProviderCount(
            model=name,
            tokenizer=entry.tokenizer,
            n_requests=evidence.corpus.n_documents,
            n_counted_tokens=evidence.current.n_tokens,
            missing=(
                f"{name} is counted with {entry.tokenizer}, its public stand-in, which is not at "
                f"hand (`jeton vocab fetch` or `jeton vocab add` brings it); the counts here are "
                f"those of {evidence.current.name}"
            ),
        )
    n_tokens = round(evidence.current.n_tokens * ratio)
    workload = _workload(evidence, evidence.current, n_tokens=n_tokens)
    workload = replace(workload, tokenizer=entry.tokenizer)
    estimate = estimate_tokens(workload.n_tokens, model=name)
    estimate = replace(
        estimate,
        basis=estimate.basis if evidence.sample.is_whole else Basis.ESTIMATED,
        formula=f"{estimate.formula}; {said}",
    )
    return provider_count(workload, estimate, model=name)


def _ratio(evidence: Evidence, name: str) -> tuple[float, str]:
    """Tokens of a tokenizer over those of the one in use, on the sample; and how to say that."""
    tokenizer, documents = load(name), evidence.sample.documents
    counts = tokenizer.count_batch([document.text for document in documents])
    pairs = list(zip(counts.tolist(), documents, strict=True))
    n_own = sum(int(count) * document.n_copies for count, document in pairs)
    n_current = sum(document.n_tokens * document.n_copies for document in documents)
    ratio = n_own / n_current if n_current else 1.0
    return ratio, (
        f"{evidence.current.n_tokens:,} tokens of {evidence.current.name} are {ratio:.4f} times as "
        f"many of {name}, on {'all' if evidence.sample.is_whole else 'a sample of'} "
        f"{len(documents):,} documents"
    )


def _workload(evidence: Evidence, measured: Measured, *, n_tokens: int) -> CountedRequests:
    return CountedRequests(
        tokenizer=measured.name,
        n_tokens=n_tokens,
        lengths=measured.lengths.lengths.tolist(),
        requests=measured.lengths.documents.tolist(),
        price=evidence.traffic.price,
        requests_per_day=evidence.traffic.requests_per_day,
        output_tokens_per_request=evidence.output_tokens_per_request,
    )
