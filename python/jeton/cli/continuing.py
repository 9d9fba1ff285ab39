"""``jeton train --base``: more tokens for a tokenizer that is there."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jeton.cli import corpus_options, outputs, streams, training_corpus
from jeton.cli.options import load_tokenizer
from jeton.cli.progress import progress_bar

if TYPE_CHECKING:
    from jeton.cli.corpus_options import CorpusOptions
    from jeton.cli.held_out import HeldOutFile
    from jeton.cli.outputs import SavedTokenizer
    from jeton.formats.writing import Target
    from jeton.training import ContinueSettings

_N_SHOWN = 10
"""New tokens that the summary names: enough to see whether they are the domain's."""

_ONLY_WHEN_NEW = (
    "algorithm",
    "option_pairs",
    "pattern",
    "normalizers",
    "special_tokens",
    "no_special_tokens",
)
"""Options that a tokenizer has decided on already."""


def write_card(
    saved: SavedTokenizer,
    output: str,
    *,
    held_out: HeldOutFile | None,
    num_threads: int | None,
    **facts: Any,
) -> Path:
    """Write the card of a tokenizer that was trained, beside it; ``facts`` as the card has them."""
    from jeton import training
    from jeton.formats import card_path

    made = training.TrainingCard.of(
        saved.tokenizer,
        date=datetime.datetime.now(tz=datetime.UTC).date(),
        command=outputs.command_line(),
        heldout=(
            () if held_out is None else held_out.measure(saved.tokenizer, num_threads=num_threads)
        ),
        loading=saved.loading,
        **facts,
    )
    place = card_path(output)
    training.write_card(place, made)
    return place


def continue_tokenizer(
    inputs: Sequence[Any],
    *,
    base: str,
    target: Target,
    output: str,
    settings: ContinueSettings,
    from_counts: bool,
    min_count: int,
    care: CorpusOptions,
    reading: Mapping[str, Any],
    num_threads: int | None,
    name: str | None,
    card: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Continue a tokenizer, save it with its card, and tell what its new tokens save.

    Raises:
        click.UsageError: An option is given that the tokenizer has decided on already.
    """
    from jeton import training
    from jeton.formats import name_of_file
    from jeton.training.counting import counts_like

    training_corpus.refuse_given(
        _ONLY_WHEN_NEW, "cannot be given with --base, which has it already"
    )
    tokenizer = load_tokenizer(base)
    # A tokenizer that cannot be continued is refused first, in whatever format it is to be saved.
    counts_like(tokenizer)
    outputs.check_can_hold(training.TrainSettings(), target, base=tokenizer)
    with training_corpus.resumable(care) as held_out:
        with progress_bar(quiet=quiet) as on_progress:
            corpus = training_corpus.corpus_of(
                inputs,
                held_out=held_out,
                base=tokenizer,
                from_counts=from_counts,
                min_count=min_count,
                care=care,
                reading=reading,
                num_threads=num_threads,
                on_progress=on_progress,
            )
            found = training.continue_from_counts(
                corpus,
                base=tokenizer,
                settings=settings,
                name=name or name_of_file(Path(output).resolve()),
                on_progress=on_progress,
            )
        corpus_options.say_counted(corpus, quiet=quiet)
        saved = outputs.save_trained(found.tokenizer, output)
        made, written = saved.tokenizer, saved.files
        if card:
            written.append(
                write_card(
                    saved,
                    output,
                    corpus=corpus,
                    settings=settings,
                    held_out=held_out,
                    learned=found.facts,
                    num_threads=num_threads,
                    base=tokenizer,
                )
            )
    if as_json:
        streams.write_json(
            {
                "schema_version": "jeton.continue/1",
                "name": made.name,
                "fingerprint": made.fingerprint,
                "base_fingerprint": tokenizer.fingerprint,
                "vocab_size": made.vocab_size,
                "n_tokens_before": found.n_tokens_before,
                "n_tokens_after": found.n_tokens_after,
                "new_tokens": [
                    {
                        "id": new.id,
                        "text": new.token_bytes.decode("utf-8", "replace"),
                        "n_saved": new.n_saved,
                        "n_uses": new.n_uses,
                        "n_old_tokens": new.n_old_tokens,
                    }
                    for new in found.new_tokens
                ],
                "files": [str(path) for path in written],
            }
        )
    else:
        for path in written:
            streams.write_line(str(path))
    if not quiet:
        before, after = found.n_tokens_before, found.n_tokens_after
        share = f" ({(after - before) / before:+.1%})" if before else ""
        streams.say(
            f"{made.name}: {made.vocab_size:,} ids, {len(found.new_tokens):,} of them new; the "
            f"text has {before:,} tokens before and {after:,} after{share}"
        )
        for new in found.new_tokens[:_N_SHOWN]:
            text = new.token_bytes.decode("utf-8", "replace")
            streams.say(f"  {new.n_saved:>10,} tokens saved by {text!r}")
        saved.say_loading()
