"""``jeton adapt verify``: proof that a model is what a change makes of its base."""

from __future__ import annotations

import click

from jeton.cli import options, streams
from jeton.cli.adapt.common import (
    check_json_place,
    write_json,
)
from jeton.cli.declaring import command, option

EXIT_PROVEN, EXIT_FOUND = 0, 1


@command()
@click.argument("output", metavar="OUT")
def verify(
    *,
    output: str,
    base: str | None = option("Model that OUT was made of.", "MODEL"),
    as_is: tuple[str, ...] = option(
        "Tensor that was copied although an axis is as long as the vocabulary. Repeatable.", "NAME"
    ),
    json_file: str | None = options.JSON_PLACE,
) -> int:
    """Read a model back and prove that the change made it from its base.

    Rows are as planned, surviving rows equal bit for bit, other tensors equal byte for byte, and
    every id in every file has a row. Without --base only the files of OUT are compared with one
    another. OUT may be a GGUF file; its base is then one, too.

    Exit code 0: proven. 1: a contradiction. 2: an error.

    \b
    Examples:
      jeton adapt verify my-model-domain/ --base my-model/
      jeton adapt verify my-model/
      jeton adapt verify domain-q8_0.gguf --base model-q8_0.gguf
    """
    from jeton.adapt.weights import verify as verify_output

    check_json_place(json_file)
    proof = verify_output(output, base=base, as_is=as_is)
    value = {"schema_version": "jeton.adapt_verify/1", **proof.to_dict()}
    if not write_json(json_file, lambda: value):
        if base is not None:
            streams.write_line(
                f"compared {proof.n_tables:,} tables ({proof.n_kept_rows:,} rows kept, "
                f"{proof.n_new_rows:,} new) and {proof.n_copied:,} other tensors, "
                f"{proof.n_bytes:,} bytes"
            )
        for problem in proof.problems:
            streams.write_line(streams.shown(f"problem: {problem.where}: {problem.what}"))
        streams.write_line("proven" if proof.is_proven else f"{len(proof.problems):,} problems")
    return EXIT_PROVEN if proof.is_proven else EXIT_FOUND
