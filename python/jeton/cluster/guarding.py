"""Scanning by the guard as tasks of Ray, one for each file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from jeton.cluster.sessions import RaySession, RayTasks
from jeton.corpus.inputs import InputFile, expand_inputs
from jeton.errors import EmptyCorpusError, UsageError
from jeton.guard.files import MAX_LISTED, ScanReport, scan_files
from jeton.guard.policy import Policy
from jeton.guard.verdict import GuardLevel, gravest


def scan_one(shared: tuple[str, str | None, dict[str, str]], file: InputFile) -> ScanReport:
    """Scan one file, in a task."""
    policy, tokenizer, options = shared
    return scan_files([file], policy=Policy.from_json(policy), tokenizer=tokenizer, **options)  # type: ignore[arg-type]


def scan_on_ray(
    inputs: Sequence[str],
    *,
    policy: Policy,
    tokenizer: str | None = None,
    tasks: RayTasks | None = None,
    workers: int | None = None,
    field: str | None = None,
    documents: Literal["file", "line"] = "file",
    strict: bool = False,
    on_bad_record: Literal["stop", "skip"] = "stop",
) -> ScanReport:
    """Scan files as tasks of a cluster; the report is that of ``scan_files``.

    Args:
        inputs: Files, folders and globs that every node of the cluster can read.
        policy: The policy.
        tokenizer: Name or path of the tokenizer.
        tasks: Demands of each task.
        workers: Tasks at a time.
        field: As of ``scan_files``.
        documents: As of ``scan_files``.
        strict: As of ``scan_files``.
        on_bad_record: As of ``scan_files``.

    Raises:
        MissingExtraError: Ray is not installed.
        ClusterError: It cannot be reached.
        JetonError: As of ``scan_files``.
    """
    if "-" in inputs:
        raise UsageError("standard input cannot be read on a cluster\nhint: name files")
    files = expand_inputs(list(inputs))
    if not files:
        raise EmptyCorpusError("there is no file to scan")
    options = {
        "field": field,
        "documents": documents,
        "strict": strict,
        "on_bad_record": on_bad_record,
    }
    shared = (policy.to_json(), tokenizer, options)
    with RaySession.open(tasks or RayTasks(), shared, workers=workers, what="--on ray") as session:
        found = dict(session.results(scan_one, [(file,) for file in files], workers))
    return merged([found[number] for number in sorted(found)], policy)


def merged(reports: Sequence[ScanReport], policy: Policy) -> ScanReport:
    """Return one report of many, in their order."""
    counts: Counter[tuple[GuardLevel, str]] = Counter()
    for report in reports:
        counts.update(report.counts)
    listed = [one for report in reports for one in report.findings]
    return ScanReport(
        policy=policy.name,
        fail_at=policy.fail_at,
        findings=tuple(gravest(listed, MAX_LISTED, lambda one: one.finding.severity)),
        counts=dict(counts),
        n_documents=sum(report.n_documents for report in reports),
        n_found_documents=sum(report.n_found_documents for report in reports),
        n_chars=sum(report.n_chars for report in reports),
        n_replaced_documents=sum(report.n_replaced_documents for report in reports),
        n_null=sum(report.n_null for report in reports),
        n_bad=sum(report.n_bad for report in reports),
        skipped={k: v for report in reports for k, v in report.skipped.items()},
    )
