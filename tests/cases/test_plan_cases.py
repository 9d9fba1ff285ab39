"""Plans of serving and predictions, case by case: ``plan/*.json`` and ``predict/*.json``.

``admission`` cases are decisions that are worked out by hand; ``command`` cases are inputs of the
command line, most of them bad ones, with the exit code and words of the message.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from jeton.cli.app import app
from jeton.economics.admission import Admission, Policy

CASES = {
    file.stem: json.loads(file.read_text(encoding="utf-8"))
    for folder in ("plan", "predict")
    for file in Path(__file__).with_name(folder).glob("*.json")
}


def cases(kind: str) -> list[Any]:
    return [
        pytest.param(case, id=name) for name, case in sorted(CASES.items()) if case["kind"] == kind
    ]


@pytest.mark.parametrize("case", cases("admission"))
def test_decisions(case: dict[str, Any]) -> None:
    admission: Admission[str] = Admission(
        Policy(**case["policy"]),
        capacity_tokens=case["capacity_tokens"],
        page_tokens=case["page_tokens"],
        max_requests=case.get("max_requests", 256),
        context_tokens=case.get("context_tokens"),
    )
    n_learned = 0
    for number, (what, *given) in enumerate(case["events"]):
        place = f"event {number}: {what} {given}"
        if what == "learn":
            for _ in range(given[0]):
                n_learned += 1
                name = f"learned {n_learned}"
                admission.offer(name, given[1])
                assert admission.decide() is not None, place
                admission.on_tokens(name, given[2])
                admission.finish(name)
        elif what == "offer":
            assert admission.offer(given[0], given[1]) == given[2], place
        elif what == "decide":
            start = admission.decide()
            found = [None, None] if start is None else [start.request, start.reserved_tokens]
            assert found == given, place
        elif what == "tokens":
            assert list(admission.on_tokens(given[0], given[1])) == given[2], place
        elif what == "finish":
            admission.finish(given[0])
        else:
            assert what == "free", place
            assert admission.free_tokens == given[0], place


@pytest.mark.parametrize("case", cases("command"))
def test_commands(case: dict[str, Any], tmp_path: Path) -> None:
    trace = tmp_path / case.get("file", "trace.csv")
    trace.write_text("".join(case["trace"]), encoding="utf-8")
    words = [str(trace) if word == "TRACE" else word for word in case["arguments"]]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == case["exit_code"], done.output
    for said in case["says"]:
        assert said in done.stderr
    for shown in case.get("prints", ()):
        assert shown in done.stdout
    assert "Traceback" not in done.output
