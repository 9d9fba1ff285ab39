"""``jeton catalog``: the facts that audits use, each with its source and date."""

from __future__ import annotations

from dataclasses import asdict, fields
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from jeton._plain import picked, plain_values
from jeton.cli import options, streams, tables
from jeton.cli.declaring import command, option

if TYPE_CHECKING:
    from jeton.catalog import ApiPrice, ModelFacts
    from jeton.catalog.price_sheet import PriceSheet


@click.group()
def catalog() -> None:
    """List the models, GPUs and prices that audits know.

    \b
    Examples:
      jeton catalog models
      jeton catalog gpus --json
      jeton catalog prices gpt-4o
    """


@command(group=catalog)
@click.argument("words", nargs=-1, metavar="[WORD]...")
def models(*, words: tuple[str, ...], as_json: bool = options.JSON) -> None:
    """List the models: names for --model, and their shapes.

    With WORDs only those whose name or an alias contains all of them. KB/TOKEN is what one more
    token takes in the KV cache, in 16 bits; a hybrid (+) keeps a state of fixed size beside it.

    \b
    Examples:
      jeton catalog models
      jeton catalog models qwen3 30b
      jeton catalog models --json
    """
    from jeton._nearest import nearest
    from jeton.catalog import models as all_models
    from jeton.economics.serving.memory import kv_bytes_per_token
    from jeton.errors import UnknownModelError

    wanted = [word.casefold() for word in words]
    found = [
        m
        for m in all_models()
        if any(all(w in name.casefold() for w in wanted) for name in (m.name, *m.aliases))
    ]
    if not found:
        asked = " ".join(words)
        raise UnknownModelError(asked, nearest=nearest(asked, (m.name for m in all_models())))
    if as_json:
        _write_json("models", [_model_row(m) for m in found])
        return
    tables.print_rows(
        found,
        {
            "NAME": lambda m: m.name,
            ">SIZE": lambda m: f"{m.n_parameters / 1e9:,.1f}B",
            ">ACTIVE": lambda m: f"{m.n_active_parameters / 1e9:,.1f}B",
            ">LAYERS": lambda m: str(m.n_layers),
            "ATTENTION": lambda m: _attention(m),
            ">KB/TOKEN": lambda m: f"{kv_bytes_per_token(m) / 1000:,.1f}",
            ">VOCAB": lambda m: f"{m.vocab_size:,}",
            ">CONTEXT": lambda m: f"{m.context_tokens:,}",
            "CHECKED": lambda m: m.date.isoformat(),
        },
    )


@command(group=catalog)
def formats(*, as_json: bool = options.JSON) -> None:
    """List the formats of weights and caches: names for --weights and --kv-dtype.

    BITS are those of an element with its part of the scales. Quantized weights keep tables, norms
    and routers in 16 bits; q4_k_m and q5_k_m mix two formats.

    \b
    Examples:
      jeton catalog formats
      jeton catalog formats --json
    """
    from jeton.catalog import number_formats, weight_format, weight_format_names

    if as_json:
        rows = [
            {
                "name": one.name,
                "aliases": one.aliases,
                "bits": float(one.bits),
                "element_bits": int(one.element_bits),
                **picked(one, "block_bits block_elements source date"),
            }
            for one in number_formats()
        ]
        _write_json("formats", rows)
        return
    plain = {one.name: one for one in number_formats()}
    table = []
    for name in weight_format_names():
        found = weight_format(name)
        one = plain.get(name)
        bits = f"{float(one.bits):.4g}" if one else ""
        also = ", ".join(one.aliases) if one else ""
        table.append([name, bits, found.summary(), also])
    tables.print_table(["NAME", "BITS", "AS WEIGHTS", "ALSO CALLED"], table, right=["BITS"])


