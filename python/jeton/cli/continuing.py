"""``jeton train --base``: more tokens for a tokenizer that is there."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from jeton.cli import streams
from jeton.cli.options import load_tokenizer
from jeton.cli.progress import training_progress

__all__ = ["continue_tokenizer"]

_N_SHOWN = 10
"""New tokens that the summary names: enough to see whether they are the domain's."""

_ONLY_WHEN_NEW = (
    "algorithm",
    "option_pairs",
    "pattern",
    "normalizer",
    "special_tokens",
    "no_special_tokens",
)
"""Options that a tokenizer has decided on already."""

_NAMES = {"special_tokens": "special-token", "option_pairs": "option"}
"""What parameters are called on the command line, where they have another name there."""


def continue_tokenizer(
    inputs: tuple[str, ...],
    *,
    base: str,
    vocab_size: int,
    target: Path,
    min_frequency: int,
    max_token_bytes: int | None,
    tie_rule: Literal["hf", "bytes"],
    name: str | None,
    field: str,
    documents: Literal["file", "line"],
    strict: bool,
    num_threads: int | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Continue a tokenizer, save it, and tell what its new tokens save.

    Raises:
        click.UsageError: An option is given that the tokenizer has decided on already.
    """
    from jeton.formats import name_of_file, save_file
    from jeton.training import continue_training

    context = click.get_current_context()
    for parameter in _ONLY_WHEN_NEW:
        source = context.get_parameter_source(parameter)
        if source is not None and source is not click.core.ParameterSource.DEFAULT:
            option = _NAMES.get(parameter, parameter.replace("_", "-"))
            raise click.UsageError(f"--{option} cannot be given with --base, which has it already")
    tokenizer = load_tokenizer(base)
    with training_progress(quiet=quiet) as on_progress:
        found = continue_training(
            tokenizer,
            inputs,
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            max_token_bytes=max_token_bytes,
            tie_rule=tie_rule,
            field=field,
            documents=documents,
            strict=strict,
            num_threads=num_threads,
            name=name or name_of_file(target.resolve()),
            on_progress=on_progress,
        )
    made = found.tokenizer
    written = save_file(made, target)
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
