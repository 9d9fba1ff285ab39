"""Right values of the core, one file a case.

A case has the files that it needs, and calls of the tokenizer or commands with what comes of them.
"""

from __future__ import annotations

import builtins
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import jeton
from jeton import errors
from jeton.chat import ChatTemplate, encode_chat
from jeton.cli.app import app

CASES = sorted((Path(__file__).parent / "core").glob("*.json"))
VOCAB = Path(os.environ.get("JETON_VOCAB_DIR", "../shared/data/vocab"))


def _case(path: Path) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return case


def _written(case: dict[str, Any], folder: Path) -> Path:
    """The files of a case in a folder; texts may repeat a piece many times."""
    for name, content in case.get("files", {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            path.mkdir()
        elif isinstance(content, dict) and set(content) == {"repeat", "times"}:
            path.write_text(content["repeat"] * content["times"], encoding="utf-8")
        elif isinstance(content, dict) and set(content) == {"lines", "times"}:
            lines = (content["lines"].format(i) for i in range(content["times"]))
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        elif isinstance(content, dict) and set(content) == {"parts"}:
            path.write_text("".join(map(_expanded, content["parts"])), encoding="utf-8")
        elif isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        else:
            path.write_text(json.dumps(_expanded(content)), encoding="utf-8")
    return folder


def _expanded(value: Any) -> Any:
    """A JSON value in which ``{"repeat": x, "times": n}`` is the piece or the item so often."""
    if isinstance(value, dict):
        if set(value) == {"repeat", "times"}:
            piece = _expanded(value["repeat"])
            return piece * value["times"] if isinstance(piece, str) else [piece] * value["times"]
        return {key: _expanded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_expanded(item) for item in value]
    return value


def _plain(value: Any) -> Any:
    """A result as JSON has it; bytes as hexadecimal digits."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def _argument(value: Any) -> Any:
    value = _expanded(value)
    if isinstance(value, dict) and set(value) == {"hex"}:
        return bytes.fromhex(value["hex"])
    return value


def _of(case: dict[str, Any], folder: Path) -> jeton.Tokenizer:
    name = case["tokenizer"]
    if (folder / name).exists():
        return jeton.load(folder / name, **case.get("load_options", {}))
    if name == ".":
        return jeton.load(folder)
    if (VOCAB / name).exists():
        return jeton.load(VOCAB / name)
    if case.get("needs_vocab"):
        pytest.skip(f"{name} is not among the shared vocabularies")
    return jeton.load(name)


def _result(tok: jeton.Tokenizer, call: dict[str, Any], folder: Path) -> Any:
    arguments = [_argument(item) for item in call.get("args", [])]
    keywords = {key: _argument(item) for key, item in call.get("kwargs", {}).items()}
    method = call["call"]
    if method == "measure":
        stats = tok.measure(arguments[0])
        return {
            "failures": stats.n_round_trip_failures,
            "normalized": stats.n_normalized_documents,
            "unreturned": stats.n_unreturned_documents,
            "causes": {cause: n for cause, n in stats.unreturned_by_cause.items() if n},
        }
    if method == "encode_chat":
        template = ChatTemplate.from_folder(folder, is_trusted=True)
        chat = encode_chat(arguments[0], tokenizer=tok, template=template)
        return {"ids": chat.ids.tolist(), "look_alikes": [look.token for look in chat.look_alikes]}
    found = getattr(tok, method)
    return found(*arguments, **keywords) if callable(found) else found


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path, tmp_path: Path) -> None:
    case = _case(path)
    folder = _written(case, tmp_path)
    if "load_raises" in case:
        with pytest.raises(getattr(errors, case["load_raises"])) as raised:
            jeton.load(folder / case["tokenizer"], **case.get("load_options", {}))
        for words in case.get("says", []):
            assert words in str(raised.value)
        return
    if "tokenizer" in case:
        tok = _of(case, folder)
        for call in case["calls"]:
            if "raises" in call:
                kind = getattr(errors, call["raises"], None) or getattr(builtins, call["raises"])
                with pytest.raises(kind) as raised:
                    _result(tok, call, folder)
                for words in call.get("says", []):
                    assert words in str(raised.value)
                continue
            assert _plain(_result(tok, call, folder)) == call["expected"], call
    for command in case.get("commands", []):
        _check_command(command, folder)


def _check_command(command: dict[str, Any], folder: Path) -> None:
    arguments = [word.replace("{folder}", str(folder)) for word in command["args"]]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == command["exit"], done.stderr
    assert "internal error" not in done.stderr
    assert "Traceback" not in done.stderr
    for words in command.get("stderr_has", []):
        assert words in done.stderr
    for words in command.get("stdout_has", []):
        assert words in done.stdout
    if command.get("json"):
        json.loads(done.stdout, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
