"""Options of ``jeton audit`` for its inputs: how they are read, grouped and sampled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from jeton.cli import options
from jeton.cli.finite import FiniteRange
from jeton.cli.option_groups import OptionGroup

if TYPE_CHECKING:
    from jeton.corpus.sampling import Sampling


@dataclass(slots=True)
class InputSettings:
    """The options as they were given."""

    tokenizers: tuple[str, ...] = ()
    current: str | None = None
    field: str = "text"
    documents: Literal["file", "line"] = "file"
    domains: Literal["auto", "file", "folder", "none"] = "auto"
    domain_field: str = ""
    terms: str | None = None
    quality: bool = True
    sample_documents: int | None = None
    sample_mb: float | None = None
    sample_error: float | None = None
    deep_sample_mb: float | None = None
    seed: int = 0
    strict: bool = False
    on_bad_record: Literal["stop", "skip"] = "stop"
    num_threads: int | None = None

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `jeton.audit`."""
        arguments: dict[str, Any] = {
            "tokenizers": self.tokenizers,
            "current": self.current,
            "field": self.field,
            "documents": self.documents,
            "domains": self.domains,
            "domain_field": self.domain_field,
            # A str would be taken for the terms themselves.
            "terms": None if self.terms is None else Path(self.terms),
            "quality": self.quality,
            "sampling": self._sampling(),
            "seed": self.seed,
            "strict": self.strict,
            "on_bad_record": self.on_bad_record,
            "num_threads": self.num_threads,
        }
        if self.deep_sample_mb is not None:
            arguments["sample_bytes"] = max(1, round(self.deep_sample_mb * 1_000_000))
        return arguments

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


INPUTS = OptionGroup(
    title="Input",
    name="reading",
    settings=InputSettings,
    options=(
        click.option(
            "-t",
            "--tokenizer",
            "tokenizers",
            metavar="T",
            multiple=True,
            help="Tokenizer to measure: a name, a model, a file or folder. Repeatable. By default "
            "that of --model, of --price-model, or of the model that the logs name.",
        ),
        click.option(
            "--current",
            metavar="T",
            help="The tokenizer in use now; the others are compared with it. By default the first.",
        ),
        options.field_option,
        options.documents_option,
        click.option(
            "--domains",
            type=click.Choice(["auto", "file", "folder", "none"]),
            default="auto",
            show_default=True,
            help="Report files or folders apart; auto does so where there are 2 to 20.",
        ),
        click.option(
            "--domain-field",
            metavar="NAME",
            default="",
            help="Report each value of this field apart (a service, a team, a language).",
        ),
        click.option(
            "--terms",
            metavar="FILE",
            help="Terms of your domain, one a line: how they are split, and what that costs.",
        ),
        click.option(
            "--quality/--no-quality",
            default=True,
            show_default=True,
            help="Measure other qualities of each tokenizer too: some seconds for each.",
        ),
        click.option(
            "--sample-documents",
            type=click.IntRange(min=1),
            metavar="N",
            help="Count at most N different documents, drawn evenly; all are read.",
        ),
        click.option(
            "--sample-mb",
            type=FiniteRange(min=0, min_open=True),
            metavar="MB",
            help="Count at most this much text (10^6 bytes), drawn in the same way.",
        ),
        click.option(
            "--sample-error",
            type=FiniteRange(min=0, max=100, min_open=True, max_open=True),
            metavar="PERCENT",
            help="Count until the total is known within this many percent (with 95% confidence).",
        ),
        click.option(
            "--deep-sample-mb",
            type=FiniteRange(min=0, min_open=True),
            metavar="MB",
            help="Text for the slow analyses, 10^6 bytes; 4.2 by default. A smaller workload is "
            "analysed whole.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Seed of the confidence intervals.",
        ),
        options.strict_option,
        options.on_bad_record_option,
        options.threads_option,
    ),
)
