"""Mail addresses and keys that training left in a vocabulary, told where one is made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from jeton._plain import counted
from jeton.cli import streams

if TYPE_CHECKING:
    from jeton import Tokenizer

_N_SHOWN = 5


def tokens_of(tokenizer: Tokenizer) -> list[tuple[int, bytes]]:
    """Return the learned tokens of a vocabulary, by id."""
    added = {token.id for token in tokenizer.added_tokens}
    ids = tokenizer.is_token_mask().nonzero()[0].tolist()
    return [(id_, tokenizer.id_to_bytes(id_)) for id_ in ids if id_ not in added]


def personal_json(tokens: Iterable[tuple[int, bytes]]) -> list[dict[str, Any]]:
    """Return the tokens that look as if they belong to somebody, with the form of each."""
    from jeton.guard.vocabulary import SENSITIVE, personal_tokens

    texts = ((id_, text.decode("utf-8", "replace")) for id_, text in tokens)
    found = personal_tokens(texts)
    return [
        {"id": id_, "text": text, "form": form} for form in SENSITIVE for id_, text in found[form]
    ]


def say_personal(found: list[dict[str, Any]]) -> None:
    """Say which tokens a publisher should look at."""
    if not found:
        return
    streams.say(
        f"jeton: warning: {counted(len(found), 'token')} may be personal or secret: the training "
        "text had each many times"
    )
    for one in found[:_N_SHOWN]:
        streams.say(f"  {one['id']} {one['text']!r:.80} in the form of {one['form']}")
    if len(found) > _N_SHOWN:
        streams.say(f"  and {len(found) - _N_SHOWN:,} more; `jeton guard vocab` lists them")
