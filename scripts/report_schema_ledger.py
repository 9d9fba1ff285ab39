"""The schema of a report's ``ledger``, which `jeton.economics.ledger` writes by itself."""

from __future__ import annotations

from typing import Any

__all__ = ["BILLED", "CACHE", "LEDGER"]

_MONEY = {"$ref": "#/$defs/money"}
_NUMBER = {"type": "number"}
_COUNT = {"type": "integer", "minimum": 0}
_TEXT = {"type": "string"}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    if set(schema) == {"type"}:
        return {"type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def _object(text: str, properties: dict[str, tuple[dict[str, Any], str]]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": text,
        "properties": {
            name: {"description": words, **schema} for name, (schema, words) in properties.items()
        },
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


_BASIS = {"$ref": "#/$defs/basis"}

_AMOUNTS = {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}}

_DIMENSION = _object(
    "One kind of use and its money; every unit stands in one row only.",
    {
        "name": (_TEXT, "Usage key of genai-prices (`input_tokens`, `cache_read_tokens` ...)."),
        "amount": (_NUMBER, "Units charged at this kind's own rate."),
        "unit": (_TEXT, "Unit in plain words."),
        "usd": (_MONEY, "What they cost."),
        "usd_per_unit": (_or_null(_MONEY), "Mean rate; null where the amount is 0."),
        "basis": (_BASIS, "Estimated where a rate or a part had to be assumed."),
    },
)

_TIME: dict[str, tuple[dict[str, Any], str]] = {
    "n_requests": (_COUNT, "Requests."),
    "input_tokens": (_COUNT, "Input tokens, cached ones included."),
    "output_tokens": (_COUNT, "Output tokens, reasoning included."),
    "usd": (_MONEY, "What they cost."),
}

LEDGER = _object(
    "Every request priced once by its own provider, model, tariff and time. `usd` is the sum of "
    "`by_model`, of `by_day`, of `by_domain` and of `dimensions`, exactly.",
    {
        "usd": (_MONEY, "What the requests cost at list prices in the period, not rounded."),
        "n_requests": (_COUNT, "Requests after joining, those without a price included."),
        "period": (
            _object(
                "Time that the requests cover.",
                {
                    "first": (
                        _or_null(_TEXT),
                        "First request, ISO 8601; null if none has a time.",
                    ),
                    "last": (_or_null(_TEXT), "Last request."),
                    "n_days": (_or_null(_NUMBER), "Days that the requests are spread over."),
                    "n_hours_covered": (_COUNT, "Different hours (UTC) that have a request."),
                    "n_without_time": (_COUNT, "Requests whose time is not known."),
                    "requests_per_day": (_or_null(_NUMBER), "Requests divided by days."),
                    "assumption": (_TEXT, "How that was reckoned, in a sentence."),
                    "override": (_TEXT, "Period as the user gave it; empty: the log decides."),
                },
            ),
            "Time that the requests cover.",
        ),
        "usd_per_request": (_or_null(_MONEY), "Mean of a request."),
        "usd_per_month": (_or_null(_MONEY), "A month of 365/12 days at `requests_per_day`."),
        "usd_per_year": (_or_null(_MONEY), "A year of 365 days at `requests_per_day`."),
        "by_model": (
            _list(
                _object(
                    "Requests of one model at one provider and tariff.",
                    {
                        "provider": (_TEXT, "Provider whose price was taken."),
                        "model": (_TEXT, "Name in the price list."),
                        "logged_as": (_TEXT, "Name in the log."),
                        "tariff": (_TEXT, "`standard`, `batch` ..."),
                        "n_requests": (_COUNT, "Requests."),
                        "amounts": (_AMOUNTS, "Units by usage key, parts in what holds them."),
                        "usd": (_MONEY, "What they cost."),
                        "dimensions": (_list(_DIMENSION), "The money by kind of use."),
                        "basis": (_BASIS, "Estimated where anything had to be assumed."),
                    },
                )
            ),
            "Use by model, the dearest first.",
        ),
        "by_day": (
            _list(
                _object(
                    "Requests of one day.",
                    {"day": (_or_null(_TEXT), "Day (UTC); null: not known."), **_TIME},
                )
            ),
            "Use by day, in order.",
        ),
        "by_domain": (
            _list(
                _object(
                    "Requests of one domain.",
                    {"domain": (_TEXT, "Name; empty for those in none."), **_TIME},
                )
            ),
            "Use by domain, the dearest first.",
        ),
        "dimensions": (_list(_DIMENSION), "Use by kind, the dearest first."),
        "amounts": (_AMOUNTS, "Units by usage key, parts counted in what holds them."),
        "joined": (
            {"type": "object", "additionalProperties": _COUNT},
            "Records that were no requests of their own, by kind.",
        ),
        "not_priced": (
            _list(
                _object(
                    "Requests that are not in the sum.",
                    {
                        "model": (_TEXT, "Name in the log; empty: none is stated."),
                        "provider": (_TEXT, "Provider as the log names it."),
                        "kind": (_TEXT, "`unknown_model`, `no_model`, `no_price` ..."),
                        "why": (_TEXT, "The reason in words."),
                        "nearest": (_list(_TEXT), "Names of the price list that resemble it."),
                        "n_requests": (_COUNT, "Requests."),
                        "n_tokens": (_COUNT, "Their tokens, as far as known."),
                        "share_of_tokens": (
                            {"type": "number", "minimum": 0, "maximum": 1},
                            "Their part of all tokens.",
                        ),
                    },
                )
            ),
            "Requests without a price, most tokens first.",
        ),
        "n_half_known": (_COUNT, "Requests of which one count is not known."),
        "stated": (
            _list(
                _object(
                    "Requests of one model whose log states what they cost.",
                    {
                        "provider": (_TEXT, "Provider whose price was taken; empty: none."),
                        "model": (_TEXT, "Name in the price list; empty: no price."),
                        "logged_as": (_TEXT, "Name in the log."),
                        "payer": (
                            {"type": "string", "enum": ["log", "own key"]},
                            "`own key`: a gateway called with a key of one's own, and the "
                            "provider bills that key's account.",
                        ),
                        "n_requests": (_COUNT, "Requests that state a cost."),
                        "stated_usd": (_MONEY, "The stated cost; of `own key` the provider's."),
                        "usd": (_or_null(_MONEY), "Ours for the same requests; null: no price."),
                        "difference_usd": (_or_null(_MONEY), "Stated less ours."),
                        "gateway_usd": (_MONEY, "The gateway's fee beside it, of `own key`."),
                        "differs": ({"type": "boolean"}, "True beyond 1% of ours."),
                    },
                )
            ),
            "The cost that the log itself states, the largest first.",
        ),
        "n_from_gateway_cache": (_COUNT, "Requests that a gateway answered itself, for nothing."),
        "issues": (
            _list(
                _object(
                    "Something that had to be assumed.",
                    {
                        "kind": (_TEXT, "Name of the kind."),
                        "n": (_COUNT, "Requests that it touches."),
                        "text": (_TEXT, "The same in a sentence."),
                    },
                )
            ),
            "What had to be assumed.",
        ),
        "price_source": (_TEXT, "Where the prices come from, with their date."),
        "price_date": (_or_null(_TEXT), "How new the prices are, ISO 8601."),
    },
)
"""As `jeton.economics.ledger.result.ledger_json` writes it."""

