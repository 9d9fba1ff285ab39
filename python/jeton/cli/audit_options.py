"""What ``jeton audit`` may be told of logs, domains, the pipeline, a bill and limits."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    from jeton.auditing import LogOptions, Pipeline
    from jeton.corpus.sampling import Sampling
    from jeton.economics import Limits, Quota

__all__ = ["AuditSettings", "settings_options"]

_BYTES_PER_GB = 10**9


@dataclass(slots=True)
class AuditSettings:
    """The options as they were given; the methods turn them into arguments of `jeton.audit`."""

    logs: bool = False
    log_format: Literal["auto", "jsonl", "json", "csv", "parquet"] = "auto"
    chat_template: str | None = None
    chat_turns: Literal["last", "each"] = "last"
    prompt_field: str = ""
    response_field: str = ""
    model_field: str = ""
    time_field: str = ""
    time_unit: Literal["auto", "s", "ms", "us", "ns"] = "auto"
    domains: Literal["auto", "file", "folder", "none"] = "auto"
    domain_field: str = ""
    bill: str | None = None
    pipeline_file: str | None = None
    max_length: int | None = None
    padding: str | None = None
    batch_size: int | None = None
    truncation: str | None = None
    chunk_tokens: int | None = None
    overlap_tokens: int | None = None
    preprocessing: tuple[str, ...] = ()
    run_preprocessing: bool = False
    cache: bool | None = None
    max_output_tokens: int | None = None
    reserved_tokens: int | None = None
    train_tokenizer: str | None = None
    serve_tokenizer: str | None = None
    limit_memory_gb: float | None = None
    limit_usd_per_month: str | None = None
    limit_seconds: float | None = None
    limit_bits_per_byte: float | None = None
    sample_documents: int | None = None
    sample_mb: float | None = None
    sample_error: float | None = None
    deep_sample_mb: float | None = None
    quality: bool = True
    closed_model: str | None = None
    quota_tokens_per_minute: int | None = None
    quota_requests_per_minute: int | None = None
    quota_requests_per_day: int | None = None
    growth_per_month: float | None = None
    seed: int = 0

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `jeton.audit`.

        Raises:
            UsageError: Options that cannot be meant.
            OSError: The pipeline's file cannot be read.
        """
        arguments: dict[str, Any] = {
            "logs": self._logs(),
            "domains": self.domains,
            "domain_field": self.domain_field,
            "bill": self.bill,
            "pipeline": self._pipeline(),
            "run_commands": self.run_preprocessing,
            "limits": self._limits(),
            "sampling": self._sampling(),
            "quality": self.quality,
            "closed_model": self.closed_model,
            "quota": self._quota(),
            "growth_per_month": (
                None if self.growth_per_month is None else self.growth_per_month / 100
            ),
            "seed": self.seed,
        }
        if self.deep_sample_mb is not None:
            arguments["deep_sample_bytes"] = max(1, round(self.deep_sample_mb * 1_000_000))
        return arguments

    def _logs(self) -> LogOptions | bool:
        log_only = {
            "--log-format": self.log_format != "auto",
            "--chat-template": self.chat_template is not None,
            "--chat-turns": self.chat_turns != "last",
            "--prompt-field": bool(self.prompt_field),
            "--response-field": bool(self.response_field),
            "--model-field": bool(self.model_field),
            "--time-field": bool(self.time_field),
            "--time-unit": self.time_unit != "auto",
            "--bill": self.bill is not None,
        }
        if not self.logs:
            given = [option for option, is_given in log_only.items() if is_given]
            if given:
                raise click.UsageError(f"{given[0]} is for request logs; say --logs too")
            return False
        from jeton.auditing import LogOptions

        return LogOptions(
            format=self.log_format,
            template=self.chat_template,
            turns=self.chat_turns,
            prompt_field=self.prompt_field,
            response_field=self.response_field,
            model_field=self.model_field,
            time_field=self.time_field,
            time_unit=self.time_unit,
        )

    def _pipeline(self) -> Pipeline | None:
        """The file's settings, those that are given as options in their place."""
        given = {name: getattr(self, name) for name in _PIPELINE}
        given["preprocessing"] = self.preprocessing or None
        if self.pipeline_file is None and not any(v is not None for v in given.values()):
            return None
        from jeton.auditing.pipeline import Pipeline, pipeline_of, read_pipeline

        base = Pipeline() if self.pipeline_file is None else read_pipeline(self.pipeline_file)
        return pipeline_of(given, base=base)

    def _sampling(self) -> Sampling | None:
        if self.sample_documents is None and self.sample_mb is None and self.sample_error is None:
            return None
        from jeton.corpus.sampling import Sampling

        megabytes = self.sample_mb
        return Sampling(
            max_documents=self.sample_documents,
            max_bytes=None if megabytes is None else max(1, round(megabytes * 1_000_000)),
            error=None if self.sample_error is None else self.sample_error / 100,
        )

    def _quota(self) -> Quota | None:
        limits = (
            self.quota_tokens_per_minute,
            self.quota_requests_per_minute,
            self.quota_requests_per_day,
        )
        if all(limit is None for limit in limits):
            return None
        from jeton.economics import Quota

        return Quota(*limits)

    def _limits(self) -> Limits | None:
        values = (
            self.limit_memory_gb,
            self.limit_usd_per_month,
            self.limit_seconds,
            self.limit_bits_per_byte,
        )
        if all(value is None for value in values):
            return None
        from jeton.economics import Limits

        memory = self.limit_memory_gb
        return Limits(
            memory_bytes=None if memory is None else memory * _BYTES_PER_GB,
            usd_per_month=_usd(self.limit_usd_per_month),
            seconds_per_request=self.limit_seconds,
            bits_per_byte=self.limit_bits_per_byte,
        )


