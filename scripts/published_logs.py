"""Start-up figures that people published, beside what the engine's rules say of them."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jeton.catalog import ModelFacts, gpu, model
from jeton.catalog._files import read_catalog_file
from jeton.catalog.model_config import facts_of
from jeton.economics import MemoryPlan, memory_budget
from jeton.economics.serving.capacity import cached_tokens

__all__ = ["LOGS", "Judged", "judge", "published_logs"]

LOGS = Path(__file__).resolve().parent.parent / "tests/cases/memory/published-logs.json"
_GIB = 2**30


@dataclass(frozen=True)
class Judged:
    """One published log and what the rules say.

    Attributes:
        log: The log's facts.
        model: Name of the model.
        gpus: GPUs of the group.
        weights: GiB published and worked out; None: not published.
        cache: Cache published and worked out, in ``unit``; None: not published.
        unit: ``tokens`` or ``GiB``.
        is_calibrated: True where the cache follows from bytes that the log printed.
    """

    log: dict[str, Any]
    model: str
    gpus: str
    weights: tuple[float, float] | None
    cache: tuple[float, float] | None
    unit: str
    is_calibrated: bool

    @property
    def weights_off(self) -> float | None:
        """Worked out over published, less one."""
        return None if self.weights is None else self.weights[1] / self.weights[0] - 1

    @property
    def cache_off(self) -> float | None:
        """Worked out over published, less one; None where the engine did not start.

        Infinite where the model did not fit by the log alone.
        """
        if self.cache is None or self.both_refuse:
            return None
        theirs, ours = self.cache
        return ours / theirs - 1 if theirs > 0 else float("inf")

    @property
    def both_refuse(self) -> bool:
        """True where the log and the rules leave nothing for a cache."""
        return self.cache is not None and max(self.cache) <= 0


def published_logs() -> list[dict[str, Any]]:
    """The facts, in order of their dates."""
    logs: list[dict[str, Any]] = json.loads(LOGS.read_text(encoding="utf-8"))["logs"]
    return logs


def model_of(log: dict[str, Any]) -> ModelFacts:
    """The model of a log, with the fields of its configuration that the log's source names."""
    facts = model(log["model"])
    if "config" not in log:
        return facts
    rows = {row["name"]: row for row in read_catalog_file("models.json")["models"]}
    row = rows[facts.name]
    config = {**(rows[row["base"]] if "base" in row else row)["config"], **log["config"]}
    day = datetime.date.fromisoformat(log["date"] + "-01")
    return facts_of(config, name=facts.name, where=log["source"], day=day)


def judge(log: dict[str, Any], *, calibrated: bool = False) -> Judged:
    """Return what the rules say of a log.

    Args:
        log: Its facts.
        calibrated: True to take the printed bytes of the cache in place of the formula's, as
            ``--calibrate`` does.
    """
    facts, card = model_of(log), gpu(log["gpu"])
    plan = MemoryPlan(engine=log["engine"], engine_version=log["version"], **log["settings"])
    budget, printed = memory_budget(facts, card, plan), log["published"]
    tensor, rules = budget.tensor_parallel, plan.rules
    weights: tuple[float, float] | None = None
    cache: tuple[float, float] | None = None
    unit = "tokens"
    if "weights_gib" in printed:
        weights = (printed["weights_gib"], budget.weight_bytes / _GIB)
    theirs = printed.get("kv_bytes") or printed.get("kv_gib", 0) * _GIB
    takes_bytes = bool(theirs) and (calibrated or log.get("from_bytes", False))
    if "tokens" in printed:
        ours = (
            rules.cache_tokens(facts, int(theirs), plan, card, tensor)
            if takes_bytes
            else cached_tokens(facts, card, budget, plan)
        )
        cache = (printed["tokens"], ours)
    elif "needed_gib" in printed:
        unit, takes_bytes = "GiB", True
        one = rules.sequence_bytes(facts, printed["needed_tokens"], plan, card, tensor)
        cache = (printed["needed_gib"], one / tensor / _GIB)
    elif "kv_gib" in printed:
        unit, takes_bytes = "GiB", False
        cache = (printed["kv_gib"], budget.kv_bytes / _GIB)
    return Judged(
        log, facts.name, f"{budget.n_gpus} x {card.name}", weights, cache, unit, takes_bytes
    )
