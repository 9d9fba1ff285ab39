"""Find the entry of the price list that a logged model name means: by rules, never by a guess.

Names differ by who writes them: ``openai/gpt-4o-mini``, ``us.anthropic.claude-...-v1:0``, an ARN,
``claude-haiku-4-5@20251001``, ``gpt-5-codex-high``. Each rule rewrites a name in one stated way and
looks the result up exactly; a name that merely begins like a known one is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jeton.providers import folded_name, listed_provider

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, Provider


GATEWAYS = frozenset(
    (
        "ai-gateway", "any", "auto", "custom", "gateway", "generic", "helicone", "langchain",
        "langfuse", "litellm", "litellm-proxy", "llm", "none", "null", "openai-compatible",
        "openai-like", "other", "portkey", "proxy", "unknown", "vercel",
    )
)  # fmt: skip
"""Words in the provider's place that name no provider: the model decides."""

OWN_MACHINES = frozenset(
    (
        "hosted-vllm", "huggingface-local", "jan", "koboldcpp", "llama-cpp", "llama-cpp-python",
        "llamacpp", "llamafile", "lm-studio", "lmstudio", "local", "localai", "localhost", "mlx",
        "ollama", "ollama-chat", "oobabooga", "self-hosted", "selfhosted", "sglang", "tabbyapi",
        "tensorrt-llm", "text-generation-inference", "tgi", "transformers", "triton", "vllm",
    )
)  # fmt: skip
"""Engines on machines of one's own: nobody charges by the token there."""

MAKERS = (
    "openai", "anthropic", "google", "mistral", "cohere", "deepseek", "x-ai", "moonshotai",
    "minimax", "zhipuai", "zai", "voyageai", "perplexity", "meta", "elevenlabs", "arcee",
    "typesafe",
)  # fmt: skip
"""Providers that sell models of their own: where a name is looked up if no provider is stated."""


@dataclass(frozen=True)
class ListedModel:
    """An entry of the list, and how a name led to it.

    Attributes:
        provider: Provider whose price it is.
        model: The entry.
        rule: Rule that led there; empty where the name stands in the list as it is.
        asked_provider: Provider that the log names, where its list lacks the model and another
            one's price is taken; empty otherwise.
    """

    provider: Provider
    model: ModelInfo
    rule: str = ""
    asked_provider: str = ""

    @property
    def name(self) -> str:
        """``PROVIDER:MODEL``."""
        return f"{self.provider.id}:{self.model.id}"

    @property
    def is_own(self) -> bool:
        """True if the provider's own list has the entry (variants of prices hold only there)."""
        return any(self.model is own for own in self.provider.models)


def runs_on_own_machines(provider: str | None) -> bool:
    """True if a provider's name is that of an engine on one's own machines."""
    return provider is not None and folded_name(provider) in OWN_MACHINES


def find_listed(name: str, provider: str | None = None) -> ListedModel | None:
    """Return the entry that a name means at a provider; None if no rule leads to one.

    The provider's own list comes first. Where it lacks the model, the price of the model's maker is
    taken and ``asked_provider`` says so. An engine on one's own machines has no entries.

    Args:
        name: Model as logged, or ``PROVIDER:MODEL``.
        provider: Provider as logged; None or a gateway's name: the model's name decides.
    """
    from genai_prices.data_snapshot import get_snapshot

    return _find(name.strip(), (provider or "").strip(), _Snapshot(get_snapshot()))


class _Snapshot:
    """A list, compared by identity so that answers can be kept."""

    def __init__(self, snapshot: DataSnapshot) -> None:
        self.snapshot = snapshot

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Snapshot) and self.snapshot is other.snapshot

    def __hash__(self) -> int:
        return id(self.snapshot)


