"""Parts that the commands of ``jeton adapt`` share: reading, ids, places and names of outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from jeton._plain import picked, strict_json
from jeton.cli import options, outputs, streams
from jeton.cli.declaring import OptionSet, option
from jeton.cli.kinds import FiniteRange
from jeton.cli.progress import progress_bar
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.adapt.reading import HeldOutText, Reading
    from jeton.adapt.saving import SavedChange


_F = TypeVar("_F", bound=Callable[..., Any])


class ReadingOptions(OptionSet):
    """Options for reading a corpus."""

    field: str = options.FIELD
    documents: Literal["file", "line"] = options.DOCUMENTS
    on_bad_record: Literal["stop", "skip"] = options.ON_BAD_RECORD
    hold_out: float = option(
        "Keep this share of the documents apart, chosen by their text, to measure the result "
        "on; 0: none.",
        "SHARE",
        type=FiniteRange(0, 1, max_open=True),
        default=0.05,
    )
    num_threads: int | None = options.THREADS


@contextmanager
def reading_of(given: ReadingOptions, *, quiet: bool) -> Iterator[Reading]:
    """The options as a value, with a progress bar while documents are read."""
    from jeton.adapt.reading import Reading

    with options.bad_records_explained(), progress_bar(quiet=quiet) as on_progress:
        yield Reading(
            field=given.field,
            documents=given.documents,
            on_bad_record=given.on_bad_record,
            hold_out=given.hold_out,
            num_threads=given.num_threads,
            on_progress=on_progress,
        )


def held_out_json(held_out: HeldOutText | None) -> dict[str, Any] | None:
    """The measurement on held-out text as plain JSON values."""
    if held_out is None:
        return None
    return {
        **picked(held_out, "n_documents n_bytes n_tokens_before n_tokens_after"),
        "change_share": round(held_out.change_share, 6),
        "n_longer_documents": held_out.n_longer_documents,
        "n_worst_more_tokens": held_out.n_worst_more_tokens,
    }


def say_held_out(held_out: HeldOutText | None) -> str:
    """The measurement in a sentence."""
    if held_out is None:
        return "no document was kept apart, so nothing is known of unseen text"
    return (
        f"{held_out.n_documents:,} unseen documents: {held_out.n_tokens_before:,} tokens before, "
        f"{held_out.n_tokens_after:,} after ({held_out.change_share:+.2%}); "
        f"{held_out.n_longer_documents:,} need more tokens than before"
    )


_MAX_IDS = 1 << 20


def parse_ids(text: str | None) -> list[int]:
    """Reads ``5-9,12``; both ends of a range count.

    Raises:
        click.BadParameter: The text is no such list.
    """
    ids: list[int] = []
    for item in (text or "").replace(" ", "").split(","):
        if not item:
            continue
        first, dash, last = item.partition("-")
        if not (first.isdecimal() and (last.isdecimal() or not dash)):
            raise click.BadParameter(f"{item!r} is not an id or a range of ids, as in 5-9,12")
        start, end = int(first), int(last or first)
        if end < start:
            raise click.BadParameter(f"{item!r} is not a range that goes up")
        if end - start >= _MAX_IDS:
            raise click.BadParameter(f"{item!r} is more than {_MAX_IDS:,} ids")
        ids.extend(range(start, end + 1))
    return ids


def change_json(schema: str, saved: SavedChange) -> dict[str, Any]:
    """Return the fields that begin the JSON of each such command."""
    return {
        "schema_version": f"jeton.{schema}/1",
        **picked(saved.change, "old_fingerprint new_fingerprint n_old_ids n_new_ids"),
    }


def written_files(saved: SavedChange) -> list[str]:
    """Return the names of all files, that of the change last."""
    return [str(path) for path in (*saved.files, saved.change_file)]


def write_file_names(saved: SavedChange) -> None:
    """Write the names of all files, one a line."""
    for name in written_files(saved):
        streams.write_line(name)


def refuse_source(output: str, *sources: str) -> None:
    """Refuses an output that is a source, holds one, or is a file of one.

    Raises:
        UsageError: The output would overwrite what is read.
    """
    out = Path(output).resolve()
    for source in sources:
        if not Path(source).exists():
            # The name of a vocabulary, which has no place of its own here.
            continue
        place = Path(source).resolve()
        is_inside = place.is_dir() and out.parent == place and out.is_file()
        if out == place or is_inside or (place.is_file() and out == place.parent):
            raise UsageError(
                f"--output {output} would overwrite {source}, which is read\n"
                "hint: name a new folder"
            )


def check_json_place(json_file: str | None, output: str | None = None) -> None:
    """Refuses a place for JSON where it cannot be written, before the work.

    Raises:
        UsageError: The place is a folder, or the output of the command.
        OSError: Its folder does not exist.
    """
    outputs.check_outputs(json_file=json_file)
    if None in (json_file, output) or "-" in (json_file, output):
        return
    if Path(str(json_file)).resolve() == Path(str(output)).resolve():
        raise UsageError(f"--json and --output both name {output}\nhint: give one another name")


def write_json(json_file: str | None, value: Callable[[], dict[str, Any]]) -> bool:
    """Writes JSON where it is wanted; returns True if standard output now has it."""
    if json_file is None:
        return False
    outputs.write_output(json_file, lambda: strict_json(value(), indent=2) + "\n")
    outputs.say_written(json_file)
    return json_file == "-"
