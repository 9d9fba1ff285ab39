"""Files are written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jeton._files import write_whole


def test_text_is_utf8_with_its_own_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_whole(path, "ä\r\nb\n")
    assert path.read_bytes() == b"\xc3\xa4\r\nb\n"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_accepts_plain_paths_and_bytes(tmp_path: Path) -> None:
    write_whole(str(tmp_path / "a"), b"\x00\xff")
    assert (tmp_path / "a").read_bytes() == b"\x00\xff"


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if step == "write":
        real = os.fdopen

        def fdopen(*args: Any, **kwargs: Any) -> Any:
            stream = real(*args, **kwargs)

            class Full:
                def __enter__(self) -> Full:
                    return self

                def __exit__(self, *_: object) -> None:
                    stream.close()

                write = full

            return Full()

        monkeypatch.setattr(os, "fdopen", fdopen)
    elif step == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(path, "new")
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["report.json"]


def test_a_real_full_file_system(tmp_path: Path) -> None:
    # A limit on the size of files is what an ordinary user can set; it fails in write(2) too.
    code = (
        "import resource, signal, sys\n"
        "from jeton._files import write_whole\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try:\n    write_whole(sys.argv[1], b'x' * 100_000)\n"
        "except OSError as error:\n    sys.exit(0 if error.filename == sys.argv[1] else 3)\n"
        "sys.exit(4)\n"
    )
    path = tmp_path / "big"
    result = subprocess.run([sys.executable, "-B", "-c", code, str(path)], check=False)
    assert result.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_text("old")

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none" / "a"
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(path, "x")
    assert caught.value.filename == str(path)


def test_lone_surrogates_touch_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_whole(tmp_path / "a", "\ud800")
    assert list(tmp_path.iterdir()) == []


def test_permissions_of_old_and_new_files(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("x")
    old.chmod(0o640)
    mask = os.umask(0o027)
    try:
        write_whole(old, "y")
        write_whole(new, "y")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert stat.S_IMODE(new.stat().st_mode) == 0o640  # 0o666 less the mask


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder" / "target"
    target.write_text("old")
    link = tmp_path / "link"
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_devices_are_written_to() -> None:
    write_whole("/dev/null", "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
