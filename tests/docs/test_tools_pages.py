"""compare.md, show.md and bench.md: options and limits are those of the code."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from jeton.benchmarking.worker import LIBRARIES
from jeton.cli.app import app
from jeton.cli.bench import bench
from jeton.cli.compare import compare
from jeton.cli.show import show
from jeton.comparing.inspecting import MAX_CHARS, MAX_DOCUMENTS, MAX_JSON_BYTES
from tests.docs.pages import text_of

PAGES = {name: text_of(name) for name in ("compare", "show", "bench")}


def test_the_console_shows_what_the_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    (session,) = re.findall(r"```console\n\$ jeton (.*?)\n(.*?)```", PAGES["show"], re.DOTALL)
    monkeypatch.setenv("COLUMNS", "100")
    result = CliRunner().invoke(app, shlex.split(session[0]))
    assert result.exit_code == 0, result.stderr
    assert result.stdout == session[1]


@pytest.mark.parametrize(
    ("name", "command"), [("compare", compare), ("show", show), ("bench", bench)]
)
def test_the_page_names_only_options_that_exist(name: str, command: Callable[..., None]) -> None:
    known = {
        option
        for parameter in command.params  # type: ignore[attr-defined]
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert set(re.findall(r"--[a-z][a-z-]+", PAGES[name])) <= known


def test_the_limits_are_those_of_the_code() -> None:
    page = " ".join(PAGES["show"].split())
    assert f"at most {MAX_DOCUMENTS} documents" in page
    assert f"longer than {MAX_CHARS:,} characters" in page
    assert f"take {MAX_JSON_BYTES / 1e6:.1f} MB" in page


def test_all_libraries_are_named() -> None:
    for library in LIBRARIES:
        assert library in PAGES["bench"].lower()
