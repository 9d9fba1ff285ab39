"""Ways to a vocabulary of one's own, side by side: nothing, extension, more training, all anew.

Tokens are measured on the user's text. Training and serving are estimated by the roofline and by
published shares (`jeton.economics`); amounts of training text are assumptions that can be given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import Any, Literal

import numpy as np

from jeton._core import Tokenizer
from jeton._shown import NotebookResult
from jeton.adapt.change import VocabularyChange
from jeton.adapt.logged_requests import check_amounts, read_logged_requests
from jeton.adapt.reading import Corpus, Reading
from jeton.catalog.gpu_facts import GpuFacts
from jeton.catalog.model_facts import ModelFacts
from jeton.catalog.model_map import ModelMap
from jeton.economics.ledger import Ledger
from jeton.economics.serving.capacity import RequestLengths
from jeton.economics.serving.own_gpu import own_gpu_cost
from jeton.economics.serving.parameters import count_parameters
from jeton.economics.vocabulary.training_costs import training_cost
from jeton.errors import UsageError
from jeton.registry import TokenizerLike, resolve

EXTENSION_TOKENS = 50_000_000
"""Tokens on which new rows are trained by default. An assumption: a few hundred steps of 131,072
tokens, as trials of initialisations take (50 to 500 steps, arXiv:2608.03494, second-hand)."""

CONTINUED_TOKENS = 5_000_000_000
"""Tokens of continued pretraining by default. An assumption: 10,000 steps of half a million tokens
(10,000 steps, arXiv:2509.26124, second-hand; 5,000 steps, arXiv:2506.03523)."""

TOKENS_PER_PARAMETER = 20
"""Tokens for each parameter of a training from nothing: compute-optimal (arXiv:2203.15556)."""

_MAX_LENGTHS = 256

_RISKS: Mapping[str, str] = {
    "nothing": "none",
    "extension": "new rows begin as means of old ones and the layers stay. General text keeps its "
    "cut where no new token fits. Check bits per byte on domain and general text",
    "continued": "layers move too: 5,000 steps recover an exchanged vocabulary "
    "(arXiv:2506.03523); other abilities can be forgotten without general text in the mix",
    "pretraining": "a new model: nothing is carried over, all evaluations begin anew; where the "
    "digit rule changes without retraining, GSM8K fell by 74 to 79% (arXiv:2506.06607)",
}

OTHER_CHANGES: tuple[tuple[str, str], ...] = (
    ("prompt caches", "entries of old ids never match again: empty them at each stage"),
    (
        "RAG chunk budgets",
        "chunks of equal tokens hold more text: cut again, or keep old sizes",
    ),
    ("draft models", "a draft needs the same ids: apply the change to it too (jeton adapt apply)"),
    ("adapters", "LoRA with embeddings or added ids follows the change; others stay as they are"),
    ("stored token data", "exact where nothing is added (jeton adapt remap), else tokenize anew"),
    ("rate limits and budgets", "limits in tokens mean more text: set them in the new tokens"),
    ("context lengths", "prompts that were cut may fit now: see what truncation did before"),
    ("stop and banned ids", "lists of ids in requests and configurations follow the change"),
)

STEPS: tuple[str, ...] = (
    "jeton adapt terms: how many slots pay",
    "jeton adapt extend (or prune, replace): the tokenizer and its vocabulary_change.json",
    "jeton adapt apply --dry-run, then apply: the model with the new rows",
    "jeton adapt verify: rows as planned, all else byte-equal",
    "train the chosen way; compare bits per byte before and after",
    "jeton adapt shadow on logged traffic, then 1, 10, 50 and 100% of it",
)

ROLLBACK = (
    "keep the old model and tokenizer together: both belong to one fingerprint. Route by the "
    "sticky hash back to them; nothing else has to be undone but caches"
)


@dataclass(frozen=True, slots=True)
class Way:
    """One way, with its cost and its earnings.

    Attributes:
        name: ``nothing``, ``extension``, ``continued`` or ``pretraining``.
        training_tokens: Tokens to train on.
        gpu_hours: GPU-hours of training.
        n_gpus: GPUs on which it fits.
        usd_once: Price of training.
        tokens_ratio: New tokens for one of today's, measured.
        usd_per_request: A request afterwards.
        usd_saved_per_request: Saving against today; below 0 where it costs more.
        break_even_requests: Requests after which it has paid for itself; None: never.
        break_even_months: Months until then; None: never, or without traffic.
        risk: Quality at risk, with published figures.
    """

    name: str
    training_tokens: int
    gpu_hours: float
    n_gpus: int
    usd_once: Decimal
    tokens_ratio: float
    usd_per_request: Decimal
    usd_saved_per_request: Decimal
    break_even_requests: int | None
    break_even_months: float | None
    risk: str


@dataclass(frozen=True, slots=True)
class MigrationPlan(NotebookResult):
    """The ways side by side, and what they have in common.

    Attributes:
        model: Name of the model.
        gpu: Name of the GPU.
        n_documents: Documents that were measured.
        n_tokens_before: Their tokens with the old tokenizer.
        n_tokens_after: Their tokens with the new one.
        ways: The ways, ``nothing`` first.
        best: The way that has earned most after a year of the traffic given; None without traffic.
        other_changes: Other things that must change, each with what to do.
        steps: The steps in order.
        rollback: The way back.
        ledger_now: Ledger of the requests of a log, as they were used; None: no log was given.
        ledger_then: Ledger of them with the new tokenizer's tokens, at the same prices.
        n_without_text: Requests of the log that show no text, which are left out.
    """

    _table = "ways"
    _line = ("model", "gpu", "best", "ways")

    model: str
    gpu: str
    n_documents: int
    n_tokens_before: int
    n_tokens_after: int
    ways: tuple[Way, ...]
    best: str | None
    other_changes: tuple[tuple[str, str], ...] = OTHER_CHANGES
    steps: tuple[str, ...] = STEPS
    rollback: str = ROLLBACK
    ledger_now: Ledger | None = None
    ledger_then: Ledger | None = None
    n_without_text: int = 0


def migration_plan(
    inputs: Any,
    *,
    old: TokenizerLike,
    new: TokenizerLike,
    model: ModelFacts,
    gpu: GpuFacts,
    output_tokens: float | None = None,
    requests_per_day: float | None = None,
    logs: bool = False,
    model_map: ModelMap | None = None,
    extension_tokens: int = EXTENSION_TOKENS,
    continued_tokens: int = CONTINUED_TOKENS,
    pretraining_tokens: int | None = None,
    change: VocabularyChange | None = None,
    reading: Reading | None = None,
) -> MigrationPlan:
    """Lay the ways to a new vocabulary side by side.

    Args:
        inputs: Paths, folders, globs or texts: the traffic, a document a request.
        old: The model's tokenizer: a name, a path or an object.
        new: The one that it may get, given in the same ways.
        model: The model.
        gpu: The GPU for training and serving.
        output_tokens: Tokens generated after each document, in tokens of today; None: the mean
            that a log states, else none.
        requests_per_day: Traffic; None: that of the log. Without it: no months and no best way.
        logs: True if the inputs are request logs; the ledger then says what they cost.
        model_map: Names of one's own for the models of logs.
        extension_tokens: New tokens on which the tables alone are trained.
        continued_tokens: New tokens on which all is trained further.
        pretraining_tokens: New tokens of a training from nothing; None: 20 for each parameter.
        change: The change from old to new; extension is offered only if rows are kept.
        reading: How documents are read; nothing is kept apart.

    Raises:
        UsageError: A number is out of range, or the model does not fit.
        EmptyCorpusError: There is no text.
    """
    old, new = resolve(old, argument="old"), resolve(new, argument="new")
    numbers = (extension_tokens, continued_tokens, pretraining_tokens or 1)
    if min(numbers) < 1:
        raise UsageError(
            "amounts of training text must be at least one token\n"
            "hint: leave them out for the usual amounts"
        )
    check_amounts(requests_per_day=requests_per_day, output_tokens=output_tokens)
    reading = reading or Reading()
    logged, ledgers = None, []
    if logs:
        logged = read_logged_requests(inputs, old, new, num_threads=reading.num_threads)
        before, after, n_bytes = logged.before, logged.after, logged.n_bytes
        if output_tokens is None:
            output_tokens = logged.mean_output_tokens
        for columns in (logged.columns_before(), logged.columns_after()):
            ledgers.append(logged.money(columns, model_map=model_map).ledger)
    else:
        before, after, n_bytes = _count(old, new, inputs, reading)
    if requests_per_day is None and ledgers and ledgers[0].period.requests_per_day is not None:
        requests_per_day = float(ledgers[0].period.requests_per_day)
    output_tokens = output_tokens or 0.0
    ratio = int(after.sum()) / max(1, int(before.sum()))
    sides = {
        size: own_gpu_cost(
            model,
            gpu,
            RequestLengths.of(_thinned(lengths), output_tokens=output_tokens * factor),
            prompts_in_batches=True,
            vocab_size=rows,
        ).usd_per_request
        for size, lengths, factor, rows in (
            ("old", before, 1.0, max(model.vocab_size, old.vocab_size)),
            ("new", after, ratio, max(1, new.vocab_size)),
        )
    }
    per_token = n_bytes / max(1, int(after.sum()))
    all_tokens = pretraining_tokens or TOKENS_PER_PARAMETER * count_parameters(model).total
    ways = [
        _nothing(sides["old"]),
        *(
            _way(
                name,
                mode,
                tokens,
                model=model,
                gpu=gpu,
                bytes_per_token=per_token,
                vocab_size=new.vocab_size,
                ratio=ratio,
                usd_now=sides["old"],
                usd_then=sides["new"],
                per_day=requests_per_day,
            )
            for name, mode, tokens in _trainings(
                change, extension_tokens, continued_tokens, all_tokens
            )
        ),
    ]
    best = None
    if requests_per_day is not None:
        a_year = Decimal(repr(float(requests_per_day))) * Decimal("365.25")
        best = max(ways, key=lambda way: way.usd_saved_per_request * a_year - way.usd_once).name
    return MigrationPlan(
        model=model.name,
        gpu=gpu.name,
        n_documents=len(before),
        n_tokens_before=int(before.sum()),
        n_tokens_after=int(after.sum()),
        ways=tuple(ways),
        best=best,
        ledger_now=ledgers[0] if ledgers else None,
        ledger_then=ledgers[1] if ledgers else None,
        n_without_text=logged.n_without_text if logged else 0,
    )


_Mode = Literal["pretraining", "continued", "embeddings"]


def _trainings(
    change: VocabularyChange | None, extension: int, continued: int, pretraining: int
) -> list[tuple[str, _Mode, int]]:
    ways: list[tuple[str, _Mode, int]] = []
    if change is None or len(change.kept):
        ways.append(("extension", "embeddings", extension))
    ways.append(("continued", "continued", continued))
    ways.append(("pretraining", "pretraining", pretraining))
    return ways


def _count(
    old: Tokenizer, new: Tokenizer, inputs: Any, reading: Reading
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], int]:
    from dataclasses import replace

    corpus = Corpus(inputs, replace(reading, hold_out=0.0))
    before, after = [], []
    for batch in corpus:
        before.append(old.count_batch(batch, num_threads=reading.num_threads))
        after.append(new.count_batch(batch, num_threads=reading.num_threads))
    return np.concatenate(before), np.concatenate(after), corpus.n_bytes


def _thinned(lengths: np.ndarray[Any, Any]) -> Sequence[int]:
    """Returns lengths of about the same distribution and total, at most 256 different ones."""
    some = np.sort(lengths[lengths > 0])
    if len(some) <= _MAX_LENGTHS:
        return [int(length) for length in some]
    return [round(float(group.mean())) for group in np.array_split(some, _MAX_LENGTHS)]


def _nothing(usd: Decimal) -> Way:
    zero = Decimal(0)
    return Way("nothing", 0, 0.0, 0, zero, 1.0, usd, zero, 0, 0.0, _RISKS["nothing"])


def _way(
    name: str,
    mode: _Mode,
    tokens: int,
    *,
    model: ModelFacts,
    gpu: GpuFacts,
    bytes_per_token: float,
    vocab_size: int,
    ratio: float,
    usd_now: Decimal,
    usd_then: Decimal,
    per_day: float | None,
) -> Way:
    cost = training_cost(
        model,
        gpu,
        n_bytes=tokens * bytes_per_token,
        bytes_per_token=bytes_per_token,
        mode=mode,
        vocab_size=vocab_size,
        recomputation="full",
        fused_loss=True,
    )
    saved = usd_now - usd_then
    requests = ceil(cost.usd / saved) if saved > 0 else None
    months = None
    if requests is not None and per_day:
        months = requests / (per_day * 30.4375)
    return Way(
        name=name,
        training_tokens=tokens,
        gpu_hours=cost.gpu_hours,
        n_gpus=cost.n_gpus,
        usd_once=cost.usd,
        tokens_ratio=ratio,
        usd_per_request=usd_then,
        usd_saved_per_request=saved,
        break_even_requests=requests,
        break_even_months=months,
        risk=_RISKS[name],
    )
