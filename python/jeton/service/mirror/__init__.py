"""The mirror: live requests go to one endpoint, and a share of them also to another.

The plan of a mirror is here; `book` judges stages with the rules of ``jeton adapt shadow``,
`forwarding` moves the bytes and finds tokens in answers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from jeton.adapt.shadowing import AbortRules, Side, check_stages
from jeton.errors import RecordError, UsageError
from jeton.service.settings import check_names, read_tree

# Plans of a mirror (TOML), checked field by field.

_NUMBER: Final = (int, float)
_SIDE: Final[dict[str, Any]] = {
    "url": str, "tokenizer": str, "price": str, "model": str, "key_env": str,
}  # fmt: skip
_RULES: Final[dict[str, Any]] = dict.fromkeys(
    (
        "max_more_tokens", "max_more_usd", "max_more_seconds", "max_more_errors", "min_requests",
        "stage_requests",
    ),
    _NUMBER,
)  # fmt: skip
_PLAN: Final[dict[str, Any]] = {
    "a": dict, "b": dict, "rules": dict, "stages": list, "salt": str, "timeout_seconds": _NUMBER,
    "max_pending": int,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class MirrorSide:
    """One endpoint.

    Attributes:
        url: Its address, before ``/v1/...``.
        side: Its tokenizer and its price, as ``jeton adapt shadow`` has them.
        model: Name of its model, which takes the place of the request's; empty: the request's.
        key_env: Variable of the environment that holds its key; empty: for A the client's own
            key, for B none.
    """

    url: str
    side: Side
    model: str = ""
    key_env: str = ""

    @property
    def key(self) -> str:
        """Return its key; empty: there is none."""
        return os.environ.get(self.key_env, "") if self.key_env else ""


@dataclass(frozen=True, slots=True)
class MirrorRules:
    """Limits beyond which the mirror stops.

    Attributes:
        shadow: Limits of tokens and dollars, and the fewest requests of a verdict.
        max_more_seconds: Share of the time to the end of an answer that the mean may rise by.
        max_more_errors: Share of requests that may fail at B and not at A.
        stage_requests: Mirrored requests of a stage before the next one begins.
    """

    shadow: AbortRules
    max_more_seconds: float = 0.25
    max_more_errors: float = 0.01
    stage_requests: int = 200


@dataclass(frozen=True, slots=True)
class MirrorPlan:
    """A plan.

    Attributes:
        a: The endpoint that answers the users.
        b: The endpoint that is tried.
        rules: When to stop.
        stages: Shares of the traffic in percent, ascending.
        salt: Another salt draws other requests into the stages.
        timeout_seconds: Longest time of one answer.
        max_pending: Requests to B at once; those beyond are not mirrored.
    """

    a: MirrorSide
    b: MirrorSide
    rules: MirrorRules
    stages: tuple[float, ...] = (1, 10, 50, 100)
    salt: str = ""
    timeout_seconds: float = 600.0
    max_pending: int = 64


def read_mirror_plan(path: str | os.PathLike[str]) -> MirrorPlan:
    """Read a plan; tokenizers are loaded at once.

    Raises:
        RecordError: The file is no TOML, has a field that is not known, or lacks one.
        CatalogError: A tokenizer or a price is not known.
        UsageError: Values that contradict one another.
        OSError: The file cannot be read.
    """
    tree = read_tree(Path(path), what="a plan of a mirror")
    where = str(Path(path))
    _check(tree, _PLAN, where)
    for name in ("a", "b"):
        if name not in tree:
            raise RecordError(f"{where} has no table [{name}]", path=where)
    rules = tree.get("rules", {})
    _check(rules, _RULES, f"{where}, rules")
    stages = tuple(tree.get("stages", (1, 10, 50, 100)))
    if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in stages):
        raise RecordError(f"{where}: stages are {stages}; expected percents", path=where)
    check_stages(stages)
    shadow = {name: value for name, value in rules.items() if name in _OF_SHADOW}
    plan = MirrorPlan(
        a=_side(tree["a"], f"{where}, a"),
        b=_side(tree["b"], f"{where}, b"),
        rules=MirrorRules(
            shadow=AbortRules(**shadow),
            **{name: value for name, value in rules.items() if name not in _OF_SHADOW},
        ),
        stages=stages,
        salt=tree.get("salt", ""),
        timeout_seconds=tree.get("timeout_seconds", 600.0),
        max_pending=tree.get("max_pending", 64),
    )
    if plan.timeout_seconds <= 0 or plan.max_pending < 1 or plan.rules.stage_requests < 1:
        raise UsageError(
            f"{where}: timeout_seconds, max_pending and stage_requests: expected more than 0"
        )
    return plan


_OF_SHADOW: Final = ("max_more_tokens", "max_more_usd", "min_requests")


def _side(table: Mapping[str, Any], where: str) -> MirrorSide:
    from jeton import catalog

    _check(table, _SIDE, where)
    for name in ("url", "tokenizer"):
        if not table.get(name):
            raise RecordError(f"{where} has no {name}", path=where)
    url = table["url"].rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        raise RecordError(f"{where}: url is {url!r}; expected http://HOST[:PORT]", path=where)
    key_env = table.get("key_env", "")
    if key_env and not os.environ.get(key_env):
        raise UsageError(f"{where}: the variable {key_env} of the environment is not set")
    price = catalog.price(table["price"]) if "price" in table else None
    return MirrorSide(url, Side(table["tokenizer"], price=price), table.get("model", ""), key_env)


def _check(table: Mapping[str, Any], known: Mapping[str, Any], where: str) -> None:
    check_names(table, known, where)
    for name, value in table.items():
        if not isinstance(value, known[name]) or isinstance(value, bool):
            raise RecordError(f"{where}: {name} has the wrong type", path=where)
