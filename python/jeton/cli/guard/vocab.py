"""``jeton guard vocab``: faults and suspicions in a vocabulary and around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from jeton.cli import options, outputs, streams, tables
from jeton.cli.declaring import command, option

if TYPE_CHECKING:
    from jeton.guard import VocabularyReport


@command()
@click.argument("tokenizer", metavar="T")
def vocab(
    *,
    tokenizer: str,
    model: str | None = option("Model directory: configuration, templates, weights.", "DIR"),
    base: str | None = option("The tokenizer that it should be: every difference is told.", "T0"),
    fail_at: str = option(
        "Severity from which on the exit code is 1.",
        type=click.Choice(["info", "warning", "error", "critical"]),
        default="error",
    ),
    as_json: bool = options.JSON,
    sarif: str | None = option("Write SARIF 2.1.0 for code scanning.", "F"),
    markdown: str | None = options.MARKDOWN,
    quiet: bool = option("Nothing but files and the exit code.", names="-q --quiet"),
) -> int:
    """Find faults and suspicions in a vocabulary, its files and the rows of its model.

    T is a name, a file or a folder; a file that makes no tokenizer is looked at all the same.
    Nothing is unpickled, and no code of a folder is run.

    \b
    Examples:
      jeton guard vocab my-model/ --base gpt2
      jeton guard vocab tokenizer.json --json
      jeton guard vocab llama3 --model my-llama/ --sarif vocab.sarif
    """
    from jeton.guard import check_vocabulary
    from jeton.report.guard import vocabulary_to_markdown, vocabulary_to_sarif

    outputs.check_outputs(json_file="-" if as_json else None, markdown=markdown)
    found = check_vocabulary(tokenizer, model=model, base=base)
    code = 0 if found.is_below(fail_at) else 1
    streams.set_verdict(code)
    outputs.write_output(sarif, lambda: vocabulary_to_sarif(found))
    outputs.write_output(markdown, lambda: vocabulary_to_markdown(found))
    if as_json:
        streams.write_json(found.to_dict())
    elif not quiet and "-" not in (markdown, sarif):
        _print(found)
    if not quiet:
        outputs.say_written(sarif, markdown)
    return code


def _print(found: VocabularyReport) -> None:
    streams.write_line(f"{streams.shown(found.tokenizer)}: {found.n_tokens:,} tokens")
    if not found.findings:
        streams.write_line("nothing found")
        return
    streams.write_line("")
    tables.print_rows(
        found.findings,
        {
            "Severity": lambda f: f.severity.value,
            "Kind": lambda f: f.kind,
            "Found": lambda f: streams.shown(f.what),
        },
    )
    for finding in found.findings:
        if not finding.examples and finding.severity.rank == 0:
            continue
        streams.write_line("")
        streams.write_line(f"{finding.kind} ({streams.shown(finding.where)}): {finding.danger}")
        for example in finding.examples[:5]:
            streams.write_line(f"    {streams.shown(example)}")
