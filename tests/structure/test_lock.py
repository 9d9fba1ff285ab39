"""The lock can be installed by pip with hashes: packages that extras ask for stand twice."""

from __future__ import annotations

from pathlib import Path

from scripts.pin_extras import pinned

LOCK = Path(__file__).resolve().parents[2] / "requirements" / "dev.lock"


def test_extras_are_pinned_beside_their_package() -> None:
    lock = "other==1 \\\n    --hash=sha256:0\npydantic==2 \\\n    --hash=sha256:a\n"
    made = pinned(lock)
    assert made.startswith("other==1 \\\n    --hash=sha256:0\npydantic[email]==2 \\\n")
    assert made.endswith(lock[lock.index("pydantic") :])
    assert pinned(made) == made


def test_the_lock_is_pinned() -> None:
    lock = LOCK.read_text(encoding="utf-8")
    assert "\npydantic[email]==" in lock
    assert pinned(lock) == lock
