"""A smallest text with a property: delta debugging over characters."""

from __future__ import annotations

from collections.abc import Callable, Iterator

__all__ = ["is_smallest", "smallest"]


def smallest(text: str, holds: Callable[[str], bool]) -> str:
    """Return a text for which ``holds`` is true and from which no single part can be taken.

    First halves, then ever smaller parts, down to single characters, are taken away as long as
    the property holds; last, characters are replaced by plainer ones.

    Args:
        text: A text for which ``holds`` is true.
        holds: The property.
    """
    while True:
        shorter = next((t for t in _without_a_part(text) if holds(t)), None)
        if shorter is not None:
            text = shorter
            continue
        plainer = next((t for t in _plainer(text) if holds(t)), None)
        if plainer is None:
            return text
        text = plainer


def is_smallest(text: str, holds: Callable[[str], bool]) -> bool:
    """True if the property holds, and for no text with one character less."""
    return holds(text) and not any(
        holds(text[:i] + text[i + 1 :]) for i in range(len(text)) if len(text) > 1
    )


def _without_a_part(text: str) -> Iterator[str]:
    length = max(1, len(text) // 2)
    while length:
        step = max(1, length // 2)
        for start in range(0, len(text) - length + 1, step):
            yield text[:start] + text[start + length :]
        length //= 2


def _plainer(text: str) -> Iterator[str]:
    for i, character in enumerate(text):
        if character != "a" and character.isalpha():
            yield f"{text[:i]}a{text[i + 1 :]}"
