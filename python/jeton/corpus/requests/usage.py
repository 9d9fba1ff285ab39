"""Token counts that providers return, brought to one convention.

Providers disagree about what "input" and "output" count:

===========================  ==============================  =================================
shape                        input                           output
===========================  ==============================  =================================
OpenAI, LangChain, OTel      cached tokens are in it         reasoning tokens are in it
Anthropic, Bedrock Converse  cached tokens are beside it     thinking is in it
Gemini                       cached tokens are in it         thoughts are beside it, or in it
xAI                          cached tokens are in it         reasoning is beside it, or in it
Langfuse                     each amount is beside others    each amount is beside others
===========================  ==============================  =================================

Here input includes what was read from and written to a cache, and output includes reasoning.
Where a total is stated, arithmetic decides: it is the sum of its parts under one convention only.
Else the provider and the names decide. Where nothing does, that is reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from jeton.corpus.requests.counts import Report
from jeton.corpus.requests.usage_names import (
    CONVENTIONS,
    FRESH,
    READ_BESIDE,
    READ_EITHER,
    READ_INSIDE,
    REASONING,
    REASONING_BESIDE,
    REQUESTS,
    SCHEMES,
    SECONDS,
    TOOL_PROMPT,
    TOTAL,
    WRITE_1H,
    WRITE_5M,
    WRITE_BESIDE,
    WRITE_EITHER,
    WRITE_INSIDE,
)
from jeton.corpus.requests.usage_paths import UsageAmounts

_UNKNOWN: Final = -1

NO_EXTRAS: Final[Mapping[str, int]] = {}


class Usage(NamedTuple):
    """Amounts of a request; -1 is unknown.

    Attributes:
        input: All input tokens.
        cache_read: Tokens of these read from a cache.
        cache_write: Tokens of these written to a cache.
        cache_write_1h: Tokens of these kept for an hour.
        output: All output tokens.
        reasoning: Tokens of these for reasoning.
        convention: How the log counted: ``inclusive`` (cached tokens in the input), ``exclusive``
            (beside it), ``gemini``; empty if it does not matter.
        extras: Other amounts by name (``jeton.dimensions``).
        facts: Facts beside the amounts, by name (``jeton.dimensions.FACTS``).
    """

    input: int = _UNKNOWN
    cache_read: int = _UNKNOWN
    cache_write: int = _UNKNOWN
    cache_write_1h: int = _UNKNOWN
    output: int = _UNKNOWN
    reasoning: int = _UNKNOWN
    convention: str = ""
    extras: Mapping[str, int] = NO_EXTRAS
    facts: Mapping[str, int] = NO_EXTRAS

    @property
    def columns(self) -> Mapping[str, int]:
        """Other amounts and facts together, as the columns beside the counts have them."""
        return {**self.extras, **self.facts} if self.facts else self.extras

    @property
    def counts(self) -> tuple[int, int, int, int, int, int]:
        """The six counts."""
        return self[:6]

    @property
    def is_known(self) -> bool:
        """True if the input or the output is stated, or another amount."""
        return self.input >= 0 or self.output >= 0 or bool(self.extras)

    @property
    def is_half_known(self) -> bool:
        """True if one of input and output is stated, and nothing else that is charged instead."""
        return (self.input >= 0) != (self.output >= 0) and not self.extras


UNKNOWN_USAGE: Final = Usage()

_PLAIN: Final = frozenset({TOTAL, READ_INSIDE, REASONING})
_LOOSE_TOTALS: Final = ("anthropic", "aws", "")
"""Providers whose totals leave the cached tokens out as often as not."""

_ALL_BESIDE: Final = ("cursor",)
"""Providers whose amounts all stand beside one another, whatever the names say elsewhere."""

_RANK: Final = {scheme.id: rank for rank, scheme in enumerate(SCHEMES)}


def settle(
    amounts: UsageAmounts,
    report: Report,
    *,
    provider: str = "",
    model: str = "",
) -> Usage:
    """One convention out of the amounts that were found.

    Args:
        amounts: By meaning.
        report: Called for counts that are negative, absurd, no numbers, or contradict each other,
            and for conventions that nothing decides.
        provider: The provider that answered, where that is known; it decides where no total does.
        model: The model's name; it stands in for the provider.
    """
    inputs, outputs, rest = amounts.inputs, amounts.outputs, amounts.rest
    if ("gemini" in inputs or "gemini" in outputs or TOOL_PROMPT in rest) and (
        "llama" not in outputs and "prompt" not in inputs
    ):
        return _gemini(amounts, report)
    return _general(amounts, report, provider, model)


def _general(amounts: UsageAmounts, report: Report, provider: str, model: str) -> Usage:
    rest = amounts.rest
    total = rest.get(TOTAL, _UNKNOWN)
    scheme, given, output = _pair(amounts, total)
    get = rest.get
    if rest.keys() <= _PLAIN:
        # The usual form of usage: nothing cached, nothing to settle.
        read, reasoning = get(READ_INSIDE, _UNKNOWN), get(REASONING, _UNKNOWN)
        if read <= 0 and reasoning <= 0:
            if total >= 0:
                output = _checked(given, output, total, report)
                if given < 0 <= output <= total:
                    given = total - output
            return Usage(given, read, _UNKNOWN, _UNKNOWN, output, reasoning)
    read_inside, write_inside = get(READ_INSIDE, _UNKNOWN), get(WRITE_INSIDE, _UNKNOWN)
    read_beside, write_beside = get(READ_BESIDE, _UNKNOWN), get(WRITE_BESIDE, _UNKNOWN)
    read_either = get(READ_EITHER, _UNKNOWN)
    read = max(read_inside, read_beside, read_either)
    write = max(write_inside, write_beside, get(WRITE_EITHER, _UNKNOWN))
    written_1h = get(WRITE_1H, _UNKNOWN)
    if written_1h >= 0 or WRITE_5M in rest:
        write, written_1h = _written(write, get(WRITE_5M, 0), max(written_1h, 0), report)
    n_cached = max(read, 0) + max(write, 0)
    reasoning = max(get(REASONING, _UNKNOWN), get(REASONING_BESIDE, _UNKNOWN))
    extras = _extras(rest)
    fresh = get(FRESH, _UNKNOWN)
    convention = ""
    if fresh >= 0:
        tokens_in, convention = _with_fresh(given, fresh, n_cached, report)
        given_is_settled = True
    else:
        tokens_in, given_is_settled = given, n_cached == 0 or given < 0
    beside_in = _split_beside(amounts, scheme, extras, "input_")
    beside_out = _split_beside(amounts, scheme, extras, "output_")
    citations = extras.get("output_citation_tokens", 0) if extras else 0
    if given_is_settled and reasoning <= 0 and not beside_in and not beside_out and not citations:
        if total >= 0:
            output = _checked(tokens_in, output, total, report)
            if tokens_in < 0 <= output <= total:
                tokens_in = total - output
        return Usage(tokens_in, read, write, written_1h, output, reasoning, convention, extras)
    # Which of the conventions that can be has the total that is stated?
    says_inside = (
        scheme in ("prompt", "native", "openrouter")
        or read_inside >= 0
        or write_inside >= 0
        or amounts.is_inside
    )
    if provider in _ALL_BESIDE:
        says_inside = False
    says_beside = not says_inside and (
        read_beside >= 0 or write_beside >= 0 or written_1h >= 0 or provider in _ALL_BESIDE
    )
    family = ""
    if not (says_inside or says_beside) or reasoning > 0 or citations:
        family = family_of(provider, model)
    is_either = not given_is_settled and not (says_inside or says_beside)
    if given_is_settled:
        in_options = [(tokens_in, convention)]
    else:
        is_beside = says_beside or (is_either and family in ("anthropic", "aws"))
        in_options = [(given, "inclusive"), (given + n_cached, "exclusive")]
        if is_beside or scheme == "short":
            in_options.reverse()
        if says_beside and scheme != "short":
            family = family or family_of(provider, model)
            if total < 0 or family in _LOOSE_TOTALS:
                in_options = in_options[:1]
        if n_cached > given:
            in_options = in_options if len(in_options) == 1 else [(given + n_cached, "exclusive")]
    if beside_in:
        more = [(n + beside_in, c) for n, c in in_options]
        in_options = [*more, *in_options] if _is_disjoint(scheme, rest) else [*in_options, *more]
    out_options = _out_options(output, reasoning, citations, beside_out, scheme, amounts, family)
    pairs = [(i, o) for o in out_options for i in in_options]
    if total >= 0 and output >= 0 and given >= 0:
        matching = [(i, o) for i, o in pairs if i[0] + o == total]
        if matching:
            (tokens_in, convention), output = matching[0]
        else:
            (tokens_in, convention), output = pairs[0]
            # Some totals of Anthropic's models leave out what stands beside the input.
            is_loose = total == given + output and convention == "exclusive"
            if not (is_loose and family_of(provider, model) in _LOOSE_TOTALS):
                _report_total(tokens_in, output, total, report)
        is_decided = bool(matching)
    else:
        (tokens_in, convention), output = pairs[0]
        is_decided = False
        if total >= 0:
            output = _checked(tokens_in, output, total, report)
    if not is_decided and says_inside and n_cached > given >= 0 and not given_is_settled:
        report(
            "inconsistent_usage",
            f"{n_cached:,} cached tokens of {given:,} input tokens; taken as beside them",
        )
    if not is_decided:
        stated = amounts.outputs.get(scheme, _UNKNOWN)
        if 0 <= stated < reasoning and not citations and REASONING_BESIDE not in amounts.rest:
            report(
                "inconsistent_usage",
                f"{reasoning:,} reasoning tokens of {stated:,} output tokens; taken as beside them",
            )
        if family == "x-ai" and scheme == "prompt" and 0 < reasoning <= stated:
            report(
                "convention_undecided",
                f"{reasoning:,} reasoning tokens in or beside {output:,} output tokens; "
                "taken as in them",
            )
    # The AI SDK's totals leave out what Anthropic counts beside: such a total proves nothing.
    says_other = family in ("anthropic", "aws") and convention == "inclusive"
    if is_either and len(in_options) > 1 and (says_other if is_decided else not family):
        report(
            "convention_undecided",
            f"{n_cached:,} cached tokens in or beside {given:,} input tokens; taken as in them",
        )
    if n_cached == 0 or given < 0:
        convention = convention if fresh >= 0 and n_cached else ""
    return Usage(tokens_in, read, write, written_1h, output, reasoning, convention, extras)


def _pair(amounts: UsageAmounts, total: int) -> tuple[str, int, int]:
    """The scheme that counts, and its input and output; -1 where neither has one."""
    inputs, outputs = amounts.inputs, amounts.outputs
    if len(inputs) <= 1 and len(outputs) <= 1:
        scheme, given = next(iter(inputs.items()), ("", _UNKNOWN))
        other, output = next(iter(outputs.items()), ("", _UNKNOWN))
        return scheme or other, given, output
    schemes = sorted({*inputs, *outputs}, key=_RANK.__getitem__)
    whole = [s for s in schemes if s in inputs and s in outputs]
    if total > 0:
        for scheme in whole:
            if inputs[scheme] + outputs[scheme] == total:
                return scheme, inputs[scheme], outputs[scheme]
        # Two names of which one is in use for the input and the other for the output.
        for scheme, given in inputs.items():
            for number in outputs.values():
                if given and number and given + number == total:
                    return scheme, given, number
    # Zeros of a scheme that is not in use say nothing.
    for scheme in (*whole, *schemes):
        if inputs.get(scheme, 0) or outputs.get(scheme, 0):
            given = inputs.get(scheme, _UNKNOWN)
            output = outputs.get(scheme, _UNKNOWN)
            if given < 0:
                given = next((inputs[s] for s in schemes if s in inputs), _UNKNOWN)
            if output < 0:
                output = next((outputs[s] for s in schemes if s in outputs), _UNKNOWN)
            return scheme, given, output
    scheme = (whole or schemes)[0]
    given = next((inputs[s] for s in schemes if s in inputs), _UNKNOWN)
    return scheme, given, next((outputs[s] for s in schemes if s in outputs), _UNKNOWN)


def _written(write: int, minutes: int, hour: int, report: Report) -> tuple[int, int]:
    """All written tokens and those kept for an hour; the total holds, the split may be partial."""
    split = minutes + hour
    if write >= 0 and split > write:
        report(
            "inconsistent_usage",
            f"{split:,} written tokens by lifetime, {write:,} in all; taken as {split:,}",
        )
    return max(write, split), hour


def _with_fresh(given: int, fresh: int, n_cached: int, report: Report) -> tuple[int, str]:
    """The input where the part that is neither read nor written is stated."""
    whole = fresh + n_cached
    if given < 0 or given == whole:
        return whole, "inclusive" if given >= 0 and n_cached else "exclusive" if n_cached else ""
    if given == fresh:
        return whole, "exclusive" if n_cached else ""
    report(
        "inconsistent_usage",
        f"{given:,} input tokens, and {fresh:,} + {n_cached:,} is {whole:,}; taken as {given:,}",
    )
    return max(given, n_cached), "inclusive"


def _is_disjoint(scheme: str, rest: Mapping[str, int]) -> bool:
    """True if the names say that each amount stands beside the others."""
    return scheme == "short" or REQUESTS in rest


def _split_beside(
    amounts: UsageAmounts, scheme: str, extras: Mapping[str, int], direction: str
) -> int:
    """Tokens of audio, images and video that may stand beside the input or the output."""
    if not extras or not _is_disjoint(scheme, amounts.rest):
        return 0
    return sum(
        number
        for name, number in extras.items()
        if name.startswith(direction) and name.endswith("_tokens") and "citation" not in name
    )


def _out_options(
    output: int,
    reasoning: int,
    citations: int,
    beside: int,
    scheme: str,
    amounts: UsageAmounts,
    family: str,
) -> list[int]:
    """Outputs that can be meant, the likeliest first."""
    if output < 0:
        return [output]
    more = max(reasoning, 0) + citations + beside
    if more <= 0:
        return [output]
    says_beside = REASONING_BESIDE in amounts.rest or beside > 0
    if says_beside and reasoning <= output:
        return [output + more, output]
    if says_beside or (family == "perplexity" and scheme == "prompt") or citations:
        return [output + more]  # Perplexity's totals leave them out
    if reasoning > output:
        return [output + more]
    return [output, output + more]


def _checked(tokens_in: int, output: int, total: int, report: Report) -> int:
    """The output, out of the total where it is not stated; contradictions are reported."""
    if tokens_in < 0:
        return output
    if output < 0:
        return total - tokens_in if total >= tokens_in else output
    if tokens_in + output != total:
        _report_total(tokens_in, output, total, report)
    return output


def _report_total(tokens_in: int, output: int, total: int, report: Report) -> None:
    parts = max(tokens_in, 0) + max(output, 0)
    report(
        "inconsistent_usage",
        f"the total is {total:,}, and {max(tokens_in, 0):,} + {max(output, 0):,} is "
        f"{parts:,}: {abs(total - parts):,} tokens are not explained",
    )


def _gemini(amounts: UsageAmounts, report: Report) -> Usage:
    """Gemini: the total less the prompt is the output, with the thoughts in it or beside it."""
    rest = amounts.rest
    prompt = amounts.inputs.get("gemini", _UNKNOWN)
    candidates = amounts.outputs.get("gemini", _UNKNOWN)
    thoughts = max(rest.get(REASONING_BESIDE, _UNKNOWN), rest.get(REASONING, _UNKNOWN))
    tool = max(rest.get(TOOL_PROMPT, 0), 0)
    total = rest.get(TOTAL, _UNKNOWN)
    extras = _extras(rest)
    if tool:
        extras = {**extras, "input_tool_tokens": tool}
    read = max(rest.get(READ_INSIDE, _UNKNOWN), rest.get(READ_EITHER, _UNKNOWN))
    tokens_in, output = prompt, candidates
    if prompt >= 0:
        tokens_in = prompt + tool
    if thoughts > 0 or candidates >= 0:
        beside = max(candidates, 0) + max(thoughts, 0)
        inside = max(candidates, thoughts, 0)
        output = beside
        if total >= 0 and prompt >= 0:
            inputs = dict.fromkeys((prompt + tool, prompt))
            outputs = dict.fromkeys((beside, inside))
            found = next(((i, o) for i in inputs for o in outputs if i + o == total), None)
            if found is not None:
                tokens_in, output = found
            else:
                rest_of_total = total - tokens_in
                if rest_of_total >= inside:
                    output = rest_of_total
                _report_total(tokens_in, beside, total, report)
    elif total >= 0 and tokens_in >= 0:
        output = total - tokens_in if total >= tokens_in else output
    if tokens_in < 0 <= output <= total:
        tokens_in = total - output
    return Usage(tokens_in, read, _UNKNOWN, _UNKNOWN, output, thoughts, "gemini", extras)


def _extras(rest: Mapping[str, int]) -> Mapping[str, int]:
    if CONVENTIONS.issuperset(rest):
        return NO_EXTRAS
    found = {
        ("audio_seconds" if name == SECONDS else name): number
        for name, number in rest.items()
        if number and name not in CONVENTIONS
    }
    return found or NO_EXTRAS


def family_of(provider: str, model: str) -> str:
    """The provider whose conventions hold: the one that is named, else by the model's name."""
    if provider in ("anthropic", "openai", "google", "x-ai", "perplexity", "aws", "azure"):
        return provider
    name = model.rsplit("/", 1)[-1].lower()
    for start, family in _FAMILIES:
        if name.startswith(start):
            return family
    return "anthropic" if "claude" in name else provider


_FAMILIES: Final = (
    ("grok", "x-ai"), ("sonar", "perplexity"), ("claude", "anthropic"), ("gemini", "google"),
    ("gpt-", "openai"), ("o1", "openai"), ("o3", "openai"), ("o4", "openai"),
)  # fmt: skip
