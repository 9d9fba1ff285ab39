"""``jeton doctor``: known failures, diagnosed from the files at hand."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import click

from jeton._plain import picked
from jeton.cli import options, streams
from jeton.cli.declaring import command, option
from jeton.cli.kinds import COUNT, WHOLE
from jeton.cli.token_rows import terminal_width

if TYPE_CHECKING:
    from jeton.doctor import Diagnosis, Failure
    from jeton.findings import Finding

EXIT_HEALTHY, EXIT_FOUND = 0, 1

_MAX_TEXTS = 200_000
"""Texts that are kept in memory; the first ones of each input."""
_COLOURS = {"error": "red", "warning": "yellow", "info": "blue"}
_SEVERITIES = ("error", "warning", "info")
_LABEL_COLUMNS = 9


@command(
    sections={"Look at": "tokenizer_name", "Use": "task", "Input": "documents", "Output": "ignore"}
)
@click.argument("subject", required=False)
def doctor(
    *,
    subject: str | None,
    tokenizer_name: str | None = option(
        "The tokenizer, where it is not that of SUBJECT: a name, a file or a folder.",
        "T",
        names="-t --tokenizer",
    ),
    model_dir: str | None = option("The model directory, where it is not SUBJECT.", "DIR"),
    batches: tuple[str, ...] = option(
        "Model inputs: .npz, .npy, .safetensors or .jsonl with input_ids, attention_mask, "
        "labels and so on. Repeatable.",
        "FILE",
        names="--batch",
    ),
    outputs: tuple[str, ...] = option(
        "Generated text: JSON Lines with text, ids and pieces, or a text file. Repeatable.", "FILE"
    ),
    texts: tuple[str, ...] = option(
        "Texts as they are sent: files, folders, JSON Lines, Parquet. Repeatable.", "INPUT"
    ),
    training_texts: tuple[str, ...] = option(
        "Texts as they were at training, to be compared with --texts; in the same order, if "
        "they are the same texts. Repeatable.",
        "INPUT",
    ),
    against: str | None = option(
        "The other side: a tokenizer or folder, a snapshot of another machine, or a file of "
        "settings (JSON, TOML).",
        "OTHER",
    ),
    settings: str | None = option(
        "The settings of this side (JSON, TOML), to be compared with --against.", "FILE"
    ),
    snapshot: str | None = option(
        "Write the facts that decide ids on this machine into FILE, for --against on another.",
        "FILE",
    ),
    task: Literal["generate", "train", "embed"] | None = option(
        "Use of the model; decides on the side of padding."
    ),
    context_tokens: int | None = option(
        "The context, where the model's own is not right.", "TOKENS", names="--context", type=COUNT
    ),
    max_output_tokens: int | None = option(
        "Room that is kept for the answer.", "TOKENS", names="--max-output", type=WHOLE
    ),
    chunk_tokens: int | None = option(
        "Cut --texts into chunks of this many tokens first.", "TOKENS", names="--chunk", type=COUNT
    ),
    embedder: str | None = option(
        "The tokenizer of an embedding model: does it read whole chunks of --texts?", "T"
    ),
    embedder_max_tokens: int | None = option(
        "Tokens that the embedding model reads, special tokens included; by default its folder's.",
        "TOKENS",
        names="--embedder-max",
        type=COUNT,
    ),
    embedder_prefix: str = option(
        "Text before each text for the embedding model, as 'passage: '.", "TEXT", default=""
    ),
    documents: Literal["file", "line"] = options.DOCUMENTS,
    file_format: Literal["auto", "text", "jsonl"] = options.FORMAT,
    field: str = options.FIELD,
    ignore: tuple[str, ...] = option("Leave this failure out. Repeatable.", "ID"),
    fail_on: str = option(
        "Exit code 1 from this severity on.", type=click.Choice(_SEVERITIES), default="warning"
    ),
    list_all: bool = option("List the known failures and end.", names="--list"),
    explain: str | None = option("Explain a known failure and end.", "ID"),
    as_json: bool = options.JSON,
) -> int:
    """Diagnose known failures of a tokenizer, a model directory, a batch or two settings.

    SUBJECT is a model directory, the folder or file of a tokenizer, a .gguf file, or the name of a
    tokenizer. Every failure for which there is evidence is looked for; each finding says what you
    see, why, and what to do. No model is loaded: of weights, headers and embedding rows are read.

    Exit code 0: healthy. 1: a finding of --fail-on or worse. 2: an error.

    \b
    Examples:
      jeton doctor my-model/
      jeton doctor my-model/ --batch batch.npz --task train
      jeton doctor my-model/ --outputs answers.jsonl
      jeton doctor my-model/ --snapshot here.json
      jeton doctor my-model/ --against there.json
      jeton doctor o200k_base --texts requests.jsonl --field prompt --context 128000
      jeton doctor cl100k_base --embedder bge/ --texts chunks.jsonl --chunk 512
      jeton doctor --explain turn-end-not-eos
    """
    from jeton.doctor import diagnose, failure, failures
    from jeton.findings import Severity

    if list_all or explain is not None:
        _write_failures(failures() if explain is None else (failure(explain),), as_json=as_json)
        return EXIT_HEALTHY
    if snapshot is not None:
        _write_snapshot(snapshot, subject, tokenizer_name)
        if not (against or batches or outputs or texts):
            return EXIT_HEALTHY

    def read(inputs: tuple[str, ...]) -> list[str]:
        return _texts(inputs, field=field, documents=documents, file_format=file_format)

    diagnosis = diagnose(
        subject,
        tokenizer=tokenizer_name,
        model_dir=model_dir,
        batches=batches,
        outputs=outputs,
        texts=read(texts),
        training_texts=read(training_texts),
        against=against,
        settings=settings,
        embedder=embedder,
        embedder_max_tokens=embedder_max_tokens,
        embedder_prefix=embedder_prefix,
        task=task,
        context_tokens=context_tokens,
        max_output_tokens=max_output_tokens,
        chunk_tokens=chunk_tokens,
        ignore=ignore,
    )
    if as_json:
        streams.write_json(diagnosis.to_dict())
    else:
        _write_diagnosis(diagnosis)
    sys.stdout.flush()
    return EXIT_FOUND if diagnosis.worse_than(Severity(fail_on)) else EXIT_HEALTHY


def _texts(
    inputs: tuple[str, ...],
    *,
    field: str,
    documents: Literal["file", "line"],
    file_format: Literal["auto", "text", "jsonl"],
) -> list[str]:
    found: list[str] = []
    for path in inputs:
        for batch in streams.batches(
            path, field=field, documents=documents, file_format=file_format, strict=False
        ):
            found += list(batch)
            if len(found) > _MAX_TEXTS:
                streams.say(f"jeton: warning: only the first {_MAX_TEXTS:,} texts are looked at")
                return found[:_MAX_TEXTS]
    return found


def _write_snapshot(file: str, subject: str | None, tokenizer_name: str | None) -> None:
    from jeton.doctor import admit, own_settings, write_snapshot

    patient = admit(subject, tokenizer=tokenizer_name)
    write_snapshot(file, own_settings(patient, kind="snapshot").values)
    streams.say(f"wrote {file}")


def _write_failures(known: Sequence[Failure], *, as_json: bool) -> None:
    if as_json:
        streams.write_json([_failure_json(failure) for failure in known])
        return
    if len(known) == 1:
        failure = known[0]
        streams.write_line(f"{failure.id}: {failure.name} ({failure.severity})")
        _write_parts(
            [
                ("you see", failure.symptom),
                ("because", failure.cause),
                ("do", failure.remedy),
                ("needs", "; ".join(kind.value for kind in failure.needs)),
                ("source", failure.source),
            ]
        )
        return
    area = ""
    for failure in known:
        if failure.area != area:
            if area:
                streams.write_line("")
            area = failure.area
            streams.write_line(f"{area}:")
        streams.write_line(f"  {failure.id:<32} {failure.severity:<8} {failure.name}")


def _failure_json(failure: Failure) -> dict[str, Any]:
    return {
        **picked(failure, "id area severity name symptom cause remedy"),
        "needs": [kind.name.lower() for kind in failure.needs],
        "source": failure.source,
    }


def _write_diagnosis(diagnosis: Diagnosis) -> None:
    for name, words in diagnosis.examined.items():
        streams.write_line(_printable(f"{name:<16}{words}"))
    if diagnosis.retrieval is not None:
        fit = diagnosis.retrieval
        streams.write_line(
            f"{'retrieval':<16}{fit.n_chunks:,} chunks, {fit.truncated_share:.1%} cut off, "
            f"{fit.lost_share:.1%} of the text lost; chunks of {fit.safe_chunk_tokens:,} tokens fit"
        )
    for finding in diagnosis.findings:
        _write_finding(finding)
    streams.write_line("")
    streams.write_line(_summary(diagnosis))


def _write_finding(finding: Finding) -> None:
    label = finding.severity.value
    if streams.colour_wanted():
        label = click.style(label, fg=_COLOURS.get(label), bold=True)
    streams.write_line("")
    streams.write_line(f"{label}: {finding.id}", styled=True)
    _write_parts(
        [
            ("", finding.title),
            ("where", finding.where),
            ("you see", str(finding.evidence.get("symptom", ""))),
            ("because", finding.cause),
            ("do", finding.remedy),
        ]
    )


def _write_parts(parts: Sequence[tuple[str, str]]) -> None:
    width = max(40, min(terminal_width(), 100)) - 2
    for label, words in parts:
        if not words:
            continue
        indent = " " * (_LABEL_COLUMNS if label else 0)
        lines = textwrap.wrap(
            _printable(words),
            width=width,
            initial_indent=f"{label:<{_LABEL_COLUMNS}}" if label else "",
            subsequent_indent=indent,
            break_on_hyphens=False,
            break_long_words=False,
        )
        for line in lines:
            streams.write_line(f"  {line}")


def _summary(diagnosis: Diagnosis) -> str:
    counts = {
        severity: sum(f.severity == severity for f in diagnosis.findings)
        for severity in _SEVERITIES
    }
    words = [
        f"{n:,} {name}{'' if n == 1 or name == 'info' else 's'}" for name, n in counts.items() if n
    ]
    text = f"{len(diagnosis.looked_for):,} known failures looked for: {', '.join(words) or 'none'}"
    if not diagnosis.not_looked_for:
        return text
    missing: dict[str, int] = {}
    for kinds in diagnosis.not_looked_for.values():
        missing[kinds[0]] = missing.get(kinds[0], 0) + 1
    lines = [text, f"{len(diagnosis.not_looked_for):,} more take"]
    lines += [f"  {n:>3}  {kind}" for kind, n in sorted(missing.items(), key=lambda i: -i[1])]
    return "\n".join(lines)


def _printable(text: str) -> str:
    """Words with what a terminal might obey written as escapes; spaces stay spaces."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
