"""Predictions from history: output lengths in intervals of stated coverage.

`OutputLengths` learns from finished requests alone, in constant time and bounded memory, so that a
server can ask it for each request and the traffic simulator uses the code that a server would.
"""

from __future__ import annotations

from jeton.economics.prediction.output_lengths import LengthDrift, LengthInterval, OutputLengths

__all__ = ["LengthDrift", "LengthInterval", "OutputLengths"]
