"""Fixtures of the studies' tests: those of all tests."""

from tests.conftest import _cache_folders, _private_folders, shared

__all__ = ["_cache_folders", "_private_folders", "shared"]
