"""Fixtures of the workload's tests, those of audits among them: an audit is its main user."""

from __future__ import annotations

from tests.auditing.conftest import evidence_of, good, poor

__all__ = ["evidence_of", "good", "poor"]
