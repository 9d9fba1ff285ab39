"""Folders and files as hubs, caches and repositories have them: what they load as, and save as."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.formats import read_folder
from jeton.formats.gguf import read_gguf
from tests.cases.places import contains, load_cases, put_files


@pytest.mark.parametrize("case", load_cases("formats"))
def test_case(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_files(tmp_path, case["files"])
    for name, value in case.get("environment", {}).items():
        monkeypatch.setenv(name, value.replace("{here}", str(tmp_path)))
    asked = case.get("load", ".")
    named = asked if case.get("is_name") else str(tmp_path / asked)
    options = case.get("options", {})
    wanted = case["expected"]
    if "error" in wanted:
        with pytest.raises((jeton.JetonError, FileNotFoundError)) as caught:
            jeton.load(named, **options)
        for part in wanted["error"]:
            assert part in str(caught.value)
        return
    tokenizer = jeton.load(named, **options)
    _check(tokenizer, wanted, Path(named))
    for step in case.get("written", ()):
        _write(tokenizer, named, tmp_path / step["to"], step)


def _check(tokenizer: jeton.Tokenizer, wanted: dict[str, Any], place: Path) -> None:
    for text, ids in wanted.get("ids", {}).items():
        assert tokenizer.encode(text, allow_special="all") == ids
    for text, ids in wanted.get("ids_around", {}).items():
        assert tokenizer.encode(text, add_special_tokens=True) == ids
    for text, back in wanted.get("decoded", {}).items():
        assert tokenizer.decode(tokenizer.encode(text, allow_special="all")) == back
    special = {t.content: t.id for t in tokenizer.added_tokens}
    for text, number in wanted.get("added", {}).items():
        assert special.get(text) == number
    for name in ("vocab_size", "name"):
        if name in wanted:
            assert getattr(tokenizer, name) == wanted[name]
    if "special_tokens" in wanted:
        assert tokenizer.special_tokens == wanted["special_tokens"]
    if "notes" in wanted:
        noted = "\n".join(read_folder(place).warnings)
        for part in wanted["notes"]:
            assert part in noted


def _write(tokenizer: jeton.Tokenizer, named: str, target: Path, step: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if step["by"] == "save":
            tokenizer.save(target, lossy=True)
            left: tuple[str, ...] = ()
        else:
            done = jeton.convert(named, target, lossy=True)
            left = done.left_behind
            told = "\n".join(map(str, done.losses))
            for part in step.get("losses", ()):
                assert part in told, told
    for part in step.get("left_behind", ()):
        assert any(part in words for words in left), left
    for name, part in step.get("files", {}).items():
        text = (target / name).read_text(encoding="utf-8")
        assert text == part if isinstance(part, str) else contains(json.loads(text), part), text
    if "metadata" in step:
        assert contains(dict(read_gguf(target).metadata), step["metadata"])
    again = jeton.load(target)
    for text, ids in step.get("decoded", {}).items():
        assert again.decode(ids) == text
    for text, ids in step.get("ids", {}).items():
        assert again.encode(text, allow_special="all") == ids
