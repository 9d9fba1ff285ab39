"""The folders of vocabularies: those of the package, the user's own, and the cache."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def bundled_dir() -> Path:
    """The folder of the tokenizers that travel with the package."""
    return Path(__file__).resolve().parent.parent / "vocabularies"


def vocab_dir() -> Path | None:
    """``$JETON_VOCAB_DIR``, where it is set."""
    value = os.environ.get("JETON_VOCAB_DIR")
    return Path(value).expanduser() if value else None


def cache_dir() -> Path:
    r"""The user's own folder of vocabularies: ``$JETON_CACHE_DIR`` or the platform's cache.

    Linux: ``$XDG_CACHE_HOME/jeton``, by default ``~/.cache/jeton``. macOS:
    ``~/Library/Caches/jeton``. Windows: ``%LOCALAPPDATA%\jeton\cache``.
    """
    own = os.environ.get("JETON_CACHE_DIR")
    if own:
        return Path(own).expanduser()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        base = Path(local) if local else Path.home() / "AppData" / "Local"
        return base / "jeton" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "jeton"
    xdg = os.environ.get("XDG_CACHE_HOME")
    # The XDG specification: a relative path is to be ignored.
    base = Path(xdg) if xdg and Path(xdg).is_absolute() else Path.home() / ".cache"
    return base / "jeton"
