"""Tasks of Ray: the demands of each, and a cluster to run them on."""

from __future__ import annotations

import logging
import os
import secrets
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from jeton.errors import ClusterError, MissingExtraError, UsageError

DEFAULT_MEMORY_BYTES = 512 << 20
"""A unit of 16 MiB of text, its ids, the tokenizer, and Ray's own worker (130 MB, Ray 2.60)."""

DEFAULT_RETRIES = 5

SHARED: dict[str, Any] = {}
"""In a worker: the value that tasks of the run share, by the name of the run."""


@dataclass(frozen=True, slots=True)
class RayTasks:
    """Demands of each task.

    Attributes:
        num_cpus: Cores that a task is given; it uses as many threads.
        memory_bytes: Memory by which Ray decides how many tasks a node takes.
        max_retries: Times that a task is done again whose process or node died; -1: without end.
            Errors of the data are final.
    """

    num_cpus: int = 1
    memory_bytes: int = DEFAULT_MEMORY_BYTES
    max_retries: int = DEFAULT_RETRIES

    def __post_init__(self) -> None:
        if self.num_cpus < 1:
            raise UsageError(f"num_cpus is {self.num_cpus}; expected at least 1")
        if self.memory_bytes < 1:
            raise UsageError(f"memory_bytes is {self.memory_bytes:,}; expected at least 1")
        if self.max_retries < -1:
            raise UsageError(f"max_retries is {self.max_retries}; expected at least 0, or -1")


