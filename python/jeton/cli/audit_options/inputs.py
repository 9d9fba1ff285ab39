"""Options of ``jeton audit`` for its inputs: documents, logs, the pipeline before a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from jeton._plain import picked
from jeton.cli import options
from jeton.cli.declaring import OptionSet, option
from jeton.cli.kinds import COUNT, POSITIVE, WHOLE, FiniteRange

if TYPE_CHECKING:
    from jeton.auditing import LogOptions, Pipeline
    from jeton.corpus.sampling import Sampling

_MEGABYTE = 10**6


class InputSettings(OptionSet, title="Input"):
    """Options for reading, grouping and sampling documents."""

    tokenizers: tuple[str, ...] = option(
        "Tokenizer to measure: a name, a model, a file or folder. Repeatable. By default that "
        "of --model, of --price-model, or of the model that the logs name.",
        "T",
        names="-t --tokenizer",
    )
    current: str | None = option(
        "The tokenizer in use now; the others are compared with it. By default the first.", "T"
    )
    field: str = options.FIELD
    documents: Literal["file", "line"] = options.DOCUMENTS
    domains: Literal["auto", "file", "folder", "none"] = option(
        "Report files or folders apart; auto does so where there are 2 to 20.", default="auto"
    )
    domain_field: str = option(
        "Report each value of this field apart (a service, a team, a language).", "NAME", default=""
    )
    terms: str | None = option(
        "Terms of your domain, one a line: how they are split, and what that costs.", "FILE"
    )
    quality: bool = option(
        "Measure other qualities of each tokenizer too: some seconds for each.", default=True
    )
    sample_documents: int | None = option(
        "Count at most N different documents, drawn evenly; all are read.", "N", type=COUNT
    )
    sample_mb: float | None = option(
        "Count at most this much text (10^6 bytes), drawn in the same way.", "MB", type=POSITIVE
    )
    sample_error: float | None = option(
        "Count until the total is known within this many percent (with 95% confidence).",
        "PERCENT",
        type=FiniteRange(min=0, max=100, min_open=True, max_open=True),
    )
    deep_sample_mb: float | None = option(
        "Text for the slow analyses, 10^6 bytes; 4.2 by default. A smaller workload is analysed "
        "whole.",
        "MB",
        type=POSITIVE,
    )
    seed: int = option("Seed of the confidence intervals.", type=WHOLE, default=0)
    strict: bool = options.STRICT
    on_bad_record: Literal["stop", "skip"] = options.ON_BAD_RECORD
    num_threads: int | None = options.THREADS

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `jeton.audit`."""
        given = self.values()
        megabytes = given.pop("deep_sample_mb")
        if megabytes is not None:
            given["sample_bytes"] = max(1, round(megabytes * _MEGABYTE))
        if self.terms is not None:
            # A str would be taken for the terms themselves.
            given["terms"] = Path(self.terms)
        for name in ("sample_documents", "sample_mb", "sample_error"):
            del given[name]
        return {**given, "sampling": self._sampling()}

    def _sampling(self) -> Sampling | None:
        if self.sample_documents is None and self.sample_mb is None and self.sample_error is None:
            return None
        from jeton.corpus.sampling import Sampling

        megabytes = self.sample_mb
        return Sampling(
            max_documents=self.sample_documents,
            max_bytes=None if megabytes is None else max(1, round(megabytes * _MEGABYTE)),
            error=None if self.sample_error is None else self.sample_error / 100,
        )


