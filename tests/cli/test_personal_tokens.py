"""``jeton train`` and ``jeton adapt extend`` tell the mail addresses and keys that they learned."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

Run = Callable[..., Result]

MAIL = "jane.doe@example.org"
KEY = "AKIAIOSFODNN7EXAMPLE"


def test_tokens_that_belong_to_somebody(run: Run) -> None:
    Path("a.txt").write_text(f"write to {MAIL} with {KEY} today\n" * 40)
    words = ("train", "a.txt", "--vocab-size", "400", "--pattern", r"\S+|\s+")
    result = run(*words, "-o", "t.json", "--json")
    assert result.exit_code == 0, result.stderr
    told = {one["text"]: one["form"] for one in json.loads(result.stdout)["personal_tokens"]}
    assert told.items() >= {MAIL: "a mail address", KEY: "a key"}.items()
    assert "tokens may be personal or secret" in result.stderr
    assert f"{MAIL!r} in the form of a mail address" in result.stderr
    assert "personal" not in run(*words, "-o", "u.json", "--quiet").stderr
    plain = run("train", "a.txt", "--vocab-size", "300", "-o", "v.json")
    assert "personal" not in plain.stderr


def test_an_extension(run: Run) -> None:
    Path("base.txt").write_text("the lowest newest widest town\n" * 40)
    Path("a.txt").write_text(f"write to {MAIL} today\n" * 40)
    run("train", "base.txt", "--vocab-size", "300", "--pattern", r"\S+|\s+", "-o", "t.json")
    result = run("adapt", "extend", "t.json", "a.txt", "--add", "60", "-o", "x.json")
    assert result.exit_code in (0, 1), result.stderr
    assert "may be personal or secret" in result.stderr
    assert f"{MAIL!r} in the form" in result.stderr