_PIPELINE = (
    "max_length",
    "padding",
    "batch_size",
    "truncation",
    "chunk_tokens",
    "overlap_tokens",
    "cache",
    "max_output_tokens",
    "reserved_tokens",
    "train_tokenizer",
    "serve_tokenizer",
)
"""Options that are fields of a pipeline under the same name."""


def _usd(text: str | None) -> Decimal | None:
    if text is None:
        return None
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise click.BadParameter(
            f"{text!r} is no amount of dollars", param_hint="--limit-usd-per-month"
        )
    return amount


def settings_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options; the function gets them as one argument, ``settings``."""

    @functools.wraps(function)
    def call(**options: Any) -> Any:
        settings = AuditSettings(**{item.name: options.pop(item.name) for item in _FIELDS})
        return function(settings=settings, **options)

    decorated: Callable[..., Any] = call
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


_FIELDS = fields(AuditSettings)

_TOKENS = click.IntRange(min=1)


def _text(name: str, metavar: str, words: str) -> Callable[..., Any]:
    return click.option(name, metavar=metavar, default="", help=words)


_OPTIONS = (
    click.option(
        "--logs",
        is_flag=True,
        help="The inputs are request logs: prompts or messages, answers, usage, times, in the "
        "shapes of OpenAI, Anthropic, OpenTelemetry and others. Traffic, output and price come "
        "from them where they are not given.",
    ),
    click.option(
        "--log-format",
        type=click.Choice(["auto", "jsonl", "json", "csv", "parquet"]),
        default="auto",
        show_default=True,
        help="How the logs are written.",
    ),
    click.option(
        "--chat-template",
        metavar="PATH",
        type=click.Path(exists=True),
        help="Folder of a model, or a Jinja file: chats are counted as this template writes them. "
        "By default by OpenAI's published formula.",
    ),
    click.option(
        "--chat-turns",
        type=click.Choice(["last", "each"]),
        default="last",
        show_default=True,
        help="A logged chat is one request, or one for each answer in it.",
    ),
    _text("--prompt-field", "NAME", "Field of a log with what was sent; dots descend."),
    _text("--response-field", "NAME", "Field of a log with what came back."),
    _text("--model-field", "NAME", "Field of a log with the model's name."),
    _text("--time-field", "NAME", "Field of a log with the time."),
    click.option(
        "--time-unit",
        type=click.Choice(["auto", "s", "ms", "us", "ns"]),
        default="auto",
        show_default=True,
        help="Unit of times that are numbers.",
    ),
    click.option(
        "--domains",
        type=click.Choice(["auto", "file", "folder", "none"]),
        default="auto",
        show_default=True,
        help="What is reported apart; auto: files or folders where there are 2 to 20.",
    ),
    _text("--domain-field", "NAME", "Field that names the domain (a service, a language)."),
    click.option(
        "--bill",
        metavar="F|USD",
        help="Provider's bill for the logs, as CSV or JSON, or its total in USD: reconciled to "
        "the cent.",
    ),
    click.option(
        "--pipeline",
        "pipeline_file",
        metavar="F",
        help="TOML file that describes the pipeline; the options below go before it.",
    ),
    click.option("--max-length", type=_TOKENS, metavar="N", help="Tokens of a sequence at most."),
    click.option(
        "--padding",
        type=click.Choice(["static", "longest", "none"]),
        help="Sequences are padded to --max-length, to the longest of a batch, or not.",
    ),
    click.option("--batch-size", type=_TOKENS, metavar="N", help="Sequences of a batch."),
    click.option(
        "--truncation",
        type=click.Choice(["left", "right", "none"]),
        help="Which end of longer sequences is cut off.",
    ),
    click.option(
        "--chunk-tokens", type=_TOKENS, metavar="N", help="Tokens that documents are cut into."
    ),
    click.option(
        "--overlap-tokens",
        type=click.IntRange(min=0),
        metavar="N",
        help="Tokens that neighbouring chunks share.",
    ),
    click.option(
        "--preprocessing",
        metavar="STEP",
        multiple=True,
        help="Step before the tokenizer: nfc, nfkc, lowercase, strip-accents ... Repeatable, in "
        "order.",
    ),
    click.option(
        "--run-preprocessing",
        is_flag=True,
        help="Run the preprocessing_command of the pipeline's file on sampled documents.",
    ),
    click.option(
        "--cache/--no-cache", default=None, help="Prompt prefixes are cached already, or not."
    ),
    click.option(
        "--max-output-tokens", type=_TOKENS, metavar="N", help="Limit of output tokens in use."
    ),
    click.option(
        "--reserved-tokens", type=_TOKENS, metavar="N", help="Context reserved for a request."
    ),
    click.option("--train-tokenizer", metavar="T", help="Tokenizer the model was trained with."),
    click.option("--serve-tokenizer", metavar="T", help="Tokenizer that requests pass."),
    click.option(
        "--limit-memory-gb",
        type=click.FloatRange(min=0),
        metavar="GB",
        help="Most memory a candidate may take (weights and one long request), 10^9 bytes.",
    ),
    click.option("--limit-usd-per-month", metavar="USD", help="Most a candidate may cost a month."),
    click.option(
        "--limit-seconds",
        type=click.FloatRange(min=0),
        metavar="S",
        help="Longest that reading a prompt may take, seconds.",
    ),
    click.option(
        "--limit-bits-per-byte",
        type=click.FloatRange(min=0),
        metavar="B",
        help="Most bits per byte of a candidate.",
    ),
    click.option(
        "--sample-documents",
        type=_TOKENS,
        metavar="N",
        help="Count at most so many different documents, drawn evenly; all are read.",
    ),
    click.option(
        "--sample-mb",
        type=click.FloatRange(min=0, min_open=True),
        metavar="MB",
        help="Count at most so much text, 10^6 bytes, drawn likewise.",
    ),
    click.option(
        "--sample-error",
        type=click.FloatRange(min=0, max=100, min_open=True, max_open=True),
        metavar="PERCENT",
        help="Count until the tokens of all are known within so many percent (at 95%).",
    ),
    click.option(
        "--deep-sample-mb",
        type=click.FloatRange(min=0, min_open=True),
        metavar="MB",
        help="Text on which the expensive analyses run, 10^6 bytes; 4.2 by default. A smaller "
        "workload is analysed whole.",
    ),
    click.option(
        "--quality/--no-quality",
        default=True,
        show_default=True,
        help="Measure the tokenizers' quality too: some seconds for each.",
    ),
    click.option(
        "--closed-model",
        metavar="M",
        help="Closed model whose provider counts the tokens (claude-..., gemini-...); by default "
        "that of the price. Calibrated from the usage in logs, else estimated with a range.",
    ),
    click.option(
        "--quota-tokens-per-minute",
        type=_TOKENS,
        metavar="N",
        help="Tokens (input and output) that the API allows in any minute.",
    ),
    click.option(
        "--quota-requests-per-minute",
        type=_TOKENS,
        metavar="N",
        help="Requests that the API allows in any minute.",
    ),
    click.option(
        "--quota-requests-per-day",
        type=_TOKENS,
        metavar="N",
        help="Requests that the API allows in any day.",
    ),
    click.option(
        "--growth-per-month",
        type=click.FloatRange(min=-100, min_open=True),
        metavar="PERCENT",
        help="Growth of the traffic: when it uses up the quotas.",
    ),
    click.option(
        "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the intervals."
    ),
)
