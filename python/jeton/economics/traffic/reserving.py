"""How many tokens a request is given memory for when it is admitted: what the policy says."""

from __future__ import annotations

from jeton.economics.prediction import OutputLengths
from jeton.economics.traffic.outcome import Outcome
from jeton.economics.traffic.policies import Policy
from jeton.economics.traffic.pool import PageBytes

__all__ = ["Reservations"]


class Reservations:
    """The policy at work; predictions that were acted on are noted in the outcome.

    Attributes:
        fixed: Tokens that each request is reserved; 0: what it needs, or is foreseen to.
        are_bare: True if a request is given memory for its prompt alone.
    """

    __slots__ = ("_budget", "_out", "_pages", "_predictor", "are_bare", "fixed")

    def __init__(
        self, policy: Policy, *, longest: int, pages: PageBytes, budget_bytes: int, out: Outcome
    ) -> None:
        self.fixed = (policy.reserved_tokens or longest) if policy.name == "static" else 0
        self.are_bare = policy.name == "dynamic"
        self._predictor = (
            OutputLengths(coverage=policy.quantile) if policy.name == "prediction" else None
        )
        self._pages, self._budget, self._out = pages, budget_bytes, out

    def tokens(self, prompt: int, output: int, given: int) -> int:
        """Tokens to reserve for a request that has been given some of its output before."""
        if self.fixed:
            return self.fixed
        if self._predictor is not None:
            predicted = self._predictor.upper(prompt)
            if predicted is not None:
                if not given:
                    self._out.predicted.append(predicted)
                    self._out.predicted_actual.append(output)
                wanted = prompt + max(predicted - 1, given)
                if self._pages.of(wanted) <= self._budget:
                    return wanted
        return prompt + given

    def take_back(self, given: int) -> None:
        """There was no room: it is predicted anew when there is, and only that counts."""
        if self._predictor is not None and not given and self._out.predicted:
            self._out.predicted.pop()
            self._out.predicted_actual.pop()

    def learn(self, prompt: int, output: int) -> None:
        """Take a finished request into the history."""
        if self._predictor is not None:
            self._predictor.learn(prompt, output)
