"""Codex: rollout files of sessions, and the events of ``codex exec --json``.

The totals of a session run on; a step is their difference. A file of a forked session begins with
the lines of its parent, written again in one go, with their old times or with that of the fork:
such a line counts once, wherever else it stands. The totals of ``turn.completed`` are those of the
thread so far.

Sources (read 2026-11): openai/codex, codex-rs exec and rollout; ccusage, adapter of Codex;
tokscale#679, codeburn#1383, PokeTokenBar#137, agentsview#657 (forks); CodexBar#2632 (tiers).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from jeton.corpus.requests.agents.base import (
    MAX_KEPT,
    Agent,
    FileState,
    child,
    doubtful,
    summed,
    text,
)
from jeton.corpus.requests.counts import Report
from jeton.corpus.requests.facts import usage_of_mapping
from jeton.corpus.requests.parsed import ParsedRequest
from jeton.corpus.times import parse_time
from jeton.providers import provider_id

_SHAPE: Final = "codex"
_TOLD: Final = (
    "lines of a session: `payload` of `type` `token_count`, whose totals run on; and "
    "`turn.completed` of `codex exec --json`"
)
_COUNTS: Final = (
    "input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens",
    "reasoning_output_tokens", "total_tokens",
)  # fmt: skip
_LINES: Final = ("session_meta", "turn_context", "event_msg", "response_item", "compacted")

COPY_GAP_S: Final = 0.4
"""Seconds between lines that a fork writes in one go; the fastest answers of a model take longer.
Our choice: copies were seen some 50 ms apart in all (agentsview#657)."""

MAX_STEPS: Final = 1_000_000
"""Steps that are compared with copies, some 60 bytes each."""

_MAX_FORKS: Final = 64
"""Forks of forks that are followed."""

_TIER: Final = {"fast": "priority"}
"""Codex's own word for the tier that its API calls ``priority``."""


@dataclass(slots=True)
class _File:
    """Facts of a rollout file: its session, and the last of each fact that lines state."""

    session: str = ""
    parent: str = ""
    model: str = ""
    provider: str = ""
    tier: str = ""
    totals: dict[str, int] = field(default_factory=dict)
    is_copying: bool = False
    may_copy: bool = False
    began_s: float = 0.0
    last_s: float = 0.0


def _is_rollout(names: frozenset[str]) -> bool:
    return {"type", "payload"} <= names


def _is_event(names: frozenset[str]) -> bool:
    has_more = names & {"usage", "thread_id", "item"}
    return "type" in names and "payload" not in names and bool(has_more or len(names) == 1)


def _rollout(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    """A line of a rollout: what ``token_count`` adds to the totals before it is one request."""
    payload = record.get("payload")
    if not isinstance(payload, dict):
        return None
    line, kind = record.get("type"), payload.get("type")
    known = state.own.get(_SHAPE)
    if known is None:
        if line not in _LINES:
            return None
        known = state.own[_SHAPE] = _File()
    file: _File = known
    _follow_time(file, record)
    if line == "session_meta":
        _begin(file, payload, record, state)
    elif line == "turn_context":
        file.model = text(payload.get("model")) or file.model
        if file.may_copy and _is_own_turn(file, payload):
            file.is_copying = file.may_copy = False
    elif kind == "thread_settings_applied":
        settings = child(payload, "thread_settings")
        if "service_tier" in settings or "serviceTier" in settings:
            file.tier = text(settings.get("service_tier") or settings.get("serviceTier"))
        file.model = text(settings.get("model")) or file.model
    if kind != "token_count":
        report("not_a_model_call", f"a line of type {kind or line}")
        return []
    info = payload.get("info")
    if not isinstance(info, dict):
        report("not_a_model_call", "a token_count without counts")
        return []
    last, total = info.get("last_token_usage"), info.get("total_token_usage")
    usage = _step(last, total, file, report)
    if usage is None:
        state.join("running_totals", 1)
        return []
    parsed = ParsedRequest(_SHAPE, is_session=True, conversation=file.session)
    parsed.model = text(info.get("model")) or text(payload.get("model")) or file.model
    parsed.provider = provider_id(file.provider) if file.provider else "openai"
    parsed.time = record.get("timestamp")
    parsed.usage = usage_of_mapping(_amounts(usage, file.tier), report, parsed)
    said = last if isinstance(last, dict) else {}
    for name in ("input_tokens", "output_tokens"):
        if type(said.get(name)) is int and said[name] != usage.get(name):
            grown = f"the totals of {name} grow by {usage.get(name)}, the step says {said[name]}"
            parsed.usage = doubtful(parsed.usage, "inconsistent_usage", grown, report)
    if not isinstance(total, dict) or parsed.time is None:
        return [parsed]
    step = tuple(n if type(n) is int else -1 for n in map(total.get, _COUNTS))
    parsed.id = "codex/" + "/".join(str(n) for n in step)
    # Copies of a file keep the times of its lines.
    parsed.scope, parsed.is_own_id, parsed.is_strict_scope = str(parsed.time), True, True
    steps: _Steps = state.shared.setdefault(_SHAPE, _Steps())
    state.in_domain(parsed, record)
    if file.is_copying:
        if not steps.keep_copy(file.parent, step, parsed):
            state.join("same_answer_again", 1)
        return []
    if file.may_copy and steps.has_any_of(file.parent):
        if steps.is_known(file.parent, step):
            state.join("same_answer_again", 1)
            return []
        file.may_copy = False
    steps.add(file.session, step)
    if file.may_copy and steps.defer(file.session, file.parent, step, parsed):
        return []
    return [parsed]


_Step: TypeAlias = tuple[int, ...]
"""Totals of a session after a step."""


class _Steps:
    """Steps of all sessions by their totals, and copies of steps whose session was not read."""

    def __init__(self) -> None:
        self.parents: dict[str, str] = {}
        self._own: set[int] = set()
        self._sessions: set[str] = set()
        self._copies: dict[tuple[str, _Step], tuple[str, ParsedRequest]] = {}
        self._deferred: dict[str, list[tuple[str, _Step, ParsedRequest]]] = {}
        self._n_deferred = 0

    def add(self, session: str, step: _Step) -> None:
        """Take a step as a session's own."""
        if len(self._own) < MAX_STEPS:
            self._own.add(hash((session, step)))
            self._sessions.add(session)

    def has_any_of(self, session: str) -> bool:
        """True if a step of a session, or of one that it was forked from, was read."""
        return not self._sessions.isdisjoint(self._line(session))

    def is_known(self, session: str, step: _Step) -> bool:
        """True if a session has a step, as its own or from the one that it was forked from."""
        return any(hash((one, step)) in self._own for one in self._line(session))

    def defer(self, session: str, parent: str, step: _Step, parsed: ParsedRequest) -> bool:
        """Keep a step that may be a copy of a parent that was not read yet; False: too many."""
        if self._n_deferred >= MAX_KEPT:
            return False
        self._n_deferred += 1
        self._deferred.setdefault(session, []).append((parent, step, parsed))
        return True

    def keep_copy(self, parent: str, step: _Step, parsed: ParsedRequest) -> bool:
        """Keep a step that a fork has from its parent; False: it is known already."""
        if self.is_known(parent, step):
            return False
        kept = self._copies.setdefault((self._line(parent)[-1], step), (parent, parsed))
        return kept[1] is parsed

    def _line(self, session: str) -> list[str]:
        """A session, its parent and so on."""
        found = [session]
        while len(found) < _MAX_FORKS:
            parent = self.parents.get(found[-1], "")
            if not parent or parent in found:
                break
            found.append(parent)
        return found

    def orphans(self) -> list[ParsedRequest]:
        """The copied steps that no file has as its own, each once, and what was deferred."""
        copies, self._copies = self._copies, {}
        found: dict[tuple[str, _Step], ParsedRequest] = {}
        for (_, step), (parent, parsed) in copies.items():
            if not self.is_known(parent, step):
                found.setdefault((self._line(parent)[-1], step), parsed)
        deferred, self._deferred = self._deferred, {}
        own: list[ParsedRequest] = []
        for rows in deferred.values():
            # Copies stand at the beginning.
            at = 0
            while at < len(rows) and self.is_known(rows[at][0], rows[at][1]):
                at += 1
            own += [parsed for _, _, parsed in rows[at:]]
        return [*found.values(), *own]


def _follow_time(file: _File, record: Mapping[str, Any]) -> None:
    """End the copying where the lines stop to follow one another in one go."""
    if not file.is_copying:
        return
    now = _seconds(record.get("timestamp"))
    if now > max(file.last_s, file.began_s) + COPY_GAP_S:
        file.is_copying = False
    file.last_s = max(file.last_s, now)


def _seconds(value: Any) -> float:
    time_s, kind = parse_time(value) if value is not None else (0.0, "none")
    return 0.0 if kind and time_s != time_s else time_s


def _begin(
    file: _File, payload: Mapping[str, Any], record: Mapping[str, Any], state: FileState
) -> None:
    """Take the head of a session; inside a copy it is the parent's, which says nothing new."""
    session = text(payload.get("id")) or text(payload.get("session_id"))
    spawned = child(payload, "source", "subagent", "thread_spawn").get("parent_thread_id")
    parent = text(payload.get("forked_from_id") or payload.get("parent_thread_id") or spawned)
    if session and parent and session != parent:
        steps = state.shared.setdefault(_SHAPE, _Steps())
        state.at_end[_SHAPE] = steps.orphans
        if len(steps.parents) < MAX_KEPT:
            steps.parents[session] = parent
    if file.parent and (file.is_copying or session == file.parent):
        return
    file.session, file.parent, file.totals, file.tier = session or file.session, parent, {}, ""
    file.model = text(payload.get("model")) or ("" if session else file.model)
    file.provider = text(payload.get("model_provider")) or file.provider
    file.is_copying = file.may_copy = bool(parent) and parent != session
    file.began_s = file.last_s = _seconds(record.get("timestamp"))


def _is_own_turn(file: _File, payload: Mapping[str, Any]) -> bool:
    """True if a turn began after the session did, as ids tell that have the time in them."""
    began, turn = _time_of_id(file.session), _time_of_id(text(payload.get("turn_id")))
    return turn > 0 and turn >= (began or file.began_s * 1_000 or turn + 1)


def _time_of_id(name: str) -> int:
    """Milliseconds that an id of version 7 begins with; 0: it is another kind of id."""
    digits = name.replace("-", "")
    if len(digits) != 32 or digits[12] != "7":
        return 0
    try:
        return int(digits[:12], 16)
    except ValueError:
        return 0


def _step(last: Any, total: Any, file: _File, report: Report) -> Mapping[str, Any] | None:
    """Use since the totals before; None: nothing, they are given again."""
    said = dict(last) if isinstance(last, dict) else {}
    if not isinstance(total, dict):
        return said or None
    now = {name: total[name] for name in _COUNTS if type(total.get(name)) is int}
    before, file.totals = file.totals, now
    bad = [name for name in _COUNTS if name not in now and total.get(name) is not None]
    if bad:
        # Totals that are no numbers: the step counts as it says itself, later ones as from there.
        usage = said or {name: max(0, now[name] - before.get(name, 0)) for name in now}
        file.totals = before | now
        for name in bad:
            own = usage.setdefault(name, total[name])
            if type(own) is int:
                report("bad_count", f"the total of {name} is {total[name]!r:.40}")
                file.totals[name] = before.get(name, 0) + own
        return usage
    if not before:
        # Totals of a resumed session begin with what its file does not show.
        return said or total
    step = {name: number - before.get(name, 0) for name, number in now.items()}
    if not any(step.values()):
        return None
    if min(step.values()) < 0:
        return last if isinstance(last, dict) else total  # the totals began anew
    return step


def _amounts(usage: Mapping[str, Any], tier: str) -> dict[str, Any]:
    """A usage of Codex by names that say what holds what: cached tokens are in the input."""
    known = {
        "input_tokens": usage.get("input_tokens"),
        "prompt_cache_read_tokens": usage.get("cached_input_tokens"),
        "prompt_cache_write_tokens": usage.get("cache_write_input_tokens"),
        "output_tokens": usage.get("output_tokens"),
        "reasoning_tokens": usage.get("reasoning_output_tokens"),
        "total_tokens": usage.get("total_tokens"),
    }
    others = {k: v for k, v in usage.items() if k not in _COUNTS}
    word = {"service_tier": _TIER.get(tier, tier)} if tier else {}
    return {**others, **{k: v for k, v in known.items() if v is not None}, **word}


def _event(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    """An event of ``codex exec --json``: the totals of a thread after each of its turns."""
    kind = record.get("type")
    if not isinstance(kind, str) or not kind.startswith(("thread.", "turn.", "item.")):
        return None
    threads = state.own.setdefault("codex-exec", {"thread": "", "model": "", "n": 0})
    threads["thread"] = text(record.get("thread_id")) or threads["thread"]
    threads["model"] = text(record.get("model")) or threads["model"]
    usage = record.get("usage")
    if kind != "turn.completed" or not isinstance(usage, dict):
        report("not_a_model_call", f"an event of type {kind}")
        return []
    parsed = ParsedRequest(_SHAPE, is_session=True, provider="openai")
    parsed.model = threads["model"]
    parsed.conversation = threads["thread"]
    parsed.time = record.get("timestamp")
    if threads["thread"]:
        # The larger totals of one thread hold, in whatever file they stand.
        parsed.id = f"codex-exec/{threads['thread']}"
        parsed.scope, parsed.is_own_id = threads["thread"], True
    parsed.usage = summed(usage_of_mapping(_amounts(usage, ""), report, parsed))
    return [parsed]


AGENTS: Final = (
    Agent("codex", _SHAPE, _TOLD, _is_rollout, _rollout),
    Agent("codex-exec", _SHAPE, _TOLD, _is_event, _event),
)
