"""What was tried where a bar is not reached: shown beside the figures."""

from __future__ import annotations

__all__ = ["REMARKS"]

REMARKS: dict[str, str] = {}
"""Key of a bar (``benches.targets``) -> what was tried; shown only while the bar is not reached."""
