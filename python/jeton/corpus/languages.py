"""The language class of a document: its language by function words, or else its script.

A coarse and quick guess, made for one purpose: to tell a workload whose languages shifted from one
whose texts changed. It reads the beginning of a document, counts the function words of each
language that the document's script is used for, and takes the language with the most; ties and
fewer than two hits leave the script's name. A text must always get the same class, and one language
should seldom get two.

The lists are closed classes of words (articles, pronouns, prepositions, conjunctions, auxiliaries),
written for this purpose
(``function_words.json``). How often the guess is right is measured by ``scripts/language_guess.py``
(docs/reference/languages.md has its table).
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from pathlib import Path

READ_CHARS = 2_048
"""Characters read of a document: some 300 words, far more than a guess needs."""

_MIN_HITS = 2
"""One function word may be a name or a loan; two are seldom."""

_WORDS: dict[str, dict[str, str]] = json.loads(
    Path(__file__).with_name("function_words.json").read_text(encoding="utf-8")
)
"""Function words by script and language, lower case."""

LANGUAGES = tuple(sorted(language for table in _WORDS.values() for language in table))
"""The languages that are told apart; texts in others get the name of their script."""

_LANGUAGES_OF: dict[str, dict[str, tuple[str, ...]]] = {}
for _script, _table in _WORDS.items():
    _of_word: dict[str, list[str]] = {}
    for _language, _list in _table.items():
        for _word in dict.fromkeys(_list.split()):
            # A lone Latin letter is a variable, an option or an initial as often as a word.
            if len(_word) > 1 or _script != "latin":
                _of_word.setdefault(_word, []).append(_language)
    _LANGUAGES_OF[_script] = {word: tuple(found) for word, found in _of_word.items()}

# First code points of the blocks of each script (The Unicode Standard, Blocks.txt); what lies
# between two entries belongs to the former. "" holds no letters, or letters of rare scripts.
_BLOCKS = (
    (0x0000, ""),
    (0x0041, "latin"),
    (0x005B, ""),
    (0x0061, "latin"),
    (0x007B, ""),
    (0x00AA, "latin"),
    (0x02B0, ""),
    (0x0370, "greek"),
    (0x0400, "cyrillic"),
    (0x0530, "armenian"),
    (0x0590, "hebrew"),
    (0x0600, "arabic"),
    (0x0700, "other"),
    (0x0750, "arabic"),
    (0x0780, "other"),
    (0x0870, "arabic"),
    (0x0900, "devanagari"),
    (0x0980, "bengali"),
    (0x0A00, "gurmukhi"),
    (0x0A80, "gujarati"),
    (0x0B00, "oriya"),
    (0x0B80, "tamil"),
    (0x0C00, "telugu"),
    (0x0C80, "kannada"),
    (0x0D00, "malayalam"),
    (0x0D80, "sinhala"),
    (0x0E00, "thai"),
    (0x0E80, "lao"),
    (0x0F00, "tibetan"),
    (0x1000, "burmese"),
    (0x10A0, "georgian"),
    (0x1100, "hangul"),
    (0x1200, "ethiopic"),
    (0x13A0, "other"),
    (0x1780, "khmer"),
    (0x1800, "mongolian"),
    (0x18B0, "other"),
    (0x1E00, "latin"),
    (0x1F00, "greek"),
    (0x2000, ""),
    (0x2C00, "other"),
    (0x2C60, "latin"),
    (0x2C80, "other"),
    (0x2DE0, "cyrillic"),
    (0x2E00, ""),
    (0x2E80, "han"),
    (0x3000, ""),
    (0x3040, "kana"),
    (0x3100, "other"),
    (0x3130, "hangul"),
    (0x3190, ""),
    (0x31F0, "kana"),
    (0x3200, ""),
    (0x3400, "han"),
    (0x4DC0, ""),
    (0x4E00, "han"),
    (0xA000, "other"),
    (0xA640, "cyrillic"),
    (0xA6A0, "other"),
    (0xA720, "latin"),
    (0xA800, "other"),
    (0xAC00, "hangul"),
    (0xD7B0, "other"),
    (0xF900, "han"),
    (0xFB00, "latin"),
    (0xFB13, "other"),
    (0xFB50, "arabic"),
    (0xFE00, ""),
    (0xFE70, "arabic"),
    (0xFEFF, ""),
    (0x10000, "other"),
    (0x1F000, ""),
    (0x20000, "han"),
    (0x323B0, ""),
)
_STARTS = tuple(start for start, _ in _BLOCKS)

_WORD = re.compile(r"[^\W\d_]+")

_LATIN_WEIGHT = 0.25
"""Weight of a Latin letter beside letters of other scripts. Code, markup, names and links are in
Latin letters in every language, and one Chinese character says as much as several letters."""

_MIN_KANA_SHARE = 0.05
"""Japanese writes much of itself in Chinese characters; Chinese writes no kana."""


def language_class(text: str) -> str:
    """The class of one document; ``"none"`` where there are no letters.

    Args:
        text: The document in lower case (`rewritten` makes it so).
    """
    text = text[:READ_CHARS]
    script = "latin" if text.isascii() else _main_script(text)
    if script == "latin" and text.isascii() and not _WORD.search(text):
        return "none"
    words = _LANGUAGES_OF.get(script)
    if words is None:
        return script
    found = Counter(_WORD.findall(text))
    hits: Counter[str] = Counter()
    for word in found.keys() & words.keys():
        for language in words[word]:
            hits[language] += found[word]
    # By number alone: of equally many neither is taken, so their order does not matter.
    ranked = hits.most_common(2)
    if not ranked or ranked[0][1] < _MIN_HITS:
        return script
    if len(ranked) == 2 and ranked[1][1] == ranked[0][1]:
        return script
    return ranked[0][0]


def _main_script(text: str) -> str:
    """The script of most letters; of equally many, the first in the alphabet."""
    counts: dict[str, float] = defaultdict(float)
    for char, n in Counter(text).items():
        script = _BLOCKS[bisect_right(_STARTS, ord(char)) - 1][1]
        if script and char.isalpha():
            counts[script] += n * _LATIN_WEIGHT if script == "latin" else n
    if not counts:
        return "none"
    if counts["kana"] >= _MIN_KANA_SHARE * (counts["kana"] + counts["han"]) > 0:
        counts["kana"] += counts.pop("han", 0)
    name, _ = min(counts.items(), key=lambda item: (-item[1], item[0]))
    return {"kana": "japanese", "han": "chinese", "hangul": "korean"}.get(name, name)
