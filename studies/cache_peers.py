"""Compare causes and dollars of cache faults with two other auditors, write their table.

``python -m studies.cache_peers`` draws one log of each fault (`tests.auditing.caching`), audits it
here and with tokenaudit and cacheeconomics in an environment of their own, and writes
docs/studies/cache-peers.md. True waste is the simulated bill less the bill of the mended log.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jeton
from tests.auditing.caching.cache_simulator import (
    Faulty,
    Sent,
    as_anthropic,
    as_openai,
    simulate,
)
from tests.auditing.caching.faulty_logs import AGENT_FAULTS, FAULTS, WHOLE_AUDIT_FAULTS, control
from tests.auditing.caching.openai_logs import OPENAI_FAULTS
from tests.auditing.tiny import train_tiny

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "studies" / "cache-peers.md"
PEERS = ("tokenaudit==0.1.0", "cacheeconomics==0.2.1")
WITHIN = 0.15
"""Largest share by which dollars may differ from the truth."""

# Rules of the other auditors that name the cause of a fault. Rules that only say that writes are
# not read (EFF-1, CAC-1) name it where the writes themselves are the fault.
TOKENAUDIT = {
    "01": "prefix_drift", "02": "tool_schema_churn", "03": "tool_schema_churn",
    "04": "model_switch", "05": "sub_minimum", "05b": "sub_minimum", "06": "ttl_expiry",
    "01b": "prefix_drift", "01c": "prefix_drift", "06b": "ttl_expiry", "06c": "ttl_expiry",
    "09": "context_bloat", "11": "retry_storm", "15": "lookback_overflow", "20": "prefix_drift",
}  # fmt: skip
CACHEECONOMICS = {
    "01": "VOL-1", "01b": "VOL-1", "01c": "VOL-1", "02": "VOL-1", "03": "VOL-1", "04": "SPL-1",
    "05": "MIN-1", "05b": "MIN-1", "06": "TTL-1", "06b": "TTL-1", "06c": "TTL-1", "07": "TTL-2",
    "08": "EFF-1", "13": "FAN-1", "16": "VOL-1",
}  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """Findings of one auditor about one log.

    Attributes:
        named: Names of its findings, the first one first.
        usd: Dollars that it says could be saved; None: it states none.
        is_right: True if a finding names the cause; for the healthy log, if there is none.
    """

    named: str
    usd: float | None
    is_right: bool


def logs() -> dict[str, Faulty]:
    """Return a log of each fault, and a healthy one."""
    makers = {
        "00 healthy": control,
        **FAULTS,
        **AGENT_FAULTS,
        **WHOLE_AUDIT_FAULTS,
        "20 openai clock in system": OPENAI_FAULTS["01 clock in system"],
    }
    return {name: makers[name](random.Random(0)) for name in sorted(makers)}


def rows_of(sent: Sequence[Sent]) -> list[dict[str, Any]]:
    is_openai = sent[0].body["model"].startswith("gpt")
    return (as_openai if is_openai else as_anthropic)(list(sent))


def spans(sent: list[Sent], *, openinference: bool) -> dict[str, Any]:
    """Return spans in the dialects that tokenaudit reads, with marks or with tools."""
    made = []
    for number, (one, usage) in enumerate(zip(sent, simulate(sent), strict=True), start=1):
        parts = [
            (message["role"], message["content"])
            for message in [{"role": "system", "content": one.body.get("system") or []}]
            + one.body["messages"]
            if message["content"]
        ]
        provider = "openai" if one.body["model"].startswith("gpt") else "anthropic"
        tools = [json.dumps(bare(tool)) for tool in one.body.get("tools", [])]
        facts = (_openinference if openinference else _current)(one, usage, parts, provider, tools)
        made.append(
            {
                "traceId": f"{number:032x}", "spanId": f"{number:016x}", "name": "chat",
                "startTimeUnixNano": str(int(one.time * 1e9)),
                "endTimeUnixNano": str(int((one.time + 2) * 1e9)),
                "attributes": [
                    {"key": key, "value": {"intValue": str(value)} if isinstance(value, int)
                     else {"stringValue": value}}
                    for key, value in facts.items()
                ],
            }
        )  # fmt: skip
    scope = {"scope": {"name": "chat"}, "spans": made}
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]}


def bare(part: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key != "cache_control"}


def text_of(part: dict[str, Any]) -> str:
    content = part.get("content")
    own = part.get("text") or part.get("thinking") or (content if isinstance(content, str) else "")
    return own or json.dumps(bare(part))


def pieces(content: Any) -> list[dict[str, Any]]:
    return content if isinstance(content, list) else [{"text": content}]


def _current(
    one: Sent,
    usage: dict[str, int],
    parts: list[tuple[str, Any]],
    provider: str,
    tools: list[str],
) -> dict[str, Any]:
    messages = [
        {"role": role, "parts": [
            {"type": "text", "content": text_of(part)}
            | ({"cache_control": part["cache_control"]} if "cache_control" in part else {})
            for part in pieces(content)
        ]}
        for role, content in parts
    ]  # fmt: skip
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": one.body["model"],
        "gen_ai.usage.input_tokens": usage["input"],
        "gen_ai.usage.cache_read.input_tokens": usage["read"],
        "gen_ai.usage.cache_creation.input_tokens": usage["written"],
        "gen_ai.usage.output_tokens": one.output,
        "gen_ai.input.messages": json.dumps(messages),
        **({"gen_ai.conversation.id": one.session} if one.session else {}),
    }


def _openinference(
    one: Sent,
    usage: dict[str, int],
    parts: list[tuple[str, Any]],
    provider: str,
    tools: list[str],
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "openinference.span.kind": "LLM",
        "llm.provider": provider,
        "llm.model_name": one.body["model"],
        "llm.token_count.prompt": usage["input"],
        "llm.token_count.completion": one.output,
        "llm.token_count.prompt_details.cache_read": usage["read"],
        "llm.token_count.prompt_details.cache_write": usage["written"],
        **({"session.id": one.session} if one.session else {}),
    }
    for place, (role, content) in enumerate(parts):
        facts[f"llm.input_messages.{place}.message.role"] = role
        facts[f"llm.input_messages.{place}.message.content"] = "".join(
            text_of(part) for part in pieces(content)
        )
    for place, tool in enumerate(tools):
        facts[f"llm.tools.{place}.tool.json_schema"] = tool
    return facts


# The auditors


def ours(name: str, faulty: Faulty, tokenizer: jeton.Tokenizer) -> Answer:
    report = jeton.audit(rows_of(faulty.sent), tokenizers=[tokenizer], logs=True)
    # Advice on the stand-in tokenizer has no place in a study of caches.
    found = [f for f in report.findings if f.saving_usd_per_year or ("usd_per_year_at_stake" in
             f.evidence and not f.id.startswith("terms"))]  # fmt: skip
    if not found:
        return Answer("none", None, name.startswith("00"))
    first = found[0]
    assert report.waterfall is not None
    year = 12 * float(report.waterfall.naive_usd_per_month)
    stake = float(str(first.saving_usd_per_year or first.evidence["usd_per_year_at_stake"]))
    return Answer(first.id, stake / year * faulty.usd(), first.id == faulty.finding)


def tokenaudit(name: str, faulty: Faulty, peers: Path, folder: Path) -> Answer:
    best: list[str] = []
    for openinference in (False, True):
        path = folder / f"spans-{int(openinference)}.json"
        path.write_text(json.dumps(spans(faulty.sent, openinference=openinference)))
        finished = subprocess.run(
            [peers / "bin" / "tokenaudit", "diagnose", "--json", path],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        found = [f["detector_id"] for one in json.loads(finished.stdout) for f in one["findings"]]
        best += [f for f in dict.fromkeys(found) if f not in best]
    return _answer(name, best, None, TOKENAUDIT)


def cacheeconomics(name: str, faulty: Faulty, peers: Path, folder: Path) -> Answer:
    path = folder / "bodies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows_of(faulty.sent)))
    is_openai = faulty.sent[0].body["model"].startswith("gpt")
    finished = subprocess.run(
        [peers / "bin" / "cacheeconomics", "analyze", "--from", "bodies", "--allow-unreconciled",
         "--target-id", "openai/direct" if is_openai else "anthropic/direct",
         "--format", "json", path],
        capture_output=True, text=True, check=False,
        env={**os.environ, "CACHEECONOMICS_HMAC_KEY": "0123456789abcdef" * 4},
    )  # fmt: skip
    quiet = {"REB-0", "CAC-1"}  # no measurement, and the sum of the others
    found = [f for f in json.loads(finished.stdout)["findings"] if f["code"] not in quiet]
    usd = [re.match(r"\$([\d.]+)", f["avoidable_usd_window"] or "") for f in found]
    stated = [float(match[1]) for match in usd if match]
    return _answer(name, [f["code"] for f in found], sum(stated) or None, CACHEECONOMICS)


def _answer(name: str, found: list[str], usd: float | None, right: dict[str, str]) -> Answer:
    number = name.split()[0]
    is_right = not found if number == "00" else right.get(number) in found
    return Answer(", ".join(found) or "none", usd, is_right)


def is_near(answer: Answer, truth: float) -> bool:
    """True if the dollars are the true ones."""
    return answer.usd is not None and abs(answer.usd - truth) <= WITHIN * truth


def peers_in(folder: Path) -> Path:
    """Return an environment with the other auditors."""
    if not (folder / "bin" / "tokenaudit").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "-q", *PEERS], check=True)
    return folder


def page(rows: list[tuple[str, Faulty, list[Answer]]], sample: str) -> str:
    names = ("Jeton", *(peer.replace("==", " ") for peer in PEERS))
    faults = [row for row in rows if not row[0].startswith("00")]
    causes = [sum(answers[i].is_right for _, _, answers in faults) for i in range(3)]
    near = [sum(is_near(a[i], f.waste_usd()) for _, f, a in faults) for i in range(3)]
    lines = [
        "# Cache faults beside other auditors",
        "",
        "`python -m studies.cache_peers` draws one log of each fault, audits it with three tools,",
        "and writes this page. The true waste is the simulated bill less that of the mended log.",
        "The simulator follows the published cache rules and shares no code with the product.",
        "Each tool reads the record form that it knows best: request bodies for Jeton and",
        "cacheeconomics, spans in two dialects for tokenaudit. Marks of a cell: the cause is named",
        f"(**cause**), and the dollars are within {WITHIN:.0%} of the truth (**$**).",
        "",
        "| | " + " | ".join(names) + " |",
        "| --- | --- | --- | --- |",
        f"| causes named, of {len(faults)} | " + " | ".join(map(str, causes)) + " |",
        f"| dollars right, of {len(faults)} | " + " | ".join(map(str, near)) + " |",
        "",
        "| fault | true waste | " + " | ".join(names) + " |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, faulty, answers in rows:
        share = faulty.waste_usd() / faulty.usd()
        cells = []
        for answer in answers:
            usd = "" if answer.usd is None else f" ${answer.usd:.4f}"
            marks = " **cause**" * answer.is_right + " **$**" * is_near(answer, faulty.waste_usd())
            cells.append(f"{answer.named}{usd}{marks}")
        lines.append(
            f"| {name} | ${faulty.waste_usd():.4f} ({share:.0%}) | " + " | ".join(cells) + " |"
        )
    lines += [
        "",
        "## Their own sample",
        "",
        sample,
        "",
        "## Limits",
        "",
        "- Drawn text at four characters a token; one seed a fault. Tests run twenty seeds.",
        "- tokenaudit states tokens and no dollars. cacheeconomics withholds dollars of structural",
        "  findings until segments are recorded live, and states the cost of unread writes alone.",
        "- Newer versions of both may exist outside the package index that was used.",
        "",
    ]
    return "\n".join(lines)


def of_their_sample(peers: Path, tokenizer: jeton.Tokenizer) -> str:
    """Return a sentence on the trace that tokenaudit ships."""
    (path,) = peers.glob("lib/*/site-packages/tokenaudit/examples/sample.trace.json")
    finished = subprocess.run(
        [peers / "bin" / "tokenaudit", "diagnose", "--json", path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    theirs = [f["detector_id"] for one in json.loads(finished.stdout) for f in one["findings"]]
    report = jeton.audit([path], tokenizers=[tokenizer], logs=True)
    assert report.cache is not None
    groups = [g for g in report.cache.verdicts if g.usd > 0]
    found = "; ".join(
        f"`{g.verdict}` in {g.block or 'the request'}, ${g.usd:.4f}, {g.n_requests} requests"
        for g in groups
    )
    names = ", ".join(dict.fromkeys(theirs))
    return f"tokenaudit ships `sample.trace.json`. It says: {names}. Jeton says: {found}."


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, default=ROOT / "build" / "cache-peers")
    given = parser.parse_args()
    peers = peers_in(given.peers)
    tokenizer = train_tiny(vocab_size=400)
    rows = []
    for name, faulty in logs().items():
        answers = [
            ours(name, faulty, tokenizer),
            tokenaudit(name, faulty, peers, given.peers),
            cacheeconomics(name, faulty, peers, given.peers),
        ]
        rows.append((name, faulty, answers))
        print(name, [(a.named, a.is_right, is_near(a, faulty.waste_usd())) for a in answers])
    PAGE.write_text(page(rows, of_their_sample(peers, tokenizer)), encoding="utf-8")


if __name__ == "__main__":
    main()