@lru_cache(maxsize=8192)
def _find(name: str, provider: str, held: _Snapshot) -> ListedModel | None:
    snapshot = held.snapshot
    providers = {entry.id: entry for entry in snapshot.providers}
    known = frozenset(providers)
    stated: str | None = None
    if provider and folded_name(provider) not in GATEWAYS:
        if folded_name(provider) in OWN_MACHINES:
            return None
        stated = listed_provider(provider, known)
    prefix, colon, rest = name.partition(":")
    if colon and rest and prefix.casefold() in known:
        # Written out: this provider and no other.
        return _at(providers[prefix.casefold()], rest, snapshot)
    alias = listed_provider(prefix, known) if colon and rest else None
    if alias is not None and (aliased := _at(providers[alias], rest, snapshot)) is not None:
        return aliased
    if stated is not None:
        found = _at(providers[stated], name, snapshot)
        if found is not None or _is_fine_tuned(name):
            return found
    found = _anywhere(name, providers, snapshot, stated)
    if found is None or not provider or folded_name(provider) in GATEWAYS:
        return found
    if found.provider.id == stated:
        return found
    return ListedModel(found.provider, found.model, found.rule, asked_provider=provider)


def _anywhere(
    name: str, providers: dict[str, Provider], snapshot: DataSnapshot, stated: str | None
) -> ListedModel | None:
    """Look a name up where it says it belongs, else at the maker that its words point to."""
    for provider, ref, rule in _placed(name, frozenset(providers)):
        found = _at(providers[provider], ref, snapshot)
        if found is not None:
            return ListedModel(found.provider, found.model, rule)
    if stated is None and _is_placed(name, frozenset(providers)):
        # The name says whose model it is, and that list lacks it: its last part alone may be known.
        name = name.rpartition("/")[2]
    for ref, rule in _rewritten(name):
        owner = next(
            (p for p in snapshot.providers if p.model_match and p.model_match.is_match(ref)), None
        )
        found = None if owner is None else _exact(owner, ref, snapshot) or _by_spelling(owner, ref)
        if found is not None:
            return ListedModel(found.provider, found.model, rule or found.rule)
        makers = [_exact(providers[m], ref, snapshot) for m in MAKERS if m in providers]
        own = [entry for entry in makers if entry is not None and entry.is_own]
        if len(own) == 1:
            return ListedModel(own[0].provider, own[0].model, rule)
    return None


def _at(provider: Provider, name: str, snapshot: DataSnapshot) -> ListedModel | None:
    """Look a name up at one provider: as it is, then rewritten by each rule."""
    for ref, rule in _rewritten(name, provider.id):
        found = _exact(provider, ref, snapshot)
        if found is not None:
            return ListedModel(found.provider, found.model, rule)
    return _by_spelling(provider, name)


def _exact(provider: Provider, ref: str, snapshot: DataSnapshot) -> ListedModel | None:
    folded = ref.casefold()
    for model in provider.models:
        if model.id.casefold() == folded:
            return ListedModel(provider, model)
    model_found = provider.find_model(folded, all_providers=snapshot.providers)
    if model_found is None or not _is_named(model_found.match, folded):
        return None
    return ListedModel(provider, model_found)


# -- is a match of the list's own rules a name, or only its beginning? --------------------------

_SUFFIX = re.compile(
    r"(?:[-@:._/ ]?(?:\d{1,8}[a-z]?|v\d+(?:\.\d+)?|latest|preview|exp|experimental|beta|ga|stable|"
    r"default|thinking|reasoning|instruct|chat|it|hf|online|regional|\[1m\]))*[-_:.]?"
)
"""Words that may follow a known beginning: dates, versions, and words that keep the price."""

_SEPARATORS = frozenset("-@:._/ [")

_PREFIX = re.compile(r"(?:[a-z0-9_~-]+[./:])*(?:omni-|text-)?")


