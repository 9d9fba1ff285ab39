"""``jeton memory``: what a model leaves for requests on a GPU, part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from jeton._plain import picked
from jeton.cli import options, outputs, streams, tables
from jeton.cli.declaring import OptionSet, command, option
from jeton.cli.memory_options import EngineOptions

if TYPE_CHECKING:
    from jeton.catalog import ModelFacts
    from jeton.economics.serving.calibration import LogDifference

_SIZE = click.IntRange(min=1, max=1 << 40)
_GIB = 2**30
_NEEDED = {
    "n_layers": "--layers",
    "hidden_size": "--hidden",
    "n_heads": "--heads",
    "vocab_size": "--vocab",
}


class ModelSizes(OptionSet, title="A model known by its sizes alone"):
    """Sizes of a model that has no configuration."""

    n_layers: int | None = option("Layers, instead of MODEL.", "N", names="--layers", type=_SIZE)
    hidden_size: int | None = option("Width of the layers.", "N", names="--hidden", type=_SIZE)
    n_heads: int | None = option("Query heads.", "N", names="--heads", type=_SIZE)
    vocab_size: int | None = option(
        "Rows of the table of tokens.", "N", names="--vocab", type=_SIZE
    )
    n_kv_heads: int | None = option(
        "Key-value heads; by default all heads.", "N", names="--kv-heads", type=_SIZE
    )
    intermediate_size: int | None = option(
        "Inner width of a gated MLP, as Llama has it; by default four times the width without a "
        "gate, with biases and a table of positions, as GPT has it.",
        "N",
        names="--intermediate",
        type=_SIZE,
    )
    context_tokens: int | None = option(
        "Tokens of the context; by default 2,048.", "N", names="--context", type=_SIZE
    )
    is_tied: bool = option(
        "The output head is a table of its own.",
        names="--untied",
        is_flag=True,
        flag_value=False,
        default=True,
        show_default=False,
    )


@command(
    sections={"Most used": "model_name", "Log of the engine": "log_file"},
)
@click.argument("model", required=False)
def memory(
    *,
    model: str | None,
    model_name: str | None = option("Name of the model, instead of MODEL.", "M", names="--model"),
    gpus: tuple[str, ...] = option(
        "GPU that the model runs on; `jeton catalog gpus` lists them. Repeatable.",
        "G",
        names="--gpu",
        required=True,
    ),
    request_tokens: int | None = option(
        "Length of a request, prompt and output: how many of them fit. By default the longest "
        "that the engine takes.",
        "N",
        type=click.IntRange(min=1, max=1 << 53),
    ),
    as_json: bool = options.JSON,
    log_file: str | None = option(
        "Start-up log of the engine: show where the formula differs, and take its memory.",
        "LOG",
        names="--log",
    ),
    save_log: str | None = option(
        "Write the facts of --log as a small file, which --calibrate takes.", "F"
    ),
    sizes: ModelSizes,
    held: EngineOptions,
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

    if model is not None and model_name is not None:
        raise UsageError("MODEL and --model are both given; expected one of them")
    model = model or model_name
    if save_log is not None and log_file is None:
        raise UsageError("--save-log writes the facts of a log\nhint: give it with --log LOG")
    if log_file is not None:
        if held.calibrate is not None:
            raise UsageError("--log and --calibrate both name a log; expected one of them")
        held.calibrate = log_file
    if held.calibrate is not None and len(gpus) > 1:
        raise UsageError("a log is of one GPU; expected one --gpu with it")
    outputs.check_outputs(html=save_log)
    facts = _told(sizes) if model is None else find_model(model)
    if model is not None and sizes.first_given(but=("is_tied",)) is not None:
        raise UsageError("MODEL and its sizes are both given; expected one of them")
    cards = [find_gpu(name) for name in gpus]
    plans = [held.plan_for(facts, card) for card in cards]
    length = request_tokens or plans[0].context_tokens(facts)
    found = [
        fit_on(facts, card, plan, request_tokens=length)
        for card, plan in zip(cards, plans, strict=True)
    ]
    differences: tuple[LogDifference, ...] = ()
    if log_file is not None:
        from jeton.economics.serving.calibration import log_differences
        from jeton.economics.serving.engine_log import read_engine_log, save_engine_log

        log = read_engine_log(log_file)
        differences = log_differences(log, facts, cards[0], held.plan())
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
                        **picked(one, "name unit logged formula off_share"),
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


def _told(sizes: ModelSizes) -> ModelFacts:
    from jeton.catalog import told_model
    from jeton.errors import UsageError

    given = {name: size for name, size in sizes.values().items() if size is not None}
    missing = [flag for name, flag in _NEEDED.items() if name not in given]
    if missing:
        raise UsageError(
            f"no model: expected MODEL, or its sizes ({', '.join(missing)} missing)\n"
            "hint: `jeton catalog models` lists names; "
            "jeton memory --layers 96 --hidden 12288 --heads 96 --vocab 50257 --gpu h100"
        )
    return told_model(**given)


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
