"""Request logs as an audit reads them, and what they say that the user did not."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jeton._core import Tokenizer
from jeton.auditing.measures.measuring import Facts
from jeton.catalog import price as find_price
from jeton.corpus import ChatRenderer, RequestsSummary, RequestStream, open_requests
from jeton.corpus.requests.reading import Turns
from jeton.corpus.requests.records import RecordFormat
from jeton.corpus.requests.seams import PartEntry
from jeton.corpus.requests.shards import LogPart
from jeton.corpus.times import TimeUnit
from jeton.economics.ledger import Ledger
from jeton.errors import CatalogError
from jeton.progress import OnProgress
from jeton.workload.sampling.deep_sample import DeepSample

MIN_MODEL_SHARE = 0.5
"""Share of the requests that one model must have for the rules of its provider to be shown."""


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How request logs are read; see `jeton.corpus.open_requests`.

    Attributes:
        format: How the files are written; ``auto`` goes by name and content.
        template: A folder or file with the chat template with which chats are sent. Without one,
            messages are joined and OpenAI's published formula adds what their format costs.
        turns: A chat is one request, or one for each answer in it.
        prompt_field: Where what was sent is; empty: by the usual names. So are the rest.
        response_field: Where what came back is.
        model_field: Where the model's name is.
        time_field: Where the time is.
        time_unit: Unit of times that are numbers.
    """

    format: RecordFormat = "auto"
    template: str | os.PathLike[str] | None = None
    turns: Turns = "last"
    prompt_field: str = ""
    response_field: str = ""
    model_field: str = ""
    time_field: str = ""
    time_unit: TimeUnit = "auto"


def open_logs(
    inputs: Any,
    options: LogOptions,
    *,
    domain_field: str,
    domains_by: Any,
    strict: bool,
    on_progress: OnProgress | None,
    part: LogPart | None = None,
    entry: PartEntry | None = None,
    num_processes: int | None = None,
) -> RequestStream:
    """Open logs with the options of an audit; errors as those of `jeton.corpus.open_requests`."""
    template = options.template
    return open_requests(
        inputs,
        format=options.format,
        template=None if template is None else template_renderer(template),
        turns=options.turns,
        prompt_field=options.prompt_field,
        response_field=options.response_field,
        model_field=options.model_field,
        time_field=options.time_field,
        time_unit=options.time_unit,
        domain_field=domain_field,
        domains_by=domains_by,
        strict=strict,
        num_processes=num_processes,
        part=part,
        entry=entry,
        on_progress=on_progress,
    )


def template_renderer(path: str | os.PathLike[str]) -> ChatRenderer:
    """A renderer of chats by the template of a model's folder, or of a file.

    Raises:
        UsageError: The folder has no template.
        TemplateError: The template cannot be compiled, or refuses a message of a user.
    """
    from pathlib import Path

    from jeton.chat import ChatTemplate
    from jeton.formats.reading import read_template

    place = Path(path)
    template = (
        ChatTemplate.from_folder(place)
        if place.is_dir()
        else ChatTemplate.from_source(read_template(place))
    )

    # A pattern that cannot be compiled is an error now, not an issue of every record.
    template.render([{"role": "user", "content": "text"}], add_generation_prompt=True)

    def render(
        messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None
    ) -> str:
        rendered = template.render(messages, tools=tools, add_generation_prompt=True)
        return str(rendered.text)

    return render


def completed(facts: Facts, summary: RequestsSummary, mean_answer: float | None) -> Facts:
    """The facts with what the logs say of answers and prices where the user said nothing.

    Args:
        facts: The user's facts.
        summary: Summary of the logs.
        mean_answer: Tokens of a logged answer, counted, for logs without usage.
    """
    taken = list(facts.taken_from_logs)
    if facts.output_tokens_per_request is None:
        mean = summary.output_tokens_mean
        if mean is None:
            mean = mean_answer
        if mean is not None:
            facts = replace(facts, output_tokens_per_request=mean)
            taken.append("output_tokens_per_request")
    if facts.price is None and summary.by_model:
        most = summary.by_model[0]
        if most.name and most.n_requests >= MIN_MODEL_SHARE * summary.n_requests:
            try:
                facts = replace(facts, prices=(find_price(most.name),))
                taken.append("price_model")
            except CatalogError:
                # The user asked for no money; an unknown model in a log is none of his mistakes.
                pass
    return replace(facts, taken_from_logs=tuple(taken))


def timed(facts: Facts, ledger: Ledger, summary: RequestsSummary | None) -> Facts:
    """The facts with the traffic of the ledger and the logs' peak, where the user said nothing."""
    rate = ledger.period.requests_per_day
    mean = None if summary is None else summary.requests_per_day
    if facts.requests_per_day is None and rate is not None:
        mean = float(rate)
        taken = ("requests_per_day", *facts.taken_from_logs)
        facts = replace(facts, requests_per_day=mean, taken_from_logs=taken)
    if facts.peak_to_mean is None and facts.gpu is not None and summary is not None and mean:
        peak = (summary.peak_requests_per_hour or 0) * 24 / mean
        if peak > 1:
            taken = (*facts.taken_from_logs, "peak_to_mean")
            facts = replace(facts, peak_to_mean=peak, taken_from_logs=taken)
    return facts


def mean_answer(sample: DeepSample, tokenizer: Tokenizer) -> float | None:
    """Tokens of a logged answer, mean over the sample."""
    answers = [(d.response, d.n_copies) for d in sample.documents if d.response]
    if not answers:
        return None
    counts = tokenizer.count_batch([answer for answer, _ in answers])
    n_answers = sum(n_copies for _, n_copies in answers)
    total = sum(int(count) * n_copies for count, (_, n_copies) in zip(counts, answers, strict=True))
    return total / n_answers
