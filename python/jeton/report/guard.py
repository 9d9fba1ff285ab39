"""The guard's findings as SARIF, Markdown and one page."""

from __future__ import annotations

from typing import Any

from jeton._core import __version__
from jeton._plain import counted, strict_json
from jeton.guard import KINDS, GuardLevel, ScanReport, VocabularyReport, unicode_version
from jeton.guard.files import PlacedFinding
from jeton.guard.vocabulary.source import DANGERS
from jeton.report.bars import Bar, bars_chart
from jeton.report.result_page import Opening, PageTable, Sum, result_html
from jeton.report.sarif_parts import digest, file_uri, is_file, rule_entry, sarif_log
from jeton.report.tree import Plot
from jeton.report.visible import visible, visible_char

_SARIF_LEVELS = {
    GuardLevel.INFO: "note",
    GuardLevel.WARNING: "warning",
    GuardLevel.ERROR: "error",
    GuardLevel.CRITICAL: "error",
}

_HELP = (
    "docs/guides/guard.md says what is found and how a policy changes it. A text that is meant is "
    "allowed by a policy file: its class gets the action allow."
)

_MAX_ROWS = 200
_SELECTORS = range(0xFE00, 0xFE10)


def shown_context(text: str) -> str:
    """Return one line of text in which each character without ink, selectors too, has a picture."""
    return "".join(
        f"\u27e8U+{ord(char):04X}\u27e9" if _is_selector(char) else visible_char(char)
        for char in text
    )


def _is_selector(char: str) -> bool:
    return ord(char) in _SELECTORS or 0xE0100 <= ord(char) <= 0xE01EF


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _rule(name: str, words: str, danger: str, level: GuardLevel) -> dict[str, Any]:
    return rule_entry(
        name,
        _sentence(words).rstrip("."),
        _sentence(f"{words}: {danger}"),
        _SARIF_LEVELS[level],
        f"{_sentence(danger)} {_HELP}",
    )


def scan_to_sarif(report: ScanReport) -> str:
    """Return the text of a SARIF file: a result for each listed finding, with line and column."""
    rules: dict[str, dict[str, Any]] = {}
    results = []
    for one in report.findings:
        kind = KINDS[one.finding.kind]
        rule = f"guard/{kind.name}"
        rules.setdefault(rule, _rule(rule, kind.words, kind.danger, one.finding.severity))
        results.append(_result(one, rule, list(rules).index(rule)))
    uris = sorted({file_uri(one.source) for one in report.findings if is_file(one.source)})
    properties = {
        "policy": report.policy,
        "unicode": unicode_version(),
        "n_unlisted": report.n_unlisted,
        "skipped": report.skipped,
    }
    log = sarif_log("jeton/guard/", list(rules.values()), results, uris, properties)
    return strict_json(log, indent=2, ascii_only=True) + "\n"


def _result(one: PlacedFinding, rule: str, index: int) -> dict[str, Any]:
    finding = one.finding
    parts = [finding.what]
    if finding.payload is not None:
        parts.append(f"payload: {shown_context(finding.payload[:500])}")
    parts.append(f"in: {shown_context(one.context)}")
    entry: dict[str, Any] = {
        "ruleId": rule,
        "ruleIndex": index,
        "level": _SARIF_LEVELS[finding.severity],
        "message": {"text": "\n".join(parts)},
        "partialFingerprints": {
            "guard/v1": digest(rule, one.source, one.context, finding.payload or "")
        },
        "properties": {"severity": finding.severity.value, "action": one.action},
    }
    if is_file(one.source):
        region: dict[str, Any] = {"startLine": max(1, one.line)}
        if one.column:
            region |= {
                "startColumn": one.column,
                "endLine": one.end_line,
                "endColumn": one.end_column,
            }
        entry["locations"] = [
            {
                **({"logicalLocations": [{"fullyQualifiedName": one.field}]} if one.field else {}),
                "physicalLocation": {
                    "artifactLocation": {"uri": file_uri(one.source)},
                    "region": region,
                },
            }
        ]
    return entry


def _count_rows(report: ScanReport) -> list[tuple[str, str, int]]:
    ordered = sorted(report.counts.items(), key=lambda item: (-item[0][0].rank, item[0][1]))
    return [(level.value, kind, n) for (level, kind), n in ordered]


def _cell(text: str) -> str:
    shown = shown_context(visible(text)) if text else ""
    return shown.replace("\\", "\\\\").replace("|", "\\|").replace("`", "\\`").replace("<", "&lt;")


