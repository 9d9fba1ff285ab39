"""Segmenters: what cuts pretokens further, by a lexicon, a model or another library.

A segmenter is any function from a pretoken to its parts, which join to the pretoken again. Training
counts the parts instead of the pretokens, so no token crosses an end of one. Named ones:

- ``jieba`` and ``jieba:DICTIONARY``: Chinese words (extra ``jieba``);
- ``morphemes:FILE``: the morphemes of the words in a file;
- ``morfessor``: morphemes that Morfessor learns from the counts (extra ``morphology``),
  ``morfessor:FILE``: those of a segmentation file that it wrote;
- any name that another package declares in the entry point group ``jeton.segmenters``: a function
  that takes what stands behind the colon (or nothing) and returns a segmenter.

Encoding with a segmenter: the parts of pretokens are encoded one by one.

A tokenizer that was trained with a segmenter is a plain one: its file says nothing of the
segmenter, and everything that loads the file merges across the ends of parts where its merges
happen to do so. ``SegmentedTokenizer`` does not. Other libraries give the same result for the parts
themselves (``segments``), where they take text that is cut already.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from jeton._core import PretokenCounts, TextBatch
from jeton._nearest import nearest
from jeton.errors import MissingExtraError, TrainingError, UsageError
from jeton.registry import TokenizerLike, resolve

if TYPE_CHECKING:
    from jeton.pretokenizing.morphemes import MorphemeLexicon


Segmenter = Callable[[str], Sequence[str]]
"""A pretoken to its parts, in order; joined, they are the pretoken."""

ENTRY_POINT_GROUP: Final = "jeton.segmenters"

SEGMENTERS: Final = ("jieba", "morphemes", "morfessor")
"""Names that need no other package's entry point."""

_PACKAGES: Final = {"jieba": "jieba", "morfessor": "morfessor"}
"""Packages that segmenters need."""

_BATCH: Final = 1 << 16
"""Parts that are counted together."""


def find_segmenter(name: str | Segmenter, *, counts: PretokenCounts | None = None) -> Segmenter:
    """The segmenter of a name, or the function itself.

    Args:
        name: A name, perhaps with an argument behind a colon; or a function.
        counts: Counts that ``morfessor`` learns from.

    Raises:
        UsageError: There is none of this name, it needs an argument, or has none to learn from.
        MissingExtraError: A package that it needs is not installed.
    """
    if not isinstance(name, str):
        if not callable(name):
            raise UsageError(f"segmenter is {name!r}; expected a name or a function")
        return name
    kind, _, argument = name.partition(":")
    if kind == "jieba":
        return _jieba(argument)
    if kind == "morphemes":
        return _lexicon(argument)
    if kind == "morfessor":
        return _morfessor(argument, counts)
    declared = {entry.name: entry for entry in entry_points(group=ENTRY_POINT_GROUP)}
    if kind in declared:
        return _declared(declared[kind], argument)
    names = (*SEGMENTERS, *sorted(declared))
    ready = [name for name in names if find_spec(_PACKAGES.get(name, "jeton")) is not None]
    raise UsageError(
        f"unknown segmenter {kind!r}; expected one of {', '.join(nearest(kind, names) or names)}\n"
        f"hint: those installed are {', '.join(ready)}; in Python any function will do"
    )


def segmenter_name(segmenter: str | Segmenter) -> str:
    """Name of a segmenter on a training card."""
    if isinstance(segmenter, str):
        return segmenter
    named: Any = segmenter if hasattr(segmenter, "__qualname__") else type(segmenter)
    return f"{named.__module__}.{named.__qualname__}"


def _declared(entry: EntryPoint, argument: str) -> Segmenter:
    try:
        make = entry.load()
    except ImportError as error:
        raise UsageError(f"the segmenter {entry.name!r} cannot be loaded: {error}") from error
    return cast("Segmenter", make(argument) if argument else make())


def _jieba(dictionary: str) -> Segmenter:
    try:
        import jieba
    except ImportError as error:
        raise MissingExtraError("the segmenter 'jieba'", extra="jieba") from error
    jieba.setLogLevel(logging.WARNING)
    if dictionary and not Path(dictionary).is_file():
        raise FileNotFoundError(f"the dictionary {dictionary} of jieba is no file")
    # An object of its own: words that a user's dictionary adds stay in it.
    cutter = jieba.Tokenizer()
    if dictionary:
        with Path(dictionary).open("rb") as lines:
            cutter.load_userdict(lines)

    def cut(pretoken: str) -> list[str]:
        if pretoken.isascii():
            return [pretoken]
        return _with_space(cutter.lcut(pretoken))

    return cut


def _with_space(parts: Iterable[str]) -> list[str]:
    """Parts; a space alone belongs to what follows."""
    joined: list[str] = []
    space = ""
    for part in parts:
        if part == " ":
            space += part
            continue
        joined.append(space + part)
        space = ""
    return [*joined, space] if space else joined


def _lexicon(path: str) -> MorphemeLexicon:
    from jeton.pretokenizing.morphemes import MorphemeLexicon

    if not path:
        raise UsageError(
            "the segmenter 'morphemes' needs a file: word, tab, its morphemes\n"
            "hint: segmenter='morphemes:words.tsv'"
        )
    return MorphemeLexicon.read(path)


def _morfessor(path: str, counts: PretokenCounts | None) -> Segmenter:
    from jeton.pretokenizing.morphemes import MorfessorSegmenter, learn_morphemes

    if path:
        return MorfessorSegmenter.read(path)
    if counts is None:
        raise UsageError(
            "the segmenter 'morfessor' has no words to learn from here\n"
            "hint: give it a file, 'morfessor:model.segm', or learn_morphemes(words)"
        )
    return learn_morphemes(words_of_counts(counts))


