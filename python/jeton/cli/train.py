"""``jeton train``: a tokenizer of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from jeton.cli import corpus_options, options, outputs, streams, training_corpus
from jeton.cli.continuing import continue_tokenizer, write_card
from jeton.cli.declaring import command, is_given, option
from jeton.cli.held_out import check_held_out
from jeton.cli.kinds import COUNT, VOCAB_SIZE
from jeton.cli.personal import personal_json, say_personal, tokens_of
from jeton.cli.progress import progress_bar


@command(
    sections={
        "Most used": "output",
        "Vocabulary": "base",
        "Corpus": "from_counts min_count weights balance duplicates near_duplicates quality "
        "hold_out hold_out_by held_out strict on_bad_record",
        "Run": "max_memory temp_dir checkpoint resume num_threads quiet as_json",
    },
)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
def train(
    *,
    inputs: tuple[str, ...],
    output: str = option(
        "Where to save: a folder (tokenizer.json and training card), or a file whose suffix "
        "chooses the format: .json, .tiktoken, .model, .jeton.json, vocab.txt; each also with "
        ".zst.",
        "DIR_OR_FILE",
        names="-o --output",
        required=True,
    ),
    vocab_size: int = option(
        "Ids of the tokenizer, special tokens included; 32k is 32000.",
        "N",
        type=VOCAB_SIZE,
        required=True,
    ),
    algorithm: str = training_corpus.ALGORITHM,
    reading: options.DocumentOptions,
    card: bool = option(
        "Write a training card beside the tokenizer: sources, sizes, date, settings.", default=True
    ),
    base: str | None = option(
        "Continue this tokenizer: its ids stay, new tokens come after them. --vocab-size is "
        "that of the whole.",
        "TOKENIZER",
    ),
    pattern: str = options.TRAINING_PATTERN,
    rules: tuple[str, ...] = options.RULE,
    segmenter: str | None = option(
        "Cut pretokens further before they count: jieba, morphemes:FILE (word, tab, morphemes), "
        "morfessor (learned), morfessor:FILE, or the name of a plug-in.",
        "S",
    ),
    indents: bool = training_corpus.INDENTS,
    normalizers: tuple[str, ...] = options.NORMALIZER,
    min_frequency: int = option(
        "Merge only pairs that occur this often.", "N", type=COUNT, default=1
    ),
    special_tokens: tuple[str, ...] = option(
        "Special token to reserve an id for, in this order from 0. Repeatable. By default those "
        "usual with the algorithm: <|endoftext|> for bpe.",
        "TEXT",
        names="--special-token",
    ),
    no_special_tokens: bool = option("Reserve no id for a special token."),
    max_token_bytes: int | None = option(
        "Longest token that is made, in bytes; any length by default.", "N", type=COUNT
    ),
    tie_rule: Literal["hf", "bytes"] = option(
        "Which of two equally frequent pairs is merged first: as the tokenizers library does, "
        "or the one whose bytes come first.",
        default="hf",
    ),
    option_pairs: tuple[str, ...] = training_corpus.OPTION_PAIRS,
    name: str | None = option("Name of the tokenizer."),
    from_counts: bool = option(
        "INPUT are files of counts, as `jeton count-pretokens` writes them; for parity-bpe one "
        "or several for each language, named or in a folder named after it."
    ),
    min_count: int = option(
        "With --from-counts: leave out pretokens that occur less often, to save memory.",
        "N",
        type=COUNT,
        default=1,
    ),
    num_threads: int | None = options.THREADS,
    quiet: bool = option("No progress and no summary.", names="-q --quiet"),
    as_json: bool = options.JSON,
    care: corpus_options.CorpusOptions,
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
    read = inputs_without_output(
        inputs,
        tokenizer=(target, card_path(target)),
        files={"--held-out": care.held_out, "--checkpoint": care.checkpoint},
    )
    if base is not None:
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
            reading=reading.values(),
            num_threads=num_threads,
            name=name,
            card=card,
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
    if not from_counts or is_given("algorithm"):
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
                reading=reading.values(),
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
                checkpoint=care.checkpoint,
                resume=care.resume,
                on_progress=on_progress,
            )
        tokenizer = learned.tokenizer
        corpus_options.say_counted(corpus, quiet=quiet)
        saved = outputs.save_trained(
            tokenizer, output, algorithm=algorithm, pattern=settings.pattern
        )
        tokenizer, written = saved.tokenizer, saved.files
        if card:
            written.append(
                write_card(
                    saved,
                    output,
                    corpus=corpus,
                    settings=settings,
                    held_out=held_out,
                    learned=learned.facts,
                    num_threads=num_threads,
                )
            )
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
