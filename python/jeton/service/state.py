"""Everything that routes share: tokenizers, models of counts, templates, a router, metrics."""

from __future__ import annotations

import asyncio
import fnmatch
import os
import queue
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

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


# Threads that encode, with a bounded queue in front of them.
#
# The core lets go of the interpreter while it encodes, so a few threads use all cores, and the
# event loop only moves bytes. Results of many small jobs wake the loop once.

_NICENESS = 5
"""Niceness of the threads, on Linux: an event loop that wakes up goes before those that encode."""

_R = TypeVar("_R")
_Done = tuple[asyncio.Future[Any], Any, BaseException | None]


class PoolIsFull(Exception):
    """As many jobs wait as may wait."""


class WorkPool:
    """Threads of one event loop.

    Args:
        n_threads: Threads; None: the cores that this process may use.
        max_waiting: Jobs that may wait for a thread.
    """

    def __init__(self, *, n_threads: int | None = None, max_waiting: int) -> None:
        self._n_threads = n_threads or len(os.sched_getaffinity(0))
        self._max_waiting = max_waiting
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._done: deque[_Done] = deque()
        self._is_waking = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._n_open = 0

    @property
    def n_waiting(self) -> int:
        """Jobs that wait for a thread."""
        return max(0, self._n_open - self._n_threads)

    @property
    def n_running(self) -> int:
        """Jobs that a thread has."""
        return min(self._n_open, self._n_threads)

    def start(self) -> None:
        """Start the threads; call it in the loop that will ask."""
        self._loop = asyncio.get_running_loop()
        for number in range(self._n_threads):
            thread = threading.Thread(
                target=self._work, name=f"jeton-service-{number}", daemon=True
            )
            thread.start()

    def stop(self) -> None:
        """Let the threads end when the jobs that were taken are done."""
        for _ in range(self._n_threads):
            self._jobs.put(None)

    async def run(self, work: Callable[..., _R], *given: Any) -> _R:
        """Return what a function gives, called by one of the threads.

        Raises:
            PoolIsFull: Too many jobs wait.
        """
        if self._loop is None:
            self.start()
        if self._n_open >= self._n_threads + self._max_waiting:
            raise PoolIsFull
        future: asyncio.Future[_R] = asyncio.get_running_loop().create_future()
        self._n_open += 1
        self._jobs.put((future, work, given))
        return await future

    def _work(self) -> None:
        if sys.platform == "linux":  # elsewhere a niceness is that of all threads
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
        while (job := self._jobs.get()) is not None:
            future, work, given = job
            result, error = None, None
            # Nobody waits for a request whose client has gone.
            if not future.cancelled():
                try:
                    result = work(*given)
                except BaseException as raised:
                    error = raised
            self._done.append((future, result, error))
            job = future = work = given = result = error = None
            if not self._is_waking:
                self._is_waking = True
                loop = self._loop
                if loop is None or loop.is_closed():
                    return
                loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        # Before looking: a job that ends from now on wakes the loop again.
        self._is_waking = False
        while self._done:
            future, result, error = self._done.popleft()
            self._n_open -= 1
            if future.cancelled():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)


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
