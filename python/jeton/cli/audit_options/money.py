"""Options of ``jeton audit`` for prices, GPUs, a trace, a training run, and limits of a choice."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import click

from jeton.cli.declaring import OptionSet, option
from jeton.cli.kinds import AMOUNT, COUNT, LIMIT_USD, FiniteRange
from jeton.cli.memory_options import MemoryOptions

if TYPE_CHECKING:
    from jeton.auditing import TraceOptions, TrainingOptions
    from jeton.economics.billing.quotas import Quota
    from jeton.economics.tradeoff import Limits

_BYTES_PER_GB = 10**9
_ABOVE_ZERO = FiniteRange(min=0, min_open=True, max=1e9)


class PriceSettings(OptionSet, title="Price"):
    """Traffic, prices and the limits of an API."""

    price_models: tuple[str, ...] = option(
        "API price: MODEL, PROVIDER:MODEL, or usd:INPUT/OUTPUT per million tokens; `jeton "
        "catalog prices` lists them. Repeat it to compare models by price per document.",
        "P",
        names="--price-model",
    )
    requests_per_day: float | None = option(
        "Requests like these in a day, for the cost of a day, month and year. By default as in "
        "the logs.",
        "N",
        type=AMOUNT,
    )
    output_tokens_per_request: float | None = option(
        "Mean tokens of an answer. By default as in the logs, else 0.", "N", type=AMOUNT
    )
    closed_model: str | None = option(
        "Model whose provider counts the tokens (claude-..., gemini-...); by default that of "
        "the price. Learned from the usage in logs, else estimated with a range.",
        "M",
    )
    quota_tokens_per_minute: int | None = option(
        "Limit of your API: tokens (input and output) in any minute.", "N", type=COUNT
    )
    quota_requests_per_minute: int | None = option(
        "Limit of your API: requests in any minute.", "N", type=COUNT
    )
    quota_requests_per_day: int | None = option(
        "Limit of your API: requests in any day.", "N", type=COUNT
    )
    growth_per_month: float | None = option(
        "Growth of the traffic, to say when it reaches these limits.",
        "PERCENT",
        type=FiniteRange(min=-100, min_open=True),
    )

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `jeton.audit`."""
        growth = self.growth_per_month
        return {
            "price_model": self.price_models,
            "requests_per_day": self.requests_per_day,
            "output_tokens_per_request": self.output_tokens_per_request,
            "closed_model": self.closed_model,
            "quota": self._quota(),
            "growth_per_month": None if growth is None else growth / 100,
        }

    def _quota(self) -> Quota | None:
        limits = (
            self.quota_tokens_per_minute,
            self.quota_requests_per_minute,
            self.quota_requests_per_day,
        )
        if all(limit is None for limit in limits):
            return None
        from jeton.economics.billing.quotas import Quota

        return Quota(*limits)


class _OwnModel(OptionSet):
    """The model and where it runs."""

    model: str | None = option(
        "Model for memory and compute: a name (`jeton catalog models`), a name as its page has "
        "it, or a folder with a config.json.",
        "M",
    )
    gpu: str | None = option("GPU that the model runs on; `jeton catalog gpus` lists them.", "G")


