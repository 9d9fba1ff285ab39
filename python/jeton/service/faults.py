"""The service's log: faults by their place, never by their words, which may quote a text."""

from __future__ import annotations

import logging
import traceback

LOGGER = logging.getLogger("jeton.service")


def log_fault(error: BaseException, where: str) -> None:
    """Log the place of an unexpected error; its message is left out."""
    places = traceback.extract_tb(error.__traceback__)[-3:]
    lines = " < ".join(f"{place.filename}:{place.lineno}" for place in reversed(places))
    LOGGER.error("%s failed: %s at %s", where, type(error).__name__, lines)
