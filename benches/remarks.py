"""What was tried where Jeton is not ahead, or not as far as it should be: shown beside the figures."""

from __future__ import annotations

__all__ = ["REMARKS"]

REMARKS: dict[str, str] = {}
"""Key of a bar (``benches.targets``) -> what was tried; shown only while the bar is not reached."""
