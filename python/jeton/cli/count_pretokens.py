"""``jeton count-pretokens``: the first half of training, to a file."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jeton._plain import picked
from jeton.cli import corpus_options, options, streams, training_corpus
from jeton.cli.cluster_options import ClusterOptions
from jeton.cli.declaring import command, option
from jeton.cli.progress import progress_bar

if TYPE_CHECKING:
    from jeton.cluster import RayTasks
    from jeton.training import CountedCorpus, TrainSettings


@command(
    "count-pretokens",
    sections={
        "Most used": "output",
        "Vocabulary": "base",
        "Corpus": "weights balance duplicates near_duplicates quality hold_out hold_out_by "
        "held_out strict on_bad_record",
        "Run": "max_memory temp_dir checkpoint resume num_threads quiet as_json",
    },
)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
def count_pretokens(
    *,
    inputs: tuple[str, ...],
    output: str = option(
        "The file to write; for parity-bpe a folder, in which each language has a file.",
        "COUNTS",
        names="-o --output",
        required=True,
    ),
    algorithm: str = training_corpus.ALGORITHM,
    reading: options.DocumentOptions,
    base: str | None = option(
        "Cut text as this tokenizer does, for `jeton train --base`.", "TOKENIZER"
    ),
    pattern: str = options.TRAINING_PATTERN,
    rules: tuple[str, ...] = options.RULE,
    indents: bool = training_corpus.INDENTS,
    normalizers: tuple[str, ...] = options.NORMALIZER,
    option_pairs: tuple[str, ...] = training_corpus.OPTION_PAIRS,
    characters: str | None = option(
        "Write a JSON file with characters, scripts, and how many characters cover the text.",
        "FILE",
    ),
    num_threads: int | None = options.THREADS,
    quiet: bool = option("No progress and no summary.", names="-q --quiet"),
    as_json: bool = options.JSON,
    care: corpus_options.CorpusOptions,
    cluster: ClusterOptions,
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
            "--held-out": care.held_out,
            "--checkpoint": care.checkpoint,
        },
    )
    tasks = cluster.tasks()
    with ExitStack() as stack:
        if tasks is not None:
            corpus = _on_cluster(
                list(read),
                tasks,
                output=output,
                settings=settings,
                base=base,
                reading=reading.values(),
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
                    reading=reading.values(),
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
                **picked(counts, "n_pretokens n_bytes n_documents n_bytes_spilled"),
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
    care: corpus_options.CorpusOptions,
    quiet: bool,
) -> CountedCorpus:
    """Count by tasks of Ray, whose parts lie beside the output until all is counted."""
    from jeton.cluster import count_pretokens_on_ray

    training_corpus.refuse_given(
        ("checkpoint", "num_threads"),
        "is for one machine: with --on ray, parts lie in OUTPUT.parts until all is counted, "
        "--resume goes on from them, and --task-cpus has the threads of a task",
    )
    given = corpus_options.counting_arguments(care)
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
            resume=care.resume,
            tasks=tasks,
            on_progress=on_progress,
            **reading,
        )
