"""``AddedToken``: a token that is found in text before the model sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jeton.compat.tokenizers._arguments import as_kind
from jeton.errors import UsageError

__all__ = ["AddedToken", "adopt_token"]

_FLAGS = ("single_word", "lstrip", "rstrip", "normalized")


class AddedToken:
    """A token that text is searched for: its content, and how it is found.

    Args:
        content: The token's text.
        single_word: Not found inside of a word.
        lstrip: Takes the white space before it along.
        rstrip: Takes the white space after it along.
        normalized: Searched for in normalized text; if it is not given, true unless ``special``.
        special: Left out when decoding skips special tokens.
    """

    def __init__(self, content: str | None = None, **options: Any) -> None:
        self.content = "" if content is None else as_kind(content, str, "content")
        self._special = False
        self._flags: dict[str, bool] = {}
        for name, value in options.items():
            if name == "special":
                self._special = as_kind(value, bool, name)
            elif name in _FLAGS:
                self._flags[name] = as_kind(value, bool, name)
            else:
                raise UsageError(
                    f"AddedToken has no option {name!r}\nhint: the options are "
                    f"{', '.join(_FLAGS)}, special"
                )

    @property
    def special(self) -> bool:
        """True if decoding can leave it out."""
        return self._special

    @special.setter
    def special(self, special: bool) -> None:
        self._special = as_kind(special, bool, "special")

    @property
    def single_word(self) -> bool:
        """True if it is found as a whole word only."""
        return self._flags.get("single_word", False)

    @property
    def lstrip(self) -> bool:
        """True if it takes the white space before it along."""
        return self._flags.get("lstrip", False)

    @property
    def rstrip(self) -> bool:
        """True if it takes the white space after it along."""
        return self._flags.get("rstrip", False)

    @property
    def normalized(self) -> bool:
        """True if it is searched for in normalized text."""
        return self._flags.get("normalized", not self._special)

    def __getstate__(self) -> dict[str, Any]:
        """Fields of a file, apart from the id."""
        return {
            "content": self.content,
            "single_word": self.single_word,
            "lstrip": self.lstrip,
            "rstrip": self.rstrip,
            "normalized": self.normalized,
            "special": self.special,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __reduce__(self) -> tuple[Callable[..., AddedToken], tuple[dict[str, Any]]]:
        return _of_state, (self.__getstate__(),)

    def __str__(self) -> str:
        return self.content

    def __repr__(self) -> str:
        return (
            f'AddedToken("{self.content}", rstrip={self.rstrip}, lstrip={self.lstrip}, '
            f"single_word={self.single_word}, normalized={self.normalized}, "
            f"special={self.special})"
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AddedToken):
            return NotImplemented
        return self.__getstate__() == other.__getstate__()

    def __hash__(self) -> int:
        return hash(self.content)


def _of_state(state: dict[str, Any]) -> AddedToken:
    return AddedToken(**state)


def adopt_token(token: Any, *, special: bool) -> AddedToken:
    """A token as ours: from a text, from one of ours, or from one of the other library's."""
    if isinstance(token, str):
        return AddedToken(as_kind(token, str, "token"), special=special)
    state: Any = getattr(token, "__getstate__", lambda: None)()
    if not (isinstance(state, dict) and "content" in state):
        raise TypeError("Input must be a List[Union[str, AddedToken]]")
    if special:
        # As in the other library, the caller's own object becomes special.
        token.special = True
        state = token.__getstate__()
    copy = AddedToken(**{name: value for name, value in state.items() if name != "id"})
    if isinstance(token, AddedToken) and "normalized" not in token._flags:
        copy._flags.pop("normalized")
    return copy