@command(group=catalog)
def gpus(
    *,
    live: bool = option(
        "Show this machine's own GPUs instead, with memory and power in use (nvidia-smi)."
    ),
    as_json: bool = options.JSON,
) -> None:
    """List the GPUs: names for --gpu, memory, bandwidth, rate and hourly price.

    \b
    Examples:
      jeton catalog gpus
      jeton catalog gpus --live
      jeton catalog gpus --json
    """
    from jeton.catalog import gpus as all_gpus

    if live:
        _show_live(as_json=as_json)
        return

    found = all_gpus()
    if as_json:
        _write_json("gpus", [asdict(g) for g in found])
        return
    tables.print_rows(
        found,
        {
            "NAME": lambda g: g.name,
            ">MEMORY GB": lambda g: f"{g.datasheet_gb:,}",
            ">MIB": lambda g: f"{g.memory_bytes / 2**20:,.0f}",
            "MIB READ FROM": lambda g: f"a {g.memory_basis}",
            ">GB/S": lambda g: f"{g.memory_bandwidth_bytes_per_s / 1e9:,.0f}",
            ">BF16 TFLOP/S": lambda g: f"{g.bf16_dense_flops_per_s / 1e12:,.0f}",
            ">USD PER HOUR": lambda g: (
                ""
                if g.low_price is None or g.high_price is None
                else f"{g.low_price.usd_per_hour:.2f} to {g.high_price.usd_per_hour:.2f}"
            ),
            "CHECKED": lambda g: g.date.isoformat(),
        },
    )


def _show_live(*, as_json: bool) -> None:
    """Show the GPUs of this machine; none is no error."""
    from jeton.catalog.live_gpu import live_gpus

    found = live_gpus()
    if as_json:
        _write_json("gpus", [asdict(g) for g in found])
        return
    if not found:
        streams.say("no NVIDIA GPU on this machine, or its driver does not answer")
        return
    tables.print_rows(
        found,
        {
            ">GPU": lambda g: str(g.index),
            "NAME": lambda g: g.name,
            ">MEMORY GB": lambda g: f"{g.memory_total_bytes / 1e9:,.1f}",
            ">USED GB": lambda g: f"{g.memory_used_bytes / 1e9:,.1f}",
            ">WATTS": lambda g: "" if g.power_watts is None else f"{g.power_watts:,.0f}",
            ">BUSY": lambda g: "" if g.busy_share is None else f"{g.busy_share:.0%}",
            "NAME FOR --gpu": lambda g: "" if g.facts is None else g.facts.name,
        },
    )


@command(group=catalog)
@click.argument("words", nargs=-1, metavar="[WORD]...")
def prices(
    *,
    words: tuple[str, ...],
    tariff: str = option(
        "Prices of this tariff; models without it are left out.",
        type=click.Choice(["standard", "batch", "flex", "priority", "fast"]),
        default="standard",
    ),
    as_json: bool = options.JSON,
) -> None:
    """List the API prices: names for --price-model, in USD per million tokens.

    With WORDs only the names that contain all of them. One WORD that names a model, as a log may
    write it, shows everything that the list has on it: each dimension, tariff and hour.

    \b
    Examples:
      jeton catalog prices openai gpt-4o
      jeton catalog prices us.anthropic.claude-haiku-4-5-20251001-v1:0
      jeton catalog prices claude --tariff batch
      jeton catalog prices claude --json
    """
    from jeton.catalog import price_names
    from jeton.catalog.price_sheet import price_sheet
    from jeton.catalog.prices import nearest_prices
    from jeton.errors import UnknownPriceError

    wanted = [word.casefold() for word in words]
    names = [n for n in price_names() if all(word in n.casefold() for word in wanted)]
    sheet = price_sheet(words[0]) if len(words) == 1 else None
    if sheet is not None and not as_json:
        _print_sheet(sheet)
        if not names or names == [sheet.name]:
            return
        streams.say("names that contain it:")
    if not names and sheet is None:
        asked = " ".join(words)
        raise UnknownPriceError(asked, nearest=nearest_prices(asked))
    found = _prices_of(names, tariff)
    if not found and sheet is not None and not as_json:
        return
    if not found and sheet is None:
        raise UnknownPriceError(
            f"{' '.join(words)}@{tariff}",
            hint=f"the list has no {tariff} tariff for any of {len(names)} model(s)",
        )
    if as_json:
        rows = [
            {
                **picked(
                    p,
                    "name usd_per_mtok_input usd_per_mtok_cached_input usd_per_mtok_cache_write "
                    "usd_per_mtok_output tariff is_tiered price_date source",
                ),
            }
            for p in found
        ]
        extra = {} if sheet is None else {"sheet": plain_values(asdict(sheet))}
        _write_json("prices", rows, **extra)
        return
    tables.print_rows(
        found,
        {
            "NAME": lambda p: p.name,
            ">INPUT": lambda p: _money(p.usd_per_mtok_input),
            ">CACHED": lambda p: _money(p.usd_per_mtok_cached_input),
            ">WRITTEN": lambda p: _money(p.usd_per_mtok_cache_write),
            ">OUTPUT": lambda p: _money(p.usd_per_mtok_output),
            "DATE": lambda p: p.price_date.isoformat(),
        },
    )
    streams.say(
        "USD per million tokens; CACHED is read from a cache, WRITTEN put into one; base tier, "
        f"{tariff} tariff"
    )


