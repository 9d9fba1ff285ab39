"""Remedies that change a vocabulary name commands that exist."""

from __future__ import annotations

import re
import shlex

import pytest
from click.testing import CliRunner

from jeton.auditing.checks.candidates import extend_commands, prune_commands
from jeton.cli.adapt import adapt


@pytest.mark.parametrize("sentence", [extend_commands("my model/t"), prune_commands("cl100k_base")])
def test_the_commands_and_their_options_exist(sentence: str) -> None:
    commands = re.findall(r"`jeton adapt ([^`]+)`", sentence)
    assert len(commands) >= 2
    for command in commands:
        name, *words = shlex.split(command)
        said = CliRunner().invoke(adapt, [name, "--help"])
        assert said.exit_code == 0, said.output
        for option in (word for word in words if word.startswith("-")):
            assert re.search(rf"(?<![-\w]){option}\b", said.output), (name, option)


def test_a_name_with_spaces_is_quoted() -> None:
    assert "-t 'my model/t'" in extend_commands("my model/t")
