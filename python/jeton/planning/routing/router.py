"""A router: for each request the endpoint that its policy wants, in constant time, without I/O.

A choice is arithmetic on the request's token counts. It learns from finished requests:
lengths of answers, and shares of prompts in caches.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Final, TypeAlias

from jeton.economics.prediction.output_lengths import OutputLengths
from jeton.errors import UsageError
from jeton.planning.routing.conversations import (
    NO_TURNS,
    Conversation,
    Conversations,
    ForeseenOutput,
    OutputForesight,
    RateLimit,
    TurnStatistics,
    TurnsToCome,
)
from jeton.planning.routing.endpoint_files import EndpointFile, read_endpoints
from jeton.planning.routing.endpoints import Endpoint, EndpointFailures, endpoint_tokenizers
from jeton.planning.routing.lanes import Lane, QuickRates, lane_of
from jeton.planning.routing.policy import RoutingPolicy, Weighed, cheapest, least_sum
from jeton.planning.routing.requests import (
    NO_ENDPOINT,
    RoutingCandidate,
    RoutingChoice,
    RoutingExplanation,
    RoutingRequest,
)

Endpoints: TypeAlias = Sequence[Endpoint] | EndpointFile | str | os.PathLike[str]
"""Endpoints as they may be given."""

_MAX_TASKS: Final = 4096


class _Seen:
    """Evidence about an endpoint's prompt cache, from finished requests."""

    __slots__ = ("_expected", "_fresh", "_read", "_written", "hit_share", "write_share")

    def __init__(self) -> None:
        # Some requests' worth of trust in the rules, before any evidence.
        self._expected = self._read = self._fresh = 20_000.0
        self._written = 0.0
        self.hit_share = 1.0
        self.write_share = 0.0

    def add(self, n_tokens: int, held: int, cached: int, written: int) -> None:
        """Take a request: its prompt, what the cache might hold, what it read and wrote."""
        if held:
            self._expected += held
            self._read += min(cached, held)
            self.hit_share = self._read / self._expected
        self._fresh += max(n_tokens - cached, 0)
        self._written += written
        self.write_share = min(self._written / self._fresh, 1.0)


