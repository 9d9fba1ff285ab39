"""Findings about vocabularies, and the table of their kinds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from jeton.guard.kinds import GuardLevel

MAX_NAMED: Final = 20
"""Ids and tokens of a finding that are listed; all of them are counted."""


@dataclass(frozen=True, slots=True)
class VocabularyFinding:
    """One fault of a vocabulary, or one suspicion.

    Attributes:
        kind: Name in ``DANGERS``.
        severity: Severity.
        what: One sentence with the number.
        where: File or part.
        n: Tokens, rules or files concerned.
        ids: Ids, all of them, ascending; empty where no ids are concerned.
        examples: The first of them in words.
    """

    kind: str
    severity: GuardLevel
    what: str
    where: str
    n: int = 1
    ids: tuple[int, ...] = ()
    examples: tuple[str, ...] = ()

    @property
    def danger(self) -> str:
        """Effect that an attacker or an accident has by it."""
        return DANGERS[self.kind]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "kind": self.kind,
            "severity": self.severity.value,
            "what": self.what,
            "where": self.where,
            "danger": self.danger,
            "n": self.n,
            "ids": list(self.ids[:MAX_NAMED]),
            "examples": list(self.examples),
        }


DANGERS: Final = {
    "does-not-load": "programs that are less strict load it and give ids that nobody checked",
    "empty": "no text can be encoded: a program fails, or drops the text without a word",
    "unreachable": "no text gives these ids, so they were never trained; a client that sends ids "
    "can still use them",
    "duplicate-id": "two tokens share a row of the model: one of them is read as the other",
    "duplicate-token": "the same text has two ids, and a program may give either",
    "id-out-of-range": "the model has no row for the id: an index error, or foreign memory",
    "id-hole": "an id without a token can be generated and cannot be decoded",
    "merge-part-missing": "the merge never happens, or a program fails when it loads the file",
    "merge-result-missing": "the merge makes a token without an id: unknown text, or a failure",
    "order": "ids were exchanged: words are read as other words, and the weights look unchanged",
    "differs-from-base": "text gives other ids than the model was trained with",
    "suspicious-text": "a token that is an instruction, an address or a command was put there",
    "hidden-text": "a token has characters that nobody sees",
    "special-look-alike": "an ordinary token reads like a special one, and passes filters of ids",
    "merge-twice": "programs differ in which of the two places counts, and so in ids",
    "post-processor": "tokens that nobody wrote stand before or behind every text",
    "personal-data": "the training corpus had this text many times: it may be personal or secret",
    "captures-words": "an added token is cut out of ordinary words before all else",
    "normalizer-rewrites": "text is changed before it is encoded: the model reads another text",
    "decoder-rewrites": "ids are decoded to another text than the one that gave them",
    "costly-pattern": "a short text can keep the tokenizer busy for minutes",
    "template-reaches-out": "a chat template that reaches outside can run code or read files",
    "template-injects": "the template adds words that no user and no developer wrote",
    "remote-code": "loading the model runs code from its folder",
    "unsafe-file": "a pickle runs code when it is loaded",
    "damaged-file": "the rows of the model could not be looked at: nothing is said of them",
    "model-rows": "ids beyond the matrix fail, or rows without a token are generated",
    "bad-rows": "one such row makes every answer that meets its token a row of NaN",
    "zero-rows": "a row of zeros says nothing of its token: it was never trained, or was erased",
    "equal-rows": "tokens with one row are the same to the model: never trained, or copied",
    "undertrained-suspects": "tokens that training hardly touched make answers erratic, and "
    "attackers look for them",
}
"""Kinds, with the effect of each."""


def found(
    kind: str,
    severity: GuardLevel,
    what: str,
    where: str,
    *,
    ids: Iterable[int] = (),
    examples: Iterable[str] = (),
    n: int | None = None,
) -> VocabularyFinding:
    """Return a finding; examples beyond ``MAX_NAMED`` are left out."""
    listed = tuple(sorted(set(ids)))
    shown = tuple(examples)
    count = n if n is not None else len(listed) or len(shown) or 1
    return VocabularyFinding(kind, severity, what, where, count, listed, shown[:MAX_NAMED])
