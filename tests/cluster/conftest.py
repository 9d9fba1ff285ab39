"""A small cluster of Ray, which takes some seconds to start: the tests of a module share it."""

from __future__ import annotations

import fcntl
import gc
import secrets
import signal
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

TOKEN = secrets.token_hex(32)
"""Ray keeps the first token of a process: all clusters of the process have this one."""

LOCK = Path(tempfile.gettempdir()) / "jeton-tests-ray.lock"
"""Two processes of tests do not start clusters at the same time."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A cluster of several processes on this machine, for all tests of a module."""
    before = signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch, LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # A token of our own: nothing is written to the home folder, nothing is reported.
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", TOKEN)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # Ray's own default of 15 starves its workers while a compiler runs beside the tests.
        patch.setenv("RAY_worker_niceness", "0")
        # Ray looks at them when it is imported.
        ray = pytest.importorskip("ray")
        ray.init(
            num_cpus=2, log_to_driver=False, include_dashboard=False, object_store_memory=80 << 20
        )
        yield
        ray.shutdown()
        # Ray leaves its own handler, which processes of later tests would inherit.
        signal.signal(signal.SIGTERM, before)
        with warnings.catch_warnings():
            # Ray ends its processes and forgets them.
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