class LogSettings(OptionSet, title="Logs"):
    """Options for reading and pricing request logs."""

    logs: bool = option(
        "The inputs are request logs (OpenAI, Anthropic, OpenTelemetry and others). Traffic, "
        "output, models and prices come from them."
    )
    bill: str | None = option(
        "The provider's bill for these logs, as CSV or JSON, or its total in USD. It is "
        "compared with the logs to the cent.",
        "F|USD",
    )
    model_map: str | None = option(
        'Your own names of models and deployments: lines such as NAME = "PROVIDER:MODEL" (or '
        "JSON, CSV, TOML).",
        "F",
        type=click.Path(exists=True, dir_okay=False),
    )
    strict_prices: bool = option(
        "Stop if a model in the logs has no price, instead of naming it as not priced."
    )
    period: str = option(
        "Time that the logs cover: day, week, month, 30d, 2026-10-01..2026-10-31. By default "
        "the calendar days of their requests.",
        "P",
        default="",
    )
    log_format: Literal["auto", "jsonl", "json", "csv", "parquet"] = option(
        "File format of the logs.", default="auto"
    )
    chat_template: str | None = option(
        "Folder of a model, or a Jinja file. Chats are counted as this template writes them; by "
        "default by OpenAI's published formula.",
        "PATH",
        type=click.Path(exists=True),
    )
    chat_turns: Literal["last", "each"] = option(
        "Count a logged chat as one request, or as one request for each answer in it.",
        default="last",
    )
    prompt_field: str = option(
        "Field that holds the prompt; a.b is field b inside a.", "NAME", default=""
    )
    response_field: str = option("Field that holds the answer.", "NAME", default="")
    model_field: str = option("Field that holds the model's name.", "NAME", default="")
    time_field: str = option("Field that holds the time.", "NAME", default="")
    time_unit: Literal["auto", "s", "ms", "us", "ns"] = option(
        "Unit of times that are numbers.", default="auto"
    )

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `jeton.audit`.

        Raises:
            UsageError: An option is given without ``--logs``.
        """
        given = self.first_given(but=("logs",))
        if given is not None and not self.logs:
            raise click.UsageError(f"{given} is for request logs; say --logs too")
        return {
            "logs": self._logs() if self.logs else False,
            **picked(self, "bill model_map strict_prices period"),
        }

    def _logs(self) -> LogOptions:
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


class PipelineSettings(OptionSet, title="Pipeline"):
    """The pipeline in front of the model."""

    pipeline_file: str | None = option(
        "TOML file that describes the pipeline; the options below override it.",
        "F",
        names="--pipeline",
    )
    max_length: int | None = option("Most tokens of a sequence.", "N", type=COUNT)
    padding: str | None = option(
        "Pad sequences to --max-length, to the longest of a batch, or not at all.",
        type=click.Choice(["static", "longest", "none"]),
    )
    batch_size: int | None = option("Sequences of a batch.", "N", type=COUNT)
    truncation: str | None = option(
        "Which end of longer sequences is cut off.", type=click.Choice(["left", "right", "none"])
    )
    chunk_tokens: int | None = option("Cut documents into chunks of N.", "N", type=COUNT)
    overlap_tokens: int | None = option("Tokens that neighbouring chunks share.", "N", type=WHOLE)
    preprocessing: tuple[str, ...] = option(
        "Step before the tokenizer: nfc, nfkc, lowercase, strip-accents ... Repeatable, in order.",
        "STEP",
    )
    run_preprocessing: bool = option(
        "Run the preprocessing_command of the pipeline's file on sampled documents."
    )
    cache: bool | None = option("You use prompt caching already, or not.")
    max_output_tokens: int | None = option("Your limit of output tokens.", "N", type=COUNT)
    reserved_tokens: int | None = option("Context reserved for a request.", "N", type=COUNT)
    train_tokenizer: str | None = option("Tokenizer that the model was trained with.", "T")
    serve_tokenizer: str | None = option("Tokenizer that requests pass through.", "T")

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `jeton.audit`.

        Raises:
            UsageError: Options that cannot be meant.
            OSError: The pipeline's file cannot be read.
        """
        return {"pipeline": self._pipeline(), "run_commands": self.run_preprocessing}

    def _pipeline(self) -> Pipeline | None:
        """The file's settings, those that are given as options in their place."""
        given = self.values()
        file, _ = given.pop("pipeline_file"), given.pop("run_preprocessing")
        given["preprocessing"] = self.preprocessing or None
        if file is None and all(value is None for value in given.values()):
            return None
        from jeton.auditing.options.pipeline import Pipeline, pipeline_of, read_pipeline

        return pipeline_of(given, base=Pipeline() if file is None else read_pipeline(file))
