"""Alerts: what a watch says when something moved, as a line, as JSON, to a file or an address."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final
from urllib import error as url_error
from urllib import request as url_request
from urllib.parse import urlsplit

from jeton._plain import strict_json
from jeton.errors import UsageError
from jeton.watch.causes import CauseShare
from jeton.watch.signals import SIGNALS, SOURCE_SHARE

_TIMEOUT_SECONDS: Final = 5.0
_TRIES: Final = 3
_MOST_NAMED: Final = 3
_NAMED_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing that moved.

    Attributes:
        kind: ``drift`` of a signal, ``canary``, or ``memory`` of a process.
        signal: Name of the signal; for a canary its cause; for memory ``rss_bytes``.
        route: Route that it is of; empty: all.
        n_requests: Requests that had been seen.
        since_request: Number of the request from which the change is likeliest.
        at_seconds: Time of the last request (seconds since 1970); None: not known.
        before: Normal value: geometric mean, or mean share.
        after: Value since the change.
        evidence: How often a stake against "nothing changed" has grown; infinite for a canary.
        alpha: Chance of any false alarm of the whole watch.
        causes: Causes with their shares, the largest first.
        full_seconds: Seconds until the memory for requests is full; None: not known or not soon.
        memory_words: Time until then in words; empty where no model and GPU are named.
    """

    kind: str
    signal: str
    route: str
    n_requests: int
    since_request: int
    at_seconds: float | None
    before: float
    after: float
    evidence: float
    alpha: float
    causes: tuple[CauseShare, ...] = ()
    full_seconds: float | None = None
    memory_words: str = ""

    @property
    def cause(self) -> str:
        """Name of the main cause; empty where none is known."""
        return self.causes[0].cause if self.causes else ""

    @property
    def line(self) -> str:
        """The alert in one line."""
        signal = {**SIGNALS, SOURCE_SHARE.name: SOURCE_SHARE}.get(self.signal)
        if self.kind == "canary":
            words = f"canary: {self.signal} changed, {self.before:,.0f} -> {self.after:,.0f} tokens"
        elif self.kind == "memory":
            words = f"memory grows {self.after / 2**20:,.1f} MiB an hour"
        elif signal is not None and signal.is_share:
            words = f"{signal.label} {self.before:.1%} -> {self.after:.1%}"
        else:
            label = signal.label if signal else self.signal
            sizes = f"{_short(self.before)} -> {_short(self.after)}"
            words = f"{label} x{self.after / self.before:.2f} ({sizes})"
        if self.route:
            words += f" on {self.route}"
        if self.kind == "drift":
            words += f" since request {self.since_request:,}"
        named = [c for c in self.causes[:_MOST_NAMED] if c.share >= _NAMED_SHARE]
        if named:
            words += "; cause: " + ", ".join(_cause_words(cause) for cause in named)
        usd = sum(cause.usd_per_day or 0.0 for cause in self.causes)
        if usd:
            words += f"; whole bill {usd:+,.2f} USD a day"
        return words + (f"; {self.memory_words}" if self.memory_words else "")

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; infinite evidence is null."""
        plain = asdict(self)
        if plain["evidence"] == float("inf"):
            plain["evidence"] = None
        return {"schema_version": "jeton.watch_alert/1", **plain, "line": self.line}


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _cause_words(cause: CauseShare) -> str:
    detail = f" ({cause.detail})" if cause.detail != cause.label else ""
    is_mix = cause.cause in ("language_mix", "source_mix")
    of = f": {', '.join(cause.groups)}" if is_mix and cause.groups else ""
    usd = f", {cause.usd_per_day:+,.2f} USD a day" if cause.usd_per_day else ""
    return f"{cause.label}{detail}{of}, {cause.share:.0%}{usd}"


def alert_sink(target: str) -> Callable[[Alert], None]:
    """Return what sends alerts to a file of JSON lines, or by POST to an address.

    Args:
        target: A file, which is appended to, or an address (``http://``, ``https://``).

    Raises:
        UsageError: The address has another scheme or no host.
        OSError: The folder of the file is not there.

    Example:
        >>> alert_sink("ftp://example.org")
        Traceback (most recent call last):
        ...
        jeton.errors.UsageError: --alert ftp://example.org is no address that alerts go to
        hint: name a file, or an address with http:// or https://
    """
    if "://" in target:
        parts = urlsplit(target)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                f"--alert {target} is no address that alerts go to\n"
                "hint: name a file, or an address with http:// or https://"
            )
        return lambda alert: _post(target, alert)
    path = Path(target)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"the folder {path.parent} of --alert does not exist")
    return lambda alert: _append(path, alert)


def _append(path: Path, alert: Alert) -> None:
    # One write of one line: other writers of the same file cannot come in between.
    line = strict_json(alert.to_dict()) + "\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def _post(address: str, alert: Alert) -> None:
    body = strict_json({"text": alert.line, **alert.to_dict()}).encode()
    wanted = url_request.Request(
        address, data=body, headers={"Content-Type": "application/json"}, method="POST"
    )
    failure: Exception | None = None
    for _ in range(_TRIES):
        try:
            with url_request.urlopen(wanted, timeout=_TIMEOUT_SECONDS):
                return
        except url_error.HTTPError as error:
            error.close()
            if error.code < 500:
                raise OSError(f"--alert {address} answered {error.code}") from None
            failure = error
        except OSError as error:
            failure = error
    raise OSError(f"--alert {address} cannot be reached: {failure}")
