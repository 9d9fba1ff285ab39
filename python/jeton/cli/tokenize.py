"""``jeton tokenize``: documents to files of ids that training programs read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from jeton.cli import kept, options, streams
from jeton.cli.cluster_options import CLUSTER_OPTIONS, cluster_options, tasks_of
from jeton.cli.option_groups import SectionedCommand
from jeton.cli.progress import progress_bar

if TYPE_CHECKING:
    from jeton.datasets import TokenizedDataset

# Named here too, so that --help needs no import of what they are; tests compare.
FORMATS = ("megatron", "numpy", "parquet", "arrow", "mds", "litdata", "datatrove", "nanochat")

_SECTIONS = {
    "Most used": ("tokenizer_name", "file_format", "output", "append_eos", "prepend_bos"),
    "Documents": (
        "field",
        "documents",
        "input_format",
        "strict",
        "on_bad_record",
        "guard",
        "shuffle",
        "no_template",
        "eos_token",
        "bos_token",
    ),
    "Files": ("shard_tokens", "columns", "label_mask", "keep", "keep_all", "digest"),
    "Run": ("workers", "resume", *CLUSTER_OPTIONS, "quiet", "as_json"),
    "Other work": ("verify", "sample", "transcode"),
}


@click.command(name="tokenize", cls=SectionedCommand, sections=_SECTIONS)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "-t",
    "--tokenizer",
    "tokenizer_name",
    metavar="T",
    help="Name, file or folder of the tokenizer. `jeton vocab list` shows the names.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(FORMATS),
    default="megatron",
    show_default=True,
    help="Format of the files.",
)
@click.option("-o", "--output", metavar="DIR", help="The folder to write; it is made.")
@click.option("--append-eos", is_flag=True, help="End each document with the end token, once.")
@click.option(
    "--prepend-bos", is_flag=True, help="Begin each document with the beginning token, once."
)
@options.field_option
@options.documents_option
@click.option(
    "--input-format",
    type=click.Choice(["auto", "text", "jsonl", "json", "csv", "parquet"]),
    default="auto",
    show_default=True,
    help="How to read the inputs; auto goes by the names (standard input is text).",
)
@options.strict_option
@options.on_bad_record_option
@click.option(
    "--guard",
    metavar="POLICY",
    help="Clean or refuse each document by a policy of `jeton guard`: default, strict or a file.",
)
@kept.keep_option
@kept.keep_all_option
@click.option(
    "--shuffle",
    type=int,
    metavar="SEED",
    help="Put all documents in an order drawn by this number, in bounded memory.",
)
@click.option(
    "--no-template",
    is_flag=True,
    help="Leave out the special tokens of the tokenizer's own template.",
)
@click.option("--eos-token", default="", metavar="TOKEN", help="The end token to append.")
@click.option("--bos-token", default="", metavar="TOKEN", help="The beginning token to prepend.")
@click.option(
    "--shard-tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="Most tokens in a shard; a longer document has its own. By default what suits the "
    "format: 1,073,741,824 for megatron, numpy and datatrove, less for others.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    type=click.Choice(["attention_mask", "labels"]),
    help="Parquet and Arrow: a column beside input_ids. Repeatable.",
)
@click.option(
    "--label-mask",
    is_flag=True,
    help="NumPy: write a file of booleans beside each shard: all tokens but the first of each "
    "document are labels.",
)
@click.option(
    "--digest",
    type=click.Choice(["crc32", "sha256"]),
    default="crc32",
    show_default=True,
    help="Digest of the files in the manifest.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Threads, or tasks of Ray at a time; by default what the cores of the machine or cluster "
    "allow. The bytes are the same with any number.",
)
@click.option("--resume", is_flag=True, help="Go on with a run that was interrupted.")
@cluster_options
@click.option(
    "--verify",
    is_flag=True,
    help="INPUT are data sets, also .bin/.idx of other tools: read them again, compare with the "
    "sources, and exit with 1 at a fault.",
)
@click.option(
    "--sample",
    type=click.IntRange(min=0),
    default=1000,
    show_default=True,
    metavar="N",
    help="With --verify: documents that are tokenized again and compared.",
)
@click.option(
    "--transcode",
    is_flag=True,
    help="INPUT are data sets: write them in another format without tokenizing again.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress and no summary.")
@options.json_option
def tokenize(
    *,
    inputs: tuple[str, ...],
    tokenizer_name: str | None,
    file_format: Any,
    output: str | None,
    append_eos: bool,
    prepend_bos: bool,
    field: str,
    documents: Literal["file", "line"],
    input_format: Any,
    strict: bool,
    on_bad_record: Literal["stop", "skip"],
    guard: str | None,
    keep: str,
    keep_all: bool,
    shuffle: int | None,
    no_template: bool,
    eos_token: str,
    bos_token: str,
    shard_tokens: int | None,
    columns: tuple[Any, ...],
    label_mask: bool,
    digest: Any,
    workers: int | None,
    resume: bool,
    verify: bool,
    sample: int,
    transcode: bool,
    quiet: bool,
    as_json: bool,
    **cluster: Any,
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
        from jeton.cli.tokenize_checks import verify_inputs

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
                    field=field,
                    documents=documents,
                    input_format=None if input_format == "auto" else input_format,
                    strict=strict,
                    on_bad_record=on_bad_record,
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


def _place(cluster: dict[str, Any]) -> Any:
    """The place of the work, as the library takes it."""
    tasks = tasks_of(cluster)
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
    if read.n_replaced_documents:
        streams.say(
            "jeton: warning: bytes that are not UTF-8 were replaced by U+FFFD in "
            f"{counted(read.n_replaced_documents, 'document')}; --strict makes this an error"
        )
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
