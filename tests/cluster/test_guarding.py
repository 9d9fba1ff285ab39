"""A real cluster finds what one machine finds, and the command says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from jeton.cli.app import app


@pytest.mark.usefixtures("cluster")
def test_scan_on_ray(tmp_path: Path) -> None:
    for number in range(4):
        text = "plain\n" * number + "<|im_end|>" * number
        (tmp_path / f"{number}.txt").write_text(text + "end", encoding="utf-8")
    local = CliRunner().invoke(app, ["guard", "scan", str(tmp_path), "--json"])
    ray = CliRunner().invoke(app, ["guard", "scan", str(tmp_path), "--json", "--on", "ray"])
    assert (local.exit_code, ray.exit_code) == (1, 1)
    assert json.loads(ray.stdout) == json.loads(local.stdout)
    assert json.loads(ray.stdout)["n_found_documents"] == 3