_CELLS = {
    "type": "object",
    "additionalProperties": {"type": "object", "additionalProperties": _COUNT},
}

BILLED = _object(
    "Billed tokens of the requests, told apart by model, part of the request and kind.",
    {
        "n_requests": (_COUNT, "Requests."),
        "n_messages": (_COUNT, "Messages of earlier turns in all requests."),
        "n_passages": (_COUNT, "Retrieved passages in all requests."),
        "is_complete": ({"type": "boolean"}, "True if every request of the workload is in it."),
        "input_tokens": (_COUNT, "Billed input tokens, cached ones included."),
        "output_tokens": (_COUNT, "Billed output tokens, reasoning included."),
        "parts": (
            _list(
                _object(
                    "A part of the requests over all models.",
                    {
                        "part": (
                            _TEXT,
                            "Its name: tools, system, earlier, passages, question, "
                            "prompt, unlogged, answer or reasoning.",
                        ),
                        "n_tokens": (_COUNT, "Billed tokens."),
                        "fresh": (_COUNT, "Prompt tokens at the full rate."),
                        "written": (_COUNT, "Prompt tokens written to a cache."),
                        "cached": (_COUNT, "Prompt tokens read from a cache."),
                        "usd": (_or_null(_MONEY), "Their cost; null: not priced."),
                    },
                )
            ),
            "Parts that have tokens, in the order in which they are sent.",
        ),
        "by_model": (
            {
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "properties": {
                        "n_requests": _COUNT,
                        "n_messages": _COUNT,
                        "n_passages": _COUNT,
                        "tokens": _CELLS,
                        "output": {"type": "object", "additionalProperties": _COUNT},
                        "usd": {"type": "object"},
                    },
                    "required": ["n_requests", "n_messages", "n_passages", "tokens", "output"],
                    "additionalProperties": False,
                },
            },
            "By the model's name as logged: tokens by part (tools, system, earlier, passages, "
            "question, prompt, unlogged) and kind (fresh, written, cached), the answer and its "
            "reasoning, and the dollars of each.",
        ),
    },
)
"""The schema of ``billed``, which `jeton.economics.billed` writes by itself."""