class Router:
    """Chooses an endpoint for each request.

    Not safe for threads: a server has one for each worker, or a lock.

    Args:
        endpoints: The endpoints, a file of them, or its path.
        policy: The policy; None: that of the file, else the default.
        output_lengths: History of answers to begin with, in tokens of the first endpoint.
        on: Day whose prices hold for requests without a time; today (UTC) by default.
        clock: Gives the time of requests that state none.

    Raises:
        UsageError: There is no endpoint, or a name is there twice.
        UnknownPriceError: An endpoint has neither a price nor a GPU.
        UnknownTokenizerError: A tokenizer is not known.

    Example:
        >>> from jeton.planning import Endpoint, Router
        >>> router = Router(
        ...     [
        ...         Endpoint("short", "a", "jeton-general-32k", price="usd:1/8"),
        ...         Endpoint("long", "b", "jeton-general-32k", price="usd:2/2"),
        ...     ]
        ... )
        >>> router.choose(router.request("hello", max_output_tokens=1)).endpoint
        'long'
    """

    def __init__(
        self,
        endpoints: Endpoints,
        policy: RoutingPolicy | None = None,
        *,
        output_lengths: OutputLengths | None = None,
        on: date | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if isinstance(endpoints, str | os.PathLike):
            endpoints = read_endpoints(endpoints)
        if isinstance(endpoints, EndpointFile):
            policy = policy or endpoints.policy
            endpoints = endpoints.endpoints
        self.policy = policy or RoutingPolicy()
        """The policy."""
        self.endpoints = tuple(endpoints)
        """The endpoints in their order."""
        names = [endpoint.name for endpoint in self.endpoints]
        if not names or len(set(names)) < len(names):
            raise UsageError(
                f"the endpoints are {names}; expected at least one, and each name once"
            )
        strange = [name for name in self.policy.fallbacks if name not in names]
        if strange:
            raise UsageError(
                f"the fallback {strange[0]!r} is no endpoint; they are {', '.join(names)}"
            )
        self.lanes = tuple(lane_of(one, i, on=on) for i, one in enumerate(self.endpoints))
        """The endpoints with their rates and times."""
        self.tokenizers, self.tokenizer_of = endpoint_tokenizers(self.endpoints)
        self._fallbacks = tuple(names.index(name) for name in self.policy.fallbacks)
        self._clock = clock
        self._foresight = OutputForesight(
            coverage=self.policy.coverage,
            assumed_tokens=self.policy.assumed_output_tokens,
            lengths=output_lengths,
        )
        self._conversations = Conversations()
        self._limits = tuple(
            RateLimit(one.limits.requests_per_minute, one.limits.tokens_per_minute)
            if one.limits.requests_per_minute or one.limits.tokens_per_minute
            else None
            for one in self.endpoints
        )
        self._seen = tuple(_Seen() for _ in self.endpoints)
        self._rests_until = [-math.inf] * len(self.endpoints)
        self._ratios: dict[str, list[float]] = {}
        self._turns = TurnStatistics()
        self._has_time_limit = (
            self.policy.max_seconds is not None or self.policy.max_ttft_seconds is not None
        )
        self._now_s = -math.inf

    # -- counting -------------------------------------------------------------------------------

    def count(self, text: str) -> tuple[int, ...]:
        """Return the tokens of a text at each endpoint; each tokenizer counts once."""
        counts = [tokenizer.count(text) for tokenizer in self.tokenizers]
        return tuple(counts[place] for place in self.tokenizer_of)

    def request(
        self,
        text: str,
        *,
        extra_tokens: int = 0,
        task: str = "",
        conversation: object = "",
        max_output_tokens: int | None = None,
        time_s: float | None = None,
        tariff: str = "",
    ) -> RoutingRequest:
        """Return a request with its text counted.

        Args:
            text: The whole prompt.
            extra_tokens: Tokens beside the text: chat format, tools, images.
            task: Kind of request.
            conversation: Name of the conversation.
            max_output_tokens: Most answer tokens that it asks for.
            time_s: When it came.
            tariff: Its tariff, as ``batch``; empty: the standard one.

        Raises:
            UsageError: A number is below its least value.
        """
        if extra_tokens < 0:
            raise UsageError(f"extra_tokens is {extra_tokens}; expected at least 0")
        if max_output_tokens is not None and max_output_tokens < 1:
            raise UsageError(f"max_output_tokens is {max_output_tokens}; expected at least 1")
        counts = tuple(n + extra_tokens for n in self.count(text))
        return RoutingRequest(counts, task, conversation, max_output_tokens, time_s, tariff)

    # -- choosing -------------------------------------------------------------------------------

    def choose(self, request: RoutingRequest | str) -> RoutingChoice:
        """Return where a request goes, and note that it was sent.

        Args:
            request: The request; a text is counted first.

        Raises:
            UsageError: It has not one count for each endpoint, or one below 0.
        """
        if isinstance(request, str):
            request = self.request(request)
        now_s = self._time(request)
        choice = self._choose(request, now_s, None)
        if choice.place >= 0:
            self._sent(choice, now_s)
        self._weigh_texts(request)
        return choice

    def explain(self, request: RoutingRequest | str) -> RoutingExplanation:
        """Return where a request would go, with every endpoint and its drawbacks.

        Nothing is noted: the next choice is as if this had not been asked.
        """
        if isinstance(request, str):
            request = self.request(request)
        now_s = self._time(request)
        found: list[RoutingCandidate] = []
        choice = self._choose(request, now_s, found)
        history = self._foresight.of(request.input_tokens[0], request.task).n_history
        return RoutingExplanation(choice, tuple(found), self._reason(choice, found), history)

    def finished(
        self,
        choice: RoutingChoice,
        output_tokens: int,
        *,
        cached_tokens: int | None = None,
        written_tokens: int | None = None,
    ) -> None:
        """Learn from a request that was answered.

        Args:
            choice: The choice that was answered.
            output_tokens: Tokens of the answer, as the endpoint counts them.
            cached_tokens: Prompt tokens that it read from its cache; None: not stated.
            written_tokens: Prompt tokens that it wrote to its cache; None: not stated.

        Raises:
            UsageError: A number is negative, or no endpoint had been chosen.
        """
        if choice.place < 0:
            raise UsageError("the request was sent to no endpoint, so none can have answered it")
        given = (output_tokens, cached_tokens or 0, written_tokens or 0)
        if not all(n >= 0 and n == n // 1 for n in given):
            raise UsageError(
                f"output_tokens is {output_tokens}, cached_tokens {cached_tokens}, written_tokens "
                f"{written_tokens}; expected whole numbers of at least 0"
            )
        request, lane = choice.request, self.lanes[choice.place]
        ratio = self._ratio(request, choice.place) * lane.endpoint.output_ratio
        self._foresight.learn(request.input_tokens[0], output_tokens / ratio, request.task)
        if cached_tokens is not None:
            n = request.input_tokens[choice.place]
            held = choice.held_tokens
            self._seen[choice.place].add(n, held, cached_tokens, written_tokens or 0)

    def failed(self, choice: RoutingChoice) -> None:
        """Leave an endpoint alone for a while that did not answer; ask `choose` again at once.

        Raises:
            UsageError: No endpoint had been chosen.
        """
        if choice.place < 0:
            raise UsageError("the request was sent to no endpoint, so none can have failed")
        rules = self.endpoints[choice.place].failures or EndpointFailures()
        # Even without a time to rest, a retry goes elsewhere.
        until = max(self._now_s + rules.cooldown_seconds, math.nextafter(self._now_s, math.inf))
        self._rests_until[choice.place] = until

    # -- the arithmetic -------------------------------------------------------------------------

    def _choose(
        self, request: RoutingRequest, now_s: float, found: list[RoutingCandidate] | None
    ) -> RoutingChoice:
        """Weigh all endpoints; ``found`` takes them where they are asked for."""
        policy = self.policy
        counts = request.input_tokens
        if len(counts) != len(self.lanes) or min(counts) < 0:
            raise UsageError(
                f"the request has the input tokens {counts}; expected {len(self.lanes)} counts of "
                "at least 0, one for each endpoint"
            )
        foreseen = self._foresight.of(counts[0], request.task)
        name = request.conversation
        talk, turns = None, NO_TURNS
        if name and policy.sticky != "never":
            talk = self._conversations.get(name)
            turns = self._turns.to_come(request.task)
        sums = self._ratios.get(request.task) or counts
        taking, meeting = self._weigh(request, foreseen, (talk, turns), sums, now_s, found)
        if not meeting:
            return self._fall_back(request, taking, talk)
        if talk is not None and policy.sticky == "always":
            for one in meeting:
                if one.place == talk.last:
                    return one.chosen(request, is_fallback=False, is_sticky=True)
        if policy.rule == "weighted":
            best = least_sum(meeting, policy.weights)
        else:
            best = cheapest(meeting)
        is_sticky = talk is not None and talk.last == best.place
        return best.chosen(request, is_fallback=False, is_sticky=is_sticky)

    def _weigh(
        self,
        request: RoutingRequest,
        foreseen: ForeseenOutput,
        conversation: tuple[Conversation | None, TurnsToCome],
        sums: Sequence[float],
        now_s: float,
        found: list[RoutingCandidate] | None,
    ) -> tuple[list[Weighed], list[Weighed]]:
        """Return the endpoints that take a request, and those of them that meet the policy.

        One loop, since a call for each endpoint costs as much as its arithmetic.
        """
        counts, asked, task = request.input_tokens, request.max_output_tokens, request.task
        talk, (n_turns, growth) = conversation
        _, expected_first, upper_first, n_history = foreseen
        first = sums[0]
        moment = now_s if request.time_s is not None else math.nan
        least = self.policy.min_quality
        taking: list[Weighed] = []
        meeting: list[Weighed] = []
        for lane, limit, seen in zip(self.lanes, self._limits, self._seen, strict=True):
            place = lane.place
            n = counts[place]
            scale = sums[place] / first if place and first and sums[place] else 1.0
            ratio = lane.output_ratio * scale
            expected, upper = expected_first * ratio, upper_first * ratio
            longest = upper
            if asked is not None:
                # Servers add what is asked for to the prompt, whatever the answer will have.
                longest = asked
                expected = min(expected, asked)
                upper = min(upper, asked) if n_history else asked
            fits = n + longest <= lane.context_tokens and longest <= lane.output_tokens
            has_room = limit is None or limit.has_room(n + expected, now_s)
            has_room = has_room and now_s >= self._rests_until[place]
            held, cached, written = 0, 0, 0.0
            if lane.keeps_cache:
                if talk is not None and place in talk.prompts:
                    kept = lane.endpoint.cache
                    held = talk.cached(place, n, now_s, kept.ttl_seconds, kept.min_tokens)
                    cached = int(held * seen.hit_share)
                written = (n - cached) * seen.write_share
            rates = lane.flat or lane.rates(n, moment, request.tariff)
            _, fresh, read, write, output, each = rates
            base = each + cached * read + ((n - cached - written) * fresh + written * write)
            usd = base + expected * output
            with_turns_usd = usd
            if n_turns:
                with_turns_usd += self._usd_to_come(
                    lane, rates, n, expected, n_turns, growth * scale
                )
            meets = not self._has_time_limit or self._meets_time(lane, n, cached, upper)
            quality = lane.endpoint.quality_of(task) if lane.has_quality else None
            if least is not None:
                meets = meets and quality is not None and quality >= least
            if found is not None:
                lower = foreseen.lower * ratio
                lower = lower if asked is None else min(lower, asked)
                dearest = max(fresh, write if written else 0.0)
                found.append(
                    self._candidate(
                        lane, (n, cached), (lower, expected, upper, longest),
                        (usd, base + lower * output, each + n * dearest + upper * output,
                         with_turns_usd),
                        quality, fits=fits, has_room=has_room, meets=meets,
                    )
                )  # fmt: skip
            if fits and has_room:
                one = Weighed(lane, n, cached, expected, held, usd, with_turns_usd, quality, meets)
                taking.append(one)
                if meets:
                    meeting.append(one)
        return taking, meeting

    def _usd_to_come(
        self,
        lane: Lane,
        rates: QuickRates,
        n: int,
        expected: float,
        m: float,
        growth: float,
    ) -> float:
        """Dollars of the turns to come of a conversation that stays at an endpoint.

        Formula: m turns to come, geometrically distributed, send ``m n + m^2 g`` tokens again and
        ``m g`` new ones, for a prompt of n tokens that grows by g. Tokens sent again cost the rate
        of cached input, times the share of them that caches have been seen to hold.
        """
        _, fresh, cached, write, output, each = rates
        read = fresh
        if lane.keeps_cache:
            seen = self._seen[lane.place]
            read = fresh = fresh + seen.write_share * (write - fresh)
            if n + growth >= lane.endpoint.cache.min_tokens:
                read += seen.hit_share * (cached - fresh)
        again = n + m * growth
        return m * (again * read + growth * fresh + expected * output + each)

    def _meets_time(self, lane: Lane, n: int, cached: int, upper: float) -> bool:
        """True if a request meets the limits of time, judged by the longest answer."""
        if lane.ttft_seconds is None:
            return False
        policy = self.policy
        ttft = lane.ttft_seconds(n - cached)
        if policy.max_ttft_seconds is not None and ttft > policy.max_ttft_seconds:
            return False
        if policy.max_seconds is None:
            return True
        return ttft + upper * lane.token_seconds(round(n + upper / 2)) <= policy.max_seconds

    def _fall_back(
        self, request: RoutingRequest, taking: list[Weighed], talk: Conversation | None
    ) -> RoutingChoice:
        chosen: Weighed | None = None
        if self._fallbacks:
            by_place = {one.place: one for one in taking}
            chosen = next((by_place[i] for i in self._fallbacks if i in by_place), None)
        elif taking:
            chosen = cheapest(taking)
        if chosen is None:
            return NO_ENDPOINT._replace(request=request)
        is_sticky = talk is not None and talk.last == chosen.place
        return chosen.chosen(request, is_fallback=True, is_sticky=is_sticky)

    # -- state ----------------------------------------------------------------------------------

    def _time(self, request: RoutingRequest) -> float:
        """Return the time of a request; it never runs backwards."""
        given = request.time_s
        now_s = self._clock() if given is None or given != given else given
        if now_s > self._now_s:
            self._now_s = now_s
        return self._now_s

    def _sent(self, choice: RoutingChoice, now_s: float) -> None:
        request = choice.request
        n = request.input_tokens[choice.place]
        name = request.conversation
        if name:
            length = request.input_tokens[0]
            talk = self._conversations.get(name)
            growth = None if talk is None else length - talk.length
            self._turns.add(request.task, name, growth, now_s)
            self._conversations.sent(name, choice.place, n, now_s, length)
        limit = self._limits[choice.place]
        if limit is not None:
            limit.take(n + choice.output_tokens, now_s)

    def _weigh_texts(self, request: RoutingRequest) -> None:
        """Add the counts of a request to what is known of the ratio of the tokenizers."""
        sums = self._ratios.get(request.task)
        if sums is None:
            if len(self._ratios) >= _MAX_TASKS:
                del self._ratios[next(iter(self._ratios))]
            self._ratios[request.task] = [float(n) for n in request.input_tokens]
        else:
            for place, n in enumerate(request.input_tokens):
                sums[place] += n

    def _ratio(self, request: RoutingRequest, place: int) -> float:
        """Tokens of an endpoint for one of the first endpoint, in texts of a task."""
        sums = self._ratios.get(request.task) or request.input_tokens
        first = sums[0]
        return sums[place] / first if first and sums[place] else 1.0

    # -- words ----------------------------------------------------------------------------------

    def _candidate(
        self,
        lane: Lane,
        tokens: tuple[int, int],
        output: tuple[float, float, float, float],
        usd: tuple[float, float, float, float],
        quality: float | None,
        *,
        fits: bool,
        has_room: bool,
        meets: bool,
    ) -> RoutingCandidate:
        n, cached = tokens
        lower, expected, upper, longest = output
        ttft = math.nan if lane.ttft_seconds is None else lane.ttft_seconds(n - cached)
        return RoutingCandidate(
            endpoint=lane.endpoint.name,
            input_tokens=n,
            cached_tokens=cached,
            output_lower_tokens=lower,
            output_tokens=expected,
            output_upper_tokens=upper,
            usd=usd[0],
            usd_lower=usd[1],
            usd_upper=usd[2],
            usd_with_turns=usd[3],
            ttft_seconds=_known(ttft),
            seconds=_known(lane.seconds(n, cached, expected)),
            seconds_upper=_known(lane.seconds(n, 0, upper)),
            quality=quality,
            fits=fits,
            has_room=has_room,
            meets=meets,
            reasons=(
                *_too_long(lane, n, longest),
                *self._against(lane, n, upper, ttft, quality, has_room=has_room),
            ),
        )

    def _against(
        self,
        lane: Lane,
        n: int,
        upper: float,
        ttft: float,
        quality: float | None,
        *,
        has_room: bool,
    ) -> Iterable[str]:
        policy = self.policy
        if self._rests_until[lane.place] > self._now_s:
            yield "it failed just now"
        elif not has_room:
            yield "its limit a minute leaves no room"
        if policy.max_ttft_seconds is not None or policy.max_seconds is not None:
            if lane.ttft_seconds is None:
                yield "its latency is not known"
            else:
                most = policy.max_ttft_seconds
                if most is not None and ttft > most:
                    yield f"the first token takes {ttft:.3g} s, the limit is {most:g} s"
                most = policy.max_seconds
                last = ttft + upper * lane.token_seconds(round(n + upper / 2))
                if most is not None and last > most:
                    yield f"the last token may take {last:.3g} s, the limit is {most:g} s"
        if policy.min_quality is not None:
            if quality is None:
                yield "its quality table has no score for the task"
            elif quality < policy.min_quality:
                yield f"its score is {quality:g}, the least is {policy.min_quality:g}"

    def _reason(self, choice: RoutingChoice, found: list[RoutingCandidate]) -> str:
        if choice.endpoint is None:
            return "no endpoint takes the request"
        if choice.is_fallback:
            return "no endpoint meets the policy; " + (
                "the first fallback that takes the request"
                if self._fallbacks
                else "the cheapest that takes the request"
            )
        if choice.is_sticky and self.policy.sticky == "always":
            return "the conversation stays where it is"
        n = sum(one.fits and one.has_room and one.meets for one in found)
        kind = "cheapest" if self.policy.rule == "cheapest" else "least weighted sum"
        turns = any(one.usd_with_turns > one.usd for one in found)
        words = f"{kind} of {n} that meet the policy" + (
            ", with the turns to come" if turns else ""
        )
        return words if n > 1 else "the only one that meets it"


def _too_long(lane: Lane, n: int, longest: float) -> Iterable[str]:
    if n + longest > lane.context_tokens:
        yield (
            f"{n:,} tokens and an answer of up to {longest:,.0f} are more than its context of "
            f"{lane.context_tokens:,.0f}"
        )
    if longest > lane.output_tokens:
        yield f"the answer may have {longest:,.0f} tokens, its limit is {lane.output_tokens:,.0f}"


def _known(value: float) -> float | None:
    return value if value == value else None
