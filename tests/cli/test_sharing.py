"""``--title`` and ``--no-samples``: no output quotes the audited text."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

Run = Callable[..., Result]

SECRET = "zebra-kumquat-4711"


def _log(path: Path) -> None:
    lines = []
    for i in range(60):
        prompt = (
            f"You are the assistant of {SECRET} and answer in one sentence only, please.\n"
            f"2026-10-{i % 28 + 1:02d} ticket {i}\n"
            + f"The customer {SECRET} says: \\u00e9\\u00e8\\u00ea {'-' * 40}\n" * 4
            + '{\n    "name": "'
            + SECRET
            + '",\n    "list": [\n        1,\n        2\n    ]\n}\n'
        )
        record = {
            "model": "gpt-4o-mini",
            "prompt": prompt,
            "response": f"{SECRET} is fine, thank you for asking! " * (1 + i % 3),
            "timestamp": 1_760_000_000 + 600 * i,
            "usage": {"prompt_tokens": 90, "completion_tokens": 9},
        }
        lines.append(json.dumps(record))
    lines.append('{"prompt": "' + SECRET + " broken")
    lines.append(json.dumps({"prompt": "x", "timestamp": f"no time {SECRET}"}))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _outputs(run: Run, *more: str) -> str:
    files = ("r.html", "r.json", "r.md", "r.sarif")
    words = ("--html", "r.html", "--json", "r.json", "--markdown", "r.md", "--sarif", "r.sarif")
    result = run("audit", "log.jsonl", "--logs", "-t", "small", *words, *more)
    assert result.exit_code == 0, result.output
    return result.stdout + "".join(Path(name).read_text(encoding="utf-8") for name in files)


def test_without_samples_nothing_quotes_the_text(run: Run) -> None:
    _log(Path("log.jsonl"))
    assert SECRET in _outputs(run)
    text = _outputs(run, "--no-samples")
    assert SECRET not in text
    report = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert report["samples"] == []
    assert report["findings"]
    assert report["requests"]["issues"]


def test_the_title_is_on_the_page_and_in_the_json(run: Run) -> None:
    _log(Path("log.jsonl"))
    text = _outputs(run, "--title", "Support <chat>, October")
    assert "<h1>Support &lt;chat&gt;, October</h1>" in text
    assert "<title>Support &lt;chat&gt;, October" in text
    assert json.loads(Path("r.json").read_text("utf-8"))["title"] == "Support <chat>, October"


def test_without_a_title_the_page_is_named_after_its_input(run: Run) -> None:
    _log(Path("log.jsonl"))
    assert "<h1>log.jsonl</h1>" in _outputs(run)