_VERDICTS = (
    "cold", "hit", "expired", "changed", "switched", "below-minimum", "no-mark", "mark-late",
    "look-back", "concurrent", "write-unread", "hour-unearned", "provider", "not-examinable",
)  # fmt: skip

_OPTIONAL = ("change", "reason", "n_disagreeing", "behind")

_GROUP = _object(
    "Requests with one verdict, about one block.",
    {
        "verdict": ({"enum": list(_VERDICTS)}, "What the prompt cache did, and why."),
        "n_requests": (_COUNT, "Requests; 0: the fault stands behind another one."),
        "n_tokens": (_COUNT, "Tokens that could have been read, or were written in vain."),
        "usd": (_MONEY, "Cost that goes when this fault is mended, in the time of the log."),
        "usd_per_year": (_or_null(_MONEY), "The same in a year; null: not known."),
        "block": (_TEXT, "Path of the block, such as system[0]; empty: of none."),
        "before": (_TEXT, "Text around the first difference, in the request before."),
        "after": (_TEXT, "The same in the request that missed."),
        "remedy": (_TEXT, "The smallest edit."),
        "change": (_TEXT, "Kind of the change."),
        "reason": (_TEXT, "Reason why requests cannot be judged."),
        "n_disagreeing": (_COUNT, "Requests whose provider states another reason."),
        "behind": (_TEXT, "Verdict of the fault that hides this one; both are mended together."),
    },
)
_GROUP["required"] = [name for name in _GROUP["required"] if name not in _OPTIONAL]

_TURN = _object(
    "One request of a session.",
    {
        "seconds": (_NUMBER, "Seconds since the first request of the session."),
        "read": (_COUNT, "Tokens read from a cache."),
        "written": (_COUNT, "Tokens written to it."),
        "fresh": (_COUNT, "Tokens of neither."),
        "output": (_COUNT, "Generated tokens."),
        "verdict": (_TEXT, "Its verdict."),
        "block": (_TEXT, "Block that the verdict is about."),
        "agent": (_COUNT, "Number of the sub-agent; 0: none."),
    },
)

_SESSION = _object(
    "One session.",
    {
        "session": (_TEXT, "Short key of its id."),
        "n_requests": (_COUNT, "Requests."),
        "n_agents": (_COUNT, "Sub-agents."),
        "n_compactions": (_COUNT, "Times that the context fell to less than half."),
        "context_tokens": (_COUNT, "Largest context."),
        "read_tokens": (_COUNT, "Tokens read from a cache."),
        "written_tokens": (_COUNT, "Tokens written to it."),
        "fresh_tokens": (_COUNT, "Tokens of neither."),
        "usd": (_MONEY, "Its cost."),
        "missed_tokens": (_COUNT, "Tokens that could have been read."),
        "agent_share": (_NUMBER, "Share of the cost that sub-agents have."),
        "verdicts": ({"type": "object", "additionalProperties": _COUNT}, "Requests by verdict."),
        "turns": (_list(_TURN), "First requests; of the sessions that missed most."),
    },
)

_AGENT = _object(
    "Waste of agents beside caches.",
    {
        "kind": (_TEXT, "What is sent again, or for nothing."),
        "name": (_TEXT, "Name of the tool; empty: of none."),
        "n_requests": (_COUNT, "Requests that have it."),
        "n_tokens": (_COUNT, "Their tokens, each time they were sent."),
        "usd": (_MONEY, "Cost that goes without them, in the time of the log."),
        "remedy": (_TEXT, "Smallest change."),
    },
)

CACHE = _object(
    "Prompt caches and agents of a log, request by request.",
    {
        "predicted_error": (
            _object(
                "Difference of the replay's reads to those of the log.",
                {
                    "n_requests": (_COUNT, "Requests compared."),
                    "mean_share_of_input": (_NUMBER, "Mean difference over the input."),
                    "share_within_5_percent": (_NUMBER, "Requests off by 5% of the input or less."),
                    "first_token_seconds": (_NUMBER, "Delay until a written prefix is readable."),
                    "contradicted_rules": (
                        _list(
                            _object(
                                "A rule that the log contradicts.",
                                {
                                    "rule": (_TEXT, "The rule."),
                                    "n_requests": (_COUNT, "Requests that contradict it."),
                                },
                            )
                        ),
                        "Rules that the log contradicts.",
                    ),
                },
            ),
            "How well the replay tells the reads of the log.",
        ),
        "verdicts": (_list(_GROUP), "Groups of requests, the dearest first."),
        "sessions": (_list(_SESSION), "Sessions, the one with most missed tokens first."),
        "agents": (_list(_AGENT), "Waste beside caches, the dearest first."),
        "figures": (
            {"type": "object", "additionalProperties": _NUMBER},
            "Shares and factors that a gate may limit.",
        ),
    },
)
