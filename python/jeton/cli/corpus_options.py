"""Options of the commands that count a corpus: memory, weights, duplicates, quality, hold-out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from jeton._plain import counted
from jeton.cli import streams
from jeton.cli.finite import FiniteRange
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.cli.held_out import HeldOutFile
    from jeton.training import CountedCorpus

_F = TypeVar("_F", bound=Callable[..., Any])

_UNITS: Final = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}


class _Size(click.ParamType[int]):
    """A number of bytes: 500MB, 4GiB, 1000000."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", str(value).lower())
        if match is None:
            self.fail(f"{value!r} is not a size, as in 500MB, 4GiB or 1000000", param, ctx)
        return int(float(match[1]) * _UNITS[match[2] or ""])


SIZE = _Size()


def memory_options(function: _F) -> _F:
    """``--max-memory`` and ``--temp-dir``."""
    for option in (
        click.option(
            "--temp-dir",
            metavar="DIR",
            help="Where counts go that have no room in memory: a folder on a disk. By default the "
            "system's place for temporary files.",
        ),
        click.option(
            "--max-memory",
            type=SIZE,
            metavar="SIZE",
            help="Memory for the counts, as in 500MB or 4GiB; what has no room goes to temporary "
            "files. By default as much as they take.",
        ),
        click.option(
            "--weight",
            "weights",
            metavar="NAME=W",
            multiple=True,
            help="How much an input counts, as in medical=2.5 or 'logs/*=1/3'; a name is a path, "
            "the name of a file or folder, or a glob of one. Repeatable; 1 by default.",
        ),
    ):
        function = option(function)
    return function


def corpus_options(function: _F) -> _F:
    """Add the options for documents before they count, and for stopping and resuming."""
    for option in (
        click.option("--resume", is_flag=True, help="Go on from --checkpoint if it is there."),
        click.option(
            "--checkpoint",
            metavar="FILE",
            help="Write this file every five minutes and at Ctrl-C, in training also when all is "
            "counted; --resume goes on from it. Removed when all is done.",
        ),
        click.option(
            "--held-out",
            metavar="FILE",
            help="Write the documents kept apart here, as JSON Lines.",
        ),
        click.option(
            "--hold-out-by",
            type=click.Choice(["document", "source"]),
            default="document",
            show_default=True,
            help="Keep apart documents of all sources, or whole sources.",
        ),
        click.option(
            "--hold-out",
            type=FiniteRange(0, 1, min_open=True, max_open=True),
            metavar="SHARE",
            help="Keep this share of documents apart, chosen by their text; with "
            "--near-duplicates no two nearly alike documents are on both sides.",
        ),
        click.option(
            "--quality",
            metavar="RULES",
            multiple=True,
            help="Leave out what breaks published rules: gopher, gopher-repetition, c4. "
            "Repeatable.",
        ),
        click.option(
            "--near-duplicates",
            is_flag=True,
            help="Leave out documents that are nearly alike to earlier ones (MinHash: 5-grams of "
            "words, 14 bands of 8).",
        ),
        click.option(
            "--duplicates",
            is_flag=True,
            help="Leave out copies of earlier documents.",
        ),
        click.option(
            "--balance",
            type=FiniteRange(min=1, is_endless_fine=True),
            metavar="T",
            help="Balance inputs: shares go with size to the power of 1/T (1: as they are, inf: "
            "all alike). Reads the inputs twice.",
        ),
    ):
        function = option(function)
    return memory_options(function)


def check_resume(given: Mapping[str, Any]) -> None:
    """Raise ``UsageError`` for ``--resume`` without anything to go on from."""
    if given["resume"] and not given["checkpoint"]:
        raise UsageError("--resume needs --checkpoint: the file to go on from")


def counting_arguments(
    given: Mapping[str, Any], held_out: HeldOutFile | None = None
) -> dict[str, Any]:
    """The options as arguments of ``count_pretokens``; what is held out goes to ``held_out``.

    Raises:
        UsageError: Options that contradict one another.
    """
    from jeton.corpus import CorpusCare, HoldOut, NearDuplicateSettings
    from jeton.corpus.weights import parse_weights

    check_resume(given)
    near = NearDuplicateSettings() if given["near_duplicates"] else None
    holdout = None
    if given["hold_out"]:
        holdout = HoldOut(share=given["hold_out"], by=given["hold_out_by"], near=near)
    care = CorpusCare(
        weights=parse_weights(given["weights"]),
        temperature=given["balance"],
        exact_duplicates=given["duplicates"],
        near_duplicates=near,
        quality=given["quality"],
        holdout=holdout,
    )
    arguments = {
        "max_memory": given["max_memory"],
        "temp_dir": given["temp_dir"],
        "care": care,
        "checkpoint": given["checkpoint"],
        "resume": given["resume"],
    }
    return arguments if held_out is None else {**arguments, "on_held_out": held_out.write}


def say_counted(corpus: CountedCorpus, *, quiet: bool) -> None:
    """Tell on standard error what was skipped, replaced, left out and spilled.

    ``quiet``: only what nobody asked for.
    """
    for file in corpus.skipped:
        streams.say(f"jeton: warning: {file.path} was skipped: {file.skipped_because}")
    for source in corpus.sources:
        if source.n_replaced_documents:
            streams.say(
                f"jeton: warning: {source.name}: bytes that are not UTF-8 were replaced by U+FFFD "
                f"in {counted(source.n_replaced_documents, 'document')}; --strict makes this an "
                "error"
            )
    if corpus.n_cut_documents:
        streams.say(
            f"jeton: warning: {corpus.n_cut_documents:,} documents or lines of more than 64 MiB "
            "were counted in pieces"
        )
    streams.warn_left_out(
        n_null=corpus.n_null_documents, n_bad=corpus.n_bad_records, first=corpus.first_bad_record
    )
    if quiet:
        return
    left_out = corpus.left_out
    for number, words in (
        (left_out.n_low_quality, "of low quality"),
        (left_out.n_exact_duplicates, "copies of others"),
        (left_out.n_near_duplicates, "nearly alike to others"),
        (left_out.n_held_out, "held out"),
        (left_out.n_between, "nearly alike to documents on both sides of the hold-out"),
        (left_out.n_weightless, "of weight 0"),
    ):
        if number:
            streams.say(f"{counted(number, 'document')} left out: {words}")
    for rule, number in left_out.n_broken.items():
        if number:
            streams.say(f"  {number:,} broke the rule {rule}")
    if corpus.counts.n_bytes_spilled:
        streams.say(f"{corpus.counts.n_bytes_spilled:,} bytes of counts were spilled to disk")
