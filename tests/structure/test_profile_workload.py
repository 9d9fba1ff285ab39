"""Workload of a profile-guided build: equal text each time, every path of vectors."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from scripts.profile_workload import DOCUMENT_CHARS, PATHS, SCRIPTS, texts

ROOT = Path(__file__).resolve().parents[2]


def test_documents_are_the_same_each_time_and_short() -> None:
    documents = texts()
    assert documents == texts()
    assert len(documents) > 500
    assert all(0 < len(document) <= DOCUMENT_CHARS for document in documents)


def test_every_script_is_there() -> None:
    letters = set("".join(texts()))
    for name, ((first, last), _) in SCRIPTS.items():
        met = sum(chr(letter) in letters for letter in range(first, last + 1))
        assert met > (last - first) * 0.9, name


def test_no_path_of_vector_instructions_is_left_out() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import jeton"],
        env={**os.environ, "JETON_SIMD": "none such"},
        capture_output=True,
        text=True,
        check=True,
    )
    names = re.search(r"expected one of ([\w, ]+)", done.stderr)
    assert names is not None
    assert set(names[1].split(", ")) == set(PATHS)


def test_the_build_runs_it() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    command = settings["tool"]["maturin"]["pgo-command"].split()
    assert (ROOT / command[-1]).is_file()