def _is_named(clause: Any, ref: str) -> bool:
    """True if a clause names a reference, and not only its beginning or a piece of it."""
    parts = getattr(clause, "or_", None)
    if parts is not None:
        return any(_is_named(part, ref) for part in parts)
    if not clause.is_match(ref):
        # Dates written together (-20251211) are matched as dashed ones.
        dashed = re.sub(r"-(20\d\d)(\d\d)(\d\d)(?=-|:|$)", r"-\1-\2-\3", ref)
        if dashed == ref or not clause.is_match(dashed):
            return False
        ref = dashed
    start = getattr(clause, "starts_with", None)
    if start is not None:
        start = start.casefold()
        return _is_fine_tuned(start) or _may_follow(start, ref[len(start) :])
    inside = getattr(clause, "contains", None)
    if inside is not None:
        before, _, after = ref.partition(inside.casefold())
        return _PREFIX.fullmatch(before) is not None and _may_follow(inside, after)
    end = getattr(clause, "ends_with", None)
    if end is not None:
        return _PREFIX.fullmatch(ref[: len(ref) - len(end)]) is not None
    return True


def _may_follow(known: str, rest: str) -> bool:
    """True if a rest changes nothing of a known beginning: set off from it, and harmless."""
    is_set_off = not rest or rest[0] in _SEPARATORS or known[-1:] in _SEPARATORS
    return is_set_off and _SUFFIX.fullmatch(rest) is not None


# -- rules that rewrite a name ------------------------------------------------------------------

_REGIONS = re.compile(
    r"^(?:us|eu|apac|ap|global|jp|au|ca|in|sa|me|uk|us-gov|[a-z]{2}(?:-gov)?-[a-z]+-\d)\.(?=[a-z])"
)
_LONG_CONTEXT = re.compile(r"\[\d+m\]$")
_AT_VERSION = re.compile(r"@(\d{8}|\d{3}|default|latest|v\d+)$")
_BEDROCK_VERSION = re.compile(r"(-v\d+)?(:\d+)?(:\d+k)?$")
_ROUTING = re.compile(r":(?:nitro|floor|exacto|online)$")
"""Suffixes of OpenRouter that choose the endpoint or add a search; the model is the same."""

_EFFORT = re.compile(r"[-_: ]\(?(?:none|minimal|low|medium|high|xhigh)\)?$")
_TAKES_EFFORT = re.compile(
    r"^(?:[a-z0-9_.~-]+/)?(?:o[134](?:-|$)|gpt-(?:[5-9]|oss)|codex|grok-(?:3-mini|[4-9])|"
    r"gemini-[3-9]|claude-(?:opus|sonnet|haiku|fable|mythos)-(?:4[-.][5-9]|[5-9]))"
)
"""Models that take a reasoning effort, which some tools write into the name."""


