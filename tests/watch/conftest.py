"""Fixtures that tests of the watch share."""

from __future__ import annotations

import pytest

from jeton.watch import Monitor
from jeton.watch.run import requests_of
from tests.watch.streams import history, requests


@pytest.fixture(scope="session")
def loud() -> Monitor:
    """A monitor with an alert of all causes; nothing changes it."""
    monitor = Monitor(history())
    for request in requests(120, seed=3):
        if monitor.observe(
            *requests_of([{"prompt": " ".join(request.text or ""), "route": "night"}])
        ):
            return monitor
    raise AssertionError("no alert")
