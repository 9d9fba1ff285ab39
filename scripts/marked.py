"""Parts of a page that a program writes: what stands between two markers.

The first marker says by which command it is made again: a reader who wants to change the part finds
there what to run instead.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Part"]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a page.

    Attributes:
        name: What the markers call it; once on a page.
        command: What writes it, as one types it; empty: the markers do not tell.
    """

    name: str
    command: str = ""

    @property
    def begin(self) -> str:
        """The line before it."""
        by = f" (written by `{self.command}`)" if self.command else ""
        return f"<!-- {self.name}: begin{by} -->"

    @property
    def end(self) -> str:
        """The line behind it."""
        return f"<!-- {self.name}: end -->"

    def of(self, page: str) -> str:
        """Return the marked part, without the empty lines around it.

        Raises:
            ValueError: The markers are not there, once each and in their order.
        """
        return self._cut(page)[1].strip()

    def replaced(self, page: str, content: str) -> str:
        """The page with this content there.

        Raises:
            ValueError: As ``of``.
        """
        before, _, after = self._cut(page)
        return f"{before}{self.begin}\n\n{content.strip()}\n\n{self.end}{after}"

    def rewrite(self, page: Path, content: str) -> None:
        """Write the page with this content there, whole or not at all.

        Raises:
            ValueError: As ``of``.
        """
        _write(page, self.replaced(page.read_text(encoding="utf-8"), content))

    def update(self, page: Path, content: str, *, check: bool) -> int:
        """Rewrite the part, or with ``check`` say whether it is stale; return the exit code.

        Raises:
            ValueError: As ``of``.
        """
        old = page.read_text(encoding="utf-8")
        new = self.replaced(old, content)
        if new == old:
            return 0
        if check:
            sys.stderr.write(f"error: {page.name} is stale: {self.name}\nhint: {self.command}\n")
            return 1
        _write(page, new)
        return 0

    def _cut(self, page: str) -> tuple[str, str, str]:
        before, begin, rest = page.partition(self.begin)
        content, end, after = rest.partition(self.end)
        if not begin or not end or self.begin in rest or self.end in before + after:
            raise ValueError(
                f"expected one {self.begin!r} and one {self.end!r} behind it\n"
                "hint: put these two lines where the part belongs"
            )
        return before, content, after


def _write(page: Path, text: str) -> None:
    # Here, because scripts.audit_corpora times the import of the package.
    from jeton._files import write_whole

    write_whole(page, text)
