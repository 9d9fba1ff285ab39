"""Costs of a sweep's sizes for one model, the best one, and the sizes of published laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from jeton.catalog import GpuFacts, ModelFacts
from jeton.economics.serving.parameters import count_parameters
from jeton.economics.serving.request_lengths import RequestLengths
from jeton.economics.vocabulary.laws import optimal_vocab_size
from jeton.economics.vocabulary.trade import VocabularyTrade, vocabulary_trade
from jeton.planning.sweep_results import LawfulSize, ModelSweep

_APPROACHES: tuple[Literal["isoflops", "derivative", "loss"], ...] = (
    "isoflops",
    "derivative",
    "loss",
)

NOISE = 0.01
"""Share by which two costs have to differ before one is called less. Ours: the shares of the
datasheet's rates that the estimate takes are known no better than that."""

Minimise = Literal["usd_per_request", "seconds_per_request", "weight_bytes"]


def model_sweep(
    model: ModelFacts,
    gpu: GpuFacts,
    workload: RequestLengths,
    *,
    tokens_per_byte: Mapping[int, float],
    sizes: Sequence[int],
    minimise: Minimise,
    usd_per_hour: Decimal | None,
    dropped: str = "",
) -> ModelSweep:
    """Cost of each size for a model, and the best one.

    Args:
        model: The model.
        gpu: The GPU that it runs on.
        workload: Its requests, in tokens of the largest size.
        tokens_per_byte: Tokens per byte of each worked-out size, those between the ones asked for
            too.
        sizes: The sizes asked for, ascending; the best is one of them.
        minimise: The figure that the best size has the least of.
        usd_per_hour: Price of a GPU and hour; None: the catalog's low list price.
        dropped: Which larger sizes were asked for and why they are not compared, in words.
    """
    trade = vocabulary_trade(
        model,
        gpu,
        workload,
        tokens_per_byte=tokens_per_byte,
        reference_vocab_size=sizes[-1],
        minimise=minimise,
        usd_per_hour=usd_per_hour,
    )
    asked = [point for point in trade.points if point.vocab_size in set(sizes)]
    least = min(float(getattr(point, minimise)) for point in asked)
    # Bytes of weights are counted; money and time are estimated, and no better than their noise.
    noise = 0.0 if minimise == "weight_bytes" else NOISE
    near = [point for point in asked if float(getattr(point, minimise)) <= least * (1 + noise)]
    best = min(near, key=lambda point: (point.tokens_per_byte, point.vocab_size))
    parameters = count_parameters(model)
    n_others = parameters.total - parameters.input_embedding - parameters.output_head
    laws = tuple(
        LawfulSize(
            approach,
            round(
                optimal_vocab_size(
                    n_nonvocab_parameters=n_others,
                    hidden_size=model.table_width,
                    approach=approach,
                )
            ),
        )
        for approach in _APPROACHES
    )
    return ModelSweep(
        model=model.name,
        gpu=gpu.name,
        vocab_size=model.vocab_size,
        trade=trade,
        best=best.vocab_size,
        laws=laws,
        reasons=_reasons(trade, asked, best.vocab_size, minimise, laws, len(near), dropped),
    )


def _reasons(
    trade: VocabularyTrade,
    asked: Sequence[Any],
    best: int,
    minimise: str,
    laws: Sequence[LawfulSize],
    n_near: int,
    dropped: str,
) -> tuple[str, ...]:
    place = [point.vocab_size for point in asked].index(best)
    here = asked[place]
    value = float(getattr(here, minimise))
    found = [f"{best:,} ids have the least {minimise} of the sizes asked for: {value:.4g}"]
    if n_near > 1:
        found = [
            f"{n_near} sizes have the least {minimise} to within {NOISE:.0%}, which is less than "
            f"the estimate can tell ({value:.4g}): of these, {best:,} ids need the fewest tokens"
        ]
    for other in (asked[place - 1] if place else None, *asked[place + 1 : place + 2]):
        if other is None:
            continue
        change = float(getattr(other, minimise)) / float(getattr(here, minimise)) - 1
        found.append(
            f"{other.vocab_size:,} ids: {change:+.2%} {minimise}, "
            f"{other.tokens_per_byte / here.tokens_per_byte - 1:+.1%} tokens, "
            f"{(other.table_bytes - here.table_bytes) / 1e6:+,.0f} MB of tables, the head is "
            f"{other.head_share:.1%} of a step's weight reads instead of {here.head_share:.1%}"
        )
    on_curve = next(point for point in trade.points if point.vocab_size == trade.best)
    if float(getattr(on_curve, minimise)) < value * (1 - NOISE):
        found.append(f"between the sizes asked for, {trade.best:,} ids have less still")
    if dropped and place == len(asked) - 1:
        found.append(dropped)
    elif len(asked) > 1 and place in (0, len(asked) - 1):
        end = "smallest" if place == 0 else "largest"
        found.append(f"it is the {end} size asked for, so a better one may lie beyond")
    low, high = min(law.vocab_size for law in laws), max(law.vocab_size for law in laws)
    found.append(f"published laws for training alone (arXiv:2407.13623) say {low:,} to {high:,}")
    return tuple(found)
