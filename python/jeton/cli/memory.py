"""``jeton memory``: what a model leaves for requests on a GPU, part by part."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jeton.cli import options, outputs, streams, tables
from jeton.cli.memory_options import MEMORY_SECTION, memory_options, plan_for
from jeton.cli.option_groups import SectionedCommand

if TYPE_CHECKING:
    from jeton.catalog import ModelFacts
    from jeton.economics.serving.calibration import LogDifference

_F = TypeVar("_F", bound=Callable[..., Any])
_GIB = 2**30
_NEEDED = {
    "n_layers": "--layers",
    "hidden_size": "--hidden",
    "n_heads": "--heads",
    "vocab_size": "--vocab",
}
_TOLD = (*_NEEDED, "n_kv_heads", "intermediate_size", "context_tokens")


_SECTIONS = {
    "Most used": ("gpus", "request_tokens", "as_json"),
    "A model known by its sizes alone": (
        "n_layers",
        "hidden_size",
        "n_heads",
        "vocab_size",
        "n_kv_heads",
        "intermediate_size",
        "context_tokens",
        "is_tied",
    ),
    "Log of the engine": ("log_file", "save_log"),
    "Memory": MEMORY_SECTION,
}


def _sizes(command: _F) -> _F:
    """Add the sizes of a model that has no configuration."""
    count = click.IntRange(min=1, max=1 << 40)
    for flag, name, words in reversed(
        (
            ("--layers", "n_layers", "Layers, instead of MODEL."),
            ("--hidden", "hidden_size", "Width of the layers."),
            ("--heads", "n_heads", "Query heads."),
            ("--vocab", "vocab_size", "Rows of the table of tokens."),
            ("--kv-heads", "n_kv_heads", "Key-value heads; by default all heads."),
            (
                "--intermediate",
                "intermediate_size",
                "Inner width of a gated MLP, as Llama has it; by default four times the width "
                "without a gate, with biases and a table of positions, as GPT has it.",
            ),
            ("--context", "context_tokens", "Tokens of the context; by default 2,048."),
        )
    ):
        command = click.option(flag, name, type=count, metavar="N", help=words)(command)
    tied = click.option(
        "--untied",
        "is_tied",
        is_flag=True,
        flag_value=False,
        default=True,
        help="The output head is a table of its own.",
    )
    return tied(command)


@click.command(cls=SectionedCommand, sections=_SECTIONS)
@click.argument("model", required=False)
@_sizes
@click.option(
    "--gpu",
    "gpus",
    metavar="G",
    multiple=True,
    required=True,
    help="GPU that the model runs on; `jeton catalog gpus` lists them. Repeatable.",
)
@click.option(
    "--request-tokens",
    type=click.IntRange(min=1, max=1 << 53),
    metavar="N",
    help="Length of a request, prompt and output: how many of them fit. By default the longest "
    "that the engine takes.",
)
@click.option(
    "--log",
    "log_file",
    metavar="LOG",
    help="Start-up log of the engine: show where the formula differs, and take its memory.",
)
@click.option(
    "--save-log",
    metavar="F",
    help="Write the facts of --log as a small file, which --calibrate takes.",
)
@memory_options
@options.json_option
def memory(
    *,
    model: str | None,
    gpus: tuple[str, ...],
    request_tokens: int | None,
    log_file: str | None,
    save_log: str | None,
    as_json: bool,
    is_tied: bool,
    **given: Any,
) -> int:
    """Show the room that a model leaves for requests on a GPU, and the longest context.

    MODEL is a name of the catalog, a published name (Qwen/Qwen2.5-7B-Instruct, llama-3.1-8b-fp8),
    a folder with a config.json, such a file, or a GGUF file. Sizes are GiB of each GPU, as engines
    print them when they start. Exit code 1: it does not fit one of the GPUs, or the engine refuses
    the group.

    \b
    Examples:
      jeton memory gpt-oss-120b --gpu h200
      jeton memory qwen2.5-14b --gpu rtx-4090 --tensor-parallel 2
      jeton memory ./my-model --gpu l4 --gpu a10 --weights int4 --kv-dtype fp8
      jeton memory bge-m3 --gpu l4 --request-tokens 512
      jeton memory --layers 96 --hidden 12288 --heads 96 --vocab 50257 --gpu h100
      jeton memory qwen3.6-27b --gpu h100 --log vllm.log --save-log mine.json
      jeton memory qwen3.6-27b --gpu h100 --calibrate mine.json --gpu-memory-utilization 0.95
    """
    from jeton.catalog import gpu as find_gpu
    from jeton.catalog import model as find_model
    from jeton.economics.serving.memory_fit import fit_on, plan_summary
    from jeton.errors import UsageError

    if save_log is not None and log_file is None:
        raise UsageError("--save-log writes the facts of a log\nhint: give it with --log LOG")
    if log_file is not None:
        if given["calibrate"] is not None:
            raise UsageError("--log and --calibrate both name a log; expected one of them")
        given["calibrate"] = log_file
    if given["calibrate"] is not None and len(gpus) > 1:
        raise UsageError("a log is of one GPU; expected one --gpu with it")
    outputs.check_outputs(html=save_log)
    told = {name: given.pop(name) for name in _TOLD}
    facts = _told(told, is_tied=is_tied) if model is None else find_model(model)
    if model is not None and any(value is not None for value in told.values()):
        raise UsageError("MODEL and its sizes are both given; expected one of them")
    cards = [find_gpu(name) for name in gpus]
    plans = [plan_for(facts, card, **given) for card in cards]
    length = request_tokens or plans[0].context_tokens(facts)
    found = [
        fit_on(facts, card, plan, request_tokens=length)
        for card, plan in zip(cards, plans, strict=True)
    ]
    differences: tuple[LogDifference, ...] = ()
    if log_file is not None:
        from jeton.cli.memory_options import memory_plan
        from jeton.economics.serving.calibration import log_differences
        from jeton.economics.serving.engine_log import read_engine_log, save_engine_log

        log = read_engine_log(log_file)
        differences = log_differences(log, facts, cards[0], memory_plan(**given))
        if save_log is not None:
            save_engine_log(log, save_log)
    if as_json:
        streams.write_json(
            {
                "schema_version": "jeton.memory/2",
                "model": plan_summary(facts, plans[0]),
                "gpus": [fit.to_dict() for fit in found],
                "log": [
                    {
                        "name": one.name,
                        "unit": one.unit,
                        "logged": one.logged,
                        "formula": one.formula,
                        "off_share": one.off_share,
                    }
                    for one in differences
                ],
            }
        )
    else:
        tables.print_facts(
            (name.replace("_", " "), _value(value))
            for name, value in plan_summary(facts, plans[0]).items()
            if value is not None
        )
        streams.write_line("")
        _print_fits(found, length)
        _print_log(differences)
    if save_log is not None:
        outputs.say_written(save_log)
    return 0 if all(fit.budget.fits for fit in found) else 1


def _told(sizes: dict[str, int | None], *, is_tied: bool) -> ModelFacts:
    from jeton.catalog import told_model
    from jeton.errors import UsageError

    given = {name: size for name, size in sizes.items() if size is not None}
    missing = [flag for name, flag in _NEEDED.items() if name not in given]
    if missing:
        raise UsageError(
            f"no model: expected MODEL, or its sizes ({', '.join(missing)} missing)\n"
            "hint: `jeton catalog models` lists names; "
            "jeton memory --layers 96 --hidden 12288 --heads 96 --vocab 50257 --gpu h100"
        )
    return told_model(**given, is_tied=is_tied)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {size / _GIB:,.2f} GiB" for name, size in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)


def _print_fits(found: list[Any], length: int) -> None:
    headings = [
        "GPUS",
        "USABLE",
        "WEIGHTS",
        "ACTIVATIONS",
        "ENGINE",
        *(
            ("KV CACHE", "KV TOKENS", "LONGEST CONTEXT", f"REQUESTS OF {length:,}")
            if found[0].batch_tokens is None
            else ("LEFT", "BATCH TOKENS", "LONGEST TEXT", f"TEXTS OF {length:,}")
        ),
    ]
    rows = []
    for fit in found:
        budget = fit.budget
        rows.append(
            [
                fit.group,
                *(
                    f"{size / _GIB:,.2f}"
                    for size in (
                        budget.usable_bytes,
                        budget.weight_bytes,
                        budget.activation_bytes,
                        budget.engine_bytes,
                        budget.kv_bytes,
                    )
                ),
                f"{fit.kv_cache_tokens if fit.batch_tokens is None else fit.batch_tokens:,}",
                f"{fit.longest_context_tokens:,}",
                f"{fit.n_requests:,}",
            ]
        )
    tables.print_table(headings, rows, right=headings[1:])
    how = "measured by the engine" if found[0].budget.basis == "measured" else "estimated"
    streams.say(f"sizes in GiB of each GPU; {how}, see docs/guides/serving-memory.md")
    for fit in found:
        for note in fit.notes:
            streams.say(note)


def _print_log(differences: tuple[LogDifference, ...]) -> None:
    if not differences:
        return
    streams.write_line("")
    rows = []
    for one in differences:
        scale = _GIB if one.unit == "bytes" else 1
        digits = 2 if one.unit == "bytes" else 0
        rows.append(
            [
                f"{one.name}{' (GiB)' if one.unit == 'bytes' else ''}",
                f"{one.logged / scale:,.{digits}f}",
                f"{one.formula / scale:,.{digits}f}",
                f"{one.off_share:+.1%}",
            ]
        )
    headings = ["FIGURE", "LOG", "FORMULA", "OFF"]
    tables.print_table(headings, rows, right=headings[1:])
