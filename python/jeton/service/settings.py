"""Settings of the service, checked once when they are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from jeton.errors import UsageError
from jeton.registry import TokenizerLike

TEMPLATE_ARGUMENTS = frozenset(
    {"enable_thinking", "thinking", "reasoning_effort", "preserve_thinking", "date_string"}
)
"""Variables that published templates read and that cost nothing; others are refused."""


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """Limits that keep one client from taking what all clients share.

    Attributes:
        max_body_bytes: Bytes of a request's body, counted as they come.
        max_tokens: Tokens of one request, counted or made.
        max_texts: Texts, or lists of ids, of one request.
        max_tokenizers: Tokenizers of one comparison.
        n_workers: Threads that encode; None: the cores that this process may use.
        max_waiting: Requests that wait for a thread; more are answered 503.
        max_held_bytes: Bytes of all bodies in memory at once; more are answered 503.
        max_connections: Open connections; more are answered 503.
        requests_per_minute: Requests of one key (or address) a minute; None: no limit.
        burst: Requests that a key may send at once before the rate counts.
        header_seconds: Time in which a request's header has to come.
        body_seconds: Time in which its body has to come.
        max_header_bytes: Bytes of a request's header.
        max_uploads: Tokenizer files that clients may have loaded at once; 0: none.
    """

    max_body_bytes: int = 16 << 20
    max_tokens: int = 4_000_000
    max_texts: int = 10_000
    max_tokenizers: int = 6
    n_workers: int | None = None
    max_waiting: int = 512
    max_held_bytes: int = 512 << 20
    max_connections: int = 4096
    requests_per_minute: int | None = None
    burst: int = 60
    header_seconds: float = 10.0
    body_seconds: float = 60.0
    max_header_bytes: int = 64 << 10
    max_uploads: int = 4

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            least = 0 if item.name == "max_uploads" else 1
            if value is None and item.name in ("n_workers", "requests_per_minute"):
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or value < least:
                raise UsageError(f"{item.name} is {value!r}; expected a number of at least {least}")


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Settings of a service.

    Attributes:
        tokenizers: Tokenizers by the name that requests use; the first one is the default.
        compat: Shapes of other servers' routes, each ``NAME`` or ``NAME=/PREFIX``.
        keys: API keys by a name that logs may show; empty: everybody may ask.
        limits: The limits.
        count_models: Files of ``jeton predict calibrate``, by name of tokenizer.
        endpoints: File of endpoints for ``/v1/route``; None: the route answers 404.
        templates: Files of chat templates by the name of the tokenizer that they belong to.
        template_arguments: Variables of templates that requests may set.
        models: Tokenizer by pattern of a model's name (``gpt-*``), for other servers' routes.
        context_tokens: Context of the model by name of tokenizer, for answers that state it.
        shadow: Plan of a mirror (`jeton.service.mirror.plan`); None: nothing is forwarded.
        drain_seconds: Time between a failing readiness and the end of listening.
        stop_seconds: Time that running requests have after that.
        reload_seconds: Time between looks at the tokenizers' files; None: only on SIGHUP.
        watch: Watch the drift of the counted texts: a file of ``jeton watch --save-baseline``, or
            ``-`` to learn from the first texts; empty: no watch.
    """

    tokenizers: Mapping[str, TokenizerLike]
    compat: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    count_models: Mapping[str, str | Path] = field(default_factory=dict)
    endpoints: str | Path | None = None
    templates: Mapping[str, str | Path] = field(default_factory=dict)
    template_arguments: frozenset[str] = TEMPLATE_ARGUMENTS
    models: Mapping[str, str] = field(default_factory=dict)
    context_tokens: Mapping[str, int] = field(default_factory=dict)
    shadow: str | Path | None = None
    drain_seconds: float = 2.0
    stop_seconds: float = 30.0
    reload_seconds: float | None = None
    watch: str = ""

    def __post_init__(self) -> None:
        if not self.tokenizers:
            raise UsageError("the service has no tokenizer\nhint: --tokenizer NAME=T")
        for what, names in (
            ("count model", self.count_models),
            ("template", self.templates),
            ("context", self.context_tokens),
            ("model", self.models.values()),
        ):
            for name in names:
                if name not in self.tokenizers:
                    raise UsageError(
                        f"the {what} {name!r} belongs to no tokenizer; "
                        f"they are {', '.join(self.tokenizers)}"
                    )
