"""Everything that routes share: tokenizers, models of counts, templates, a router, metrics."""

from __future__ import annotations

import fnmatch
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from jeton.errors import UnknownTokenizerError, UsageError
from jeton.registry.model_families import family_of
from jeton.service.failures import HttpFailure, ServiceFailure
from jeton.service.tokenizers import ServedTokenizers

if TYPE_CHECKING:
    from jeton.chat import ChatTemplate
    from jeton.estimating.calibrated import CountModel
    from jeton.planning.routing import Router
    from jeton.service.settings import ServiceSettings
    from jeton.service.tokenizers import ServedTokenizer
    from jeton.service.wire import Worked

Watcher = Callable[[str, "Worked"], None]
"""Called in a thread of the pool with the route's name and its outcome."""


class ServiceState:
    """State of one application. Routes read it from many threads."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.limits = settings.limits
        self.tokenizers = ServedTokenizers(
            settings.tokenizers, max_uploads=settings.limits.max_uploads
        )
        self.watchers: list[Watcher] = []
        self.is_ready = True
        self.count_models = _count_models(settings, self.tokenizers)
        self.router = _router(settings)
        self.router_lock = threading.Lock()
        self._templates: dict[str, tuple[str, ChatTemplate | None]] = {}

    def of_model(self, model: str | None) -> ServedTokenizer:
        """Return the tokenizer of a model that another server's route names.

        A name of this service comes first, then the settings' patterns, then the published
        vocabulary of the model's family, where it is served. A wrong count is worse than none.

        Raises:
            UnknownTokenizerError: Nothing here belongs to the model.
        """
        names = self.tokenizers.names
        if model is None or model in names:
            return self.tokenizers.get(model)
        for pattern, name in self.settings.models.items():
            if fnmatch.fnmatchcase(model, pattern):
                return self.tokenizers.get(name)
        family = family_of(model)
        for served in self.tokenizers.all() if family else ():
            if family and served.tokenizer.name in family.vocabularies:
                return served
        raise UnknownTokenizerError(
            model, hint=f"this service has {', '.join(names)}; --model 'PATTERN=NAME' maps others"
        )

    def template_of(self, served: ServedTokenizer) -> ChatTemplate | None:
        """Return the chat template that belongs to a tokenizer; None: it has none."""
        held = self._templates.get(served.name)
        if held is None or held[0] != served.fingerprint:
            held = self._templates[served.name] = (served.fingerprint, self._template(served))
        return held[1]

    def _template(self, served: ServedTokenizer) -> ChatTemplate | None:
        from jeton.chat import ChatTemplate
        from jeton.formats.reading import read_template

        file = self.settings.templates.get(served.name)
        if file is not None:
            return ChatTemplate.from_source(read_template(Path(file)))
        try:
            return ChatTemplate.from_tokenizer(served.tokenizer)
        except UsageError:
            return None

    def check_texts(self, n_texts: int) -> None:
        """Refuse a batch of too many texts."""
        check_limit("texts", n_texts, self.limits.max_texts)

    def check_tokens(self, n_tokens: int) -> None:
        """Refuse an answer of too many ids."""
        check_limit("tokens", n_tokens, self.limits.max_tokens)


def check_limit(what: str, n: int, most: int) -> None:
    """Refuse a request that is beyond a limit.

    Raises:
        ServiceFailure: It is; the status is 413.
    """
    if n > most:
        raise ServiceFailure(
            HttpFailure(
                413,
                "limit",
                f"the request has {n:,} {what}; this service takes at most {most:,}",
                "send less at once",
                {"limit": most, "what": what},
            )
        )


def _count_models(settings: ServiceSettings, served: ServedTokenizers) -> dict[str, CountModel]:
    from jeton.estimating.calibrated import load_count_model

    models = {name: load_count_model(file) for name, file in settings.count_models.items()}
    for name, model in models.items():
        fingerprint = served.get(name).fingerprint
        if model.fingerprint and model.fingerprint != fingerprint:
            raise UsageError(
                f"the count model {settings.count_models[name]} was learned for another tokenizer "
                f"than {name!r}\nhint: `jeton predict calibrate` learns one for it"
            )
    return models


def _router(settings: ServiceSettings) -> Router | None:
    if settings.endpoints is None:
        return None
    from jeton.planning.routing import Router

    return Router(settings.endpoints)
