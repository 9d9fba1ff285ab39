"""``jeton tokenize --verify``: data sets read again, and their faults shown."""

from __future__ import annotations

from typing import Any

from jeton.cli import options, streams

EXIT_FINE, EXIT_FINDING = 0, 1


def verify_inputs(
    inputs: tuple[str, ...],
    *,
    tokenizer_name: str | None,
    quiet: bool,
    as_json: bool,
    **expected: Any,
) -> int:
    """Check data sets; return the exit code."""
    from jeton._plain import counted
    from jeton.datasets import verify_dataset

    tokenizer = None if tokenizer_name is None else options.load_tokenizer(tokenizer_name)
    checks = [verify_dataset(path, tokenizer=tokenizer, **expected) for path in inputs]
    if as_json:
        streams.write_json(
            {
                "schema_version": "jeton.dataset-check/1",
                "is_fine": all(check.is_fine for check in checks),
                "checks": [check.to_dict() for check in checks],
            }
        )
    for check in checks:
        if not as_json:
            for fault in check.faults:
                streams.write_line(f"{fault.place}: {fault.kind}: {fault.message}")
            if check.n_faults > len(check.faults):
                streams.write_line(f"... and {check.n_faults - len(check.faults):,} more faults")
        for note in check.notes:
            streams.say(f"jeton: note: {note}")
        if not quiet:
            verdict = "fine" if check.is_fine else counted(check.n_faults, "fault")
            streams.say(
                f"{check.path}: {verdict}; {counted(check.n_tokens, 'token')} of "
                f"{counted(check.n_documents, 'document')}, {check.n_compared:,} compared with the "
                f"sources; begin/end tokens on {check.n_with_bos:,}/{check.n_with_eos:,}"
            )
    return EXIT_FINE if all(check.is_fine for check in checks) else EXIT_FINDING
