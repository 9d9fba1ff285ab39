"""A progress bar on standard error, where somebody looks at it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from jeton.corpus import Progress
    from jeton.explaining import Progress as SearchProgress
    from jeton.training import TrainProgress

__all__ = ["corpus_progress", "search_progress", "training_progress"]

_Unit = Literal["bytes", "tokens", "texts"]
_Update = Callable[[str, int, int | None, _Unit], None]


@contextmanager
def corpus_progress(
    title: str, *, quiet: bool = False
) -> Iterator[Callable[[Progress], None] | None]:
    """A bar for what ``jeton.corpus`` reports while it reads; None where no bar is wanted."""
    with _bar(quiet=quiet) as update:
        if update is None:
            yield None
            return
        draw = update

        def on_progress(progress: Progress) -> None:
            words = f"{title} {progress.documents:,} documents"
            draw(words, progress.bytes_done, progress.bytes_total, "bytes")

        yield on_progress


@contextmanager
def training_progress(*, quiet: bool = False) -> Iterator[Callable[[TrainProgress], None] | None]:
    """A bar for the stages of ``jeton.training``; None where no bar is wanted."""
    with _bar(quiet=quiet) as update:
        if update is None:
            yield None
            return
        draw = update
        titles = {"count": "counting", "merge": "merging", "prune": "pruning"}

        def on_progress(progress: TrainProgress) -> None:
            draw(titles[progress.stage], progress.done, progress.total, progress.unit)

        yield on_progress


@contextmanager
def search_progress(*, quiet: bool = False) -> Iterator[Callable[[SearchProgress], None] | None]:
    """A bar for the search of ``jeton.explaining``; None where no bar is wanted."""
    with _bar(quiet=quiet) as update:
        if update is None:
            yield None
            return
        draw = update
        titles = {
            "texts": "your texts",
            "probe": "probe",
            "edge_texts": "generated texts",
            "vocabulary": "vocabularies",
            "special_tokens": "special tokens",
        }

        def on_progress(progress: SearchProgress) -> None:
            words = f"comparing: {titles[progress.source]}"
            draw(words, progress.n_texts, progress.n_texts_total, "texts")

        yield on_progress


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
