"""A progress bar on standard error, where somebody looks at it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from jeton.progress import OnProgress, Progress

_Unit = Literal["bytes", "tokens", "texts", "steps"]
_Update = Callable[[str, int, int | None, _Unit], None]

_TITLES = {
    "write": "writing",
    "count": "counting",
    "merge": "merging",
    "prune": "pruning",
    "replay": "replaying",
}
_SEARCHED = {
    "texts": "your texts",
    "probe": "probe",
    "edge_texts": "generated texts",
    "vocabulary": "vocabularies",
    "special_tokens": "special tokens",
}


@contextmanager
def progress_bar(
    *,
    reading: str = "reading",
    quiet: bool = False,
    say_step: Callable[[str], None] | None = None,
) -> Iterator[OnProgress | None]:
    """A bar for the progress of any function; None where nothing is to be told.

    Args:
        reading: The verb for reading inputs.
        quiet: Tell nothing.
        say_step: Told the words of each step; None: steps are not told.
    """
    say = None if quiet else say_step
    with _bar(quiet=quiet) as update:
        if update is None and say is None:
            yield None
            return

        def on_progress(progress: Progress) -> None:
            if progress.stage == "step":
                if say is not None:
                    say(progress.detail)
            elif update is not None:
                title = _title(progress, reading)
                update(title, progress.done, progress.total, progress.unit)

        yield on_progress


def _title(progress: Progress, reading: str) -> str:
    if progress.stage == "read":
        return f"{reading} {progress.n_documents:,} documents"
    if progress.stage == "search":
        return f"comparing: {_SEARCHED[progress.detail]}"
    return _TITLES[progress.stage]


@contextmanager
def _bar(*, quiet: bool) -> Iterator[_Update | None]:
    """A bar that is drawn only in a terminal, and gone when the work is done."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.filesize import decimal
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[amount]}", markup=False),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("", total=None, amount="")

        def update(title: str, done: int, total: int | None, unit: _Unit) -> None:
            def written(number: int) -> str:
                return decimal(number) if unit == "bytes" else f"{number:,} {unit}"

            amount = written(done) if total is None else f"{written(done)} of {written(total)}"
            bar.update(task, description=title, completed=done, total=total, amount=amount)

        yield update
