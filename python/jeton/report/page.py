"""The audit as one HTML page that needs nothing else: no network, no fonts, no other file."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jeton._files import write_whole
from jeton.report import evidence_views as evidence
from jeton.report import traffic_views as traffic
from jeton.report.billed_views import billed_view
from jeton.report.gate import name_in_words
from jeton.report.gate_views import gate_view
from jeton.report.json_report import embed_json
from jeton.report.model_views import model_cost_view
from jeton.report.money_views import bill_view, once_shown, payback_shown, waterfall_view
from jeton.report.numbers import Numbers, Shown, basis_sign, below, lookup
from jeton.report.parts import parts_of
from jeton.report.prose import prose
from jeton.report.segments import Segment, glyphs, segments
from jeton.report.session_views import SESSION_LABELS, cache_view
from jeton.report.simulation_views import policy_words, simulation_view
from jeton.report.spending_views import spending_view
from jeton.report.summary import (
    current_tokenizer,
    findings,
    first_step,
    headline,
    n_open_findings,
    worst_terms,
)
from jeton.report.tables import economics_table, fidelity_table, quality_table, tokens_table
from jeton.report.training_text import TRAINING_LABELS, training_rows
from jeton.report.visible import visible
from jeton.report.workload import workload_view

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from jeton.auditing.gate import GateResult
    from jeton.auditing.result import AuditReport

N_LOOKS = 6
"""Colours, hatchings and markers there are; a seventh tokenizer looks like the first."""
MARKERS = ("\u25cf", "\u25a0", "\u25b2", "\u25c6", "\u25bc", "\u271a")
_N_TERMS = 40
_N_OPEN_TERMS = 10
_N_SAMPLES = 8
_MAX_SAMPLE_CHARS = 1000
"""Longer samples are drawn up to here: six tokenizers x eight samples stay below 3 MB."""
_BASIS_WORDS = {
    "exact": "counted, or computed from counts and published numbers",
    "calibrated": "computed with a factor that was measured on this or a similar workload",
    "estimated": "computed with an assumption; the formula says which",
}


_RESULTS = (
    (
        "month",
        "Bill at the API",
        "requests \u00d7 (input tokens \u00d7 price + output tokens \u00d7 price) \u00f7 1,000,000",
    ),
    (
        "fit",
        "Requests that fit",
        "memory that the GPUs have left beside weights, activations and engine \u00f7 "
        "(KV cache of a token \u00d7 tokens), rounded down",
    ),
    (
        "prefill",
        "Reading the prompt",
        "(linear work \u00d7 tokens left + attention \u00d7 tokens left squared) \u00f7 "
        "(GPUs \u00d7 peak \u00d7 share reached)",
    ),
    (
        "own",
        "Your own GPUs",
        "busy = requests \u00d7 (prompt + output tokens \u00d7 step \u00f7 batch) \u00f7 "
        "(730 hours \u00d7 3,600), where the batch is what fits safely; bill = busy, rounded "
        "up, \u00d7 GPUs \u00d7 730 hours \u00d7 price",
    ),
)
"""Results of the sliders: id, name, formula in words. ``assets/what_if.js`` computes them."""


@dataclass(frozen=True, slots=True)
class _Cut:
    """A sample under one tokenizer."""

    position: int
    tokenizer: int
    n_tokens: int
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class _Sample:
    """A sample with its cuts."""

    index: int
    source: str
    cuts: tuple[_Cut, ...]
    is_shortened: bool


def to_html(report: AuditReport, gate: GateResult | None = None) -> str:
    """Return the page; the same report gives the same text.

    Args:
        report: The audit.
        gate: The verdict of the gate on it, which the page then shows first.

    Raises:
        ValueError: A figure is not a finite number.
    """
    data = report.to_dict()
    if gate is not None:
        data["gate"] = gate.to_dict()
    numbers = Numbers(data)
    current = current_tokenizer(data)
    money = economics_table(numbers, part="money")
    memory = economics_table(numbers, part="memory")
    compute = economics_table(numbers, part="compute")
    own = economics_table(numbers, part="own")
    context: dict[str, Any] = {
        "data": data,
        "numbers": numbers,
        "current": current,
        "names": _names(data),
        "workload": workload_view(numbers),
        "headline": headline(numbers),
        "gate": gate_view(numbers),
        "first_step": first_step(numbers),
        "findings": findings(numbers),
        "n_findings": n_open_findings(data),
        "waterfall": waterfall_view(numbers),
        "provider": traffic.provider_view(numbers),
        "quota": traffic.quota_view(numbers),
        "comparison": traffic.comparison_rows(numbers),
        "usd_once": once_shown(numbers),
        "payback": payback_shown(numbers),
        "model_costs": model_cost_view(numbers),
        "bill": bill_view(numbers),
        "spending": spending_view(numbers),
        "billed": billed_view(numbers),
        "day_charts": _day_charts(numbers),
        "caches": cache_view(numbers, charts=True),
        "session_labels": SESSION_LABELS,
        "domains": evidence.domain_rows(numbers, current=current),
        "domain_bills": traffic.domain_bill_rows(numbers),
        "sampled": traffic.sampled_rows(numbers),
        "issues": evidence.log_issues(numbers),
        "log_models": evidence.model_rows(numbers),
        "model_columns": evidence.MODEL_COLUMNS,
        "levels": evidence.maturity_levels(numbers),
        "settings": evidence.pipeline_settings(numbers),
        "objectives": evidence.objectives(numbers),
        "points": evidence.point_rows(numbers),
        "tradeoff_charts": _tradeoff_charts(numbers),
        "simulation": simulation_view(numbers),
        "simulation_charts": _simulation_charts(numbers),
        "training": training_rows(numbers),
        "training_labels": TRAINING_LABELS,
        "quality": quality_table(numbers),
        "stability": evidence.stability_rows(numbers),
        "results": _RESULTS,
        "tokens": tokens_table(numbers, current=current),
        "money": money,
        "memory": memory,
        "compute": compute,
        "own": own,
        "economics_columns": [
            column
            for table in (money, memory, compute, own)
            if table is not None
            for column in table.columns
        ],
        "fidelity": fidelity_table(numbers),
        "terms": worst_terms(numbers, limit=_N_TERMS),
        "n_open_terms": _N_OPEN_TERMS,
        "samples": _samples(data),
        "charts": _charts(numbers),
        "markers": [MARKERS[i % N_LOOKS] for i in range(len(data["tokenizers"]))],
        "looks": [i % N_LOOKS for i in range(len(data["tokenizers"]))],
        "max_sample_chars": _MAX_SAMPLE_CHARS,
        "basis_words": _BASIS_WORDS,
        "css": asset("report.css"),
        "js": asset("report.js") + asset("copy.js"),
        "what_if_js": asset("what_if.js") if data.get("what_if") else "",
        "embedded": embed_json(data),
    }
    context["parts"] = parts_of(context)
    return environment().get_template("page.html.j2").render(context)


def write_html(
    report: AuditReport, path: str | os.PathLike[str], gate: GateResult | None = None
) -> None:
    """Write the page, whole or not at all.

    Raises:
        OSError: The file cannot be written.
    """
    write_whole(path, to_html(report, gate))


def _names(data: dict[str, Any]) -> tuple[str, ...]:
    """Names that a sentence may begin with, and that are written as they are."""
    used = (data.get("ledger") or {}).get("by_model") or ()
    return (
        *(tokenizer["name"] for tokenizer in data["tokenizers"]),
        *(use["logged_as"] for use in used if use["logged_as"]),
    )


def _charts(numbers: Numbers) -> dict[str, Any]:
    from jeton.report.charts import bar_chart, length_charts, memory_chart

    period = next(
        (
            (key, words)
            for key, words in (
                ("usd_per_year", "USD a year"),
                ("usd_per_day", "USD a day"),
                ("usd_per_request", "USD a request"),
            )
            if any(t["economics"][key] is not None for t in numbers.data["tokenizers"])
        ),
        None,
    )
    return {
        "lengths": length_charts(numbers),
        "compression": bar_chart(
            numbers,
            name="compression",
            key="bytes_per_token",
            title="Bytes per token",
            kind="ratio",
        ),
        "money": bar_chart(
            numbers,
            name="money",
            key=f"economics.{period[0]}.value",
            title=period[1],
            kind="usd",
        )
        if period
        else None,
        "money_period": period[1] if period else "",
        "kv": bar_chart(
            numbers,
            name="kv",
            key="economics.kv_bytes_per_request_mean.value",
            title="KV cache of the mean request",
            kind="bytes",
        ),
        "memory": memory_chart(numbers),
    }


def _tradeoff_charts(numbers: Numbers) -> Any:
    if len((numbers.data.get("tradeoff") or {}).get("points") or ()) < 2:
        return ()
    from jeton.report.tradeoff_charts import tradeoff_charts

    return tradeoff_charts(numbers)


def _day_charts(numbers: Numbers) -> Any:
    if not numbers.data.get("ledger") or not numbers.data.get("requests"):
        return ()
    from jeton.report.day_charts import day_charts

    return day_charts(numbers)


def _simulation_charts(numbers: Numbers) -> Any:
    if numbers.data.get("traffic") is None:
        return ()
    from jeton.report.simulation_charts import simulation_charts

    return simulation_charts(numbers)


def _samples(data: dict[str, Any]) -> list[_Sample]:
    names = [tokenizer["name"] for tokenizer in data["tokenizers"]]
    return [
        _Sample(
            index,
            sample["source"],
            tuple(
                _Cut(
                    position,
                    names.index(cut["tokenizer"]),
                    len(cut["ids"]),
                    tuple(
                        segments(
                            sample["text"],
                            cut["starts"],
                            cut["ends"],
                            max_chars=_MAX_SAMPLE_CHARS,
                        )
                    ),
                )
                for position, cut in enumerate(sample["cuts"])
                if cut["tokenizer"] in names
            ),
            len(sample["text"]) > _MAX_SAMPLE_CHARS,
        )
        for index, sample in enumerate(data["samples"][:_N_SAMPLES])
    ]


@functools.cache
def asset(name: str) -> str:
    """A style sheet or script of the package."""
    return files("jeton.report").joinpath(f"assets/{name}").read_text(encoding="utf-8")


@functools.cache
def environment() -> Environment:
    """Templates, with what they need to write numbers and other people's text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("jeton.report", "templates"),
        autoescape=True,  # for every template, whatever its name ends in
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(visible=visible, glyphs=glyphs, figure_words=name_in_words, prose=prose)
    made.tests["a_number"] = _is_number
    made.tests["phrase"] = _is_phrase
    made.globals.update(
        number=_number,
        string=_string,
        value=_value,
        below=below,
        lookup=lookup,
        names_the_best=evidence.names_the_best,
        policy_words=policy_words,
    )
    return made


