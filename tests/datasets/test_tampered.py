"""Whatever happens to the files of a data set, it is a fault with a place or a clear error."""

from __future__ import annotations

import json
import random
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import jeton
from jeton.cli.app import app
from jeton.errors import JetonError

FORMATS = ["megatron", "numpy", "parquet", "arrow", "mds", "litdata", "datatrove", "nanochat"]
TEXTS = [f"Boat {i} left the pier. " * (i % 5 + 1) for i in range(12)]


@pytest.fixture(scope="module", params=FORMATS)
def made(request: Any, tmp_path_factory: Any) -> Path:
    folder: Path = tmp_path_factory.mktemp("tampered") / "set"
    jeton.tokenize_dataset(
        iter(TEXTS),
        tokenizer="jeton-general-32k",
        output=folder,
        format=request.param,
        append_eos=True,
        shard_tokens=150,
    )
    return folder


def copied(made: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(made, target)
    return target


def is_noticed(folder: Path) -> bool:
    """True if verifying finds a fault, or says what cannot be read."""
    try:
        return not jeton.verify_dataset(folder).is_fine
    except (JetonError, OSError):
        return True


def test_bytes_that_change_are_noticed(made: Path, tmp_path: Path) -> None:
    draw = random.Random(3)
    manifest = json.loads((made / "manifest.json").read_text(encoding="utf-8"))
    names = [file["name"] for shard in manifest["shards"] for file in shard["files"]]
    assert names
    for trial in range(16):
        folder = copied(made, tmp_path / "t")
        path = folder / draw.choice(names)
        data = bytearray(path.read_bytes())
        what = trial % 4
        if what == 0:
            data = data[: draw.randrange(len(data))]
        elif what == 1:
            data += bytes(draw.randrange(1, 9))
        else:
            # Headers are short: most damage to them is done here.
            for _ in range(what):
                place = draw.randrange(min(len(data), draw.choice([40, len(data)])))
                data[place] ^= draw.randrange(1, 256)
        path.write_bytes(data)
        assert is_noticed(folder), (path.name, trial)
        with suppress(JetonError, OSError):
            jeton.transcode_dataset(folder, output=tmp_path / f"o{trial}", format="megatron")


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, inner in items:
        found.append((*path, key))
        if isinstance(inner, dict | list):
            found += leaves(inner, (*path, key))
    return found


def test_a_manifest_that_lies_is_no_internal_error(made: Path, tmp_path: Path) -> None:
    fields = json.loads((made / "manifest.json").read_text(encoding="utf-8"))
    draw = random.Random(4)
    places = leaves(fields)
    for number, place in enumerate(draw.sample(places, 16)):
        folder = copied(made, tmp_path / "t")
        changed = json.loads(json.dumps(fields))
        inner = changed
        for key in place[:-1]:
            inner = inner[key]
        value: Any = draw.choice([None, "banana", -1, 2**70, [], {}, 0.5])
        if value is None and draw.random() < 0.5:
            del inner[place[-1]]
        else:
            inner[place[-1]] = value
        (folder / "manifest.json").write_text(json.dumps(changed), encoding="utf-8")
        with suppress(JetonError, OSError):
            jeton.verify_dataset(folder)
        with suppress(JetonError, OSError):
            jeton.transcode_dataset(folder, output=tmp_path / f"o{number}", format="megatron")


def test_a_data_set_that_is_not_there(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "nowhere", "there is no data set at"),
        (tmp_path, "has neither a manifest.json nor files that end with .idx"),
    ):
        with pytest.raises(FileNotFoundError, match=message):
            jeton.transcode_dataset(path, output=tmp_path / "o", format="mds")


def test_what_a_copy_says(made: Path, tmp_path: Path) -> None:
    words = ["tokenize", "--transcode", str(made), "--format", "numpy", "-o", str(tmp_path / "o")]
    result = CliRunner().invoke(app, words)
    if "nanochat" in (made / "manifest.json").read_text(encoding="utf-8"):
        assert result.exit_code == 2
        assert "files for nanochat hold text, no ids" in result.output
        return
    assert result.exit_code == 0, result.output
    assert "documents keep their ids" in result.stderr
    result = CliRunner().invoke(app, [*words[:-1], str(tmp_path / "o" / "manifest.json")])
    assert result.exit_code == 2
    assert "is a file; expected a folder" in result.output
