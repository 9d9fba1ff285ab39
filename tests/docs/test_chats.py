"""docs/guides/chats.md: its roles are those of the code."""

from __future__ import annotations

from jeton.chat import KNOWN_ROLES
from tests.docs.pages import text_of

TEXT = text_of("chats")
BLOCKS = [part.split("```")[0] for part in TEXT.split("```python\n")[1:]]


def test_what_the_page_says_of_roles() -> None:
    assert "`jeton.chat.KNOWN_ROLES`" in TEXT
    assert {"user", "assistant", "system", "tool"} <= KNOWN_ROLES
