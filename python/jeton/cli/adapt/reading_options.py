"""Options of ``jeton adapt`` that say how a corpus is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jeton.cli import options
from jeton.cli.finite import FiniteRange
from jeton.cli.progress import progress_bar

if TYPE_CHECKING:
    from jeton.adapt.reading import HeldOutText, Reading

_F = TypeVar("_F", bound=Callable[..., Any])


def reading_options(function: _F) -> _F:
    """``--field``, ``--documents``, ``--on-bad-record``, ``--hold-out``, ``--threads``."""
    for option in (
        options.threads_option,
        click.option(
            "--hold-out",
            type=FiniteRange(0, 1, max_open=True),
            metavar="SHARE",
            default=0.05,
            show_default=True,
            help="Keep this share of the documents apart, chosen by their text, to measure the "
            "result on; 0: none.",
        ),
        options.on_bad_record_option,
        options.documents_option,
        options.field_option,
    ):
        function = option(function)
    return function


@contextmanager
def reading_of(given: Mapping[str, Any], *, quiet: bool) -> Iterator[Reading]:
    """The options as a value, with a progress bar while documents are read."""
    from jeton.adapt.reading import Reading

    with options.bad_records_explained(), progress_bar(quiet=quiet) as on_progress:
        yield Reading(
            field=given["field"],
            documents=given["documents"],
            on_bad_record=given["on_bad_record"],
            hold_out=given["hold_out"],
            num_threads=given["num_threads"],
            on_progress=on_progress,
        )


def held_out_json(held_out: HeldOutText | None) -> dict[str, Any] | None:
    """The measurement on held-out text as plain JSON values."""
    if held_out is None:
        return None
    return {
        "n_documents": held_out.n_documents,
        "n_bytes": held_out.n_bytes,
        "n_tokens_before": held_out.n_tokens_before,
        "n_tokens_after": held_out.n_tokens_after,
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
