"""``jeton route``: a log replayed on endpoints, and the configuration of a router."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jeton.cli import options, outputs, streams
from jeton.cli.finite import FiniteRange
from jeton.cli.option_groups import SectionedCommand
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

_SECTIONS = {
    "Most used": ("endpoints_file", "rule", "task_field", "output"),
    "Policy": (
        "max_seconds", "max_ttft_seconds", "min_quality", "weights", "sticky", "fallbacks",
        "coverage",
    ),
    "Logs": (
        "model_field", "time_field", "prompt_field", "response_field", "assume_output_tokens",
        "num_threads",
    ),
    "Output": ("json_file", "product", "export_to", "max_regret", "quiet"),
}  # fmt: skip


@click.command(cls=SectionedCommand, sections=_SECTIONS)
@click.argument("inputs", metavar="LOGS", nargs=-1)
@click.option(
    "--endpoints",
    "endpoints_file",
    metavar="F",
    required=True,
    type=click.Path(exists=True, dir_okay=False),
    help="TOML file of the endpoints, and of the policy if it has one (docs/guides/routing.md).",
)
@click.option(
    "--policy",
    "rule",
    type=click.Choice(RULES),
    help="Rule of the choice: the cheapest that meets the limits, or the least weighted sum of "
    "cost, latency and quality. By default that of the file, else cheapest.",
)
@click.option(
    "--max-seconds",
    type=FiniteRange(min=0, min_open=True),
    metavar="S",
    help="Limit of the time to the last token, in seconds.",
)
@click.option(
    "--max-ttft",
    "max_ttft_seconds",
    type=FiniteRange(min=0, min_open=True),
    metavar="S",
    help="Limit of the time to the first token, in seconds.",
)
@click.option(
    "--min-quality",
    type=FiniteRange(),
    metavar="X",
    help="Least score, on the scale of the file's tables.",
)
@click.option(
    "--weights",
    metavar="W",
    help="Weights of --policy weighted, as cost=1,latency=0.3,quality=2.",
)
@click.option(
    "--sticky",
    type=click.Choice(STICKY),
    help="Conversations: their prompt cache is part of the price (the default), they always stay, "
    "or neither.",
)
@click.option(
    "--fallback",
    "fallbacks",
    multiple=True,
    metavar="NAME",
    help="Endpoint to take where none meets the limits; repeatable, tried in order.",
)
@click.option(
    "--coverage",
    type=FiniteRange(min=0, max=1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Share of answers that the interval of lengths holds; 0.9 by default.",
)
@click.option(
    "--task-field",
    metavar="NAME",
    default="",
    help="Field of a record with its task, by which quality tables and lengths of answers go.",
)
@click.option("--model-field", metavar="NAME", default="", help="Field with the model's name.")
@click.option("--time-field", metavar="NAME", default="", help="Field with the time.")
@click.option("--prompt-field", metavar="NAME", default="", help="Field with the prompt.")
@click.option("--response-field", metavar="NAME", default="", help="Field with the answer.")
@click.option(
    "--assume-output-tokens",
    type=click.IntRange(min=0),
    metavar="N",
    help="Answer tokens of requests of which the log tells none; without it they are left out.",
)
@options.threads_option
@click.option(
    "-o", "--output", metavar="F", help="Report as an HTML page, with a plot of the regret."
)
@outputs.json_file_option
@click.option(
    "--export",
    "product",
    type=click.Choice(PRODUCTS),
    help="Write the configuration of LiteLLM that comes closest, and say what it lacks.",
)
@click.option(
    "--export-to",
    metavar="F",
    help="File for --export, written whole or not at all; by default standard output.",
)
@click.option(
    "--max-regret",
    type=FiniteRange(min=0),
    metavar="SHARE",
    help="Exit with 1 if the router's bill is above the oracle's by more than this share.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress, no table.")
def route(inputs: tuple[str, ...], **given: Any) -> int:
    """Replay logs on endpoints: what a router costs, and where each request goes.

    Each request is counted by each endpoint's own tokenizer, and priced by the ledger's rules. The
    router's bill stands beside those of each endpoint alone, of the least sum of input and output
    price (LiteLLM's rule), and of the best choice in hindsight. Without LOGS only --export is
    written.

    \b
    Examples:
      jeton route calls.jsonl --endpoints endpoints.toml
      jeton route calls.jsonl --endpoints endpoints.toml --task-field task --min-quality 0.7
      jeton route logs/ --endpoints endpoints.toml --max-seconds 20 -o routing.html --json r.json
      jeton route calls.jsonl --endpoints endpoints.toml --export litellm --export-to config.yaml
      jeton route --endpoints endpoints.toml --export litellm
    """
    _check(inputs, given)
    from jeton.planning.routing import Router, read_endpoints, route_logs
    from jeton.planning.routing.exporting import export_route

    file = read_endpoints(given["endpoints_file"])
    policy = _policy(file.policy, given, [one.name for one in file.endpoints])
    found: RouteReplay | None = None
    if inputs:
        with progress_bar(quiet=given["quiet"]) as on_progress:
            found = route_logs(
                list(inputs),
                file.endpoints,
                policy,
                task_field=given["task_field"],
                model_field=given["model_field"],
                time_field=given["time_field"],
                prompt_field=given["prompt_field"],
                response_field=given["response_field"],
                assume_output_tokens=given["assume_output_tokens"],
                num_threads=given["num_threads"],
                on_progress=on_progress,
            )
    exported: RouteExport | None = None
    if given["product"]:
        shares = found.outcomes[0].shares if found else None
        exported = export_route(Router(file.endpoints, policy), given["product"], shares)
    _write(found, exported, given)
    regret = found.outcomes[0].regret_share if found else None
    if given["max_regret"] is not None and regret is not None and regret > given["max_regret"]:
        streams.say(f"the regret is {regret:.2%}, above {given['max_regret']:.2%}")
        return 1
    return 0


def _check(inputs: tuple[str, ...], given: dict[str, Any]) -> None:
    """Refuse outputs that cannot be, before anything is read."""
    outputs.check_outputs(json_file=given["json_file"])
    if not inputs and not given["product"]:
        raise UsageError("there is no log to replay\nhint: jeton route LOGS --endpoints F")
    if not inputs and (given["json_file"] or given["output"] or given["max_regret"] is not None):
        raise UsageError("--json, --output and --max-regret are of a replay\nhint: give LOGS too")
    if given["export_to"] and not given["product"]:
        raise UsageError("--export-to has nothing to write\nhint: say --export litellm")
    if given["product"] and given["export_to"] in (None, "-") and given["json_file"] == "-":
        raise UsageError("--json - and --export both want standard output; give one a file")
    for option, name in (("--output", given["output"]), ("--export-to", given["export_to"])):
        if name is None or (name == "-" and option == "--export-to"):
            continue
        path = Path(name)
        if name == "-":
            raise UsageError("--output wants a file; a page on standard output helps nobody")
        if path.is_dir():
            raise UsageError(f"{option} {name} is a folder; expected a file")
        outputs.check_folder(option, path)
        for source in (*inputs, given["endpoints_file"]):
            if path.exists() and Path(source).exists() and path.samefile(source):
                raise UsageError(f"{option} {name} is an input\nhint: name another file")


def _policy(policy: RoutingPolicy, given: dict[str, Any], names: list[str]) -> RoutingPolicy:
    """Return the file's policy with what the options change."""
    from jeton._nearest import nearest

    changes = {
        name: given[name]
        for name in (
            "rule", "max_seconds", "max_ttft_seconds", "min_quality", "sticky", "coverage",
        )
        if given[name] is not None
    }  # fmt: skip
    if given["weights"] is not None:
        if given["rule"] == "cheapest":
            raise UsageError("--weights are of --policy weighted, not of cheapest")
        changes["weights"] = _weights(given["weights"])
        changes["rule"] = "weighted"
    if given["fallbacks"]:
        for name in given["fallbacks"]:
            if name not in names:
                near = nearest(name, names)
                words = f"; the nearest is {near[0]!r}" if near else ""
                raise UsageError(f"--fallback {name} is no endpoint{words}")
        changes["fallbacks"] = tuple(given["fallbacks"])
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


def _write(found: RouteReplay | None, exported: RouteExport | None, given: dict[str, Any]) -> None:
    from jeton._files import write_whole

    to_stdout = exported is not None and given["export_to"] in (None, "-")
    if found is not None:
        from jeton.report import route as looks

        if given["output"] is not None:
            write_whole(given["output"], looks.route_html(found))
        outputs.write_output(given["json_file"], lambda: looks.route_json(found))
        if not (given["quiet"] or to_stdout or given["json_file"] == "-"):
            _show(found)
    if exported is not None:
        outputs.write_output(given["export_to"] or "-", lambda: exported.text)
        streams.say(f"{exported.product} does not express:")
        for loss in exported.losses:
            streams.say(f"  - {loss}")
    if not given["quiet"]:
        outputs.say_written(given["output"], given["json_file"], given["export_to"])


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
