"""Options of ``jeton audit`` for the pipeline in front of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from jeton.cli.option_groups import OptionGroup

if TYPE_CHECKING:
    from jeton.auditing import Pipeline

_TOKENS = click.IntRange(min=1)

_SAME_NAME = (
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


@dataclass(slots=True)
class PipelineSettings:
    """The options as they were given."""

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

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `jeton.audit`.

        Raises:
            UsageError: Options that cannot be meant.
            OSError: The pipeline's file cannot be read.
        """
        return {"pipeline": self._pipeline(), "run_commands": self.run_preprocessing}

    def _pipeline(self) -> Pipeline | None:
        """The file's settings, those that are given as options in their place."""
        given = {name: getattr(self, name) for name in _SAME_NAME}
        given["preprocessing"] = self.preprocessing or None
        if self.pipeline_file is None and not any(v is not None for v in given.values()):
            return None
        from jeton.auditing.options.pipeline import Pipeline, pipeline_of, read_pipeline

        base = Pipeline() if self.pipeline_file is None else read_pipeline(self.pipeline_file)
        return pipeline_of(given, base=base)


PIPELINE = OptionGroup(
    title="Pipeline",
    name="pipeline",
    settings=PipelineSettings,
    options=(
        click.option(
            "--pipeline",
            "pipeline_file",
            metavar="F",
            help="TOML file that describes the pipeline; the options below override it.",
        ),
        click.option("--max-length", type=_TOKENS, metavar="N", help="Most tokens of a sequence."),
        click.option(
            "--padding",
            type=click.Choice(["static", "longest", "none"]),
            help="Pad sequences to --max-length, to the longest of a batch, or not at all.",
        ),
        click.option("--batch-size", type=_TOKENS, metavar="N", help="Sequences of a batch."),
        click.option(
            "--truncation",
            type=click.Choice(["left", "right", "none"]),
            help="Which end of longer sequences is cut off.",
        ),
        click.option(
            "--chunk-tokens", type=_TOKENS, metavar="N", help="Cut documents into chunks of N."
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
            help="Step before the tokenizer: nfc, nfkc, lowercase, strip-accents ... Repeatable, "
            "in order.",
        ),
        click.option(
            "--run-preprocessing",
            is_flag=True,
            help="Run the preprocessing_command of the pipeline's file on sampled documents.",
        ),
        click.option(
            "--cache/--no-cache", default=None, help="You use prompt caching already, or not."
        ),
        click.option(
            "--max-output-tokens", type=_TOKENS, metavar="N", help="Your limit of output tokens."
        ),
        click.option(
            "--reserved-tokens", type=_TOKENS, metavar="N", help="Context reserved for a request."
        ),
        click.option(
            "--train-tokenizer", metavar="T", help="Tokenizer that the model was trained with."
        ),
        click.option(
            "--serve-tokenizer", metavar="T", help="Tokenizer that requests pass through."
        ),
    ),
)
