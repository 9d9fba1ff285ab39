"""Money and memory with each tokenizer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jeton.report.charts import bar_chart, memory_chart
from jeton.report.numbers import Numbers
from jeton.report.tables import economics_table
from jeton.report.tree import (
    MARKDOWN,
    PAGE,
    Block,
    Charts,
    Fold,
    Paragraph,
    Plot,
    Quoted,
    Section,
    Table,
    Words,
    quoted,
)

_PERIODS = (
    ("usd_per_year", "USD a year"),
    ("usd_per_day", "USD a day"),
    ("usd_per_request", "USD a request"),
)


def economics(numbers: Numbers) -> Section | None:
    """Cost and memory of each tokenizer; the page leaves out the money of a single one."""
    tokenizers = numbers.data["tokenizers"]
    if not tokenizers:
        return None
    money, memory, own, compute = (
        economics_table(numbers, part=part) for part in ("money", "memory", "own", "compute")
    )
    if money is None and memory is None and own is None and compute is None:
        return None
    has_choice = len(tokenizers) > 1
    both = memory is not None and money is not None and has_choice
    title, link = (
        ("Cost and memory with each tokenizer", "Cost and memory")
        if both
        else ("Memory on the GPU", "Memory")
        if memory is not None
        else ("Cost with each tokenizer", "Cost")
    )
    w = numbers.data["workload"]
    beside = PAGE if memory is not None else ""
    page = PAGE if both or memory is not None or has_choice else ""
    return Section(
        "economics",
        title,
        link,
        (
            Paragraph(_price_list(numbers, w), forms=page) if money is not None else None,
            _fold(money, "Cost with each tokenizer", _money_heading(numbers, w), _prices(w), page),
            Paragraph(_computed_for(numbers, w), forms=PAGE) if memory is not None else None,
            _fold(memory, "Memory", _memory_heading(numbers, w), _facts(numbers, w), page),
            _fold(own, "On your own GPUs", "", "", beside),
            _fold(compute, "Reading the prompt", "", "", beside),
            Charts(lambda: _charts(numbers), forms=page),
        ),
    )


def _fold(
    table: Table | None, summary: str, heading: Words, basis: Words, page: str
) -> Block | None:
    """A table that Markdown folds, with its basis; ``page`` is empty where the page lacks it."""
    if table is None:
        return None
    said = Paragraph(basis, forms=MARKDOWN if basis else "")
    table = replace(table, heading=heading, forms=table.forms.replace("h", page))
    return Fold(summary, (table, said), MARKDOWN)


def _price_list(numbers: Numbers, w: dict[str, Any]) -> Words:
    said: list[Words] = []
    if w["price_model"]:
        said += ["Price list: ", quoted(numbers, "workload.price_model")]
        if w["price_provider"] and w["price_provider"] not in w["price_model"]:
            said += [" at ", quoted(numbers, "workload.price_provider")]
        if w["price_date"]:
            said += [" of ", quoted(numbers, "workload.price_date")]
        for key, begin in (("input", ": "), ("output", ", ")):
            if w[f"usd_per_mtok_{key}"] is not None:
                price = numbers.show(f"workload.usd_per_mtok_{key}", "usd")
                said += [begin, price, f" per million {key} tokens"]
        said.append(". ")
    return (*said, "Every tokenizer is priced at the same rate per token.")


def _prices(w: dict[str, Any]) -> Words:
    price = [Quoted("", w[key]) for key in ("price_model", "price_provider") if w[key]]
    if not price:
        return ""
    names: list[Words] = []
    for name in price:
        names += [", " * bool(names), name]
    date = (", prices of ", Quoted("", w["price_date"])) if w["price_date"] else ""
    return ("Price list: ", *names, date, ".")


def _facts(numbers: Numbers, w: dict[str, Any]) -> Words:
    facts: list[Words] = []
    for key in ("model", "gpu"):
        if w[key]:
            source = quoted(numbers, f"workload.{key}_source")
            facts += ["; " * bool(facts), quoted(numbers, f"workload.{key}")]
            facts += [" (", source, ")"] if source.text else []
    return ("Facts: ", *facts, ".") if facts else ""


def _computed_for(numbers: Numbers, w: dict[str, Any]) -> Words:
    cache = "The KV cache is memory that a request keeps for each of its tokens while it runs."
    if not w["model"]:
        return cache
    on: Words = (" on ", quoted(numbers, "workload.gpu")) if w["gpu"] else ""
    return ("Computed for ", quoted(numbers, "workload.model"), on, ". ", cache)


def _money_heading(numbers: Numbers, w: dict[str, Any]) -> Words:
    # The dollars of a log are those of all its models.
    n_models = len((numbers.data.get("ledger") or {}).get("by_model") or ())
    priced: Words = f"  {n_models} models" if n_models > 1 else ""
    if n_models <= 1 and w["price_model"]:
        priced = ("  ", quoted(numbers, "workload.price_model"))
    date = f", prices of {w['price_date']}" if w["price_date"] else ""
    return ("Cost with each tokenizer", priced, date)


def _memory_heading(numbers: Numbers, w: dict[str, Any]) -> Words:
    weights = (" (weights ", Quoted("", w["weights"]), ")") if w.get("weights") else ""
    title = ("Memory  ", Quoted("", w["model"] or ""), weights)
    if not w["gpu"]:
        return title
    held = {
        t["economics"]["n_gpus"]["value"]
        for t in numbers.data["tokenizers"]
        if t["economics"].get("n_gpus")
    }
    # Tokenizers with another vocabulary may need another number: then the column tells.
    many = f"{held.pop()} x " if len(held) == 1 else ""
    return (*title, f" on {many}", Quoted("", w["gpu"]))


def _charts(numbers: Numbers) -> tuple[Plot, ...]:
    tokenizers = numbers.data["tokenizers"]
    found: list[Plot | None] = []
    for key, title in _PERIODS:
        if any(t["economics"][key] is not None for t in tokenizers):
            path = f"economics.{key}.value"
            found.append(bar_chart(numbers, name="money", key=path, title=title, kind="usd"))
            break
    found.append(memory_chart(numbers))
    key, title = "economics.kv_bytes_per_request_mean.value", "KV cache of the mean request"
    found.append(bar_chart(numbers, name="kv", key=key, title=title, kind="bytes"))
    return tuple(plot for plot in found if plot is not None)
