"""Model folders that are ill or healthy, as people report them: what doctor says of each."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton._core import from_canonical
from jeton.adapt import CHANGE_FILE, VocabularyChange
from jeton.checkpoint.adapted import MARK
from jeton.doctor import diagnose
from jeton.findings import Severity
from jeton.formats.model_settings import ModelSettings, settings_of
from jeton.formats.saving import write_files
from jeton.formats.writing import find_target
from tests.cases.places import load_cases, put_files
from tests.doctor import ward


@pytest.mark.parametrize("case", load_cases("doctor"))
def test_case(case: dict[str, Any], tmp_path: Path) -> None:
    folder = put_files(tmp_path / "model", case["files"])
    if "rows" in case:
        matrices = {
            "model.embed_tokens.weight": ward.matrix(case["rows"]),
            "lm_head.weight": ward.matrix(case["rows"], seed=2),
        }
        for name, n_rows in case.get("tables", {}).items():
            matrices[name] = ward.matrix(n_rows, seed=3)
        (folder / "model.safetensors").write_bytes(ward.safetensors(matrices))
    if "change" in case:
        change = _change(folder, **case["change"])
        (folder / CHANGE_FILE).write_text(change.to_json())
        if case.get("is_applied"):
            mark = {MARK: change.new_fingerprint}
            (folder / "model.safetensors").write_bytes(ward.safetensors(matrices, metadata=mark))
    file = tmp_path / "model" / case.get("gguf_at", "../model.gguf")
    if "gguf" in case:
        _gguf(folder, file, case["gguf"])
    subject, against = {
        "folder": (folder, None),
        "gguf": (file, folder),
        "folder-gguf": (folder, file),
    }[case.get("subject", "folder")]
    found = diagnose(subject, against=against, task=case.get("task"))
    wanted = case["expected"]
    by_id: dict[str, list[str]] = {}
    for finding in found.findings:
        by_id.setdefault(finding.id, []).append(f"{finding.title} [{finding.where}]")
    for name, parts in wanted.get("found", {}).items():
        assert name in by_id, by_id
        words = "\n".join(by_id[name])
        assert all(part in words for part in parts), words
    for name in wanted.get("not_found", ()):
        assert name not in by_id, by_id
    is_ill = bool(found.worse_than(Severity.WARNING))
    if "exit_code" in wanted:
        assert int(is_ill) == wanted["exit_code"], by_id


def _change(folder: Path, *, n_old_ids: int, n_new_ids: int, leads_here: bool) -> VocabularyChange:
    """A change that keeps the first ids, and adds or drops those behind them."""
    kept = np.arange(n_new_ids)
    kept[n_old_ids:] = -1
    n_added = max(0, n_new_ids - n_old_ids)
    return VocabularyChange(
        old_fingerprint="0" * 64,
        new_fingerprint=jeton.load(folder).fingerprint if leads_here else "1" * 64,
        n_old_ids=n_old_ids,
        old_of=kept,
        holes=np.zeros(0, np.int64),
        added_ids=np.arange(n_new_ids - n_added, n_new_ids),
        offsets=np.zeros(n_added + 1, np.int64),
        parts=np.zeros(0, np.int64),
        part_bytes=np.zeros(0, np.int64),
    )


def _gguf(folder: Path, file: Path, changes: dict[str, Any]) -> None:
    """The GGUF file that Jeton makes of the folder, with changes."""
    source = jeton.load(folder)
    settings = settings_of(source) or ModelSettings()
    if "without" in changes:
        tree = json.loads(source.to_canonical())
        gone = set(changes["without"])
        tree["added_tokens"] = [t for t in tree["added_tokens"] if t["content"] not in gone]
        source = from_canonical(json.dumps(tree).encode())
    told = {key: changes[key] for key in ("roles", "chat_template") if key in changes}
    with warnings.catch_warnings():
        # What is put around pairs is lost, which is not looked at here.
        warnings.simplefilter("ignore")
        write_files(source, find_target(file), lossy=True, settings=replace(settings, **told))
