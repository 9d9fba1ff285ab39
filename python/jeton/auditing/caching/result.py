"""Result of an examination of prompt caches: frozen values with units in their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from typing import Any

from jeton.auditing.caching.agents import AgentUse


@dataclass(frozen=True, slots=True)
class VerdictGroup:
    """Requests with one verdict, about one block.

    Attributes:
        verdict: The verdict.
        n_requests: Requests with this verdict; 0: the fault stands behind another one.
        n_tokens: Tokens that could have been read, or were written in vain.
        usd: Cost that goes when this fault is mended, in the time of the log.
        usd_per_year: This cost in a year; None: not known.
        block: Path of the block that changed, or of the end of what was not read.
        before: Text around the first difference, in the request before.
        after: Text there in the request that missed.
        remedy: The smallest edit.
        change: Kind of the change.
        reason: Reason why requests cannot be judged.
        n_disagreeing: Requests for which the provider states this reason and the replay another.
        behind: Verdict of the fault that hides this one; both are mended together.
    """

    verdict: str
    n_requests: int
    n_tokens: int = 0
    usd: Decimal = Decimal(0)
    usd_per_year: Decimal | None = None
    block: str = ""
    before: str = ""
    after: str = ""
    remedy: str = ""
    change: str = ""
    reason: str = ""
    n_disagreeing: int = 0
    behind: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of a session: seconds since its first one, tokens by kind, and the verdict."""

    seconds: float
    read: int
    written: int
    fresh: int
    output: int
    verdict: str
    block: str
    agent: int


@dataclass(frozen=True, slots=True)
class SessionReport:
    """One session, or the requests of one conversation.

    Attributes:
        session: A short key of its id.
        n_requests: Requests.
        n_agents: Sub-agents.
        n_compactions: Times that its context fell to less than half.
        context_tokens: Largest context.
        read_tokens: Read from a cache.
        written_tokens: Written.
        fresh_tokens: Neither.
        usd: Its cost.
        missed_tokens: Tokens that could have been read.
        agent_share: Share of the cost that sub-agents have.
        verdicts: Requests by verdict.
        turns: The first requests, for a timeline; of the sessions with the most waste.
    """

    session: str
    n_requests: int
    n_agents: int
    n_compactions: int
    context_tokens: int
    read_tokens: int
    written_tokens: int
    fresh_tokens: int
    usd: Decimal
    missed_tokens: int
    agent_share: float
    verdicts: Mapping[str, int]
    turns: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class MendedUse:
    """Requests as they are billed after one fault more is mended, for a replay of remedies.

    Attributes:
        verdict: The fault.
        rows: Rows of the evidence, and for each (input, read, written, of these an hour, model).
    """

    verdict: str
    rows: Mapping[int, tuple[int, int, int, int, int]]


@dataclass(frozen=True, slots=True)
class CacheReport:
    """Prompt caches and agents of a log.

    Attributes:
        predicted_error: Difference of the replay's reads to those of the log, and rules that the
            log contradicts.
        verdicts: Groups, the dearest first.
        sessions: Sessions, those with the most waste first.
        agents: Waste of agents beside caches.
        figures: Figures that a gate may limit: shares and factors by name.
        mended: The steps of the money, in their order.
    """

    predicted_error: Mapping[str, Any]
    verdicts: tuple[VerdictGroup, ...]
    sessions: tuple[SessionReport, ...] = ()
    agents: tuple[AgentUse, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    mended: tuple[MendedUse, ...] = ()

    @property
    def judges_most(self) -> bool:
        """True if most requests have a verdict, and not all are the first of their kind."""
        n = {"cold": 0, "not-examinable": 0, "": 0}
        for group in self.verdicts:
            n[group.verdict if group.verdict in n else ""] += group.n_requests
        return n[""] > max(n["cold"], n["not-examinable"])

    @property
    def faults(self) -> tuple[VerdictGroup, ...]:
        """The groups that cost something."""
        return tuple(group for group in self.verdicts if group.usd > 0)

    def to_dict(self) -> dict[str, Any]:
        """Return the block ``cache`` of the JSON report."""
        verdicts = []
        for group in self.verdicts:
            plain = asdict(group)
            for name in ("reason", "change", "n_disagreeing", "behind"):
                if not plain[name]:
                    del plain[name]
            plain["usd"] = f"{group.usd:.6f}"
            year = group.usd_per_year
            plain["usd_per_year"] = None if year is None else f"{year:.2f}"
            verdicts.append(plain)
        sessions = []
        for session in self.sessions:
            own = asdict(session)
            own["usd"] = f"{session.usd:.6f}"
            own["verdicts"] = dict(session.verdicts)
            sessions.append(own)
        agents = []
        for use in self.agents:
            entry = asdict(replace(use, rows={}))
            del entry["rows"]
            entry["usd"] = f"{use.usd:.6f}"
            agents.append(entry)
        return {
            "predicted_error": dict(self.predicted_error),
            "verdicts": verdicts,
            "sessions": sessions,
            "agents": agents,
            "figures": dict(self.figures),
        }
