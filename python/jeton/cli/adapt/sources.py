"""Sources of a command stay: no tokenizer is written over the one that it is made of."""

from __future__ import annotations

from pathlib import Path

from jeton.errors import UsageError


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
