"""Options of ``jeton audit`` for a trace that it replays."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import click

from jeton.cli.finite import FiniteRange
from jeton.cli.option_groups import OptionGroup

if TYPE_CHECKING:
    from jeton.auditing import TraceOptions


@dataclass(slots=True)
class TraceSettings:
    """The options as they were given."""

    trace: str | None = None
    trace_rate: float | None = None
    trace_seconds: float | None = None
    trace_speed: float = 1.0
    trace_policy: tuple[str, ...] = ()
    trace_reserved_tokens: int | None = None
    trace_gpus: int | None = None
    trace_max_requests: int | None = None
    trace_step_tokens: int | None = None
    trace_step_overhead_ms: float = 0.0
    trace_prefix_cache: bool = False

    def arguments(self) -> dict[str, TraceOptions]:
        """Keyword arguments of `jeton.audit`.

        Raises:
            UsageError: An option is given without a trace.
        """
        if self.trace is None:
            given = [
                f"--{item.name.replace('_', '-')}"
                for item in fields(self)
                if getattr(self, item.name) != item.default
            ]
            if given:
                raise click.UsageError(f"{given[0]} is for a trace; name one with --trace")
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


_ABOVE_ZERO = FiniteRange(min=0, min_open=True, max=1e9)

TRACE = OptionGroup(
    title="Trace",
    name="trace",
    settings=TraceSettings,
    options=(
        click.option(
            "--trace",
            metavar="FILE",
            help="Times and token counts of real requests. They are replayed on --model and "
            "--gpu: memory over time, waiting, time to the first token, cost. CSV or JSON Lines "
            "(of Azure, Mooncake, Qwen-Bailian, BurstGPT, or your own columns), or a ServeGen "
            "folder.",
        ),
        click.option(
            "--trace-rate",
            type=_ABOVE_ZERO,
            metavar="N",
            help="Requests per second, where the trace has no times.",
        ),
        click.option(
            "--trace-seconds",
            type=_ABOVE_ZERO,
            metavar="S",
            help="Replay only the first S seconds.",
        ),
        click.option(
            "--trace-speed",
            type=_ABOVE_ZERO,
            default=1.0,
            show_default=True,
            metavar="N",
            help="Replay the trace N times as fast as recorded.",
        ),
        click.option(
            "--trace-policy",
            type=click.Choice(["static", "dynamic", "prediction"]),
            multiple=True,
            help="How memory is given to requests: enough for the longest, page by page, or as "
            "predicted from history. Repeatable; by default all three.",
        ),
        click.option(
            "--trace-reserved-tokens",
            type=click.IntRange(min=1),
            metavar="N",
            help="Tokens that the static policy reserves for a request; by default as many "
            "as the longest needs.",
        ),
        click.option(
            "--trace-gpus",
            type=click.IntRange(min=1),
            metavar="N",
            help="GPUs that hold the model together; by default as few as possible.",
        ),
        click.option(
            "--trace-max-requests",
            type=click.IntRange(min=1),
            metavar="N",
            help="Most requests in a batch; by default 256.",
        ),
        click.option(
            "--trace-step-tokens",
            type=click.IntRange(min=1),
            metavar="N",
            help="Most tokens of a step, prompts and output together; by default 2,048.",
        ),
        click.option(
            "--trace-step-overhead-ms",
            type=FiniteRange(min=0, max=59_999),
            default=0.0,
            show_default=True,
            metavar="MS",
            help="Extra time of each step: scheduling, launches, sampling.",
        ),
        click.option(
            "--trace-prefix-cache",
            is_flag=True,
            help="Read the shared beginning of prompts only once, while memory lasts; for "
            "traces with hash_ids (Mooncake's, Qwen-Bailian's).",
        ),
    ),
)
