"""``jeton guard scan``: findings of text, shown with their places; texts cleaned by a policy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Literal

import click

from jeton._plain import counted
from jeton.cli import options, outputs, streams, tables
from jeton.cli.declaring import command, option
from jeton.cli.kinds import COUNT
from jeton.cli.progress import progress_bar
from jeton.errors import EmptyCorpusError, UsageError

if TYPE_CHECKING:
    from jeton.guard import Policy, ScanReport


_MAX_SHOWN = 50


@command(sections={"Most used": "policy", "Input": "text", "Output": "as_json", "Run": "on"})
@click.argument("inputs", nargs=-1, metavar="[INPUT]...")
def scan(
    *,
    inputs: tuple[str, ...],
    policy: str = option(
        "report, default, strict, or a TOML file with an action for each class.",
        "NAME|FILE",
        default="default",
    ),
    show: bool = option("Show each finding in its line, with hidden characters drawn."),
    fix: bool = option("Write the text as the policy leaves it, to -o."),
    output: str | None = option(
        "With --fix: the cleaned file; - is standard output. For several inputs, a folder.",
        "F",
        names="-o --output",
    ),
    text: str | None = options.TEXT,
    tokenizer_name: str | None = option(
        "Tokenizer whose special tokens are looked for besides those of public chat formats.",
        "T",
        names="-t --tokenizer",
    ),
    field: str | None = option(
        "Only this field of JSON, CSV and Parquet, with all strings in it; dots descend, [] "
        "stands for the elements of a list (messages[].content). By default every string counts.",
        "NAME",
    ),
    documents: Literal["file", "line"] = options.DOCUMENTS,
    file_format: Literal["auto", "text", "jsonl"] = options.FORMAT,
    strict: bool = options.STRICT,
    on_bad_record: Literal["stop", "skip"] = options.ON_BAD_RECORD,
    as_json: bool = options.JSON,
    sarif: str | None = option("Write SARIF 2.1.0 for code scanning.", "F"),
    markdown: str | None = options.MARKDOWN,
    html: str | None = option("Write one self-contained page.", "F"),
    quiet: bool = option("No table and no progress, only files and exit code.", names="-q --quiet"),
    on: Literal["local", "ray"] = option(
        "Where the files are scanned: here, or as tasks on a Ray cluster, one a file.",
        default="local",
    ),
    workers: int | None = option("With --on ray: tasks at a time.", "N", type=COUNT),
) -> int:
    """Find what text hides, forges or disguises, and clean it.

    INPUT is a file, a folder, a quoted glob or - for standard input: text, JSON Lines, CSV or
    Parquet, compressed or not. Exit code 1: a finding at least as grave as the policy bears.

    \b
    Examples:
      jeton guard scan docs/ prompts.jsonl
      jeton guard scan prompts.parquet --field prompt -t llama3 --policy strict --sarif guard.sarif
      jeton guard scan page.md --fix -o clean.md
      jeton guard scan --text "some text" --show
    """
    from jeton.guard import Policy
    from jeton.report.guard import scan_to_html, scan_to_markdown, scan_to_sarif

    chosen = Policy.of(policy)
    if text is None and not inputs:
        inputs = ("-",)
    if text is not None and inputs:
        raise UsageError("give files or --text, not both")
    outputs.check_outputs(html=html, markdown=markdown, json_file="-" if as_json else None)
    if fix:
        if on == "ray":
            raise UsageError("--fix works on this machine only; leave out --on ray")
        return _fix(
            inputs,
            output,
            text,
            chosen,
            tokenizer_name,
            field=field,
            file_format=file_format,
            strict=strict,
            on_bad_record=on_bad_record,
            quiet=quiet,
        )
    if output is not None:
        raise UsageError(
            "-o is for --fix\nhint: --json, --sarif, --markdown and --html write reports"
        )
    with options.bad_records_explained(), progress_bar(reading="scanning", quiet=quiet) as progress:
        if on == "ray":
            from jeton.cluster.guarding import scan_on_ray

            found = scan_on_ray(
                list(inputs),
                policy=chosen,
                tokenizer=tokenizer_name,
                workers=workers,
                field=field,
                documents=documents,
                strict=strict,
                on_bad_record=on_bad_record,
            )
        else:
            from jeton.guard import scan_files

            found = scan_files(
                list(inputs) if text is None else iter([text]),
                policy=chosen,
                tokenizer=None
                if tokenizer_name is None
                else options.load_tokenizer(tokenizer_name),
                field=field,
                documents=documents,
                format=None if file_format == "auto" else file_format,
                strict=strict,
                on_bad_record=on_bad_record,
                on_progress=progress,
            )
    if not found.n_documents and not found.findings:
        raise EmptyCorpusError("the inputs hold no text\nhint: check the inputs and the field")
    code = 1 if found.is_failed else 0
    streams.set_verdict(code)
    outputs.write_output(sarif, lambda: scan_to_sarif(found))
    outputs.write_output(markdown, lambda: scan_to_markdown(found))
    outputs.write_output(html, lambda: scan_to_html(found))
    if as_json:
        streams.write_json(found.to_dict())
    elif not quiet and markdown != "-" and sarif != "-":
        _print(found, show=show)
    _warn(found)
    if not quiet:
        outputs.say_written(sarif, markdown, html)
    return code


def _print(found: ScanReport, *, show: bool) -> None:
    from jeton.report.guard import shown_context

    streams.write_line(
        f"{counted(found.n_documents, 'document')}, {found.n_chars:,} characters: "
        + (
            f"{found.n_found_documents:,} with findings of {found.fail_at.value} and above"
            if found.n_found_documents
            else f"nothing of {found.fail_at.value} and above"
        )
    )
    if found.counts:
        streams.write_line("")
        ordered = sorted(found.counts.items(), key=lambda item: (-item[0][0].rank, item[0][1]))
        tables.print_table(
            ["Severity", "Kind", "Found"],
            [[level.value, kind, f"{n:,}"] for (level, kind), n in ordered],
            right=("Found",),
        )
    listed = [one for one in found.findings if show or one.finding.severity.rank]
    listed.sort(key=lambda one: -one.finding.severity.rank)
    if not listed:
        return
    streams.write_line("")
    for one in listed[:_MAX_SHOWN]:
        finding = one.finding
        column = f":{one.column}" if one.column else ""
        line = f":{one.line}{column}" if one.line else ""
        place = streams.shown(f"{one.source}{line}{f' {one.field}' if one.field else ''}")
        streams.write_line(f"{place}: {finding.severity.value}: {streams.shown(finding.what)}")
        if finding.payload is not None and finding.payload not in finding.what:
            streams.write_line(f"    payload: {shown_context(finding.payload[:200])}")
        if show:
            streams.write_line(f"    in:      {shown_context(one.context)}")
            if finding.seen:
                streams.write_line(f"    seen as: {shown_context(finding.seen)}")
            for code, name in finding.characters:
                streams.write_line(f"    {code} {name}")
    n_all = sum(n for (level, _), n in found.counts.items() if show or level.rank)
    n_more = n_all - min(len(listed), _MAX_SHOWN)
    if n_more > 0:
        lists = "--json lists them" if not found.n_unlisted else "--json lists the gravest"
        streams.write_line(f"... and {n_more:,} more; {lists}")


def _warn(found: ScanReport) -> None:
    streams.warn_replaced_in(found.n_replaced_documents)
    streams.warn_left_out(n_null=found.n_null, n_bad=found.n_bad)


def _fix(
    inputs: tuple[str, ...],
    output: str | None,
    text: str | None,
    policy: Policy,
    tokenizer_name: str | None,
    *,
    field: str | None,
    file_format: Literal["auto", "text", "jsonl"],
    strict: bool,
    on_bad_record: Literal["stop", "skip"],
    quiet: bool,
) -> int:
    """Write what the policy leaves; 1 if it rejects a text, and then nothing is written."""
    from jeton.errors import GuardRejected
    from jeton.guard import Fixer
    from jeton.preprocess.guard_files import FileFixer

    if output is None:
        raise UsageError(
            "--fix wants -o F: a file, a folder for several inputs, or - for standard output"
        )
    tokenizer = None if tokenizer_name is None else options.load_tokenizer(tokenizer_name)
    fixer = Fixer(policy, tokenizer=tokenizer)
    files = FileFixer(
        fixer, field, None if file_format == "auto" else file_format, strict, on_bad_record
    )
    left_out: dict[str, str] = {}
    try:
        if text is not None:
            with _opened(output) as stream:
                stream.write(fixer.fix(text).encode("utf-8", "replace"))
        elif (file := files.one_file(inputs)) is not None and not Path(output).is_dir():
            files.write_file(file, output, _opened(output))
        elif output == "-":
            raise UsageError("several files cannot be written to standard output\nhint: -o FOLDER")
        else:
            left_out = files.write_folder(inputs, Path(output))
    except GuardRejected as error:
        streams.say(f"jeton: {streams.shown(str(error))}; nothing was written")
        return 1
    for path, reason in left_out.items():
        streams.say(f"jeton: warning: {path} was not looked at and not written: {reason}")
    if not quiet:
        tally = fixer.tally
        wrote = "" if output == "-" else f"; wrote {output}"
        streams.say(
            f"{tally.n_changed:,} of {counted(tally.n_documents, 'document')} changed{wrote}"
        )
        for (kind, action), n in sorted(tally.changes.items()):
            streams.say(f"  {kind}: {n:,} {'stripped' if action == 'strip' else 'escaped'}")
    return 1 if left_out else 0


def _opened(output: str) -> AbstractContextManager[IO[bytes]]:
    """The output: standard output only when all is known, a file whole or not at all."""
    from jeton._files import written_whole

    return _held() if output == "-" else written_whole(output)


@contextmanager
def _held() -> Iterator[IO[bytes]]:
    with SpooledTemporaryFile(max_size=1 << 26) as file:
        yield file
        file.seek(0)
        while part := file.read(1 << 20):
            streams.write_bytes(part)
