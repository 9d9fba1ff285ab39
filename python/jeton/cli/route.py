"""``jeton route``: a log replayed on endpoints, and the configuration of a router."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jeton.cli import options, outputs, streams
from jeton.cli.declaring import OptionSet, command, option
from jeton.cli.kinds import AMOUNT, POSITIVE, WHOLE, FiniteRange
from jeton.cli.progress import progress_bar
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.planning.routing import RouteReplay
    from jeton.planning.routing.exporting import RouteExport
    from jeton.planning.routing.policy import RoutingPolicy

# Named here too, so that --help needs no import of what they are; a test compares.
RULES = ("cheapest", "weighted")
STICKY = ("price", "always", "never")
PRODUCTS = ("litellm",)


class _Options(OptionSet):
    """Options of the command."""

    endpoints_file: str = option(
        "TOML file of the endpoints, and of the policy if it has one (docs/guides/routing.md).",
        "F",
        names="--endpoints",
        type=click.Path(exists=True, dir_okay=False),
        required=True,
    )
    rule: str | None = option(
        "Rule of the choice: the cheapest that meets the limits, or the least weighted sum of "
        "cost, latency and quality. By default that of the file, else cheapest.",
        names="--policy",
        type=click.Choice(RULES),
    )
    task_field: str = option(
        "Field of a record with its task, by which quality tables and lengths of answers go.",
        "NAME",
        default="",
    )
    html: str | None = option(
        "Write a page with a plot of the regret.", "F", old_names="-o --output"
    )
    max_seconds: float | None = option(
        "Limit of the time to the last token, in seconds.", "S", type=POSITIVE
    )
    max_ttft_seconds: float | None = option(
        "Limit of the time to the first token, in seconds.", "S", names="--max-ttft", type=POSITIVE
    )
    min_quality: float | None = option(
        "Least score, on the scale of the file's tables.", "X", type=FiniteRange()
    )
    weights: str | None = option(
        "Weights of --policy weighted, as cost=1,latency=0.3,quality=2.", "W"
    )
    sticky: str | None = option(
        "Conversations: their prompt cache is part of the price (the default), they always "
        "stay, or neither.",
        type=click.Choice(STICKY),
    )
    fallbacks: tuple[str, ...] = option(
        "Endpoint to take where none meets the limits; repeatable, tried in order.",
        "NAME",
        names="--fallback",
    )
    coverage: float | None = option(
        "Share of answers that the interval of lengths holds; 0.9 by default.",
        "SHARE",
        type=FiniteRange(min=0, max=1, min_open=True, max_open=True),
    )
    model_field: str = option("Field with the model's name.", "NAME", default="")
    time_field: str = option("Field with the time.", "NAME", default="")
    prompt_field: str = option("Field with the prompt.", "NAME", default="")
    response_field: str = option("Field with the answer.", "NAME", default="")
    assume_output_tokens: int | None = option(
        "Answer tokens of requests of which the log tells none; without it they are left out.",
        "N",
        type=WHOLE,
    )
    num_threads: int | None = options.THREADS
    json_file: str | None = options.JSON_FILE
    product: str | None = option(
        "Write the configuration of LiteLLM that comes closest, and say what it lacks.",
        names="--export",
        type=click.Choice(PRODUCTS),
    )
    export_to: str | None = option(
        "File for --export, written whole or not at all; by default standard output.", "F"
    )
    max_regret: float | None = option(
        "Exit with 1 if the router's bill is above the oracle's by more than this share.",
        "SHARE",
        type=AMOUNT,
    )
    quiet: bool = option("No progress, no table.", names="-q --quiet")


@command(
    sections={
        "Most used": "endpoints_file",
        "Policy": "max_seconds",
        "Logs": "model_field",
        "Output": "json_file",
    },
)
@click.argument("inputs", metavar="LOGS", nargs=-1)
def route(inputs: tuple[str, ...], *, given: _Options) -> int:
    """Replay logs on endpoints: what a router costs, and where each request goes.

    Each request is counted by each endpoint's own tokenizer, and priced by the ledger's rules. The
    router's bill stands beside those of each endpoint alone, of the least sum of input and output
    price (LiteLLM's rule), and of the best choice in hindsight. Without LOGS only --export is
    written.

    \b
    Examples:
      jeton route calls.jsonl --endpoints endpoints.toml
      jeton route calls.jsonl --endpoints endpoints.toml --task-field task --min-quality 0.7
      jeton route logs/ --endpoints endpoints.toml --max-seconds 20 --html r.html --json r.json
      jeton route calls.jsonl --endpoints endpoints.toml --export litellm --export-to config.yaml
      jeton route --endpoints endpoints.toml --export litellm
    """
    _check(inputs, given)
    from jeton.planning.routing import Router, read_endpoints, route_logs
    from jeton.planning.routing.exporting import export_route

    file = read_endpoints(given.endpoints_file)
    policy = _policy(file.policy, given, [one.name for one in file.endpoints])
    found: RouteReplay | None = None
    if inputs:
        with progress_bar(quiet=given.quiet) as on_progress:
            found = route_logs(
                list(inputs),
                file.endpoints,
                policy,
                task_field=given.task_field,
                model_field=given.model_field,
                time_field=given.time_field,
                prompt_field=given.prompt_field,
                response_field=given.response_field,
                assume_output_tokens=given.assume_output_tokens,
                num_threads=given.num_threads,
                on_progress=on_progress,
            )
    exported: RouteExport | None = None
    if given.product:
        shares = found.outcomes[0].shares if found else None
        exported = export_route(Router(file.endpoints, policy), given.product, shares)
    _write(found, exported, given)
    regret = found.outcomes[0].regret_share if found else None
    if given.max_regret is not None and regret is not None and regret > given.max_regret:
        streams.say(f"the regret is {regret:.2%}, above {given.max_regret:.2%}")
        return 1
    return 0


def _check(inputs: tuple[str, ...], given: _Options) -> None:
    """Refuse outputs that cannot be, before anything is read."""
    outputs.check_outputs(json_file=given.json_file)
    if not inputs and not given.product:
        raise UsageError("there is no log to replay\nhint: jeton route LOGS --endpoints F")
    if not inputs and (given.json_file or given.html or given.max_regret is not None):
        raise UsageError("--json, --html and --max-regret are of a replay\nhint: give LOGS too")
    if given.export_to and not given.product:
        raise UsageError("--export-to has nothing to write\nhint: say --export litellm")
    if given.product and given.export_to in (None, "-") and given.json_file == "-":
        raise UsageError("--json - and --export both want standard output; give one a file")
    for written, name in (("--html", given.html), ("--export-to", given.export_to)):
        if name is None or (name == "-" and written == "--export-to"):
            continue
        path = Path(name)
        if name == "-":
            raise UsageError("--html wants a file; a page on standard output helps nobody")
        if path.is_dir():
            raise UsageError(f"{written} {name} is a folder; expected a file")
        outputs.check_folder(written, path)
        for source in (*inputs, given.endpoints_file):
            if path.exists() and Path(source).exists() and path.samefile(source):
                raise UsageError(f"{written} {name} is an input\nhint: name another file")


def _policy(policy: RoutingPolicy, given: _Options, names: list[str]) -> RoutingPolicy:
    """Return the file's policy with what the options change."""
    from jeton._nearest import nearest

    changes = {
        name: getattr(given, name)
        for name in (
            "rule", "max_seconds", "max_ttft_seconds", "min_quality", "sticky", "coverage",
        )
        if getattr(given, name) is not None
    }  # fmt: skip
    if given.weights is not None:
        if given.rule == "cheapest":
            raise UsageError("--weights are of --policy weighted, not of cheapest")
        changes["weights"] = _weights(given.weights)
        changes["rule"] = "weighted"
    if given.fallbacks:
        for name in given.fallbacks:
            if name not in names:
                near = nearest(name, names)
                words = f"; the nearest is {near[0]!r}" if near else ""
                raise UsageError(f"--fallback {name} is no endpoint{words}")
        changes["fallbacks"] = tuple(given.fallbacks)
    return replace(policy, **changes)


def _weights(text: str) -> Any:
    from jeton.planning.routing import RoutingWeights

    found: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        name = name.strip()
        try:
            number = float(value)
        except ValueError:
            equals = ""
        if not equals or name not in ("cost", "latency", "quality") or name in found:
            raise UsageError(
                f"cannot read {part!r} in --weights {text}; expected cost=1,latency=0.3,quality=2"
            )
        found[name] = number
    return RoutingWeights(**({"cost": 0.0} | found))


def _write(found: RouteReplay | None, exported: RouteExport | None, given: _Options) -> None:
    from jeton._files import write_whole

    to_stdout = exported is not None and given.export_to in (None, "-")
    if found is not None:
        from jeton.report import route as looks

        if given.html is not None:
            write_whole(given.html, looks.route_html(found))
        outputs.write_output(given.json_file, lambda: looks.route_json(found))
        if not (given.quiet or to_stdout or given.json_file == "-"):
            _show(found)
    if exported is not None:
        outputs.write_output(given.export_to or "-", lambda: exported.text)
        streams.say(f"{exported.product} does not express:")
        for loss in exported.losses:
            streams.say(f"  - {loss}")
    if not given.quiet:
        outputs.say_written(given.html, given.json_file, given.export_to)


def _show(found: RouteReplay) -> None:
    from jeton.cli.tables import print_table
    from jeton.report.numbers import Numbers
    from jeton.report.route import route_grid, route_words

    for words in route_words(found):
        streams.say(words)
    grid = route_grid(Numbers(found.to_dict()))
    body = [["" if cell is None else cell.text for cell in row] for row in grid.rows]
    names = [[name, *row] for name, row in zip(grid.names, body, strict=True)]
    print_table(["", *grid.header], names, right=grid.header)
