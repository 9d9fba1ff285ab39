"""``jeton predict memory``: the KV cache of the next minutes, and when it is full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from jeton.cli import options, outputs, streams, tables
from jeton.cli.declaring import command, option
from jeton.cli.kinds import DURATION, POSITIVE, SHARE
from jeton.cli.memory_options import EngineOptions

if TYPE_CHECKING:
    from jeton.planning.prediction.memory import MemoryPrediction

_GIB = 2**30
_FEW = 5


@command()
@click.argument("inputs", nargs=-1, required=True, metavar="LOGS|TRACE...")
def memory(
    *,
    inputs: tuple[str, ...],
    kind: Literal["auto", "logs", "trace"] = options.HISTORY_KIND,
    time_field: str = options.HISTORY_TIME_FIELD,
    rate: float | None = options.HISTORY_RATE,
    model: str = option("Model that serves the requests.", "M", required=True),
    gpu: str = option("GPU that it runs on.", "G", required=True),
    horizon: float = option("How far ahead: 90s, 10m, 1h.", "TIME", type=DURATION, default="10m"),
    at: float | None = option(
        "Moment to look ahead from, after the first request; by default the last arrival.",
        "TIME",
        type=DURATION,
    ),
    coverage: float = option(
        "Share of cases that the interval is to hold.", "SHARE", type=SHARE, default=0.9
    ),
    token_seconds: float | None = option(
        "Time of a token of an answer, as measured; by default computed from model, GPU and load.",
        "S",
        type=POSITIVE,
    ),
    json_file: str | None = options.JSON_FILE,
    html: str | None = option("Write a page with the plot of the memory.", "F", old_names="-o"),
    held: EngineOptions,
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
    plan = held.plan_for(facts, card)
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
