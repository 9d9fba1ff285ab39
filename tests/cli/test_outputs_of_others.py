"""Outputs that cannot be: a folder of another user, the address of an object store."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

_DROP = 24
"""PR_CAPBSET_DROP of prctl(2)."""

_PASSES_PERMISSIONS = (1, 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: permissions do not hold for who has them."""

COMMANDS = {
    "tokenize": ["-t", "jeton-general-32k", "-o", "{folder}"],
    "tokenize to a new folder": ["-t", "jeton-general-32k", "-o", "{folder}/new"],
    "chunk": ["-t", "jeton-general-32k", "--max-tokens", "9", "-o", "{folder}/c.jsonl"],
    "preprocess to an empty folder": [
        *("-t", "jeton-general-32k", "--steps", "whitespace", "-o", "{folder}")
    ],
    "preprocess": ["-t", "jeton-general-32k", "--steps", "boilerplate", "-o", "{folder}"],
    "preprocess to a new folder": [
        *("-t", "jeton-general-32k", "--steps", "whitespace", "-o", "{folder}/new")
    ],
    "count-pretokens": ["-o", "{folder}/a.counts"],
    "train into it": ["--vocab-size", "300", "-o", "{folder}"],
    "audit": ["-t", "jeton-general-32k", "--html", "{folder}/a.html"],
}


def _as_another_user() -> None:
    """Root becomes a user for whom permissions hold; for others nothing changes."""
    for capability in _PASSES_PERMISSIONS:
        ctypes.CDLL(None).prctl(_DROP, capability, 0, 0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="root gives up its rights as Linux does it")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_folder_of_another_user(tmp_path: Path, name: str) -> None:
    place = tmp_path / "place"
    place.mkdir()
    # The first document is no JSON: who reads it before the folder tells of that.
    source = place / "a.jsonl"
    source.write_text("{no record\n" * 10)
    folder = place / "theirs"
    folder.mkdir()
    kept = [] if "empty" in name else ["kept"]
    for file in kept:
        (folder / file).touch()
    folder.chmod(0o555)
    before = folder.stat()
    command = [sys.executable, "-m", "jeton", name.split()[0], str(source)]
    command += [argument.format(folder=folder) for argument in COMMANDS[name]]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, preexec_fn=_as_another_user
        )
    finally:
        folder.chmod(0o755)
    assert done.returncode == 2, done.stderr
    assert "permission denied\nhint: look at the permissions" in done.stderr
    assert str(folder) in done.stderr
    assert "Traceback" not in done.stderr
    assert folder.stat().st_ino == before.st_ino
    assert sorted(path.name for path in place.iterdir()) == ["a.jsonl", "theirs"]
    assert [path.name for path in folder.iterdir()] == kept


ADDRESSES: dict[str, list[str]] = {
    "tokenize": ["-t", "small", "-o", "s3://bucket/o"],
    "chunk": ["-t", "small", "--max-tokens", "9", "-o", "s3://bucket/o.jsonl"],
    "preprocess": ["-t", "small", "--steps", "whitespace", "-o", "s3://bucket/o"],
    "preprocess, its report": [
        *("-t", "small", "--steps", "whitespace", "-o", "new", "--report", "s3://bucket/o")
    ],
    "count-pretokens": ["-o", "s3://bucket/o"],
    "train": ["--vocab-size", "300", "-o", "s3://bucket/o"],
    "audit": ["-t", "small", "--json", "s3://bucket/o"],
    "audit, its gate": ["-t", "small", "--gate-json", "s3://bucket/o"],
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address_is_no_output(run: Callable[..., Result], name: str) -> None:
    Path("a.txt").write_text("one boat")
    done = run(name.split(",")[0], "a.txt", *ADDRESSES[name])
    assert done.exit_code == 2
    assert " s3://bucket/o" in done.stderr
    assert " is an address; " in done.stderr
    assert "hint: " in done.stderr
    assert "copy it when the command has ended" in done.stderr
    assert [path.name for path in Path().iterdir()] == ["a.txt"]
