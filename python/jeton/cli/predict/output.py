"""``jeton predict output``: lengths of answers, with coverage on later traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import click

from jeton._plain import counted, strict_json
from jeton.cli import options, outputs, streams, tables
from jeton.cli.declaring import command, option
from jeton.cli.kinds import SHARE

if TYPE_CHECKING:
    from jeton.planning.prediction import OutputPrediction, RouteCoverage

_MOST_ROWS = 20


@command()
@click.argument("inputs", nargs=-1, required=True, metavar="LOGS|TRACE...")
def output(
    *,
    inputs: tuple[str, ...],
    kind: Literal["auto", "logs", "trace"] = options.HISTORY_KIND,
    time_field: str = options.HISTORY_TIME_FIELD,
    rate: float | None = options.HISTORY_RATE,
    by: tuple[str, ...] = option(
        "Field to group requests by, beside route and model; a.b is field b inside a. "
        "Repeatable, the coarsest first.",
        "FIELD",
    ),
    coverage: float = option(
        "Share of the answers that an interval is to hold.", "SHARE", type=SHARE, default=0.9
    ),
    check: bool = option(
        "Exit code 1 if a route's coverage is off by more than 2 points, or its answers drift."
    ),
    json_file: str | None = options.JSON_FILE,
    html: str | None = option("Write a page with the plot of the coverage.", "F", old_names="-o"),
) -> int:
    """Foresee the lengths of answers, and judge that on later traffic.

    LOGS are request logs, as `jeton audit --logs` reads them; a TRACE is a file with times and
    token counts. Answers are foreseen by route, model, the fields of --by, the length of the prompt
    and, where the log has conversations, turn and last answer. The earlier half of the requests
    teaches; each later one is foreseen from those that had ended by then.

    \b
    Examples:
      jeton predict output requests.jsonl
      jeton predict output logs/ --by customer --by metadata.tool --coverage 0.95
      jeton predict output AzureLLMInferenceTrace_conv.csv --html coverage.html --json -
    """
    from jeton.planning.prediction import predict_outputs, read_history

    outputs.check_outputs(html=html, json_file=json_file)
    history = read_history(
        list(inputs), by=by, kind=kind, time_field=time_field, requests_per_second=rate
    )
    found = predict_outputs(history, coverage=coverage)

    outputs.write_output(json_file, lambda: strict_json(found.to_dict(), indent=2) + "\n")
    if html is not None:
        from jeton.report.prediction import output_html

        outputs.write_output(html, lambda: output_html(found))
    if json_file != "-":
        _print(found)
    _warn(found)
    outputs.say_written(json_file, html)
    return 1 if check and _is_off(found) else 0


def _is_off(found: OutputPrediction) -> bool:
    routes = [route for route in found.routes if not route.is_few]
    return bool(found.drifts) or any(
        abs(route.coverage_share - found.coverage) > 0.02 + 2 * route.coverage_error
        for route in routes
    )


def _print(found: OutputPrediction) -> None:
    names = [name.upper() for name in found.fields] or ["TRAFFIC"]
    right = ["REQUESTS", "PROMPT", "INTERVAL", "BOUND", "HELD", "BELOW BOUND", "FROZEN HELD"]
    judged = {route.group: route for route in found.routes}
    rows = []
    for item in found.intervals[:_MOST_ROWS]:
        route = judged.get(item.group)
        interval = item.interval
        rows.append(
            [
                *(value or "(none)" for value in item.group or ("all",)),
                f"{route.n_judged if route else 0:,}",
                f"{item.prompt_tokens:,}+",
                f"{interval.lower_tokens:,}-{interval.upper_tokens:,}" if interval else "",
                f"{item.upper_tokens:,}" if item.upper_tokens is not None else "",
                *_shares(route),
            ]
        )
    tables.print_table([*names, *right], rows, right=right)
    if len(found.intervals) > _MOST_ROWS:
        streams.say(f"{len(found.intervals) - _MOST_ROWS:,} more groups; --json has all")


def _shares(route: RouteCoverage | None) -> list[str]:
    if route is None or route.is_few:
        return ["too few", "", ""]
    shares = (route.coverage_share, route.upper_coverage_share, route.frozen_coverage_share)
    return [f"{share:.1%}" for share in shares]


def _warn(found: OutputPrediction) -> None:
    overall = found.overall
    streams.say(
        f"{found.n_calibrated:,} requests taught, {overall.n_judged:,} later ones judge: "
        f"{overall.coverage_share:.1%} within their interval (aim: {found.coverage:.0%}), median "
        f"width {overall.median_width_tokens:,.0f} tokens"
    )
    if not found.has_times:
        streams.say("no times: requests are taken in the order of the log")
    elif found.n_out_of_order:
        said = counted(found.n_out_of_order, "request")
        streams.say(f"{said} with an earlier time than one above")
    if found.n_without_output:
        said = counted(found.n_without_output, "request")
        streams.say(f"left out: {said} without a known output")
    for kind, n in found.rejected.items():
        streams.say(f"{counted(n, 'row')}: {kind.replace('_', ' ')}")
    for drift in found.drifts[:5]:
        name = ", ".join(value or "(none)" for value in drift.group) or "all"
        streams.say(
            f"drift: {name}: {drift.longer_share:.0%} of the last {drift.n_now:,} answers are "
            f"longer than the earlier bound ({drift.expected_longer_share:.0%} before), "
            f"{drift.shorter_share:.0%} shorter ({drift.expected_shorter_share:.0%})"
        )