def _rewritten(name: str, provider: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield (name, rule): the name as it is, then as each rule rewrites it."""
    seen = {name.casefold()}
    yield name, ""
    forms = [(name, "")]
    for rewrite, rule in (
        (_from_resource, "resource name"),
        (_without_own_prefix(provider), "provider prefix"),
        (_without_region, "region prefix"),
        (_without_long_context, "context mark"),
        (_with_version, "version after @"),
        (_without_routing, "routing suffix"),
        (_without_effort, "reasoning effort"),
    ):
        for form, rules in list(forms):
            changed = rewrite(form)
            if changed and changed.casefold() not in seen:
                seen.add(changed.casefold())
                words = f"{rules}, {rule}" if rules else rule
                forms.append((changed, words))
                yield changed, words


def _from_resource(name: str) -> str:
    """Take the model out of an ARN or a path of resources (``models/...``)."""
    folded = name.casefold()
    if folded.startswith("arn:"):
        kind, _, last = name.rpartition("/")
        # Other kinds (application-inference-profile, provisioned-model) end in an id of their own.
        is_model = kind.casefold().endswith((":inference-profile", "foundation-model"))
        return last if is_model else ""
    if "/models/" in folded or folded.startswith(("models/", "tunedmodels/")):
        return name.rpartition("/")[2]
    if folded.startswith(("bedrock/", "converse/", "invoke/")):
        return name.rpartition("/")[2]
    return ""


def _without_own_prefix(provider: str | None) -> Any:
    def rewrite(name: str) -> str:
        prefix, slash, rest = name.partition("/")
        if not slash or provider is None:
            return ""
        return rest if listed_provider(prefix, frozenset((provider,))) == provider else ""

    return rewrite


def _without_region(name: str) -> str:
    folded = name.casefold()
    # The list may have prices by region: that a name stands there as it is was tried before.
    return name[match.end() :] if (match := _REGIONS.match(folded)) else ""


def _without_long_context(name: str) -> str:
    return _LONG_CONTEXT.sub("", name)


def _with_version(name: str) -> str:
    match = _AT_VERSION.search(name)
    if match is None:
        return ""
    version = match[1]
    return name[: match.start()] + (f"-{version}" if version[-1].isdigit() else "")


def _without_routing(name: str) -> str:
    return _ROUTING.sub("", name) if "/" in name else ""


def _without_effort(name: str) -> str:
    folded = name.casefold()
    match = _EFFORT.search(folded)
    if match is None or not _TAKES_EFFORT.match(folded):
        return ""
    return name[: match.start()]


def _is_fine_tuned(name: str) -> bool:
    folded = name.casefold()
    return folded.startswith("ft:") or "/ft:" in folded or ".ft-" in folded


# -- whose model a name says it is --------------------------------------------------------------

_BEDROCK_VENDORS = frozenset(
    (
        "ai21", "amazon", "anthropic", "cohere", "deepseek", "google", "luma", "meta", "minimax",
        "mistral", "moonshot", "moonshotai", "nvidia", "openai", "qwen", "stability", "twelvelabs",
        "writer", "zai",
    )
)  # fmt: skip


def _placed(name: str, known: frozenset[str]) -> Iterator[tuple[str, str, str]]:
    """Yield (provider, name there, rule) of a name that says where it belongs."""
    folded = name.casefold()
    if folded.startswith("arn:aws"):
        yield "aws", name, "ARN"
        return
    if "publishers/" in folded or folded.startswith(("models/", "projects/", "tunedmodels/")):
        yield "google", name, "resource name"
        return
    vendor, dot, _ = _without_region(name).partition(".") if _without_region(name) else ("", "", "")
    own_vendor = vendor or folded.partition(".")[0]
    if own_vendor in _BEDROCK_VENDORS and (dot or "." in folded):
        yield "aws", name, "Bedrock id"
    prefix, slash, rest = name.partition("/")
    if not slash:
        return
    found = listed_provider(prefix, known)
    if found is not None:
        yield found, rest, "provider prefix"
        inner, slash, last = rest.partition("/")
        if slash and (found == "aws" or listed_provider(inner, known) == found):
            yield found, last, "provider prefix"


def _is_placed(name: str, known: frozenset[str]) -> bool:
    prefix, slash, _ = name.partition("/")
    return bool(slash) and listed_provider(prefix, known) is not None


def _by_spelling(provider: Provider, name: str) -> ListedModel | None:
    """Find the one id that differs only by dots for dashes, or by a vendor before a slash."""
    wanted = {_spelt(ref) for ref, _ in _rewritten(name, provider.id)}
    own = [m for m in provider.models if _spelt(m.id) in wanted]
    if len(own) == 1:
        return ListedModel(provider, own[0], "dots and dashes")
    if own or "/" in name:
        return None
    tails = [m for m in provider.models if _spelt(m.id.rpartition("/")[2]) in wanted]
    return ListedModel(provider, tails[0], "vendor left out") if len(tails) == 1 else None


def _spelt(name: str) -> str:
    return re.sub(r"[.p_](?=\d)|(?<=\d)[.p_](?=\d)", "-", name.casefold())