def _number(shown: Shown | None) -> Markup:
    """A number with its path, its exact value, and a sign if it is not exact."""
    from markupsafe import Markup

    if shown is None:
        return Markup('<span class="none">\u2013</span>')
    relation = Markup("")
    if shown.versus:
        relation = Markup(' data-versus="{}"').format(shown.versus)
    elif shown.share_of:
        relation = Markup(' data-share-of="{}"').format(shown.share_of)
    if shown.minus:
        relation += Markup(' data-minus="{}"').format(shown.minus)
    if shown.times != 1:
        relation += Markup(' data-times="{}"').format(shown.times)
    number = Markup('<data value="{}" data-path="{}"{}>{}</data>').format(
        shown.raw, shown.path, relation, shown.text
    )
    sign = basis_sign(shown)
    if not sign:
        return number
    return Markup('<abbr class="basis" title="{}: {}">{}</abbr>{}').format(
        shown.basis, _BASIS_WORDS[shown.basis], sign, number
    )


def _string(data: dict[str, Any], path: str) -> Markup:
    """Other people's text with its path: hidden characters visible, its direction isolated."""
    from markupsafe import Markup

    text = lookup(data, path)
    return Markup('<bdi data-text-path="{}">{}</bdi>').format(path, prose(text))


def _is_phrase(text: str, names: tuple[str, ...]) -> bool:
    """True if a text begins with a word, and not with a name that is written as it is."""
    return not text.startswith(names)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _value(numbers: Numbers, path: str) -> Markup:
    """A value of a finding's evidence, whatever it is: a number, a text, or other JSON."""
    import json

    from markupsafe import Markup

    found = lookup(numbers.data, path)
    if isinstance(found, bool):
        return Markup("<bdi>{}</bdi>").format("yes" if found else "no")
    if _is_number(found):
        return _number(numbers.show(path, "count" if isinstance(found, int) else "ratio"))
    if isinstance(found, str):
        return _string(numbers.data, path)
    return Markup("<bdi>{}</bdi>").format(visible(json.dumps(found, ensure_ascii=False)))
