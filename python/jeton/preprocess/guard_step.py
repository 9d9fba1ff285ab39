"""The guard as a step: texts leave it as a policy says, and a text that it rejects ends the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jeton.guard import Fixer, Policy
from jeton.preprocess.steps import BaseStep, LossClass

if TYPE_CHECKING:
    from jeton._core import Tokenizer


class GuardStep(BaseStep):
    """Makes hidden text and special-token look-alikes harmless, as its policy says.

    Raises:
        GuardRejected: In ``apply``, for a text that the policy rejects.
    """

    __slots__ = ("_fixer",)

    name: Final = "guard"
    loss_class: LossClass = "content"

    def __init__(self, policy: str | Policy, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._fixer = Fixer(policy, tokenizer=tokenizer)

    def apply(self, text: str) -> str:
        """Return the text as the policy leaves it."""
        before = sum(self._fixer.tally.changes.values())
        fixed = self._fixer.fix(text)
        if sum(self._fixer.tally.changes.values()) > before:
            self.note("changed by the policy")
        return fixed
