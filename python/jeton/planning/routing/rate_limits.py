"""Limits of requests and tokens a minute, as buckets that refill steadily."""

from __future__ import annotations

_MINUTE_S = 60.0


class RateLimit:
    """Room that an endpoint has left.

    A full bucket holds one minute's worth. Constant time; a clock that runs backwards refills
    nothing.

    Args:
        requests_per_minute: Requests of a minute; None: no limit.
        tokens_per_minute: Tokens of a minute; None: no limit.
    """

    __slots__ = ("_last_s", "_requests", "_requests_left", "_tokens", "_tokens_left")

    def __init__(self, requests_per_minute: int | None, tokens_per_minute: int | None) -> None:
        self._requests = requests_per_minute
        self._tokens = tokens_per_minute
        self._requests_left = float(requests_per_minute or 0)
        self._tokens_left = float(tokens_per_minute or 0)
        self._last_s = float("-inf")

    def has_room(self, n_tokens: float, now_s: float) -> bool:
        """True if a request of so many tokens may be sent now."""
        self._refill(now_s)
        if self._requests is not None and self._requests_left < 1:
            return False
        return self._tokens is None or self._tokens_left >= min(n_tokens, self._tokens)

    def take(self, n_tokens: float, now_s: float) -> None:
        """Note that a request was sent."""
        self._refill(now_s)
        self._requests_left -= 1
        self._tokens_left -= n_tokens

    def _refill(self, now_s: float) -> None:
        passed = now_s - self._last_s
        if passed <= 0:
            return
        self._last_s = now_s
        if self._requests is not None:
            self._requests_left = min(
                self._requests, self._requests_left + passed / _MINUTE_S * self._requests
            )
        if self._tokens is not None:
            self._tokens_left = min(
                self._tokens, self._tokens_left + passed / _MINUTE_S * self._tokens
            )
