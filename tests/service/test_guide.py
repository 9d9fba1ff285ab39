"""docs/guides/service.md and the files of examples/service say what the code does."""

from __future__ import annotations

import configparser
import re
import shlex
import tomllib
from pathlib import Path

from jeton.cli.mcp import mcp
from jeton.cli.serve import serve
from jeton.service.compat import COMPAT
from jeton.service.mirror import read_mirror_plan
from jeton.service.routes import OWN_ROUTES
from jeton.service.settings import ServiceLimits, read_service_fields, settings_from

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "guides" / "service.md").read_text(encoding="utf-8")
FILES = ROOT / "examples" / "service"


def test_the_guide_names_every_route_and_shape() -> None:
    for route in OWN_ROUTES:
        assert f"`{route.path}`" in GUIDE
    for name, routes in COMPAT.items():
        assert f"| `{name}` |" in GUIDE
        for route in routes:
            assert route.path.removeprefix("/v1") in GUIDE


def test_the_guide_names_limits_and_options_that_exist() -> None:
    limits = set(ServiceLimits.__dataclass_fields__)
    named = set(re.findall(r"`((?:max|requests|header|body)_\w+|burst)`", GUIDE))
    assert limits - {"n_workers"} == named & limits
    options = {name for command in (serve, mcp) for item in command.params for name in item.opts}
    known = options | {"--interface"}
    assert set(re.findall(r"--[a-z][a-z-]+", GUIDE)) <= known


def test_the_guide_s_settings_are_read(tmp_path: Path) -> None:
    blocks = re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL)
    assert len(blocks) == 2
    (tmp_path / "keys").write_text("team a-long-secret\n")
    file = tmp_path / "service.toml"
    file.write_text(blocks[0])
    assert settings_from(read_service_fields(file)).limits.requests_per_minute == 6000
    plan = tmp_path / "plan.toml"
    text = blocks[1].replace('key_env = "KEY_OF_B"', "")
    plan.write_text(re.sub(r'"\./(model|domain)"', '"jeton-general-32k"', text))
    assert read_mirror_plan(plan).stages == (1, 10, 50, 100)


def test_the_settings_of_the_container() -> None:
    fields = read_service_fields(FILES / "service.toml")
    assert settings_from(fields).compat == ("vllm", "anthropic", "openai")
    assert tomllib.loads((FILES / "service.toml").read_text(encoding="utf-8"))["port"] == 8777


def test_the_container_file_parses() -> None:
    text = re.sub(r"\\\n\s*", " ", (FILES / "Containerfile").read_text(encoding="utf-8"))
    steps = [line.split(maxsplit=1) for line in text.splitlines() if line and line[0] != "#"]
    words = [word for word, _ in steps]
    assert words[0] == "FROM"
    assert set(words) <= {
        "FROM", "COPY", "RUN", "USER", "ENV", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT",
    }  # fmt: skip
    by_word = dict(steps)
    entry = re.findall(r'"([^"]*)"', by_word["ENTRYPOINT"])
    assert entry[:2] == ["jeton", "serve"]
    assert by_word["USER"] != "root"
    for word, rest in steps:
        if word == "COPY" and not rest.startswith("build/"):
            assert (ROOT / rest.split()[0]).is_file()


def test_the_unit_of_systemd_parses() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(FILES / "jeton.service", encoding="utf-8")
    service = unit["Service"]
    command = shlex.split(service["ExecStart"])
    assert command[1:3] == ["serve", "--config"]
    assert command[0].endswith("/jeton")
    assert service["KillSignal"] == "SIGTERM"
    fields = settings_from(read_service_fields(FILES / "service.toml"))
    assert int(service["TimeoutStopSec"]) > fields.drain_seconds + fields.stop_seconds
    assert "kill -HUP" in service["ExecReload"]
