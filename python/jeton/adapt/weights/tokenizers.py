"""Tokenizers of the two sides, and the change between them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from jeton._core import Tokenizer
from jeton.adapt.agreement import Disagreement, disagreement
from jeton.adapt.change import CHANGE_FILE, VocabularyChange
from jeton.checkpoint.adapted import has_fingerprint
from jeton.errors import AdaptError, JetonError
from jeton.formats.names import name_of_file
from jeton.registry import load


class TokenizerPair:
    """The old and the new tokenizer, each loaded when it is first needed."""

    def __init__(self, model: Path, tokenizer: Path) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self._old: Tokenizer | None = None
        self._new: Tokenizer | None = None

    @property
    def old(self) -> Tokenizer:
        """The tokenizer of the model directory."""
        if self._old is None:
            self._old = load(self.model)
        return self._old

    @property
    def new(self) -> Tokenizer:
        """The new tokenizer."""
        if self._new is None:
            self._new = load(self.tokenizer)
        return self._new

    @property
    def has_old(self) -> bool:
        """True if the model directory has a tokenizer that can be loaded."""
        try:
            return self.old is not None
        except (JetonError, OSError):
            return False


def read_sides(model: Path, tokenizer: Path, *, is_file: bool = False) -> TokenizerPair:
    """Returns both sides; nothing is loaded yet.

    Raises:
        FileNotFoundError: One of them is not there.
    """
    for path in (model, tokenizer):
        if not path.exists():
            raise FileNotFoundError(2, "No such file or directory", str(path))
    if not is_file and not model.is_dir():
        raise NotADirectoryError(20, "Not a directory", str(model))
    return TokenizerPair(model, tokenizer)


def change_of_sides(sides: TokenizerPair, *, by_bytes: bool = False) -> VocabularyChange:
    """Returns the change that lies beside the new tokenizer, or else the one by bytes.

    Args:
        sides: Both tokenizers.
        by_bytes: True if the old tokenizer may be another form of the one that the change begins
            with, as in a GGUF file; then every kept token must have its bytes.

    Raises:
        AdaptError: The change is of other tokenizers, or the bytes do not say which token is which.
        FormatError: A file is damaged.
    """
    file = _change_file(sides.tokenizer)
    # A model that was adapted before keeps the file of that change beside its tokenizer.
    if not file.is_file() or sides.tokenizer.resolve() == sides.model.resolve():
        return _derived(sides)
    change = VocabularyChange.read(file)
    if not has_fingerprint(sides.tokenizer, change.new_fingerprint, sides.new):
        raise AdaptError(
            f"{file} leads to another tokenizer than the one beside it (fingerprint "
            f"{change.new_fingerprint[:12]}, not {sides.new.fingerprint[:12]})\n"
            "hint: make the tokenizer again, or remove the file to have the change derived by bytes"
        )
    if sides.has_old and not has_fingerprint(sides.model, change.old_fingerprint, sides.old):
        if sides.old.fingerprint == change.new_fingerprint:
            # The model has the new tokenizer already.
            return VocabularyChange.identity(sides.old)
        if by_bytes and _keeps_bytes(change, sides):
            return change
        raise AdaptError(
            f"{file} begins with another tokenizer than that of {sides.model} (fingerprint "
            f"{change.old_fingerprint[:12]}, not {sides.old.fingerprint[:12]})\n"
            "hint: name the model that the tokenizer was made for"
        )
    _check_ids(file, change, sides)
    wrong = disagreement_of(change, sides).wrong
    if wrong:
        raise AdaptError(
            f"{file} and the bytes of the tokens differ: {wrong[0]}"
            "\nhint: make the tokenizer again, or remove the file to have the change derived by "
            "bytes"
        )
    return change


def disagreement_of(change: VocabularyChange, sides: TokenizerPair) -> Disagreement:
    """Returns how a change differs from the one by bytes; not at all where these do not tell."""
    if not sides.has_old:
        return Disagreement((), ())
    try:
        derived = VocabularyChange.between(sides.old, sides.new)
    except AdaptError:
        return Disagreement((), ())
    # The file may begin with the tokenizer without its folder's settings.
    derived = replace(
        derived,
        old_fingerprint=change.old_fingerprint,
        new_fingerprint=change.new_fingerprint,
    )
    return disagreement(change, derived)


def gone_special_tokens(sides: TokenizerPair, change: VocabularyChange) -> dict[str, int]:
    """Returns old ids of special tokens that have no new id, by their text."""
    if not len(change.gone) or not sides.has_old:
        return {}
    gone = set(change.gone.tolist())
    kept = sides.new.special_tokens
    return {
        text: old
        for text, old in sides.old.special_tokens.items()
        if old in gone and text not in kept
    }


def _change_file(tokenizer: Path) -> Path:
    """The place of the change: in the folder, or beside the file under its name."""
    if tokenizer.is_dir():
        return tokenizer / CHANGE_FILE
    named = tokenizer.with_name(f"{name_of_file(tokenizer)}.{CHANGE_FILE}")
    return named if named.is_file() else tokenizer.with_name(CHANGE_FILE)


def _keeps_bytes(change: VocabularyChange, sides: TokenizerPair) -> bool:
    """True if every token that is kept has the same bytes on both sides."""
    old, new = sides.old, sides.new
    if new.vocab_size != change.n_new_ids or old.vocab_size < change.n_old_ids:
        return False
    is_token = new.is_token_mask()
    return all(
        old.id_to_bytes(int(change.old_of[id])) == new.id_to_bytes(id)
        for id in change.kept.tolist()
        if is_token[id]
    )


def _check_ids(file: Path, change: VocabularyChange, sides: TokenizerPair) -> None:
    n_old = sides.old.vocab_size if sides.has_old else change.n_old_ids
    if (n_old, sides.new.vocab_size) != (change.n_old_ids, change.n_new_ids):
        raise AdaptError(
            f"{file} leads from {change.n_old_ids:,} to {change.n_new_ids:,} ids; the tokenizers "
            f"have {n_old:,} and {sides.new.vocab_size:,}\n"
            "hint: make the tokenizer again, or remove the file to have the change derived by bytes"
        )


def _derived(sides: TokenizerPair) -> VocabularyChange:
    try:
        old = sides.old
    except JetonError as error:
        raise AdaptError(
            f"{sides.model} has no tokenizer that can be loaded, and {sides.tokenizer} no "
            f"{CHANGE_FILE}: {error}"
        ) from error
    if old.fingerprint == sides.new.fingerprint:
        return VocabularyChange.identity(old)
    return VocabularyChange.between(old, sides.new)