def scan_to_markdown(report: ScanReport) -> str:
    """Return the report as Markdown."""
    lines = [
        "# Guard: text",
        "",
        f"{report.n_documents:,} documents, {report.n_chars:,} characters, policy {report.policy}, "
        f"Unicode {unicode_version()}. "
        f"{counted(report.n_found_documents, 'document')} with findings of "
        f"{report.fail_at.value} and above.",
        "",
        "| severity | kind | found | danger |",
        "| --- | --- | ---: | --- |",
    ]
    lines += [
        f"| {level} | {kind} | {n:,} | {KINDS[kind].danger} |"
        for level, kind, n in _count_rows(report)
    ]
    graves = [one for one in report.gravest(_MAX_ROWS) if one.finding.severity.rank]
    if graves:
        lines += ["", "| place | severity | finding | payload |", "| --- | --- | --- | --- |"]
        lines += [
            f"| {_cell(one.source)}:{one.line} | {one.finding.severity.value} | "
            f"{_cell(one.finding.what)} | {_cell((one.finding.payload or '')[:200])} |"
            for one in graves
        ]
    return "\n".join(lines) + "\n"


def scan_to_html(report: ScanReport) -> str:
    """Return the report as one page; foreign text is escaped, its hidden characters drawn."""
    ordered = report.gravest(_MAX_ROWS)
    kinds = PageTable(
        "Kinds",
        ("Severity", "Kind", "Found", "Danger"),
        tuple(
            (level, kind, f"{n:,}", KINDS[kind].danger) for level, kind, n in _count_rows(report)
        ),
    )
    places = PageTable(
        "Places, the gravest first",
        ("Place", "Severity", "Finding", "Payload", "Text"),
        tuple(
            (
                shown_context(f"{one.source}:{one.line}"),
                one.finding.severity.value,
                shown_context(one.finding.what),
                shown_context((one.finding.payload or "")[:300]),
                shown_context(one.context),
            )
            for one in ordered
        ),
    )
    bars = [Bar(f"{kind} ({level})", float(n), f"{n:,}") for level, kind, n in _count_rows(report)]
    return result_html(
        {"jeton_version": __version__, "schema_version": "jeton.guard/1"},
        title="Guard: text",
        opening=_opening(report),
        words=(
            f"policy {report.policy}, Unicode {unicode_version()}; {report.n_chars:,} characters",
        ),
        plots=(Plot("Findings", "of each kind", bars_chart("guard", bars)),) if bars else (),
        grids=(kinds, places) if ordered else (),
    )


def _opening(report: ScanReport) -> Opening:
    """Pass or stop, with the number of documents."""
    n = report.n_found_documents
    sums = (
        Sum("Documents", f"{report.n_documents:,}", "looked at"),
        Sum("To stop", f"{n:,}", f"with findings of {report.fail_at.value} and above"),
    )
    if not n:
        return Opening("Let the text pass: nothing grave was found", sums)
    noun = "document" if n == 1 else "documents"
    return Opening(f"Stop {n:,} {noun}, or clean with `jeton guard scan --fix`", sums)


def vocabulary_to_sarif(report: VocabularyReport) -> str:
    """Return the text of a SARIF file: a result for each finding, at the vocabulary's file."""
    rules: dict[str, dict[str, Any]] = {}
    results = []
    uri = file_uri(report.tokenizer)
    for finding in report.findings:
        rule = f"guard-vocabulary/{finding.kind}"
        words = finding.kind.replace("-", " ")
        rules.setdefault(rule, _rule(rule, words, DANGERS[finding.kind], finding.severity))
        text = [finding.what, finding.danger, *finding.examples]
        results.append(
            {
                "ruleId": rule,
                "ruleIndex": list(rules).index(rule),
                "level": _SARIF_LEVELS[finding.severity],
                "message": {"text": "\n".join(shown_context(part) for part in text)},
                "partialFingerprints": {"guard-vocabulary/v1": digest(rule, report.tokenizer)},
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": {"uri": uri},
                            "region": {"startLine": 1},
                        }
                    }
                ],
                "properties": {"severity": finding.severity.value, "where": finding.where},
            }
        )
    log = sarif_log("jeton/guard-vocabulary/", list(rules.values()), results, [uri], {})
    return strict_json(log, indent=2, ascii_only=True) + "\n"


def vocabulary_to_markdown(report: VocabularyReport) -> str:
    """Return the report as Markdown."""
    lines = [
        "# Guard: vocabulary",
        "",
        f"{_cell(report.tokenizer)}: {report.n_tokens:,} tokens.",
        "",
        "| severity | kind | finding | danger | for example |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {f.severity.value} | {f.kind} | {_cell(f.what)} | {f.danger} | "
        f"{_cell('; '.join(f.examples[:3]))} |"
        for f in report.findings
    ]
    return "\n".join(lines) + "\n"