class GpuSettings(MemoryOptions, _OwnModel, title="GPU"):
    """A model that runs on your own GPUs."""

    peak_factor: float | None = option(
        "The busiest hour's traffic over the mean, for which GPUs are rented; by default that "
        "of the logs, else 1.",
        "N",
        type=FiniteRange(min=1),
    )

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `jeton.audit`.

        Raises:
            UsageError: An option is given without a model or a GPU.
        """
        given = self.first_given(but=("model", "gpu", "calibrate", "peak_factor"))
        if given is not None and self.model is None:
            raise click.UsageError(f"{given} is for a model; name one with --model")
        if self.peak_factor is not None and self.gpu is None:
            raise click.UsageError("--peak-factor is for GPUs of your own; name one with --gpu")
        plan = self.plan()
        if self.calibrate is not None:
            if self.model is None or self.gpu is None:
                raise click.UsageError("--calibrate is for a model on a GPU: --model and --gpu")
            from jeton.catalog import gpu, model

            plan = self.plan_for(model(self.model), gpu(self.gpu))
        return {
            "model": self.model,
            "gpu": self.gpu,
            "memory": plan,
            "peak_to_mean": self.peak_factor,
        }


class TraceSettings(OptionSet, title="Trace"):
    """A trace that is replayed."""

    trace: str | None = option(
        "Times and token counts of real requests. They are replayed on --model and --gpu: "
        "memory over time, waiting, time to the first token, cost. CSV or JSON Lines (of Azure, "
        "Mooncake, Qwen-Bailian, BurstGPT, or your own columns), or a ServeGen folder.",
        "FILE",
    )
    trace_rate: float | None = option(
        "Requests per second, where the trace has no times.", "N", type=_ABOVE_ZERO
    )
    trace_seconds: float | None = option("Replay only the first S seconds.", "S", type=_ABOVE_ZERO)
    trace_speed: float = option(
        "Replay the trace N times as fast as recorded.", "N", type=_ABOVE_ZERO, default=1.0
    )
    trace_policy: tuple[str, ...] = option(
        "How memory is given to requests: enough for the longest, page by page, or as predicted "
        "from history. Repeatable; by default all three.",
        type=click.Choice(["static", "dynamic", "prediction"]),
    )
    trace_reserved_tokens: int | None = option(
        "Tokens that the static policy reserves for a request; by default as many as the "
        "longest needs.",
        "N",
        type=COUNT,
    )
    trace_gpus: int | None = option(
        "GPUs that hold the model together; by default as few as possible.", "N", type=COUNT
    )
    trace_max_requests: int | None = option(
        "Most requests in a batch; by default 256.", "N", type=COUNT
    )
    trace_step_tokens: int | None = option(
        "Most tokens of a step, prompts and output together; by default 2,048.", "N", type=COUNT
    )
    trace_step_overhead_ms: float = option(
        "Extra time of each step: scheduling, launches, sampling.",
        "MS",
        type=FiniteRange(min=0, max=59_999),
        default=0.0,
    )
    trace_prefix_cache: bool = option(
        "Read the shared beginning of prompts only once, while memory lasts; for traces with "
        "hash_ids (Mooncake's, Qwen-Bailian's)."
    )

    def arguments(self) -> dict[str, TraceOptions]:
        """Keyword arguments of `jeton.audit`.

        Raises:
            UsageError: An option is given without a trace.
        """
        if self.trace is None:
            given = self.first_given()
            if given is not None:
                raise click.UsageError(f"{given} is for a trace; name one with --trace")
            return {}
        from jeton.auditing import TraceOptions
        from jeton.economics.traffic import POLICIES, EngineSettings

        defaults = EngineSettings()
        # In the order of reports, each once.
        chosen = tuple(name for name in POLICIES if name in self.trace_policy) or POLICIES
        return {
            "trace": TraceOptions(
                self.trace,
                requests_per_second=self.trace_rate,
                seconds=self.trace_seconds,
                rate_factor=self.trace_speed,
                policies=chosen,
                reserved_tokens=self.trace_reserved_tokens,
                n_gpus=self.trace_gpus,
                settings=EngineSettings(
                    max_requests=self.trace_max_requests or defaults.max_requests,
                    step_tokens=self.trace_step_tokens or defaults.step_tokens,
                    step_overhead_seconds=self.trace_step_overhead_ms / 1e3,
                    prefix_cache=self.trace_prefix_cache,
                ),
            )
        }


class TrainingSettings(OptionSet, title="Training"):
    """A training run that is priced."""

    training_gb: float | None = option(
        "Price the training of --model on --gpu with this much text (10^9 bytes) under each "
        "tokenizer, and say when a change pays for itself.",
        "GB",
        type=FiniteRange(min=0, min_open=True, max=1e12),
    )
    training_mode: Literal["pretraining", "continued", "embeddings"] = option(
        "A new model, the whole model trained further, or its tables alone.", default="continued"
    )
    training_epochs: float = option(
        "How often the text is read.",
        "N",
        type=FiniteRange(min=0, min_open=True, max=1e6),
        default=1.0,
    )
    training_gpus: int | None = option(
        "GPUs that train; by default the fewest on which it fits.", "N", type=COUNT
    )

    def arguments(self) -> dict[str, TrainingOptions]:
        """Keyword arguments of `jeton.audit`.

        Raises:
            UsageError: An option is given without the amount of text.
        """
        if self.training_gb is None:
            given = self.first_given()
            if given is not None:
                raise click.UsageError(f"{given} is for a training run; say --training-gb too")
            return {}
        from jeton.auditing import TrainingOptions

        return {
            "training": TrainingOptions(
                n_bytes=self.training_gb * _BYTES_PER_GB,
                mode=self.training_mode,
                epochs=self.training_epochs,
                n_gpus=self.training_gpus,
            )
        }


class LimitSettings(OptionSet, title="Limits for the choice of a tokenizer"):
    """Limits that a tokenizer has to keep."""

    limit_memory_gb: float | None = option(
        "Most memory for the weights and one long request, 10^9 bytes.", "GB", type=AMOUNT
    )
    limit_usd_per_month: Decimal | None = option("Highest cost of a month.", "USD", type=LIMIT_USD)
    limit_seconds: float | None = option(
        "Longest time to read a prompt, seconds.", "S", type=AMOUNT
    )
    limit_bits_per_byte: float | None = option(
        "Most bits per byte (a measure of quality; less is better).", "B", type=AMOUNT
    )

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `jeton.audit`."""
        return {"limits": self._limits()}

    def _limits(self) -> Limits | None:
        if self.first_given() is None:
            return None
        from jeton.economics.tradeoff import Limits

        memory = self.limit_memory_gb
        return Limits(
            memory_bytes=None if memory is None else memory * _BYTES_PER_GB,
            usd_per_month=self.limit_usd_per_month,
            seconds_per_request=self.limit_seconds,
            bits_per_byte=self.limit_bits_per_byte,
        )
