"""Every level of vector instructions gives the same ids; each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

TEXTS = [
    "it's 12:30, we'll see; don't!",
    "\tif x:\n\t\treturn  {'a': 1}\n\n    # tail  ",
    "naïve café — “quoted” 1234567 “x”",
    "今日は良い天気ですね。 Привет, мир! สวัสดี नमस्ते",
    "HelloWorld HTTPServer's CamelCASE'll " * 40,
    " " * 200 + "x" + "\n" * 70 + "'" * 65,
]
PROGRAM = """
import json, sys, warnings
warnings.simplefilter("error")
import jeton
tokenizer = jeton.load("jeton-general-32k")
texts = json.load(sys.stdin)
# Vector instructions are used from 32 KiB of text on.
ids = [tokenizer.encode(text) for text in texts * (1 + 40_000 // sum(map(len, texts)))]
assert ids[: len(texts)] == ids[-len(texts) :]
print(json.dumps(ids[-len(texts) :]))
"""


def _run(level: str | None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "JETON_SIMD"}
    if level is not None:
        environment["JETON_SIMD"] = level
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(TEXTS),
        env=environment,
        text=True,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("level", ["portable", "avx2", "avx512"])
def test_every_level_gives_the_same_ids(level: str) -> None:
    expected = _run(None)
    found = _run(level)
    assert (expected.returncode, found.returncode) == (0, 0), found.stderr
    assert json.loads(found.stdout) == json.loads(expected.stdout)


def test_an_unknown_level_is_said() -> None:
    found = _run("sse9")
    assert found.returncode != 0
    assert 'JETON_SIMD is "sse9" and has no effect' in found.stderr
    assert "portable, avx2, avx512" in found.stderr
