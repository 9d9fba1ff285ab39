"""Options of the commands that count a corpus: memory, weights, duplicates, quality, hold-out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from jeton._plain import counted
from jeton.cli import streams
from jeton.cli.declaring import OptionSet, option
from jeton.cli.kinds import BYTES, SHARE, FiniteRange
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.cli.held_out import HeldOutFile
    from jeton.training import CountedCorpus

_F = TypeVar("_F", bound=Callable[..., Any])


class CorpusOptions(OptionSet):
    """Options for documents before they count, for memory, and for stopping and resuming."""

    weights: tuple[str, ...] = option(
        "How much an input counts, as in medical=2.5 or 'logs/*=1/3'; a name is a path, the "
        "name of a file or folder, or a glob of one. Repeatable; 1 by default.",
        "NAME=W",
        names="--weight",
    )
    max_memory: int | None = option(
        "Memory for the counts, as in 500MB or 4GiB; what has no room goes to temporary files. "
        "By default as much as they take.",
        "SIZE",
        type=BYTES,
    )
    temp_dir: str | None = option(
        "Where counts go that have no room in memory: a folder on a disk. By default the "
        "system's place for temporary files.",
        "DIR",
    )
    balance: float | None = option(
        "Balance inputs: shares go with size to the power of 1/T (1: as they are, inf: all "
        "alike). Reads the inputs twice.",
        "T",
        type=FiniteRange(min=1, is_endless_fine=True),
    )
    duplicates: bool = option("Leave out copies of earlier documents.")
    near_duplicates: bool = option(
        "Leave out documents that are nearly alike to earlier ones (MinHash: 5-grams of words, "
        "14 bands of 8)."
    )
    quality: tuple[str, ...] = option(
        "Leave out what breaks published rules: gopher, gopher-repetition, c4. Repeatable.", "RULES"
    )
    hold_out: float | None = option(
        "Keep this share of documents apart, chosen by their text; with --near-duplicates no "
        "two nearly alike documents are on both sides.",
        "SHARE",
        type=SHARE,
    )
    hold_out_by: Literal["document", "source"] = option(
        "Keep apart documents of all sources, or whole sources.", default="document"
    )
    held_out: str | None = option("Write the documents kept apart here, as JSON Lines.", "FILE")
    checkpoint: str | None = option(
        "Write this file every five minutes and at Ctrl-C, in training also when all is "
        "counted; --resume goes on from it. Removed when all is done.",
        "FILE",
    )
    resume: bool = option("Go on from --checkpoint if it is there.")


def check_resume(given: CorpusOptions) -> None:
    """Raise ``UsageError`` for ``--resume`` without anything to go on from."""
    if given.resume and not given.checkpoint:
        raise UsageError("--resume needs --checkpoint: the file to go on from")


def counting_arguments(given: CorpusOptions, held_out: HeldOutFile | None = None) -> dict[str, Any]:
    """The options as arguments of ``count_pretokens``; what is held out goes to ``held_out``.

    Raises:
        UsageError: Options that contradict one another.
    """
    from jeton.corpus import CorpusCare, HoldOut, NearDuplicateSettings
    from jeton.corpus.weights import parse_weights

    check_resume(given)
    near = NearDuplicateSettings() if given.near_duplicates else None
    holdout = None
    if given.hold_out:
        holdout = HoldOut(share=given.hold_out, by=given.hold_out_by, near=near)
    care = CorpusCare(
        weights=parse_weights(given.weights),
        temperature=given.balance,
        exact_duplicates=given.duplicates,
        near_duplicates=near,
        quality=given.quality,
        holdout=holdout,
    )
    arguments = {
        "max_memory": given.max_memory,
        "temp_dir": given.temp_dir,
        "care": care,
        "checkpoint": given.checkpoint,
        "resume": given.resume,
    }
    return arguments if held_out is None else {**arguments, "on_held_out": held_out.write}


def say_counted(corpus: CountedCorpus, *, quiet: bool) -> None:
    """Tell on standard error what was skipped, replaced, left out and spilled.

    ``quiet``: only what nobody asked for.
    """
    for file in corpus.skipped:
        streams.say(f"jeton: warning: {file.path} was skipped: {file.skipped_because}")
    for source in corpus.sources:
        streams.warn_replaced_in(source.n_replaced_documents, source=source.name)
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
