"""``jeton pack``: documents into bins of one capacity, by their lengths."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from jeton._plain import strict_json
from jeton.cli import options, outputs, streams
from jeton.cli.declaring import command, option
from jeton.cli.kinds import COUNT, WHOLE
from jeton.cli.progress import progress_bar
from jeton.errors import UsageError
from jeton.progress import Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from jeton.planning.packing import Pack

# Named here too, so that --help needs no import of what they are; a test compares.
METHODS = ("best-fit", "first-fit", "sorted-batches", "buckets")
OVERFLOWS = ("error", "split", "truncate", "drop", "own")
LAYOUTS = ("megatron", "trl", "axolotl", "padding-free")


@command(
    sections={
        "Most used": "capacity",
        "Input": "tokenizer_name",
        "Bins": "multiple",
        "Output": "emit",
    }
)
@click.argument("source", metavar="LENGTHS|DIR")
def pack(
    *,
    source: str,
    capacity: int = option(
        "Tokens that a bin holds, padding included.", "N", type=COUNT, required=True
    ),
    method: Literal["best-fit", "first-fit", "sorted-batches", "buckets"] = option(
        "best-fit and first-fit fill rows with documents; sorted-batches and buckets make "
        "batches with a padded row for each document.",
        type=click.Choice(METHODS),
        default="best-fit",
    ),
    overflow: Literal["error", "split", "truncate", "drop", "own"] = option(
        "A document longer than a bin: refuse, cut into segments, keep the beginning, leave "
        "out, or give it a longer bin of its own.",
        type=click.Choice(OVERFLOWS),
        default="error",
    ),
    output: str | None = option(
        "Output: .npz or .parquet. Without it only the report.", "F", names="-o --output"
    ),
    tokenizer_name: str | None = option(
        "Count the tokens of documents: the input is then text, as `jeton count` reads it.",
        "T",
        names="-t --tokenizer",
    ),
    documents: Literal["file", "line"] = options.DOCUMENTS,
    field: str | None = option(
        "Field of JSON Lines or column of Parquet with lengths or lists of ids (length, "
        "n_tokens, num_tokens or input_ids if not given); with --tokenizer the one with the "
        "text (text).",
        "NAME",
    ),
    multiple: int = option(
        "Each document takes a multiple of N positions: context parallelism, tiles of hardware.",
        "N",
        type=COUNT,
        default=1,
    ),
    max_buckets: int = option(
        "Widths at most, with --method buckets; they are the best that there are.",
        "N",
        type=COUNT,
        default=8,
    ),
    n_ranks: int = option(
        "Data-parallel ranks for the spread of attention work in the report.",
        "N",
        names="--ranks",
        type=COUNT,
        default=1,
    ),
    seed: int | None = option(
        "Shuffle the bins; without it best-fit has those of the longest documents first.",
        "N",
        type=WHOLE,
    ),
    emit: Literal["index", "tokens"] = option(
        "Content of the output: index, which documents share a bin; tokens, packed Parquet.",
        type=click.Choice(("index", "tokens")),
        default="index",
    ),
    layout: Literal["megatron", "trl", "axolotl", "padding-free"] = option(
        "Columns beside input_ids. megatron: loss_mask, seq_start_id. trl: labels, seq_lengths. "
        "axolotl: attention_mask, labels, position_ids. padding-free: cu_seqlens, too.",
        type=click.Choice(LAYOUTS),
        default="megatron",
    ),
    pad_id: int = option("Id of padding.", type=WHOLE, default=0),
    json_file: str | None = options.JSON_FILE,
) -> None:
    """Pack documents into bins of one capacity, by their lengths.

    LENGTHS is .npy, text with one number a line (- is standard input), JSON Lines, Parquet, Arrow,
    or Megatron's .idx; DIR is a folder of .idx, Parquet or Arrow files. Both may be addresses, with
    fsspec. With --tokenizer it is text. Columns labels, loss_mask, completion_mask, assistant_masks
    and attention_mask are followed; rows that are packed already are taken apart. Tells padding,
    documents cut and left out, and the spread of work over ranks. The output is written whole or
    not at all.

    \b
    Examples:
      jeton pack lengths.npy --capacity 4096 -o packs.npz
      jeton pack tokens/ --capacity 8192 --overflow split --seed 1 --emit tokens -o packed.parquet
      jeton pack chats.parquet --capacity 4096 --emit tokens --layout trl -o packed.parquet
      jeton pack corpus.idx --capacity 4096 --overflow drop --ranks 8 --json report.json
      jeton pack lengths.txt --capacity 65536 --method buckets --multiple 64
      jeton pack docs.jsonl --tokenizer o200k_base --capacity 2048 --overflow truncate
    """
    outputs.check_outputs(json_file=json_file)
    _check_output(source, output, emit=emit, method=method)
    if tokenizer_name is not None and emit == "tokens":
        raise UsageError(
            "--emit tokens takes a token data set; --tokenizer only counts\n"
            "hint: tokenize the documents into a data set first"
        )
    from jeton.planning import packing

    tokens = None
    if emit == "tokens":
        tokens = packing.open_tokens(source, field=field)
        lengths = tokens.lengths
    elif tokenizer_name is not None:
        lengths = _counted(source, tokenizer_name, field=field or "text", documents=documents)
    else:
        lengths = packing.read_lengths(source, field=field)
    packed = packing.pack(
        lengths,
        capacity=capacity,
        method=method,
        overflow=overflow,
        multiple=multiple,
        max_buckets=max_buckets,
        n_ranks=n_ranks,
        seed=seed,
    )
    if output is not None:
        if tokens is not None:
            with progress_bar() as on_progress:
                packing.write_packed_parquet(
                    packed,
                    output,
                    tokens=tokens,
                    pad_id=pad_id,
                    layout=layout,
                    on_progress=on_progress,
                )
        else:
            packing.save_pack(packed, output)
    outputs.write_output(json_file, lambda: strict_json(packed.to_dict(), indent=2) + "\n")
    if json_file != "-":
        _show(packed)
    outputs.say_written(output, json_file)


def _counted(
    source: str, tokenizer_name: str, *, field: str, documents: Literal["file", "line"]
) -> NDArray[np.int64]:
    """Counts the tokens of each document."""
    import numpy as np

    tokenizer = options.load_tokenizer(tokenizer_name, pattern=None, special_tokens=())
    # As `tokenize` makes the ids that are packed.
    tokenizer = tokenizer.guarded()
    batches = streams.batches(
        source, field=field, documents=documents, file_format="auto", strict=False
    )
    parts = []
    n_documents = n_tokens = 0
    with options.bad_records_explained(), progress_bar() as on_progress:
        for batch in batches:
            counts = tokenizer.count_batch(batch)
            parts.append(counts)
            n_documents, n_tokens = n_documents + len(counts), n_tokens + int(counts.sum())
            if on_progress is not None:
                on_progress(Progress("read", n_tokens, None, "tokens", n_documents=n_documents))
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _check_output(source: str, output: str | None, *, emit: str, method: str) -> None:
    """Refuses outputs that cannot be, before anything is read."""
    if output is None:
        if emit == "tokens":
            raise UsageError("--emit tokens has no output\nhint: -o NAME.parquet")
        return
    name = output.lower()
    wanted = (".parquet", ".pq") if emit == "tokens" else (".npz", ".parquet", ".pq")
    if not name.endswith(wanted):
        raise UsageError(f"-o {output} does not end in {' or '.join(wanted)}")
    path = Path(output)
    if path.is_dir():
        raise UsageError(f"-o {output} is a folder; expected a file")
    outputs.check_folder("-o", path)
    if source != "-" and path.exists() and Path(source).exists() and path.samefile(source):
        raise UsageError(f"-o {output} is the input\nhint: name another file")
    if emit == "tokens" and method in ("sorted-batches", "buckets"):
        raise UsageError(
            f"--method {method} makes batches of padded rows, not packed rows\n"
            "hint: --emit tokens goes with best-fit and first-fit"
        )
    if emit == "tokens" and (source == "-" or source.lower().endswith((".npy", ".txt"))):
        raise UsageError(
            f"{source} holds lengths, not tokens\n"
            "hint: --emit tokens wants Megatron's .idx and .bin, or Parquet, Arrow or JSON Lines "
            "with input_ids"
        )


def _show(packed: Pack) -> None:
    from jeton.cli.tables import print_facts

    report, ranks = packed.report, packed.report.ranks
    unit = "batches" if packed.is_batches else "bins"
    facts = [
        ("documents", f"{report.n_documents:,} with {report.n_tokens:,} tokens"),
        (unit, f"{report.n_bins:,} of {packed.capacity:,} tokens, {packed.method}"),
        ("fill", f"{report.fill:.2%} of {report.n_positions:,} positions"),
        ("padding", f"{report.n_padding_tokens:,} tokens ({report.padding_share:.2%})"),
        (
            "saved",
            f"{report.saved_share:.1%} of the {report.n_positions_padded:,} positions of rows "
            "padded to the longest",
        ),
    ]
    if packed.edges:
        facts.append(("widths", " ".join(f"{edge:,}" for edge in packed.edges)))
    if report.n_cut_documents:
        facts.append(
            ("split", f"{report.n_cut_documents:,} documents, {report.n_segments:,} segments")
        )
    if report.n_truncated_documents:
        facts.append(
            (
                "truncated",
                f"{report.n_truncated_documents:,} documents, {report.n_truncated_tokens:,} tokens",
            )
        )
    if report.n_dropped_documents:
        facts.append(
            (
                "dropped",
                f"{report.n_dropped_documents:,} documents, {report.n_dropped_tokens:,} tokens",
            )
        )
    if report.n_own_bins:
        facts.append(("own bins", f"{report.n_own_bins:,} longer than the capacity"))
    if ranks.n_ranks > 1:
        facts.append(
            (
                "work of ranks",
                f"the largest sum of squared lengths is {ranks.spread:.3f} of the mean of "
                f"{ranks.n_ranks} ranks; they wait {ranks.waiting_share:.1%} of the time",
            )
        )
    print_facts(facts)
