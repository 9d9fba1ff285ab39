"""The release: two builds are compared member by member; the page says what is missing."""

from __future__ import annotations

import zipfile
from pathlib import Path

from scripts.release import RELEASE, WANTED, differences
from tests.docs.pages import DOCS


def wheel(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return path


def test_two_builds_are_compared_member_by_member(tmp_path: Path) -> None:
    one = wheel(tmp_path / "one.whl", a="1", b="2")
    assert differences(one, wheel(tmp_path / "two.whl", a="1", b="2")) == []
    assert differences(one, wheel(tmp_path / "three.whl", a="1", b="3", c="")) == ["b", "c"]
    (tmp_path / "four.whl").write_bytes(one.read_bytes() + b" ")
    assert "archive" in differences(one, tmp_path / "four.whl")[0]


def test_the_page_names_what_was_not_made() -> None:
    part = RELEASE.of((DOCS / "reference" / "release.md").read_text(encoding="utf-8"))
    made = [line for line in part.splitlines() if line.startswith("| `jeton-")]
    assert made
    for version in WANTED:
        tag = f"-cp{version.replace('.', '').removesuffix('t')}-"
        assert any(tag in line for line in made) or f"CPython {version}:" in part