def words_of_counts(counts: PretokenCounts) -> dict[str, int]:
    """The words of pretokens, in lower case, and how often they occur."""
    found: Counter[str] = Counter()
    for pretoken, count in counts.items():
        word = pretoken.decode(errors="replace").strip(" \u2581").lower()
        if word.isalpha():
            found[word] += count
    return dict(found)


def checked_parts(segmenter: Segmenter, pretoken: str) -> list[str]:
    """The parts of a pretoken, none of them empty.

    Raises:
        TrainingError: They do not join to the pretoken.
    """
    parts = [part for part in segmenter(pretoken) if part]
    if "".join(parts) != pretoken:
        raise TrainingError(
            f"the segmenter {segmenter_name(segmenter)} made {parts!r} of {pretoken!r}, and that "
            "is not the same text\n"
            "hint: a segmenter only cuts; it may not change, drop or add anything"
        )
    return parts


def segmented_counts(counts: PretokenCounts, segmenter: Segmenter) -> PretokenCounts:
    """Counts of parts instead of pretokens; the counts given stay as they are.

    All distinct pretokens and parts are in memory. SentencePiece's U+2581 is shown to the segmenter
    as the space that it stands for.

    Raises:
        TrainingError: The segmenter's parts of a pretoken make another text.
    """
    is_marked = '"sentences"' in counts.cutting
    found: Counter[str] = Counter()
    for raw, count in counts.items():
        pretoken = raw.decode()
        if is_marked:
            shown = pretoken.replace("\u2581", " ")
            for part in checked_parts(segmenter, shown):
                found[part.replace(" ", "\u2581")] += count
        else:
            for part in checked_parts(segmenter, pretoken):
                found[part] += count
    made = PretokenCounts.cut_by(counts.cutting)
    for parts, weights in in_batches(found):
        made.add(TextBatch.from_texts(parts), weights=weights, whole=True)
    return made


def in_batches(found: Mapping[str, int]) -> Iterator[tuple[list[str], Any]]:
    """Texts in order with their counts, uint64, some at a time."""
    items = sorted(found.items())
    for start in range(0, len(items), _BATCH):
        some = items[start : start + _BATCH]
        yield [part for part, _ in some], np.array([count for _, count in some], dtype=np.uint64)


_MOST_KNOWN: Final = 1 << 18
"""Pretokens whose ids are kept: about 100 MB in Python at most. When there are more, all go."""


class SegmentedTokenizer:
    """A tokenizer whose pretokens a segmenter cuts further.

    Example:
        >>> import jeton
        >>> lexicon = {"lowest": ["low", "est"], "newest": ["new", "est"]}
        >>> def cut(pretoken):
        ...     word = pretoken.strip()
        ...     space = pretoken[: len(pretoken) - len(word)]
        ...     first, *others = lexicon.get(word, [word])
        ...     return [space + first, *others]
        >>> texts = ["lowest newest low new"] * 9
        >>> inner = jeton.train(iter(texts), vocab_size=266, special_tokens=(), segmenter=cut)
        >>> tokenizer = SegmentedTokenizer(inner, segmenter=cut)
        >>> [inner.id_to_bytes(id) for id in tokenizer.encode(" newest")]
        [b' new', b'est']
    """

    def __init__(self, tokenizer: TokenizerLike, *, segmenter: str | Segmenter) -> None:
        """Wrap a tokenizer.

        Args:
            tokenizer: One that cuts text by a pattern and keeps all of it.
            segmenter: A function, or the name of a segmenter, as ``train`` takes it (but for
                ``morfessor`` without a file: it has nothing to learn from here).

        Raises:
            UsageError: The tokenizer is a SentencePiece model, or there is no such segmenter.
        """
        tokenizer = resolve(tokenizer)
        # Raises for models that know no pretokens.
        tokenizer.encode_pretoken(b"a")
        if "".join(tokenizer.pretokenize("a b")) != "a b":
            raise UsageError(
                "the tokenizer drops or rewrites text when it cuts it, so parts would not be the "
                "same text\nhint: train with a split pattern"
            )
        self.tokenizer = tokenizer
        self.segmenter = find_segmenter(segmenter)
        self._known: dict[str, list[int]] = {}

    def segments(self, text: str) -> list[str]:
        """The parts of all pretokens of a text: what ``tokenizers`` takes as pre-tokenized."""
        return [
            part
            for pretoken in self.tokenizer.pretokenize(text)
            for part in checked_parts(self.segmenter, pretoken)
        ]

    def encode(self, text: str) -> list[int]:
        """The ids of a text; no special tokens are added, and what looks like one stays text."""
        ids: list[int] = []
        for pretoken in self.tokenizer.pretokenize(text):
            known = self._known.get(pretoken)
            if known is None:
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                known = [
                    id
                    for part in checked_parts(self.segmenter, pretoken)
                    for id in self.tokenizer.encode_pretoken(part.encode())
                ]
                self._known[pretoken] = known
            ids.extend(known)
        return ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text."""
        return [self.encode(text) for text in texts]

    def count(self, text: str) -> int:
        """Number of ids of a text."""
        return len(self.encode(text))

    def decode(self, ids: Sequence[int] | Any) -> str:
        """The text of ids: decoding knows no parts."""
        return self.tokenizer.decode(ids)
