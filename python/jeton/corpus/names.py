"""Names that become small numbers: models and domains of a log."""

from __future__ import annotations

from typing import Final

OTHER: Final = "(other)"
"""Name under which names beyond the limit are counted."""

MAX_NAMES: Final = 1_000
"""Different names kept: more is an identifier in the place of a name, and no table shows it."""

MAX_NAME_CHARS: Final = 200
"""Characters of a name that are kept."""


def printable(text: str) -> str:
    """Text of a log as it may be shown: a terminal's control characters and lone surrogates go."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


class Names:
    """Gives each name a number, in the order in which they are met."""

    def __init__(self, *, max_names: int = MAX_NAMES) -> None:
        self.names: list[str] = []
        """The names by number."""
        self._numbers: dict[str, int] = {}
        self._max_names = max_names

    def number(self, name: str) -> tuple[int, bool]:
        """The number of a name, and whether the name was kept (else it is counted as other)."""
        number = self._numbers.get(name)
        if number is not None:
            return number, True
        name = printable(name[:MAX_NAME_CHARS])
        number = self._numbers.get(name)
        if number is not None:
            return number, True
        if len(self.names) >= self._max_names and name != OTHER:
            return self.number_of_other(), False
        self._numbers[name] = len(self.names)
        self.names.append(name)
        return len(self.names) - 1, True

    def number_of_other(self) -> int:
        """The number that stands for all names beyond the limit."""
        return self.number(OTHER)[0]
