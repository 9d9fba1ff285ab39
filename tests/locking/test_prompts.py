"""Two runs of an agent compared by hashes of their blocks: no provider, no usage."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from jeton.cli.app import app
from jeton.errors import FormatError
from jeton.locking.prompts import PromptLock, compare_prompts, lock_prompts
from tests.auditing.caching.faulty_logs import agent


def run_of(folder: Path, name: str, edit: Any = None) -> str:
    """A run of an agent as a file of requests without usage."""
    path = folder / name
    rows = []
    for number, one in enumerate(agent(random.Random(1), sessions=1, turns=5)):
        body = one.body
        if edit is not None:
            edit(number, body)
        rows.append(json.dumps({"request": body}))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


def test_the_same_run_has_the_same_blocks(tmp_path: Path) -> None:
    first, second = (lock_prompts([run_of(tmp_path, name)]) for name in ("a.jsonl", "b.jsonl"))
    assert len(first.requests) == 5
    assert not compare_prompts(first, second)


def clock(number: int, body: dict[str, Any]) -> None:
    body["system"][0]["text"] = f"12:{number:02d} {body['system'][0]['text']}"


def order(number: int, body: dict[str, Any]) -> None:
    body["tools"].reverse()


def history(number: int, body: dict[str, Any]) -> None:
    if number > 2:
        body["messages"][1]["content"][0]["input"] = {"q": "edited"}


def unmarked(number: int, body: dict[str, Any]) -> None:
    if number == 1:
        body["system"][-1].pop("cache_control")


def for_an_hour(number: int, body: dict[str, Any]) -> None:
    body["system"][-1]["cache_control"] = {"type": "ephemeral", "ttl": "1h"}


def model(number: int, body: dict[str, Any]) -> None:
    body["model"] = "claude-haiku-4-5"


def tool_choice(number: int, body: dict[str, Any]) -> None:
    body["tool_choice"] = {"type": "any"}


def thinking(number: int, body: dict[str, Any]) -> None:
    if number == 2:
        body["thinking"] = {"type": "enabled", "budget_tokens": 1024}


@pytest.mark.parametrize(
    ("edit", "request_", "path", "kind"),
    [
        (clock, 1, "system[0]", "changed"),
        (order, 1, "tools[0]", "order"),
        (history, 4, "messages[1]", "changed"),
        (unmarked, 2, "system[0]", "mark removed"),
        (for_an_hour, 1, "system[0]", "mark changed"),
        (model, 1, "model", "changed"),
        (tool_choice, 1, "tool_choice", "changed"),
        (thinking, 3, "thinking", "changed"),
    ],
)
def test_the_first_changed_block_is_named(
    tmp_path: Path, edit: Any, request_: int, path: str, kind: str
) -> None:
    lock = lock_prompts([run_of(tmp_path, "a.jsonl")])
    changes = compare_prompts(lock, lock_prompts([run_of(tmp_path, "b.jsonl", edit)]))
    assert (changes[0].request, changes[0].path, changes[0].kind) == (request_, path, kind)
    assert changes[0].n_bytes_behind > 0 or kind.startswith("mark")


def test_the_command_locks_and_checks(tmp_path: Path) -> None:
    lock, runner = str(tmp_path / "agent.lock"), CliRunner()
    first, other = run_of(tmp_path, "a.jsonl"), run_of(tmp_path, "b.jsonl", clock)
    assert runner.invoke(app, ["lock", "--prompt", first, "-o", lock]).exit_code == 0
    check = ["lock", "-o", lock, "--check", "--prompt"]
    assert runner.invoke(app, [*check, first]).exit_code == 0
    result = runner.invoke(app, [*check, other, "--json"])
    assert result.exit_code == 1
    assert "system[0]" in result.output


def test_requests_of_one_run_alone_are_said(tmp_path: Path) -> None:
    lock, runner = str(tmp_path / "agent.lock"), CliRunner()
    path = Path(run_of(tmp_path, "a.jsonl"))
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines * 2), encoding="utf-8")
    assert runner.invoke(app, ["lock", "--prompt", str(path), "-o", lock]).exit_code == 0
    path.write_text(lines[0], encoding="utf-8")
    result = runner.invoke(app, ["lock", "-o", lock, "--check", "--prompt", str(path)])
    assert result.exit_code == 1
    assert "request 2: only the locked run has it" in result.output
    assert "not be read" not in result.output
    assert "and 4 more" in result.output


@pytest.mark.parametrize("text", ["", "[]", '{"schema_version": "x"}', '{"schema_version": 1', "7"])
def test_another_file_is_no_lock(tmp_path: Path, text: str) -> None:
    path = tmp_path / "f"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match="no lock of prompts"):
        PromptLock.read(str(path))