class RaySession:
    """A cluster on which a function runs as tasks that share one value."""

    def __init__(self, ray: Any, tasks: RayTasks, shared: Any) -> None:
        """Not for callers: see ``RaySession.open``."""
        self._ray, self._tasks = ray, tasks
        self._name = uuid.uuid4().hex
        # In a list, Ray hands the reference on: each process fetches the value once, not each task.
        self._shared = [ray.put(shared)]
        self._call = ray.remote(
            num_cpus=tasks.num_cpus,
            memory=tasks.memory_bytes,
            max_retries=tasks.max_retries,
        )(_with_shared)

    @classmethod
    @contextmanager
    def open(
        cls, tasks: RayTasks, shared: Any, *, workers: int | None, what: str
    ) -> Iterator[RaySession]:
        """Connect to the cluster that ``RAY_ADDRESS`` names, or start one on this machine.

        Args:
            tasks: Demands of each task.
            shared: The value that all tasks are called with; it must be possible to pickle it.
            workers: Tasks at a time on a cluster that is started here; None: as cores allow.
            what: Name of the work that needs Ray, for the message.

        Raises:
            MissingExtraError: Ray is not installed.
            ClusterError: It cannot be reached, or the machine is too small for one task.
        """
        if not os.environ.get("RAY_ADDRESS"):
            _keep_to_ourselves()
        try:
            import ray
        except ImportError as error:
            raise MissingExtraError(what, extra="ray") from error
        is_ours = not ray.is_initialized()
        if is_ours:
            _connect(ray, tasks, workers)
        try:
            yield cls(ray, tasks, shared)
        finally:
            if is_ours:
                ray.shutdown()

    @property
    def n_slots(self) -> int:
        """Tasks that the cores of the cluster, as it is now, can run at a time."""
        cores = int(self._ray.cluster_resources().get("CPU", 0))
        return max(1, cores // self._tasks.num_cpus)

    def begin(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Begin ``function(shared, *arguments)``; return its reference.

        References among the arguments stand for what they refer to.
        """
        call = self._call.options(name=function.__name__)
        return call.remote(self._name, self._shared, function, *arguments)

    def begin_several(
        self, function: Callable[..., Any], *arguments: Any, n_results: int
    ) -> list[Any]:
        """As ``begin``, for a function that returns a tuple: a reference to each element."""
        call = self._call.options(name=function.__name__, num_returns=n_results)
        return list(call.remote(self._name, self._shared, function, *arguments))

    def wait(self, references: Iterable[Any], *, seconds: float | None = None) -> list[Any]:
        """Return references of tasks that are done: at least one, or those within ``seconds``."""
        waiting = list(references)
        # Ray returns no more than it is asked for.
        n = 1 if seconds is None else len(waiting)
        return list(self._ray.wait(waiting, num_returns=n, timeout=seconds)[0])

    def results(
        self,
        function: Callable[..., Any],
        calls: Sequence[tuple[Any, ...]],
        workers: int | None,
        *,
        n_kept: int = 0,
    ) -> Iterator[tuple[int, Any]]:
        """Yield (number of the call, result) of many calls, as they are done.

        Args:
            function: Called with the shared value and the arguments of a call.
            calls: Arguments of the calls.
            workers: Calls at a time; None: as many as there are cores for.
            n_kept: Elements behind the first of the tuple that it returns: they stay where they
                are, and the result is the first element and the references to them.

        Raises:
            Exception: The error of the first call that failed, when no other runs any more.
        """
        running: dict[Any, tuple[int, list[Any]]] = {}
        errors: dict[int, Exception] = {}
        waiting = iter(range(len(calls)))
        while True:
            while not errors and len(running) < (workers or self.n_slots):
                number = next(waiting, None)
                if number is None:
                    break
                first, *rest = (
                    self.begin_several(function, *calls[number], n_results=n_kept + 1)
                    if n_kept
                    else [self.begin(function, *calls[number])]
                )
                running[first] = number, rest
            if not running:
                break
            for reference in self.wait(running):
                number, rest = running.pop(reference)
                try:
                    result = self.result(reference)
                except Exception as error:
                    errors[number] = error
                else:
                    yield number, ((result, *rest) if n_kept else result)
        if errors:
            raise errors[min(errors)]

    def result(self, reference: Any) -> Any:
        """Return what a task returned.

        Raises:
            Exception: The error of the task.
            ClusterError: Its process died more often than it may be done again.
        """
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            if not isinstance(error.cause, self._ray.exceptions.RayError):
                raise error.cause from None
            first = (str(error.cause).splitlines() or [""])[0]
            raise ClusterError(f"a task failed, and its error cannot be sent: {first}") from error
        except self._ray.exceptions.RayError as error:
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise ClusterError(
                f"a task died {self._tasks.max_retries + 1} times: {first}\n"
                "hint: give it more memory (--task-memory), then go on with --resume"
            ) from error


def _keep_to_ourselves() -> None:
    """Settings of a cluster that is started here, before Ray is imported, which looks at them."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if "ray" not in sys.modules and not any(name.startswith("RAY_AUTH") for name in os.environ):
        # Else Ray writes a token to the home folder, and says so.
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


def _connect(ray: Any, tasks: RayTasks, workers: int | None) -> None:
    address = os.environ.get("RAY_ADDRESS")
    options: dict[str, Any] = {
        "log_to_driver": False,
        "include_dashboard": False,
        "logging_level": logging.ERROR,
    }
    if not address and workers is not None:
        options["num_cpus"] = workers * tasks.num_cpus
    try:
        ray.init(address=address, **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        place = f"the cluster at {address}" if address else "a cluster on this machine"
        raise ClusterError(
            f"{place} cannot be used: {first}\n"
            "hint: RAY_ADDRESS names the cluster; without it one is started here"
        ) from error
    if address:
        # It may grow; Ray itself tells of tasks that no node can take.
        return
    there = ray.cluster_resources()
    for name, asked in (("CPU", tasks.num_cpus), ("memory", tasks.memory_bytes)):
        if asked > there.get(name, 0):
            ray.shutdown()
            raise ClusterError(
                f"a task asks for {name} {asked:,}, and this machine offers "
                f"{int(there.get(name, 0)):,}\nhint: ask for less (--task-cpus, --task-memory)"
            )


def _with_shared(
    name: str, shared: list[Any], function: Callable[..., Any], *arguments: Any
) -> Any:
    """Run in a worker: call a function with the shared value, which stays in the process."""
    if name not in SHARED:
        import ray

        SHARED.clear()
        SHARED[name] = ray.get(shared[0])
    return function(SHARED[name], *arguments)
