"""Does the text reach the model as it was trained on, and no longer than it was?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jeton.auditing.evidence import Evidence, percent
from jeton.auditing.registry import ANSWERS, SOURCE, analysis, finding_of
from jeton.findings import Basis, Finding, Severity
from jeton.registry import load

MIN_GROWTH = 0.01
"""Share of tokens that a step adds. Our choice, as for white space: a step that is meant to clean
should not cost."""

_N_SHOWN = 3
_MAX_SHOWN_CHARS = 80


@analysis("train-serve-mismatch")
def train_serve_mismatch(evidence: Evidence) -> Iterator[Finding]:
    """Requests are encoded with another tokenizer than the model was trained with.

    Threshold: one document of the sample whose ids differ; ids of another vocabulary are other
    words to the model.
    """
    pipeline, sample = evidence.pipeline, evidence.sample
    if pipeline is None or pipeline.train_tokenizer is None or not sample.documents:
        return
    train = load(pipeline.train_tokenizer)
    serve = (
        load(pipeline.serve_tokenizer) if pipeline.serve_tokenizer else evidence.current.tokenizer
    )
    if train.fingerprint == serve.fingerprint:
        return
    texts = [document.text for document in sample.documents]
    trained, served = train.encode_batch(texts), serve.encode_batch(texts)
    different = [
        index
        for index, (a, b) in enumerate(zip(trained, served, strict=True))
        if not np.array_equal(a, b)
    ]
    if not different:
        return
    n_train, n_serve = len(trained.ids), len(served.ids)
    serve_name = pipeline.serve_tokenizer or evidence.current.name
    example = " ".join(texts[different[0]][:_MAX_SHOWN_CHARS].split())
    yield finding_of(
        severity=Severity.ERROR,
        title=f"{serve_name} gives other token ids than {pipeline.train_tokenizer}, which the "
        "model "
        f"was trained with, for {len(different):,} of {len(texts):,} sampled documents",
        where=serve_name,
        value=len(different),
        unit="documents of the sample",
        formula=f"documents whose ids differ; {n_serve:,} tokens against {n_train:,} in training",
        cause="The tokenizer was replaced or saved with other settings, or two libraries read the "
        "same files differently. The model sees ids that it learned for other words.",
        remedy=f"Serve with {pipeline.train_tokenizer}. `jeton lock` warns you when the two sides "
        "differ.",
        evidence={
            "n_documents": len(different),
            "n_sampled_documents": len(texts),
            "token_ratio": n_serve / max(1, n_train),
            "examples": [
                " ".join(texts[index][:_MAX_SHOWN_CHARS].split()) for index in different[:_N_SHOWN]
            ],
            "first": example,
        },
    )


@analysis("preprocessing-growth", "Leave out the step that adds tokens", SOURCE, ANSWERS)
def preprocessing_growth(evidence: Evidence) -> Iterator[Finding]:
    """A step before the tokenizer makes more tokens of the same text."""
    sample = evidence.sample
    for effect in evidence.preprocessing:
        growth = effect.growth
        if growth < MIN_GROWTH:
            continue
        n_tokens = round(growth * sample.n_tokens_of_all)
        low, high = effect.growth_low, effect.growth_high
        about = ""
        interval = ""
        if not effect.is_whole:
            about = f" (95% interval {percent(low)} to {percent(high)})"
            interval = (
                f"; tried on {effect.n_documents:,} documents drawn by digest, 95% interval by "
                f"bootstrap over documents: {low * sample.n_tokens_of_all:,.0f} to "
                f"{high * sample.n_tokens_of_all:,.0f} tokens"
            )
        yield finding_of(
            title=f"the step {effect.name} makes {percent(growth)} more tokens of the text{about} "
            f"({effect.n_changed:,} of {effect.n_documents:,} documents change)",
            where=effect.name,
            value=n_tokens,
            basis=Basis.EXACT if effect.is_whole else Basis.ESTIMATED,
            formula=f"({effect.n_tokens_after:,} tokens after / {effect.n_tokens_before:,} before "
            f"- 1) x {sample.n_tokens_of_all:,} tokens of the workload; "
            f"{effect.n_bytes_before:,} bytes became {effect.n_bytes_after:,}{interval}",
            cause="This step rewrites text in a form that needs more tokens (split accents, "
            "escapes "
            "or extra spaces).",
            remedy=f"Leave out {effect.name}, or undo it before encoding. First check what the "
            "model "
            "was trained on: both must agree.",
            **evidence.traffic.saving(n_tokens),
            evidence={
                "n_bytes_before": effect.n_bytes_before,
                "n_bytes_after": effect.n_bytes_after,
                "growth": growth,
                "growth_low": low,
                "growth_high": high,
                "n_documents": effect.n_documents,
            },
        )
