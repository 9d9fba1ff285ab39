"""``jeton watch``: drift of a live service with its cause, and memory of a process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jeton.cli import options, outputs, streams, tables
from jeton.cli.declaring import command, option
from jeton.cli.kinds import COUNT, DURATION, POSITIVE, SHARE
from jeton.cli.memory_options import EngineOptions
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.catalog.api_price import ApiPrice
    from jeton.watch import Monitor
    from jeton.watch.memory import MemoryReading
    from jeton.watch.outlook import ServedBy


class ServingOptions(EngineOptions, title="Memory"):
    """The model that serves, and how it is held."""

    model: str | None = option("Model that serves the requests, for the minutes left.", "M")
    gpu: str | None = option("GPU that it runs on.", "G")
    token_seconds: float | None = option(
        "Time of a token of an answer, as measured; by default computed.", "S", type=POSITIVE
    )


@command(
    sections={
        "Most used": "tokenizer",
        "Input": "route_field",
        "Drift": "alpha",
        "Money and memory": "price_model model gpu token_seconds pid limit_gib",
        "Output": "json_file",
    },
)
@click.argument("inputs", nargs=-1, metavar="LOGS...")
def watch(
    *,
    inputs: tuple[str, ...],
    tokenizer: str | None = option("Tokenizer that counts the texts.", "T", names="-t --tokenizer"),
    baseline: str | None = option(
        "History of a good day, of --save-baseline here or of `jeton audit`. Without one the "
        "first requests are the history.",
        "F",
    ),
    save_baseline: str | None = option("Write what was seen as a history; no text.", "F"),
    follow: bool = option("Go on as the logs grow, until Ctrl-C or --for."),
    alerts: tuple[str, ...] = option(
        "Append alerts to a file as JSON lines, or POST them to an address. Repeatable.",
        "F|URL",
        names="--alert",
    ),
    route_field: str = option("Field that has the route.", "NAME", default=""),
    source_field: str = option("Field that has the source.", "NAME", default=""),
    time_field: str = option("Field that has the time.", "NAME", default=""),
    prompt_field: str = option("Field that has the sent text.", "NAME", default=""),
    every: float = option("Time between two looks.", "TIME", type=DURATION, default="2s"),
    for_seconds: float | None = option(
        "Stop after this time.", "TIME", names="--for", type=DURATION
    ),
    from_end: bool = option("With --follow: leave out what is there already."),
    alpha: float = option(
        "Chance of any false alarm while nothing changes, for all signals and all time.",
        "SHARE",
        type=SHARE,
        default=0.01,
    ),
    window: int = option(
        "Requests of a window: the canary and the store have one entry for each.",
        "N",
        type=click.IntRange(min=20),
        default=1000,
    ),
    learn: int = option(
        "Requests that a signal is learned from, where the history lacks it.",
        "N",
        type=click.IntRange(min=20),
        default=500,
    ),
    price_model: str | None = option(
        "Price of all requests (usd:INPUT/OUTPUT), or of those whose model the log does not "
        "name; by default each by its model.",
        "P",
    ),
    pid: int | None = option("Watch a process's memory.", "N", type=COUNT),
    limit_gib: float | None = option(
        "Memory that the process may have; by default the limit of this control group.",
        "N",
        type=POSITIVE,
    ),
    json_file: str | None = options.JSON_FILE,
    store: str | None = option(
        "Keep windows and alerts: sqlite:F, duckdb:F or postgresql://...", "ADDRESS"
    ),
    parquet: str | None = option("Write the windows of --store as Parquet.", "F"),
    metrics: str | None = option("Serve Prometheus metrics there.", "HOST:PORT"),
    otlp: str | None = option("Send metrics by OTLP over HTTP to this address.", "URL"),
    served: ServingOptions,
) -> int:
    """Watch a service: drift of its tokens with the cause, minutes of memory left.

    LOGS are request logs as `jeton audit --logs` reads them. With --follow they may be live, too:
    phoenix:URL#PROJECT, langfuse:URL, and otlp:HOST:PORT, which listens there. Compared with the
    history are tokens a request and a byte, single-byte and unknown tokens, special tokens in
    texts, invisible characters, padding and estimates. An alarm is raised by bets whose chance of
    a false alarm is at most --alpha over the whole watch. A canary text, encoded anew each window,
    finds a changed tokenizer with certainty. With --pid the memory of a process is watched. Exit
    code 1: something moved.

    \b
    Examples:
      jeton watch monday.jsonl -t o200k_base --save-baseline good.watch
      jeton watch requests.jsonl --baseline good.watch --follow --alert alerts.jsonl
      jeton watch log.jsonl --baseline good.watch --model llama-3.1-8b --gpu l4 --price-model gpt-4o
      jeton watch otlp:127.0.0.1:4318 -t o200k_base --follow --metrics 127.0.0.1:9464
      jeton watch --pid 4711 --for 10m --every 5s
    """
    outputs.check_outputs(json_file=json_file)
    if pid is not None:
        if inputs:
            raise UsageError("--pid and logs were given; expected one of them")
        return _watch_memory(pid, limit_gib, every, for_seconds or 600.0, alerts, json_file)
    if not inputs:
        raise UsageError("no logs were given\nhint: jeton watch requests.jsonl -t o200k_base")
    if parquet is not None and store is None:
        raise UsageError("--parquet writes what --store keeps\nhint: --store sqlite:history.db")
    if follow and save_baseline and for_seconds is None:
        raise UsageError("--save-baseline with --follow needs an end\nhint: --for 24h")
    live = [name for name in inputs if name.startswith(("otlp:", "phoenix:", "langfuse:"))]
    if live and not follow:
        raise UsageError(f"{live[0]} is a live source\nhint: --follow reads it")

    from contextlib import ExitStack

    from jeton.watch import Monitor, WatchSettings, alert_sink
    from jeton.watch.run import Outputs, WatchRun, open_sources
    from jeton.watch.store import open_store

    sinks = [lambda alert: streams.write_line(alert.line)] if json_file != "-" else []
    sinks += [alert_sink(target) for target in alerts]
    monitor = Monitor(
        baseline,
        tokenizer=tokenizer,
        settings=WatchSettings(alpha=alpha, window_requests=window, learn_requests=learn),
        served_by=_served_by(served),
        price=_price(price_model),
    )
    with ExitStack() as stack:
        kept = stack.enter_context(open_store(store)) if store is not None else None
        run = WatchRun(
            monitor, Outputs(sinks, kept, lambda words: streams.say(f"warning: {words}")),
            tokenizer=tokenizer, route_field=route_field, source_field=source_field,
            time_field=time_field, prompt_field=prompt_field,
        )  # fmt: skip
        if metrics is not None:
            stack.callback(_serve_metrics(monitor, metrics))
        if otlp is not None:
            stack.callback(_send_metrics(monitor, otlp))
        try:
            if follow:
                sources = open_sources(inputs, from_end=from_end)
                run.follow(sources, every_seconds=every, for_seconds=for_seconds)
            else:
                run.read(list(inputs))
        except KeyboardInterrupt:
            streams.say("stopped")
        run.finish()
        if kept is not None and parquet is not None:
            kept.write_parquet(parquet)
    if save_baseline is not None:
        monitor.make_history().write(save_baseline)
    outputs.write_output(json_file, lambda: _json(monitor))
    if json_file != "-":
        _print(monitor)
    outputs.say_written(json_file, save_baseline, parquet)
    return 1 if monitor.alerts else 0


def _served_by(served: ServingOptions) -> ServedBy | None:
    if served.model is None and served.gpu is None:
        return None
    if served.model is None or served.gpu is None:
        raise UsageError("--model and --gpu go together: the minutes left need both")
    from jeton.catalog import gpu as find_gpu
    from jeton.catalog import model as find_model
    from jeton.watch.outlook import ServedBy

    facts, card = find_model(served.model), find_gpu(served.gpu)
    return ServedBy(
        facts, card, served.plan_for(facts, card), seconds_per_token=served.token_seconds
    )


def _price(name: str | None) -> ApiPrice | None:
    if name is None:
        return None
    from jeton.catalog import price

    return price(name)


def _place(option: str, place: str) -> tuple[str, int]:
    host, _, port = place.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65_535:
        raise UsageError(f"{option} {place} is no place to listen at\nhint: 127.0.0.1:9464")
    return host, int(port)


def _serve_metrics(monitor: Monitor, place: str) -> Any:
    host, port = _place("--metrics", place)
    from jeton.watch.metrics import MonitorCollector

    collector = MonitorCollector(monitor)
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry()
    registry.register(collector)
    server, _ = start_http_server(port, addr=host, registry=registry)
    streams.say(f"metrics at http://{host}:{server.server_port}/metrics")
    return server.shutdown


def _send_metrics(monitor: Monitor, address: str) -> Any:
    from jeton.errors import MissingExtraError

    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    except ImportError:
        raise MissingExtraError("--otlp", extra="watch") from None
    from jeton.watch.metrics import export_otel

    reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=address))
    return export_otel(monitor, reader).shutdown


def _json(monitor: Monitor) -> str:
    from jeton._plain import strict_json

    return strict_json(monitor.to_dict(), indent=2) + "\n"


def _print(monitor: Monitor) -> None:
    headings = ["SIGNAL", "ROUTE", "BEFORE", "NOW", "EVIDENCE", "STATE"]
    rows = []
    for state in monitor.states():
        if state.limit == 0:
            continue
        numbers = [_number(value, state.is_share) for value in (state.before, state.now)]
        word = "ALARM" if state.is_raised else "same"
        share = f"{min(state.evidence / state.limit, 1):.0%}"
        rows.append([state.label, state.route or "all", *numbers, share, word])
    if rows:
        tables.print_table(headings, rows, right=["BEFORE", "NOW", "EVIDENCE"])
    n = len(monitor.alerts)
    words = f"{monitor.n_requests:,} requests, {n} alert{'' if n == 1 else 's'}"
    if not rows:
        words += f"; nothing is compared before {monitor.settings.learn_requests} requests"
    streams.say(f"{words}; chance of a false alarm at most {monitor.settings.alpha:.1%}")


def _number(value: float | None, is_share: bool) -> str:  # noqa: FBT001
    if value is None:
        return ""
    if is_share:
        return f"{value:.2%}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3f}"


def _watch_memory(
    pid: int,
    limit_gib: float | None,
    every: float,
    for_seconds: float,
    alerts: tuple[str, ...],
    json_file: str | None,
) -> int:
    import time

    from jeton._plain import strict_json
    from jeton.watch import alert_sink
    from jeton.watch.memory import MemoryWatch

    limit = None if limit_gib is None else int(limit_gib * 2**30)
    sinks = [alert_sink(target) for target in alerts]
    watch = MemoryWatch(pid, limit_bytes=limit)
    end = time.monotonic() + for_seconds
    watch.sample()  # a process that never was is an error, and no end
    try:
        while True:
            watch.sample()
            left = min(every, end - time.monotonic())
            if left <= 0:
                break
            time.sleep(left)
    except KeyboardInterrupt:
        streams.say("stopped")
    except ProcessLookupError as error:
        streams.say(f"the process ended: {error.strerror}")
    found: MemoryReading = watch.read()
    alert = watch.alert()
    if alert is not None:
        for sink in sinks:
            sink(alert)
    outputs.write_output(json_file, lambda: strict_json(found.to_dict(), indent=2) + "\n")
    if json_file != "-":
        streams.write_line(found.in_words)
    return 1 if alert is not None else 0
