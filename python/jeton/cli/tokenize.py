"""``jeton tokenize``: documents to files of ids that training programs read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jeton.cli import kept, options, streams
from jeton.cli.cluster_options import ClusterOptions
from jeton.cli.declaring import command, option
from jeton.cli.kinds import COUNT, WHOLE
from jeton.cli.progress import progress_bar

if TYPE_CHECKING:
    from jeton.datasets import TokenizedDataset


# Named here too, so that --help needs no import of what they are; tests compare.
FORMATS = ("megatron", "numpy", "parquet", "arrow", "mds", "litdata", "datatrove", "nanochat")


@command(
    "tokenize",
    sections={
        "Most used": "tokenizer_name",
        "Documents": "field",
        "Files": "shard_tokens",
        "Run": "workers resume on task_cpus task_memory task_retries quiet as_json",
        "Other work": "verify",
    },
)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
def tokenize(
    *,
    inputs: tuple[str, ...],
    tokenizer_name: str | None = option(
        "Name, file or folder of the tokenizer. `jeton vocab list` shows the names.",
        "T",
        names="-t --tokenizer",
    ),
    file_format: Any = option(
        "Format of the files.", names="--format", type=click.Choice(FORMATS), default="megatron"
    ),
    output: str | None = option("The folder to write; it is made.", "DIR", names="-o --output"),
    append_eos: bool = option("End each document with the end token, once."),
    prepend_bos: bool = option("Begin each document with the beginning token, once."),
    reading: options.DocumentOptions,
    input_format: Any = option(
        "How to read the inputs; auto goes by the names (standard input is text).",
        type=click.Choice(["auto", "text", "jsonl", "json", "csv", "parquet"]),
        default="auto",
    ),
    guard: str | None = option(
        "Clean or refuse each document by a policy of `jeton guard`: default, strict or a file.",
        "POLICY",
    ),
    shuffle: int | None = option(
        "Put all documents in an order drawn by this number, in bounded memory.", "SEED"
    ),
    no_template: bool = option("Leave out the special tokens of the tokenizer's own template."),
    eos_token: str = option("The end token to append.", "TOKEN", default=""),
    bos_token: str = option("The beginning token to prepend.", "TOKEN", default=""),
    shard_tokens: int | None = option(
        "Most tokens in a shard; a longer document has its own. By default what suits the "
        "format: 1,073,741,824 for megatron, numpy and datatrove, less for others.",
        "N",
        type=COUNT,
    ),
    columns: tuple[Any, ...] = option(
        "Parquet and Arrow: a column beside input_ids. Repeatable.",
        names="--column",
        type=click.Choice(["attention_mask", "labels"]),
    ),
    label_mask: bool = option(
        "NumPy: write a file of booleans beside each shard: all tokens but the first of each "
        "document are labels."
    ),
    keep: str = options.KEEP,
    keep_all: bool = options.KEEP_ALL,
    digest: Any = option(
        "Digest of the files in the manifest.",
        type=click.Choice(["crc32", "sha256"]),
        default="crc32",
    ),
    workers: int | None = option(
        "Threads, or tasks of Ray at a time; by default what the cores of the machine or "
        "cluster allow. The bytes are the same with any number.",
        "N",
        type=COUNT,
    ),
    resume: bool = option("Go on with a run that was interrupted."),
    quiet: bool = option("No progress and no summary.", names="-q --quiet"),
    as_json: bool = options.JSON,
    verify: bool = option(
        "INPUT are data sets, also .bin/.idx of other tools: read them again, compare with the "
        "sources, and exit with 1 at a fault."
    ),
    sample: int = option(
        "With --verify: documents that are tokenized again and compared.",
        "N",
        type=WHOLE,
        default=1000,
    ),
    transcode: bool = option(
        "INPUT are data sets: write them in another format without tokenizing again."
    ),
    cluster: ClusterOptions,
) -> int | None:
    """Tokenize documents into files that training programs read.

    INPUT is a file, a folder, a quoted glob, - for standard input, or with fsspec an address such
    as s3://bucket/file. It holds text, JSON Lines, JSON, CSV or Parquet, compressed or not. The
    bytes depend on inputs, tokenizer and options alone, for any number of workers and after any
    interruption; manifest.json is written last. Documents without a token of their own are left
    out and counted.

    \b
    Examples:
      jeton tokenize web/ -t o200k_base --format megatron --append-eos -o tokens/
      jeton tokenize books.jsonl.zst -t llama2 --format numpy --append-eos --shuffle 7 -o tokens/
      jeton tokenize web/ -t o200k_base --append-eos -o tokens/ --resume
      RAY_ADDRESS=auto jeton tokenize web/ -t o200k_base --append-eos -o tokens/ --on ray
      jeton tokenize --verify tokens/
      jeton tokenize --verify other/data.bin -t o200k_base --append-eos
      jeton tokenize --transcode tokens/ --format mds -o mds/
    """
    from jeton.errors import UsageError

    if verify and transcode:
        raise UsageError("give --verify or --transcode, not both")
    if verify:
        return verify_inputs(
            inputs,
            tokenizer_name=tokenizer_name,
            append_eos=append_eos,
            prepend_bos=prepend_bos,
            eos_token=eos_token,
            bos_token=bos_token,
            sample=sample,
            quiet=quiet,
            as_json=as_json,
        )
    if output is None:
        raise UsageError("missing option '-o' / '--output': the folder to write")
    place = _place(cluster)
    shared: dict[str, Any] = {
        "output": output,
        "format": file_format,
        "shard_tokens": shard_tokens,
        "columns": columns,
        "label_mask": label_mask,
        "shuffle": shuffle,
        "digest": digest,
        "resume": resume,
    }
    from jeton import datasets

    with progress_bar(quiet=quiet) as on_progress:
        if transcode:
            made = datasets.transcode_dataset(
                list(inputs),
                tokenizer=None
                if tokenizer_name is None
                else options.load_tokenizer(tokenizer_name),
                on_progress=on_progress,
                **shared,
            )
        else:
            if tokenizer_name is None:
                raise UsageError("missing option '-t' / '--tokenizer'")
            with options.bad_records_explained():
                made = datasets.tokenize_dataset(
                    list(inputs),
                    tokenizer=options.load_tokenizer(tokenizer_name),
                    append_eos=append_eos,
                    prepend_bos=prepend_bos,
                    use_template=not no_template,
                    eos_token=eos_token,
                    bos_token=bos_token,
                    **reading.values(),
                    input_format=None if input_format == "auto" else input_format,
                    guard=guard,
                    keep=kept.kept_names(keep, taken=()),
                    keep_all=keep_all,
                    workers=workers,
                    on=place,
                    on_progress=on_progress,
                    **shared,
                )
    if as_json:
        streams.write_json(made.to_dict())
    else:
        for shard in made.shards:
            for file in shard.files:
                streams.write_line(str(Path(output) / file.name))
    _say(made, quiet=quiet, is_nanochat=file_format == "nanochat")
    return None


def _place(cluster: ClusterOptions) -> Any:
    """The place of the work, as the library takes it."""
    tasks = cluster.tasks()
    if tasks is None:
        return "local"
    from functools import partial

    from jeton.cluster import pieces_on_ray

    return partial(pieces_on_ray, tasks=tasks)


def _say(made: TokenizedDataset, *, quiet: bool, is_nanochat: bool) -> None:
    """Tell on standard error what was left out and what was made; ``quiet``: only the former."""
    from jeton._plain import counted

    for path, reason in made.skipped:
        streams.say(f"jeton: warning: {path} was skipped: {reason}")
    read = made.read
    streams.warn_replaced_in(read.n_replaced_documents)
    streams.warn_left_out(n_null=read.n_null_documents, n_bad=read.n_bad_records, first="")
    if quiet:
        return
    if read.n_guarded_documents:
        streams.say(f"{counted(read.n_guarded_documents, 'document')} changed by the guard")
    if read.n_empty_documents:
        streams.say(f"{counted(read.n_empty_documents, 'empty document')} left out")
    if is_nanochat and made.shards:
        streams.say(f"nanochat takes the last shard, {made.shards[-1].files[0].name}, to validate")
    if made.n_resumed_shards:
        streams.say(f"{counted(made.n_resumed_shards, 'shard')} of an earlier run kept")
    if made.is_transcoded:
        end = "documents keep their ids"
    else:
        before, behind = (" ".join(names) for names in made.around)
        around = f"{before} ... {behind}".strip() if before or behind else "no special tokens"
        end = f"around each document: {around}"
    streams.say(
        f"{counted(made.n_tokens, 'token')} ({made.dtype}) of "
        f"{counted(made.n_documents, 'document')} in {counted(len(made.shards), 'shard')}; {end}"
    )


EXIT_FINE, EXIT_FINDING = 0, 1


def verify_inputs(
    inputs: tuple[str, ...],
    *,
    tokenizer_name: str | None,
    quiet: bool,
    as_json: bool,
    **expected: Any,
) -> int:
    """Check data sets; return the exit code."""
    from jeton._plain import counted
    from jeton.datasets import verify_dataset

    tokenizer = None if tokenizer_name is None else options.load_tokenizer(tokenizer_name)
    checks = [verify_dataset(path, tokenizer=tokenizer, **expected) for path in inputs]
    if as_json:
        streams.write_json(
            {
                "schema_version": "jeton.dataset-check/1",
                "is_fine": all(check.is_fine for check in checks),
                "checks": [check.to_dict() for check in checks],
            }
        )
    for check in checks:
        if not as_json:
            for fault in check.faults:
                streams.write_line(f"{fault.place}: {fault.kind}: {fault.message}")
            if check.n_faults > len(check.faults):
                streams.write_line(f"... and {check.n_faults - len(check.faults):,} more faults")
        for note in check.notes:
            streams.say(f"jeton: note: {note}")
        if not quiet:
            verdict = "fine" if check.is_fine else counted(check.n_faults, "fault")
            streams.say(
                f"{check.path}: {verdict}; {counted(check.n_tokens, 'token')} of "
                f"{counted(check.n_documents, 'document')}, {check.n_compared:,} compared with the "
                f"sources; begin/end tokens on {check.n_with_bos:,}/{check.n_with_eos:,}"
            )
    return EXIT_FINE if all(check.is_fine for check in checks) else EXIT_FINDING
