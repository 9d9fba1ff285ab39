"""API keys: compared by digest, so that the time of a comparison tells nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

_Headers = Iterable[tuple[bytes, bytes]]


class ApiKeys:
    """Keys by name.

    Args:
        keys: Key of each name; empty: everybody may ask.
    """

    def __init__(self, keys: Mapping[str, str]) -> None:
        self._names = {_digest(key.encode()): name for name, key in keys.items()}

    def name_of(self, headers: _Headers) -> str | None:
        """Return the name of the key that a request has; None: it has none that is known.

        Both usual places count: ``Authorization: Bearer KEY`` and ``x-api-key: KEY``. Without any
        keys, each request has the name ``""``.
        """
        if not self._names:
            return ""
        for name, value in headers:
            if name == b"x-api-key":
                given = value.strip()
            elif name == b"authorization" and value[:7].lower() == b"bearer ":
                given = value[7:].strip()
            else:
                continue
            found = self._names.get(_digest(given))
            if found is not None:
                return found
        return None


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
