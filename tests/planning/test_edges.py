"""Routing and prediction where a number is unknown, too large, or too old."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from jeton.planning.prediction import outputs, read_history
from jeton.planning.routing.conversations import RateLimit
from jeton.planning.routing.policy import RoutingWeights, Weighed, least_sum


def test_a_request_above_a_whole_minute_passes_when_the_bucket_is_full() -> None:
    bucket = RateLimit(None, 1000)
    assert bucket.has_room(5000, 0.0)
    bucket.take(5000, 0.0)
    assert not bucket.has_room(1, 60.0)
    # Four minutes pay the debt back, a fifth fills it.
    assert not bucket.has_room(1000, 240.0)
    assert bucket.has_room(5000, 300.0)


@dataclass
class _Lane:
    """An endpoint whose time is known or not."""

    place: int
    time: float

    def seconds(self, *_: Any) -> float:
        return self.time


class _Timed(Weighed):
    def seconds(self) -> float:
        return cast(_Lane, self.lane).time


def _weighed(place: int, seconds: float, quality: float | None = 1.0, usd: float = 1.0) -> Weighed:
    lane = cast(Any, _Lane(place, seconds))
    return _Timed(lane, 10, 0, 5.0, 0, usd, usd, quality, True)


@pytest.mark.parametrize("unknown_first", [True, False])
def test_unknown_counts_as_the_worst_that_is_known(unknown_first: bool) -> None:
    weights = RoutingWeights(cost=1.0, latency=1.0, quality=1.0)
    known = [_weighed(1, 1.0), _weighed(2, 3.0)]
    # A little cheaper, and of unknown speed: the router takes it for the slowest.
    unknown = _weighed(3, math.nan, usd=0.99)
    found = [unknown, *known] if unknown_first else [*known, unknown]
    assert least_sum(found, weights).place == 1
    unrated = _weighed(4, 1.0, quality=None, usd=0.99)
    rated = [_weighed(5, 1.0, quality=0.9), _weighed(6, 1.0, quality=0.5)]
    assert least_sum([unrated, *rated] if unknown_first else [*rated, unrated], weights).place == 5


def test_what_teaches_the_predictor(tmp_path: Path) -> None:
    """A gateway's cached answer teaches nothing; an unknown prompt is a quarter of its bytes."""
    path = tmp_path / "log.jsonl"
    times = iter(range(1_764_000_000, 1_764_000_100))
    base = {"model": "gpt-4o", "prompt": "x" * 12}
    rows: list[dict[str, Any]] = [
        {"usage": {"prompt_tokens": 9, "completion_tokens": 7}},
        {"usage": {"completion_tokens": 8}},
        {"usage": {"prompt_tokens": 9, "completion_tokens": 100}, "cache_hit": True},
    ]
    lines = [json.dumps({**base, "timestamp": next(times), **row}) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    history = read_history([str(path)])
    assert history.output_tokens.tolist() == [7, 8]
    assert history.prompt_tokens.tolist() == [9, 3]
    assert history.n_prompts_guessed == 1


def test_the_oldest_conversation_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "_MAX_CONVERSATIONS", 2)
    known = outputs._Conversations()
    for conversation in (1, 2, 3):
        known.add(conversation, 10)
    assert [known.history(n)[0] for n in (1, 2, 3)] == ["first turn", "later turn", "later turn"]
