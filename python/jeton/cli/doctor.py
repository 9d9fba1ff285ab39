"""``jeton doctor``: known failures, diagnosed from the files at hand."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import click

from jeton.cli import options, streams
from jeton.cli.option_groups import SectionedCommand
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


_SECTIONS = {
    "Look at": (
        "tokenizer_name",
        "model_dir",
        "batches",
        "outputs",
        "texts",
        "training_texts",
        "against",
        "settings",
        "snapshot",
    ),
    "Use": (
        "task",
        "context_tokens",
        "max_output_tokens",
        "chunk_tokens",
        "embedder",
        "embedder_max_tokens",
        "embedder_prefix",
    ),
    "Input": (
        "documents",
        "file_format",
        "field",
    ),
    "Output": (
        "ignore",
        "fail_on",
        "list_all",
        "explain",
        "as_json",
    ),
}


@click.command(cls=SectionedCommand, sections=_SECTIONS)
@click.argument("subject", required=False)
@click.option(
    "-t",
    "--tokenizer",
    "tokenizer_name",
    metavar="T",
    help="The tokenizer, where it is not that of SUBJECT: a name, a file or a folder.",
)
@click.option("--model-dir", metavar="DIR", help="The model directory, where it is not SUBJECT.")
@click.option(
    "--batch",
    "batches",
    metavar="FILE",
    multiple=True,
    help="Model inputs: .npz, .npy, .safetensors or .jsonl with input_ids, attention_mask, labels "
    "and so on. Repeatable.",
)
@click.option(
    "--outputs",
    metavar="FILE",
    multiple=True,
    help="Generated text: JSON Lines with text, ids and pieces, or a text file. Repeatable.",
)
@click.option(
    "--texts",
    metavar="INPUT",
    multiple=True,
    help="Texts as they are sent: files, folders, JSON Lines, Parquet. Repeatable.",
)
@click.option(
    "--training-texts",
    metavar="INPUT",
    multiple=True,
    help="Texts as they were at training, to be compared with --texts; in the same order, if they "
    "are the same texts. Repeatable.",
)
@click.option(
    "--against",
    metavar="OTHER",
    help="The other side: a tokenizer or folder, a snapshot of another machine, or a file of "
    "settings (JSON, TOML).",
)
@click.option(
    "--settings",
    metavar="FILE",
    help="The settings of this side (JSON, TOML), to be compared with --against.",
)
@click.option(
    "--snapshot",
    metavar="FILE",
    help="Write the facts that decide ids on this machine into FILE, for --against on another.",
)
@click.option(
    "--task",
    type=click.Choice(["generate", "train", "embed"]),
    help="Use of the model; decides on the side of padding.",
)
@click.option(
    "--context",
    "context_tokens",
    type=click.IntRange(min=1),
    metavar="TOKENS",
    help="The context, where the model's own is not right.",
)
@click.option(
    "--max-output",
    "max_output_tokens",
    type=click.IntRange(min=0),
    metavar="TOKENS",
    help="Room that is kept for the answer.",
)
@click.option(
    "--embedder",
    metavar="T",
    help="The tokenizer of an embedding model: does it read whole chunks of --texts?",
)
@click.option(
    "--embedder-max",
    "embedder_max_tokens",
    type=click.IntRange(min=1),
    metavar="TOKENS",
    help="Tokens that the embedding model reads, special tokens included; by default its folder's.",
)
@click.option(
    "--embedder-prefix",
    metavar="TEXT",
    default="",
    help="Text before each text for the embedding model, as 'passage: '.",
)
@click.option(
    "--chunk",
    "chunk_tokens",
    type=click.IntRange(min=1),
    metavar="TOKENS",
    help="Cut --texts into chunks of this many tokens first.",
)
@click.option("--ignore", metavar="ID", multiple=True, help="Leave this failure out. Repeatable.")
@click.option(
    "--fail-on",
    type=click.Choice(_SEVERITIES),
    default="warning",
    show_default=True,
    help="Exit code 1 from this severity on.",
)
@click.option("--list", "list_all", is_flag=True, help="List the known failures and end.")
@click.option("--explain", metavar="ID", help="Explain a known failure and end.")
@options.documents_option
@options.format_option
@options.field_option
@options.json_option
def doctor(
    *,
    subject: str | None,
    tokenizer_name: str | None,
    model_dir: str | None,
    batches: tuple[str, ...],
    outputs: tuple[str, ...],
    texts: tuple[str, ...],
    training_texts: tuple[str, ...],
    against: str | None,
    settings: str | None,
    snapshot: str | None,
    task: Literal["generate", "train", "embed"] | None,
    context_tokens: int | None,
    max_output_tokens: int | None,
    embedder: str | None,
    embedder_max_tokens: int | None,
    embedder_prefix: str,
    chunk_tokens: int | None,
    ignore: tuple[str, ...],
    fail_on: str,
    list_all: bool,
    explain: str | None,
    documents: Literal["file", "line"],
    file_format: Literal["auto", "text", "jsonl"],
    field: str,
    as_json: bool,
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
        "id": failure.id,
        "area": failure.area,
        "severity": failure.severity,
        "name": failure.name,
        "symptom": failure.symptom,
        "cause": failure.cause,
        "remedy": failure.remedy,
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
