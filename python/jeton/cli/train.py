"""``jeton train``: a tokenizer of your own."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any, Literal

import click

from jeton.cli import corpus_options, options, outputs, streams, training_corpus
from jeton.cli.held_out import check_held_out
from jeton.cli.option_groups import SectionedCommand
from jeton.cli.personal import personal_json, say_personal, tokens_of
from jeton.cli.planning_options import Size
from jeton.cli.progress import progress_bar

_SECTIONS = {
    "Most used": (
        "output",
        "vocab_size",
        "algorithm",
        "field",
        "documents",
        "card",
    ),
    "Vocabulary": (
        "base",
        "pattern",
        "rules",
        "segmenter",
        "indents",
        "normalizers",
        "min_frequency",
        "special_tokens",
        "no_special_tokens",
        "max_token_bytes",
        "tie_rule",
        "option_pairs",
        "name",
    ),
    "Corpus": (
        "from_counts",
        "min_count",
        *training_corpus.CORPUS_OPTIONS,
    ),
    "Run": training_corpus.RUN_OPTIONS,
}


@click.command(cls=SectionedCommand, sections=_SECTIONS)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "--vocab-size",
    required=True,
    type=Size(),
    metavar="N",
    help="Ids of the tokenizer, special tokens included; 32k is 32000.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DIR_OR_FILE",
    help="Where to save: a folder (tokenizer.json and training card), or a file whose suffix "
    "chooses the format: .json, .tiktoken, .model, .jeton.json, vocab.txt; each also with .zst.",
)
@training_corpus.algorithm_options
@click.option(
    "--base",
    metavar="TOKENIZER",
    help="Continue this tokenizer: its ids stay, new tokens come after them. --vocab-size is that "
    "of the whole.",
)
@options.training_pattern_option
@options.rule_option
@click.option(
    "--segmenter",
    metavar="S",
    help="Cut pretokens further before they count: jieba, morphemes:FILE (word, tab, morphemes), "
    "morfessor (learned), morfessor:FILE, or the name of a plug-in.",
)
@training_corpus.indents_option
@options.normalizer_option
@click.option(
    "--min-frequency",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Merge only pairs that occur this often.",
)
@click.option(
    "--special-token",
    "special_tokens",
    metavar="TEXT",
    multiple=True,
    help="Special token to reserve an id for, in this order from 0. Repeatable. By default those "
    "usual with the algorithm: <|endoftext|> for bpe.",
)
@click.option("--no-special-tokens", is_flag=True, help="Reserve no id for a special token.")
@click.option(
    "--max-token-bytes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Longest token that is made, in bytes; any length by default.",
)
@click.option(
    "--tie-rule",
    type=click.Choice(["hf", "bytes"]),
    default="hf",
    show_default=True,
    help="Which of two equally frequent pairs is merged first: as the tokenizers library does, "
    "or the one whose bytes come first.",
)
@click.option("--name", help="Name of the tokenizer.")
@click.option(
    "--from-counts",
    is_flag=True,
    help="INPUT are files of counts, as `jeton count-pretokens` writes them; for parity-bpe one or "
    "several for each language, named or in a folder named after it.",
)
@click.option(
    "--min-count",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="With --from-counts: leave out pretokens that occur less often, to save memory.",
)
@corpus_options.corpus_options
@options.training_input_options
@click.option(
    "--card/--no-card",
    default=True,
    show_default=True,
    help="Write a training card beside the tokenizer: sources, sizes, date, settings.",
)
@click.option("-q", "--quiet", is_flag=True, help="No progress and no summary.")
@options.json_option
def train(
    *,
    inputs: tuple[str, ...],
    vocab_size: int,
    output: str,
    algorithm: str,
    base: str | None,
    option_pairs: tuple[str, ...],
    pattern: str,
    rules: tuple[str, ...],
    segmenter: str | None,
    indents: bool,
    normalizers: tuple[str, ...],
    min_frequency: int,
    special_tokens: tuple[str, ...],
    no_special_tokens: bool,
    max_token_bytes: int | None,
    tie_rule: Literal["hf", "bytes"],
    name: str | None,
    field: str,
    documents: Literal["file", "line"],
    strict: bool,
    on_bad_record: Literal["stop", "skip"],
    num_threads: int | None,
    from_counts: bool,
    min_count: int,
    card: bool,
    quiet: bool,
    as_json: bool,
    **care: Any,
) -> None:
    """Train a tokenizer on your own text.

    Byte-level BPE, or what --algorithm says.

    INPUT is a file, a folder, a quoted glob or - for standard input: text, JSON Lines or Parquet,
    compressed or not. The result is the same on any number of threads.

    \b
    Examples:
      jeton train notes/ --vocab-size 32000 -o my-tokenizer
      jeton train notes/ --algorithm unigram --vocab-size 8000 -O byte_fallback=true -o notes.model
      jeton train calls.jsonl --field prompt --vocab-size 16000 -o calls.tiktoken --no-card
      jeton train notes/ --base o200k_base --vocab-size 210000 -o notes-o200k
      jeton train texts/ --algorithm parity-bpe -O language_by=folder --vocab-size 64000 -o fair
      jeton train --from-counts a.counts b.counts --vocab-size 64000 -o both
      jeton train web/ --checkpoint web.part --resume --max-memory 8GB --vocab-size 64k -o web-64k
      zcat big.txt.gz | jeton train - --vocab-size 8000 --special-token "<|end|>" -o t.json
    """
    from jeton import training
    from jeton.corpus.own_output import inputs_without_output
    from jeton.formats import card_path, name_of_file

    if special_tokens and no_special_tokens:
        raise click.UsageError("give --special-token or --no-special-tokens, not both")
    target = Path(output)
    place = outputs.trained_target(output, algorithm)
    outputs.check_folder("--output", target)
    check_held_out(care)
    corpus_options.check_resume(care)
    reading = {
        "field": field,
        "documents": documents,
        "strict": strict,
        "on_bad_record": on_bad_record,
    }
    read = inputs_without_output(
        inputs,
        tokenizer=(target, card_path(target)),
        files={"--held-out": care["held_out"], "--checkpoint": care["checkpoint"]},
    )
    if base is not None:
        from jeton.cli.continuing import continue_tokenizer

        training_corpus.refuse_given(
            ("rules", "segmenter", "indents"), "cannot be given with --base"
        )
        continue_tokenizer(
            read,
            base=base,
            target=place,
            output=output,
            settings=training.ContinueSettings(
                vocab_size=vocab_size,
                min_frequency=min_frequency,
                max_token_bytes=max_token_bytes,
                tie_rule=tie_rule,
            ),
            from_counts=from_counts,
            min_count=min_count,
            care=care,
            reading=reading,
            num_threads=num_threads,
            name=name,
            card=card,
            command=outputs.command_line(),
            quiet=quiet,
            as_json=as_json,
        )
        return
    settings = training.TrainSettings(
        algorithm=algorithm,
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        pattern=pattern,
        rules=rules,
        segmenter=segmenter,
        indents=indents,
        normalizer=normalizers,
        special_tokens=() if no_special_tokens else special_tokens or None,  # type: ignore[arg-type]
        max_token_bytes=max_token_bytes,
        tie_rule=tie_rule,
        options=training_corpus.parse_option_pairs(option_pairs),
    )
    settings.check()
    if not from_counts or training_corpus.is_given("algorithm"):
        outputs.check_can_hold(settings, place, base=None)
    with training_corpus.resumable(care) as held_out:
        with progress_bar(quiet=quiet) as on_progress:
            corpus = training_corpus.corpus_of(
                read,
                held_out=held_out,
                settings=settings,
                from_counts=from_counts,
                min_count=min_count,
                care=care,
                reading=reading,
                num_threads=num_threads,
                on_progress=on_progress,
            )
            if from_counts:
                settings = training_corpus.as_counted(corpus, settings)
            learned = training.learn_from_counts(
                corpus,
                settings=settings,
                name=name or name_of_file(target.resolve()),
                num_threads=num_threads,
                checkpoint=care["checkpoint"],
                resume=care["resume"],
                on_progress=on_progress,
            )
        tokenizer = learned.tokenizer
        corpus_options.say_counted(corpus, quiet=quiet)
        saved = outputs.save_trained(
            tokenizer, output, algorithm=algorithm, pattern=settings.pattern
        )
        tokenizer, written = saved.tokenizer, saved.files
        if card:
            made = training.TrainingCard.of(
                tokenizer,
                corpus=corpus,
                settings=settings,
                date=datetime.datetime.now(tz=datetime.UTC).date(),
                command=outputs.command_line(),
                heldout=(
                    () if held_out is None else held_out.measure(tokenizer, num_threads=num_threads)
                ),
                learned=learned.facts,
                loading=saved.loading,
            )
            written.append(card_path(target))
            training.write_card(written[-1], made)
    personal = personal_json(tokens_of(tokenizer))
    if as_json:
        facts = {
            "schema_version": "jeton.train/1",
            "name": tokenizer.name,
            "fingerprint": tokenizer.fingerprint,
            "vocab_size": tokenizer.vocab_size,
            "files": [str(path) for path in written],
            "personal_tokens": personal,
        }
        streams.write_json(facts)
    else:
        for path in written:
            streams.write_line(str(path))
    if not quiet:
        streams.say(f"{tokenizer.name}: {tokenizer.vocab_size:,} ids")
        saved.say_loading()
        say_personal(personal)
