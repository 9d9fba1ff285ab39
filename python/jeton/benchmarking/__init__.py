"""Installed tokenization libraries, timed on the user's own text.

Each library lives in a process of its own, so that its memory is its own and a crash ends nobody
else; they take turns in rounds, and only ids that equal the reference's make a speed count.
"""

from __future__ import annotations

from jeton.benchmarking.result import SCHEMA_VERSION, BenchReport, LibraryResult, Machine, Timing
from jeton.benchmarking.run import bench

__all__ = ["SCHEMA_VERSION", "BenchReport", "LibraryResult", "Machine", "Timing", "bench"]
