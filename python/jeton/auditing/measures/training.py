"""Training of the audit's model under each tokenizer, and when a change is earned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, get_args

from jeton.auditing.result import TokenizerReport, TokenizerTraining
from jeton.catalog import GpuFacts, ModelFacts
from jeton.economics.money import DAYS_PER_YEAR, MONTHS_PER_YEAR
from jeton.economics.vocabulary.training_costs import break_even, training_cost
from jeton.errors import UsageError

TrainingMode = Literal["pretraining", "continued", "embeddings"]


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """The training run that is priced.

    Attributes:
        n_bytes: Text that is trained on, UTF-8 bytes.
        mode: The trained part: a new model, the whole model further, or its tables alone.
        epochs: How often the text is read.
        sequence_tokens: Length of a sequence; None: the model's context, at most 8,192.
        n_gpus: GPUs; None: the fewest on which it fits.
        recomputation: True if activations are recomputed instead of kept.
        fused_loss: True if the loss never writes the scores down.
        usd_per_hour: Price of one GPU and hour; None: the catalog's low list price.
    """

    n_bytes: float
    mode: TrainingMode = "continued"
    epochs: float = 1.0
    sequence_tokens: int | None = None
    n_gpus: int | None = None
    recomputation: Literal["none", "full"] = "full"
    fused_loss: bool = False
    usd_per_hour: Decimal | None = None


def checked_training(
    options: TrainingOptions,
    *,
    model: ModelFacts | None,
    gpu: GpuFacts | None,
    vocab_sizes: Sequence[int],
) -> TrainingOptions:
    """Refuse what cannot be priced, before anything is read.

    Raises:
        UsageError: Model or GPU is missing, or a number is out of range.
    """
    if model is None or gpu is None:
        raise UsageError(
            "the cost of training was asked for, but not the model and the GPU\n"
            "hint: give both (--model and --gpu)"
        )
    if options.mode not in get_args(TrainingMode):
        raise UsageError(
            f"mode is {options.mode!r}; expected one of {', '.join(get_args(TrainingMode))}"
        )
    # The largest vocabulary takes the most memory.
    training_cost(
        model,
        gpu,
        n_bytes=options.n_bytes,
        bytes_per_token=1.0,
        epochs=options.epochs,
        mode=options.mode,
        sequence_tokens=options.sequence_tokens,
        n_gpus=options.n_gpus,
        vocab_size=max(vocab_sizes),
        recomputation=options.recomputation,
        fused_loss=options.fused_loss,
        usd_per_hour=options.usd_per_hour,
    )
    return options


def training_of(
    options: TrainingOptions,
    tokenizers: Sequence[TokenizerReport],
    *,
    model: ModelFacts,
    gpu: GpuFacts,
    requests_per_day: float | None,
) -> tuple[TokenizerTraining, ...]:
    """Cost of the run under each tokenizer; for candidates, when serving earns it.

    A million tokens served cost what the audit's own GPUs cost under each tokenizer; where that is
    not known, nothing is said of when a change is earned.
    """
    current = next(t for t in tokenizers if t.is_current)
    found = []
    for t in tokenizers:
        cost = training_cost(
            model,
            gpu,
            n_bytes=options.n_bytes,
            bytes_per_token=t.bytes_per_token or 1.0,
            epochs=options.epochs,
            mode=options.mode,
            sequence_tokens=options.sequence_tokens,
            n_gpus=options.n_gpus,
            vocab_size=t.vocab_size,
            recomputation=options.recomputation,
            fused_loss=options.fused_loss,
            usd_per_hour=options.usd_per_hour,
            tokenizer=t.name,
        )
        earned = None
        now, then = current.economics.own_gpu_usd_per_mtok, t.economics.own_gpu_usd_per_mtok
        if t is not current and now is not None and then is not None and current.n_tokens:
            tokens_per_month = None
            if requests_per_day is not None:
                a_day = requests_per_day * current.tokens_per_document.mean
                tokens_per_month = a_day * float(DAYS_PER_YEAR / MONTHS_PER_YEAR)
            earned = break_even(
                usd_once=cost.usd,
                usd_per_mtok_now=Decimal(now.value),
                tokens_ratio=t.n_tokens / current.n_tokens,
                usd_per_mtok_then=Decimal(then.value),
                tokens_per_month=tokens_per_month,
            )
        found.append(TokenizerTraining(t.name, cost, earned))
    return tuple(found)
