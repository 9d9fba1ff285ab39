"""Training text of a command: text that is counted, or files of counts; and its interruption."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jeton._foreign import json_of
from jeton.cli import corpus_options, options, streams
from jeton.cli.declaring import is_given, option
from jeton.cli.held_out import HeldOutFile, held_out_file
from jeton.errors import UsageError
from jeton.progress import OnProgress

if TYPE_CHECKING:
    from jeton._core import Tokenizer
    from jeton.training import CountedCorpus, TrainSettings

ALGORITHMS = (
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
"""Named here too, so that --help needs no import of training; a test compares."""

_WITH_COUNTS = ("weights", "max_memory", "temp_dir", "checkpoint", "resume")
"""Options of care that mean something where documents are not there any more."""

ALGORITHM = option(
    "How tokens are chosen, and so how text is cut.", type=click.Choice(ALGORITHMS), default="bpe"
)
OPTION_PAIRS = option(
    "An option of the algorithm, such as byte_fallback=true or limit_alphabet=1000; lists as "
    "JSON: user_defined_symbols='[\"<x>\"]'. Repeatable; see docs/guides/training.md.",
    "NAME=VALUE",
    names="-O --option",
)


INDENTS = option("Learn from source code whose indentation became <|indent|> and <|dedent|>.")


def parse_option_pairs(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Options of the algorithm: values are JSON where they can be, else text as it stands."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not name or not equals:
            raise click.UsageError(f"--option {pair}: expected NAME=VALUE")
        try:
            values[name] = json_of(text, any_integer=True)
        except ValueError:
            values[name] = text
    return values


def option_of(parameter: str) -> str:
    """Return the option of a parameter."""
    declared = click.get_current_context().command.params
    return next(max(item.opts, key=len) for item in declared if item.name == parameter)


def refuse_given(parameters: tuple[str, ...], reason: str) -> None:
    """Raise ``click.UsageError`` if one of these was given."""
    for parameter in parameters:
        if is_given(parameter):
            raise click.UsageError(f"{option_of(parameter)} {reason}")


@contextmanager
def resumable(care: corpus_options.CorpusOptions) -> Iterator[HeldOutFile | None]:
    """Say at Ctrl-C what was kept and how to go on; when all is done, remove the checkpoint.

    Yields the file of ``--held-out``, where one is asked for.
    """
    from jeton.training.checkpoints import merges_path, remove_checkpoint

    checkpoint = care.checkpoint
    if checkpoint is None:
        with held_out_file(care) as held_out:
            yield held_out
        return
    try:
        with held_out_file(care) as held_out:
            yield held_out
    except KeyboardInterrupt:
        kept = [path for path in (Path(checkpoint), merges_path(checkpoint)) if path.exists()]
        if not kept:
            raise
        names = " and ".join(str(path) for path in kept)
        holds = "holds" if len(kept) == 1 else "hold"
        raise KeyboardInterrupt(
            f"{names} {holds} what was done\nhint: the same command with --resume goes on from it"
        ) from None
    remove_checkpoint(checkpoint)


def corpus_of(
    inputs: Sequence[Any],
    *,
    settings: TrainSettings | None = None,
    base: Tokenizer | None = None,
    from_counts: bool,
    min_count: int,
    care: corpus_options.CorpusOptions,
    reading: Mapping[str, Any],
    num_threads: int | None,
    on_progress: OnProgress | None,
    held_out: HeldOutFile | None = None,
) -> CountedCorpus:
    """Count the inputs, or load them where they are files of counts.

    Raises:
        UsageError: Options that contradict one another.
    """
    from jeton import training
    from jeton.corpus.weights import parse_weights

    if not from_counts:
        _say_repeated([item for item in inputs if isinstance(item, str)])
        arguments = corpus_options.counting_arguments(care, held_out)
        with options.bad_records_explained():
            return training.count_pretokens(
                list(inputs),
                settings=settings,
                base=base,
                num_threads=num_threads,
                keep_checkpoint=True,
                digests=True,
                on_progress=on_progress,
                **reading,
                **arguments,
            )
    for name in care.options():
        if name not in _WITH_COUNTS and is_given(name):
            raise UsageError(
                f"{option_of(name)} and --from-counts contradict one another: documents "
                "are not there any more\nhint: give it to `jeton count-pretokens`"
            )
    corpus_options.check_resume(care)
    return training.load_counts(
        inputs,
        settings=settings,
        weights=parse_weights(care.weights),
        max_memory=care.max_memory,
        temp_dir=care.temp_dir,
        min_count=min_count,
        num_threads=num_threads,
        **reading,
    )


def as_counted(corpus: CountedCorpus, settings: TrainSettings) -> TrainSettings:
    """The settings with the pattern, normalizer and indents that the counts were made with.

    Raises:
        UsageError: The command line says otherwise.
    """
    from dataclasses import replace

    from jeton.training.count_files import settings_of_counts

    found = settings_of_counts(corpus.counts, settings, named=corpus.pattern)
    if corpus.indents and not settings.indents:
        found = replace(found, indents=True)
        found.check()
    elif settings.indents and not corpus.indents:
        raise UsageError(
            "--indents is given, but the counts were made from text with its indentation\n"
            "hint: count with --indents, or leave it out"
        )
    for name in ("pattern", "rules", "normalizer"):
        parameter = "normalizers" if name == "normalizer" else name
        if is_given(parameter) and getattr(settings, name) != getattr(found, name):
            option = option_of(parameter)
            raise UsageError(
                f"{option} is {getattr(settings, name)!r}, but the counts were made with "
                f"{getattr(found, name)!r}\nhint: leave {option} out, or count again"
            )
    return found


def _say_repeated(names: Sequence[str]) -> None:
    """Warns of each file or folder that was named several times, by whatever spelling."""
    spellings: dict[str, list[str]] = {}
    for name in names:
        if name != "-":
            # Path.resolve raises in a loop of symbolic links; realpath does not.
            spellings.setdefault(os.path.realpath(name), []).append(name)
    for same in spellings.values():
        if len(same) > 1:
            others = ", ".join(dict.fromkeys(same[1:]))
            also = f" (also as {others})" if others != same[0] else ""
            streams.say(
                f"jeton: warning: {same[0]} was named {len(same)} times{also} and counts once; "
                f"--weight {same[0]}={len(same)} makes it count so often"
            )
