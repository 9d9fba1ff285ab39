"""``jeton train``: a tokenizer of your own."""

from __future__ import annotations

import datetime
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from jeton.cli import corpus_options, options, streams
from jeton.cli.progress import training_progress
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.training import CountedCorpus, TrainProgress, TrainSettings

__all__ = ["train"]

# Named here too, so that --help needs no import of training; a test compares.
_ALGORITHMS = (
    "bpe",
    "superbpe",
    "parity-bpe",
    "trimmed-bpe",
    "min-token-unigram",
    "char-bpe",
    "wordpiece",
    "wordpiece-likelihood",
    "unigram",
    "sentencepiece-bpe",
    "sentencepiece-word",
    "sentencepiece-char",
    "word",
    "char",
)


@click.command()
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "--vocab-size",
    required=True,
    type=click.IntRange(min=1),
    metavar="N",
    help="Ids of the tokenizer, special tokens included.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DIR_OR_FILE",
    help="Where to save: a folder (tokenizer.json and training card), or a file whose suffix "
    "chooses the format: .json, .tiktoken, .model, .jeton.json, vocab.txt; each also with .zst.",
)
@click.option(
    "--algorithm",
    type=click.Choice(_ALGORITHMS),
    default="bpe",
    show_default=True,
    help="How tokens are chosen.",
)
@click.option(
    "--base",
    metavar="TOKENIZER",
    help="Continue this tokenizer: its ids stay, new tokens come after them. --vocab-size is that "
    "of the whole.",
)
@click.option(
    "-O",
    "--option",
    "option_pairs",
    metavar="NAME=VALUE",
    multiple=True,
    help="An option of the algorithm, such as byte_fallback=true or limit_alphabet=1000; lists as "
    "JSON: user_defined_symbols='[\"<x>\"]'. Repeatable; see docs/training.md.",
)
@options.training_pattern_option
@options.rule_option
@click.option(
    "--segmenter",
    metavar="S",
    help="Cut pretokens further before they count: jieba, morphemes:FILE (word, tab, morphemes), "
    "morfessor (learned), morfessor:FILE, or the name of a plug-in.",
)
@click.option(
    "--indents",
    is_flag=True,
    help="Learn from source code whose indentation became <|indent|> and <|dedent|>.",
)
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
@click.option("--name", help="What to call the tokenizer.")
@click.option(
    "--from-counts",
    is_flag=True,
    help="INPUT are files of counts, as `jeton count-pretokens` writes them.",
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
@options.field_option
@options.documents_option
@options.strict_option
@options.threads_option
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
    normalizer: Literal["nfc"] | None,
    min_frequency: int,
    special_tokens: tuple[str, ...],
    no_special_tokens: bool,
    max_token_bytes: int | None,
    tie_rule: Literal["hf", "bytes"],
    name: str | None,
    field: str,
    documents: Literal["file", "line"],
    strict: bool,
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
      zcat big.txt.gz | jeton train - --vocab-size 8000 --special-token "<|end|>" -o t.json
    """
    from jeton import training
    from jeton.formats import card_path, load_file, name_of_file, save_file

    if special_tokens and no_special_tokens:
        raise click.UsageError("give --special-token or --no-special-tokens, not both")
    target = Path(output)
    _check_output(target)
    if base is not None:
        from jeton.cli.continuing import continue_tokenizer

        _refuse_with_base(("from_counts", "min_count", "rules", "segmenter", "indents", *care))
        continue_tokenizer(
            inputs,
            base=base,
            vocab_size=vocab_size,
            target=target,
            min_frequency=min_frequency,
            max_token_bytes=max_token_bytes,
            tie_rule=tie_rule,
            name=name,
            field=field,
            documents=documents,
            strict=strict,
            num_threads=num_threads,
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
        normalizer=normalizer,
        special_tokens=() if no_special_tokens else special_tokens or None,  # type: ignore[arg-type]
        max_token_bytes=max_token_bytes,
        tie_rule=tie_rule,
        options=_options(option_pairs),
    )
    settings.check()
    if from_counts and indents:
        raise UsageError(
            "--indents and --from-counts contradict one another: files of counts were made from "
            "text with its indentation\nhint: train from the text"
        )
    with training_progress(quiet=quiet) as on_progress:
        if from_counts:
            corpus = _load(inputs, care, min_count=min_count)
            settings = _as_counted(corpus, settings)
            pattern = settings.pattern
        else:
            reading = {"field": field, "documents": documents, "strict": strict}
            corpus = _count(inputs, settings, care, reading, num_threads, on_progress)
        learned = training.learn_from_counts(
            corpus,
            settings=settings,
            name=name or name_of_file(target.resolve()),
            num_threads=num_threads,
            on_progress=on_progress,
        )
    tokenizer = learned.tokenizer
    corpus_options.say_counted(corpus)
    written = save_file(tokenizer, target)
    is_ranks = written[0].name.lower().removesuffix(".zst").endswith(".tiktoken")
    if not is_ranks:
        # What was saved, as it will be loaded: the card's fingerprint is to match that.
        tokenizer = load_file(written[0], name=tokenizer.name)
    if card:
        made = training.TrainingCard.of(
            tokenizer,
            corpus=corpus,
            settings=settings,
            date=datetime.datetime.now(tz=datetime.UTC).date(),
            command=_command(),
            learned=learned.facts,
        )
        written.append(card_path(target))
        training.write_card(written[-1], made)
    if as_json:
        facts = {
            "schema_version": "jeton.train/1",
            "name": tokenizer.name,
            "fingerprint": tokenizer.fingerprint,
            "vocab_size": tokenizer.vocab_size,
            "files": [str(path) for path in written],
        }
        streams.write_json(facts)
    else:
        for path in written:
            streams.write_line(str(path))
    if not quiet:
        streams.say(f"{tokenizer.name}: {tokenizer.vocab_size:,} ids")
        if is_ranks:
            streams.say(
                "a .tiktoken file holds ranks only; it is loaded with "
                f"--pattern {shlex.quote(pattern)}"
            )


def _options(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Options of the algorithm: values are JSON where they can be, else text as it stands."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not name or not equals:
            raise click.UsageError(f"--option {pair}: expected NAME=VALUE")
        try:
            values[name] = json.loads(text)
        except ValueError:
            values[name] = text
    return values


def _command() -> str:
    """The command line, for the card."""
    words = click.get_current_context().find_root().obj
    return shlex.join(["jeton", *words]) if words else ""


def _count(
    inputs: tuple[str, ...],
    settings: TrainSettings,
    care: dict[str, Any],
    reading: dict[str, Any],
    num_threads: int | None,
    on_progress: Callable[[TrainProgress], None] | None,
) -> CountedCorpus:
    from jeton import training

    with corpus_options.counting_arguments(care) as arguments:
        return training.count_pretokens(
            inputs,
            settings=settings,
            num_threads=num_threads,
            on_progress=on_progress,
            **reading,
            **arguments,
        )


def _load(paths: tuple[str, ...], care: dict[str, Any], *, min_count: int) -> CountedCorpus:
    """Files of counts; what is done with documents was done when they were made."""
    from jeton import training
    from jeton.corpus.weights import parse_weights

    context = click.get_current_context()
    allowed = ("weights", "max_memory", "temp_dir")
    for name in care:
        source = context.get_parameter_source(name)
        if name not in allowed and source is click.core.ParameterSource.COMMANDLINE:
            raise UsageError(
                f"--{name.replace('_', '-')} and --from-counts contradict one another: documents "
                "are not there any more\nhint: give it to `jeton count-pretokens`"
            )
    return training.load_counts(
        paths,
        weights=parse_weights(care["weights"]),
        max_memory=care["max_memory"],
        temp_dir=care["temp_dir"],
        min_count=min_count,
    )


def _refuse_with_base(names: tuple[str, ...]) -> None:
    """Options that only the training of a new tokenizer heeds."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            option = {"weights": "weight", "rules": "rule"}.get(name, name.replace("_", "-"))
            raise click.UsageError(f"--{option} cannot be given with --base")


def _as_counted(corpus: CountedCorpus, settings: TrainSettings) -> TrainSettings:
    """The settings with the pattern and normalizer that the counts were made with."""
    from jeton.training.count_files import settings_of_counts

    found = settings_of_counts(corpus.counts, settings)
    context = click.get_current_context()
    for name in ("pattern", "rules", "normalizer"):
        given = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        if given and getattr(settings, name) != getattr(found, name):
            option = name.removesuffix("s")
            raise UsageError(
                f"--{option} is {getattr(settings, name)!r}, but the counts were made with "
                f"{getattr(found, name)!r}\nhint: leave --{option} out, or count again"
            )
    return found


def _check_output(target: Path) -> None:
    """Find what cannot be written before the work, not after it."""
    plain = target.name.lower().removesuffix(".zst")
    if target.is_dir() or not target.suffix:
        return
    if not plain.endswith((".json", ".tiktoken", ".model", "vocab.txt")):
        raise UsageError(
            f"cannot tell the format to save from the name {target.name!r}\n"
            "hint: use .json, .tiktoken, .model, vocab.txt or .jeton.json, each also with .zst, "
            "or a folder"
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(f"--output {target}: the folder {target.parent} does not exist")
