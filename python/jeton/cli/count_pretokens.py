"""``jeton count-pretokens``: the first half of training, to a file."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from jeton.cli import corpus_options, options, streams, training_corpus
from jeton.cli.cluster_options import CLUSTER_OPTIONS, cluster_options, tasks_of
from jeton.cli.option_groups import SectionedCommand
from jeton.cli.progress import progress_bar

if TYPE_CHECKING:
    from jeton.cluster import RayTasks
    from jeton.training import CountedCorpus, TrainSettings

_SECTIONS = {
    "Most used": (
        "output",
        "algorithm",
        "field",
        "documents",
    ),
    "Vocabulary": (
        "base",
        "pattern",
        "rules",
        "indents",
        "normalizers",
        "option_pairs",
        "characters",
    ),
    "Corpus": training_corpus.CORPUS_OPTIONS,
    "Run": training_corpus.RUN_OPTIONS,
    "Cluster": CLUSTER_OPTIONS,
}


@click.command(name="count-pretokens", cls=SectionedCommand, sections=_SECTIONS)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="COUNTS",
    help="The file to write; for parity-bpe a folder, in which each language has a file.",
)
@training_corpus.algorithm_options
@click.option(
    "--base",
    metavar="TOKENIZER",
    help="Cut text as this tokenizer does, for `jeton train --base`.",
)
@options.training_pattern_option
@options.rule_option
@training_corpus.indents_option
@options.normalizer_option
@corpus_options.corpus_options
@options.training_input_options
@cluster_options
@click.option(
    "--characters",
    metavar="FILE",
    help="Write a JSON file with characters, scripts, and how many characters cover the text.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress and no summary.")
@options.json_option
def count_pretokens(
    *,
    inputs: tuple[str, ...],
    output: str,
    algorithm: str,
    option_pairs: tuple[str, ...],
    base: str | None,
    pattern: str,
    rules: tuple[str, ...],
    indents: bool,
    normalizers: tuple[str, ...],
    field: str,
    documents: Literal["file", "line"],
    strict: bool,
    on_bad_record: Literal["stop", "skip"],
    num_threads: int | None,
    characters: str | None,
    quiet: bool,
    as_json: bool,
    **care: Any,
) -> None:
    """Count the pretokens of files, to train from once or often.

    INPUT is a file, a folder, a quoted glob or - for standard input: text, JSON Lines or Parquet,
    compressed or not. `jeton train --from-counts` trains from one or several files of counts, so
    that several machines count and one trains, and another vocabulary size takes seconds. Counts
    serve every algorithm that cuts text as --algorithm does.

    \b
    Examples:
      jeton count-pretokens notes/ -o notes.counts
      jeton count-pretokens web/ --max-memory 4GB --near-duplicates --quality gopher -o web.counts
      jeton count-pretokens src/ --pattern code --indents -o src.counts
      jeton count-pretokens all.jsonl --algorithm parity-bpe -O language_field=lang -o counts/
      RAY_ADDRESS=auto jeton count-pretokens web/ --on ray -o web.counts
      jeton train --from-counts notes.counts web.counts --weight notes=3 --vocab-size 32000 -o t/
    """
    from jeton import training
    from jeton._files import write_whole
    from jeton._plain import counted, strict_json
    from jeton.cli.outputs import check_folder
    from jeton.corpus import CharacterStatistics
    from jeton.corpus.own_output import inputs_without_output

    # Found before the work, not after it.
    check_folder("--output", Path(output))
    if base is not None:
        training_corpus.refuse_given(
            ("algorithm", "option_pairs", "pattern", "rules", "indents", "normalizers"),
            "cannot be given with --base, which cuts text its own way",
        )
    settings = training.TrainSettings(
        algorithm=algorithm,
        pattern=pattern,
        rules=rules,
        indents=indents,
        normalizer=normalizers,
        options=training_corpus.parse_option_pairs(option_pairs),
    )
    settings.check()
    read = inputs_without_output(
        inputs,
        files={
            "--output": output,
            "--characters": characters,
            "--held-out": care["held_out"],
            "--checkpoint": care["checkpoint"],
        },
    )
    cluster = {name: care.pop(name) for name in CLUSTER_OPTIONS}
    tasks = tasks_of(cluster)
    reading = {
        "field": field,
        "documents": documents,
        "strict": strict,
        "on_bad_record": on_bad_record,
    }
    with ExitStack() as stack:
        if tasks is not None:
            corpus = _on_cluster(
                list(read),
                tasks,
                output=output,
                settings=settings,
                base=base,
                reading=reading,
                care=care,
                quiet=quiet,
            )
        else:
            held_out = stack.enter_context(training_corpus.resumable(care))
            with progress_bar(quiet=quiet) as on_progress:
                corpus = training_corpus.corpus_of(
                    read,
                    held_out=held_out,
                    settings=settings,
                    base=None if base is None else options.load_tokenizer(base),
                    from_counts=False,
                    min_count=1,
                    care=care,
                    reading=reading,
                    num_threads=num_threads,
                    on_progress=on_progress,
                )
        if corpus.languages:
            files = training.save_language_counts(output, corpus)
        else:
            training.save_counts(output, corpus)
            files = [Path(output)]
    counts = corpus.counts
    if characters is not None:
        statistics = CharacterStatistics.of(counts).to_dict()
        write_whole(characters, strict_json(statistics, indent=2) + "\n")
    if as_json:
        streams.write_json(
            {
                "schema_version": "jeton.count-pretokens/1",
                "file": output,
                "n_distinct": len(counts),
                "n_pretokens": counts.n_pretokens,
                "n_bytes": counts.n_bytes,
                "n_documents": counts.n_documents,
                "n_bytes_spilled": counts.n_bytes_spilled,
                **({"files": [str(file) for file in files]} if corpus.languages else {}),
                **({"indents": True} if corpus.indents else {}),
                "unit": corpus.unit,
                "sources": [asdict(source) for source in corpus.sources],
                "left_out": corpus.left_out.to_dict(),
            }
        )
    else:
        for file in files:
            streams.write_line(str(file) if corpus.languages else output)
    corpus_options.say_counted(corpus, quiet=quiet)
    if not quiet:
        streams.say(
            f"{len(counts):,} distinct of {counts.n_pretokens:,} pretokens in "
            f"{counted(counts.n_documents, 'document')}"
        )


def _on_cluster(
    inputs: list[Any],
    tasks: RayTasks,
    *,
    output: str,
    settings: TrainSettings,
    base: str | None,
    reading: dict[str, Any],
    care: dict[str, Any],
    quiet: bool,
) -> CountedCorpus:
    """Count by tasks of Ray, whose parts lie beside the output until all is counted."""
    from jeton.cluster import count_pretokens_on_ray

    training_corpus.refuse_given(
        ("checkpoint", "num_threads"),
        "is for one machine: with --on ray, parts lie in OUTPUT.parts until all is counted, "
        "--resume goes on from them, and --task-cpus has the threads of a task",
    )
    given = corpus_options.counting_arguments({**care, "resume": False})
    with progress_bar(quiet=quiet) as on_progress, options.bad_records_explained():
        return count_pretokens_on_ray(
            inputs,
            folder=output + ".parts",
            settings=settings,
            base=None if base is None else options.load_tokenizer(base),
            care=given["care"],
            max_memory=given["max_memory"],
            temp_dir=given["temp_dir"],
            digests=True,
            resume=care["resume"],
            tasks=tasks,
            on_progress=on_progress,
            **reading,
        )
