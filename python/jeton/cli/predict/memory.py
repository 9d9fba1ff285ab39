"""``jeton predict memory``: the KV cache of the next minutes, and when it is full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from jeton.cli import outputs, streams, tables
from jeton.cli.durations import Duration
from jeton.cli.finite import FiniteRange
from jeton.cli.memory_options import memory_options, plan_for
from jeton.cli.predict.options import history_options

if TYPE_CHECKING:
    from jeton.planning.prediction.memory import MemoryPrediction

_GIB = 2**30
_FEW = 5


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="LOGS|TRACE...")
@click.option("--model", required=True, metavar="M", help="Model that serves the requests.")
@click.option("--gpu", required=True, metavar="G", help="GPU that it runs on.")
@click.option(
    "--horizon",
    type=Duration(),
    default="10m",
    show_default=True,
    metavar="TIME",
    help="How far ahead: 90s, 10m, 1h.",
)
@click.option(
    "--at",
    type=Duration(),
    metavar="TIME",
    help="Moment to look ahead from, after the first request; by default the last arrival.",
)
@click.option(
    "--coverage",
    type=FiniteRange(0, 1, min_open=True, max_open=True),
    default=0.9,
    show_default=True,
    metavar="SHARE",
    help="Share of cases that the interval is to hold.",
)
@click.option(
    "--token-seconds",
    type=FiniteRange(min=0, min_open=True),
    metavar="S",
    help="Time of a token of an answer, as measured; by default computed from model, GPU and load.",
)
@history_options
@memory_options
@outputs.json_file_option
@click.option("-o", "--html", metavar="F", help="Write a page with the plot of the memory.")
def memory(
    *,
    inputs: tuple[str, ...],
    model: str,
    gpu: str,
    horizon: float,
    at: float | None,
    coverage: float,
    token_seconds: float | None,
    kind: Literal["auto", "logs", "trace"],
    time_field: str,
    rate: float | None,
    json_file: str | None,
    html: str | None,
    **given: Any,
) -> int:
    """Foresee the KV cache of the next minutes, and when it is full.

    LOGS are request logs with times; a TRACE is a file with times and token counts. Requests under
    way grow and end as answers of late did; new ones come at the rate of late, with its trend. The
    interval comes from the errors of past forecasts on the same input; the output says how often
    it held there. Exit code 1: memory is full within the horizon, or the engine refuses the model.

    \b
    Examples:
      jeton predict memory requests.jsonl --model llama-3.1-8b --gpu l4 --horizon 10m
      jeton predict memory trace.csv --model qwen2.5-14b --gpu h100-sxm --at 30m --html memory.html
    """
    from jeton._plain import strict_json
    from jeton.catalog import gpu as find_gpu
    from jeton.catalog import model as find_model
    from jeton.planning.prediction import read_history
    from jeton.planning.prediction.memory import predict_memory

    outputs.check_outputs(html=html, json_file=json_file)
    facts, card = find_model(model), find_gpu(gpu)
    plan = plan_for(facts, card, **given)
    history = read_history(list(inputs), kind=kind, time_field=time_field, requests_per_second=rate)
    found = predict_memory(
        history,
        facts,
        card,
        horizon_seconds=horizon,
        coverage=coverage,
        plan=plan,
        seconds_per_token=token_seconds,
        at_seconds=at,
    )
    outputs.write_output(json_file, lambda: strict_json(found.to_dict(), indent=2) + "\n")
    if html is not None:
        from jeton.report.prediction import memory_html

        outputs.write_output(html, lambda: memory_html(found))
    if json_file != "-":
        _print(found)
    outputs.say_written(json_file, html)
    full = found.forecast.full_seconds
    return 1 if full is not None and full <= horizon else 0


def _print(found: MemoryPrediction) -> None:
    forecast = found.forecast
    headings = ["IN", "EXPECTED GIB", "INTERVAL GIB", "OF CAPACITY"]
    rows = [["now", *_row(forecast.now_bytes, "", forecast.capacity_bytes)]]
    for place, seconds in enumerate(forecast.seconds):
        if seconds > forecast.horizon_seconds:
            break
        ends = ""
        if forecast.low_bytes:
            low, high = forecast.low_bytes[place] / _GIB, forecast.high_bytes[place] / _GIB
            ends = f"{low:,.2f}-{high:,.2f}"
        when = f"{seconds / 60:,.1f} min"
        rows.append([when, *_row(forecast.expected_bytes[place], ends, forecast.capacity_bytes)])
    tables.print_table(headings, rows, right=headings)
    streams.write_line("")
    streams.write_line(forecast.in_words)
    trend = f", {forecast.trend_per_minute:+.2f} a minute" if forecast.trend_per_minute else ""
    streams.say(
        f"{forecast.n_under_way:,} requests under way, {forecast.requests_per_second:.2f} a second "
        f"come{trend}; {found.n_gpus} x {found.gpu} has {forecast.capacity_bytes / _GIB:,.2f} GiB "
        f"for requests of {found.model}, {found.seconds_per_token * 1e3:,.1f} ms a token"
    )
    _warn(found)
    if found.n_judged:
        streams.say(
            f"on the later half of the input {found.coverage_share:.1%} of {found.n_judged:,} "
            f"forecasts held (aim: {forecast.coverage:.0%}), median error "
            f"{found.median_error_share:.0%}"
        )
    else:
        streams.say(
            "no interval: the input is too short for this horizon; it should be several times as "
            "long"
        )


def _warn(found: MemoryPrediction) -> None:
    from jeton._plain import counted

    for n, why in (
        (found.n_too_long, "longer than the model's context"),
        (found.n_too_large, "larger than the whole cache"),
        (found.n_without_output, "without a known output"),
    ):
        if n:
            streams.say(f"left out: {counted(n, 'request')} {why}")
    if found.n_out_of_order:
        said = counted(found.n_out_of_order, "request")
        streams.say(f"{said} with an earlier time than one above")
    coming = found.forecast.requests_per_second * found.forecast.horizon_seconds
    if coming < _FEW:
        streams.say(f"quiet: some {coming:.1f} requests come within the horizon")
    for kind, n in found.rejected.items():
        streams.say(f"{counted(n, 'row')}: {kind.replace('_', ' ')}")


def _row(size: float, ends: str, capacity: int) -> list[str]:
    return [f"{size / _GIB:,.2f}", ends, f"{size / capacity:.0%}"]
