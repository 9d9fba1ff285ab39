"""Protocol of the steps, their classes of loss, and their settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from jeton.errors import UsageError
from jeton.guard.policy import Policy

LossClass: TypeAlias = Literal["lossless", "whitespace", "markup", "content"]

LOSS_CLASSES: Final[dict[LossClass, str]] = {
    "lossless": "the step has an inverse: values come back equal, numbers as they were written",
    "whitespace": "only white space, invisible characters and canonically equal spellings change",
    "markup": "mark-up is dropped, the text that a page shows stays",
    "content": "text is dropped or rewritten",
}
"""Classes of loss from the mildest to the worst, with their meaning."""


@dataclass(frozen=True, slots=True)
class PreprocessOptions:
    """Settings of the steps.

    Attributes:
        hard_breaks: ``"keep"``: two spaces at the end of a Markdown line stay; ``"drop"``.
        html: Library that reads pages: ``"markdownify"``, ``"trafilatura"`` or ``"html2text"``.
        boilerplate_share: Share of the documents from which on a line is boilerplate, 0 to 1.
        boilerplate_documents: Documents that it must stand in at least.
        boilerplate_max_lines: Different lines whose counts are held in memory.
        significant_digits: Digits that the step ``numbers`` leaves of a number with a fraction.
        guard_policy: Policy of the step ``guard``: its name, a file, or a ``jeton.guard.Policy``.
    """

    hard_breaks: Literal["keep", "drop"] = "keep"
    html: Literal["markdownify", "trafilatura", "html2text"] = "markdownify"
    boilerplate_share: float = 0.1
    boilerplate_documents: int = 5
    boilerplate_max_lines: int = 1_000_000
    significant_digits: int = 4
    guard_policy: str | Policy = "default"

    def __post_init__(self) -> None:
        if self.hard_breaks not in ("keep", "drop"):
            raise UsageError(f"hard_breaks is {self.hard_breaks!r}; expected 'keep' or 'drop'")
        if self.html not in ("markdownify", "trafilatura", "html2text"):
            raise UsageError(
                f"html is {self.html!r}; expected 'markdownify', 'trafilatura' or 'html2text'"
            )
        if not 0 < self.boilerplate_share <= 1:
            raise UsageError(
                f"boilerplate_share is {self.boilerplate_share}; expected above 0 and at most 1"
            )
        for name, value in (
            ("boilerplate_documents", self.boilerplate_documents),
            ("boilerplate_max_lines", self.boilerplate_max_lines),
            ("significant_digits", self.significant_digits),
        ):
            least = 2 if name == "boilerplate_documents" else 1
            if value < least:
                raise UsageError(f"{name} is {value}; expected at least {least}")


class TextStep(Protocol):
    """One change of documents."""

    @property
    def name(self) -> str:
        """As it is asked for."""

    @property
    def loss_class(self) -> LossClass:
        """Worst thing that it may do to a text."""

    @property
    def outcomes(self) -> dict[str, int]:
        """Documents by what the step did to them, in words: "as CSV", "nested too deeply"."""

    def apply(self, text: str) -> str:
        """Return the changed text."""

    def observe(self, text: str) -> None:
        """Look at a document of the first pass; only steps that want one use it."""

    @property
    def wants_first_pass(self) -> bool:
        """True if all documents have to be seen before the first is changed."""

    def readable(self, text: str) -> str:
        """Return the text in which losses are looked for: a page's visible text, say."""


class BaseStep:
    """Defaults of a step that looks at one document at a time."""

    __slots__ = ("outcomes",)

    def __init__(self) -> None:
        self.outcomes: dict[str, int] = {}

    def observe(self, text: str) -> None:
        """See ``TextStep``."""

    @property
    def wants_first_pass(self) -> bool:
        """See ``TextStep``."""
        return False

    def readable(self, text: str) -> str:
        """See ``TextStep``."""
        return text

    def note(self, outcome: str) -> None:
        """Count a document under what was done to it."""
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