def _print_sheet(sheet: PriceSheet) -> None:
    """Show every rate that the list has on one model."""
    from jeton.dimensions import plain_name

    found = "" if not sheet.rule else f" ({sheet.asked}: {sheet.rule})"
    streams.say(f"{sheet.name}{found}, rates in force on {sheet.valid_on.isoformat()}")
    tables.print_rows(
        sheet.rows,
        {
            "CHARGED": lambda row: plain_name(row.dimension),
            "TARIFF": lambda row: row.tariff,
            "UTC": lambda row: row.hours,
            "PROMPTS": lambda row: (
                f"above {row.above_input_tokens:,}" if row.above_input_tokens else ""
            ),
            ">USD": lambda row: _money(row.usd),
            "PER": lambda row: "hour" if row.unit == "seconds" else f"{row.per:,} {row.unit}",
            "SINCE": lambda row: "" if row.since is None else row.since.isoformat(),
        },
    )


def _prices_of(names: list[str], tariff: str) -> list[ApiPrice]:
    """Return the prices of a tariff, models without it left out."""
    from jeton.catalog import price
    from jeton.errors import UnknownPriceError

    found = []
    for name in names:
        try:
            found.append(price(name if tariff == "standard" else f"{name}@{tariff}"))
        except UnknownPriceError:
            if tariff == "standard":
                raise
    return found


def _model_row(model: ModelFacts) -> dict[str, Any]:
    """Facts of a model without its tensors; layers are counted by kind."""
    left_out = ("layers", "extra_parts", "quantization", "tensors", "folder")
    facts = {f.name: getattr(model, f.name) for f in fields(model) if f.name not in left_out}
    shape = {
        "attention": model.attention.value,
        **picked(
            model, "n_layers layer_kinds n_heads n_kv_heads sliding_window_tokens n_sliding_layers"
        ),
    }
    mixture = model.experts
    experts = None
    if mixture is not None:
        experts = {"n_routed": mixture.n_routed, "n_active": mixture.n_active}
    return {**facts, **shape, "experts": experts}


def _attention(model: ModelFacts) -> str:
    """Name the attention, with a + for a hybrid, and the window where layers have one."""
    name = model.attention.upper() + ("+" if model.n_state_layers else "")
    if model.sliding_window_tokens is not None:
        name += f" {model.n_sliding_layers}x{model.sliding_window_tokens}"
    return name


def _money(value: Decimal | None) -> str:
    return "" if value is None else format(value.normalize(), "f")


def _write_json(kind: str, rows: list[dict[str, Any]], **others: Any) -> None:
    streams.write_json({"schema_version": "jeton.catalog/1", kind: plain_values(rows), **others})
