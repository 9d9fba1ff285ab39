"""Chat templates as a case has them: the same text in the child process and in this one."""

from __future__ import annotations

from typing import Any

import pytest

from jeton.chat import ChatTemplate
from jeton.errors import TemplateError
from tests.cases.places import load_cases


@pytest.mark.parametrize("is_trusted", [False, True], ids=["isolated", "here"])
@pytest.mark.parametrize("case", load_cases("chat"))
def test_case(case: dict[str, Any], is_trusted: bool) -> None:
    template = ChatTemplate.from_source(case["template"], is_trusted=is_trusted)
    arguments = case.get("arguments", {})
    wanted = case["expected"]
    if "error" in wanted:
        with pytest.raises(TemplateError) as caught:
            template.render(case["messages"], **arguments)
        for part in wanted["error"]:
            assert part in str(caught.value)
        return
    assert template.render(case["messages"], **arguments).text == wanted["text"]
