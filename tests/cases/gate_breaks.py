"""A corpus of our own words, and ways in which a pipeline breaks it."""

from __future__ import annotations

import base64
import html
import json
import random
import re
import unicodedata
import urllib.parse
from collections.abc import Callable

__all__ = ["BREAKS", "corpus"]

_SENTENCES = (
    "The parcel left the warehouse on Tuesday and should reach you before the weekend.",
    "Please check the seal of the box, and send us a photograph if it is broken.",
    "A refund takes three to five days, depending on the bank.",
    "L'été dernier, nous avons déménagé à Orléans, où l'école est tout près de la forêt.",
    "Sa réponse était brève : il préférait être prévenu à l'avance, même tard le soir.",
    "Die Rechnung enthält dreißig Positionen, von denen zwölf schon bezahlt wurden.",
    "Bitte prüfen Sie, ob die Lieferung vollständig ist, und geben Sie uns Bescheid.",
    "Поезд отправляется в девять часов утра, и билеты продаются только на вокзале.",
    "Мы получили ваше письмо и ответим на все вопросы до конца недели.",
    "会议改到星期四下午三点，请提前把材料发给所有参加的人。",
    "この部屋は静かで、駅からも近いので、旅行の途中で泊まるのに便利です。",
    "El técnico llegó temprano, cambió la pieza dañada y probó la máquina dos veces.",
    "Our office is closed between the holidays; urgent requests go to the duty officer.",
    "If the lamp blinks twice, hold the button for ten seconds and wait for the tone.",
)
_PROMPT = (
    "You answer for a parcel service and are always polite.\n"
    "Never promise a day of delivery. If you do not know the answer, name the hotline.\n"
    "Keep to the language in which you were asked, and write at most five sentences.\n\n"
)


def corpus(n_documents: int = 24) -> list[str]:
    """Paragraphs of several languages, drawn with a seed."""
    draw = random.Random(20261127)
    documents = []
    for number in range(n_documents):
        paragraphs = [" ".join(draw.sample(_SENTENCES, k=draw.randint(2, 4))) for _ in range(3)]
        documents.append(f"Case {number * 37 + 11}\n\n" + "\n\n".join(paragraphs))
    return documents


def _lines(text: str) -> list[str]:
    return text.split("\n")


def _full_width(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def _spaced_signs(text: str) -> str:
    return "".join(f" {c} " if not c.isalnum() and not c.isspace() else c for c in text)


def _chat(text: str) -> str:
    return (
        "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\n"
        f"{text}<|im_end|>\n<|im_start|>assistant\n"
    )


def _xml(text: str) -> str:
    lines = "\n".join(
        f'  <line n="{i}"><text>{t}</text></line>' for i, t in enumerate(_lines(text))
    )
    return f"<document>\n{lines}\n</document>"


def _json(text: str, indent: int | None, *, is_ascii: bool = False) -> str:
    lines = [{"n": i, "role": "user", "content": line} for i, line in enumerate(_lines(text))]
    return json.dumps({"request": {"lines": lines}}, ensure_ascii=is_ascii, indent=indent)


def _markdown_table(text: str) -> str:
    rows = "\n".join(f"| {i} | guest | {line} |" for i, line in enumerate(_lines(text)))
    return f"| no | who | said |\n|---:|-----|------|\n{rows}"


def _yaml(text: str) -> str:
    entries = (
        f"  - role: user\n    index: {i}\n    content: >-\n      {line}"
        for i, line in enumerate(_lines(text))
    )
    return "messages:\n" + "\n".join(entries)


def _spans(text: str) -> str:
    words = "".join(f'<div class="cell"><span>{word}</span></div>' for word in text.split(" "))
    return f"<html><body>{words}</body></html>"


def _logged(text: str) -> str:
    return "\n".join(
        f"2026-11-27 12:30:{i % 60:02d},{i * 7 % 1000:03d} - app.desk - INFO - {line}"
        for i, line in enumerate(_lines(text))
    )


def _syslog(text: str) -> str:
    return "\n".join(
        f"Nov 27 12:30:{i % 60:02d} desk-3 app[4711]: {line}" for i, line in enumerate(_lines(text))
    )


_CYRILLIC_TWINS = str.maketrans("aceopxy", "\u0430\u0441\u0435\u043e\u0440\u0445\u0443")

BREAKS: dict[str, Callable[[str], str]] = {
    "json.dumps": json.dumps,
    "json.dumps twice": lambda text: json.dumps(json.dumps(text)),
    "second half dumped twice": lambda text: (
        f"Case file\n\n{text[: len(text) // 2]}\n\n{json.dumps(json.dumps(text[len(text) // 2 :]))}"
    ),
    "html.escape": html.escape,
    "numeric entities": lambda text: text.encode("ascii", "xmlcharrefreplace").decode(),
    "url quoting": urllib.parse.quote,
    "url quoting of forms": urllib.parse.quote_plus,
    "repr of bytes": lambda text: repr(text.encode()),
    "unicode_escape": lambda text: text.encode("unicode_escape").decode(),
    "nfd": lambda text: unicodedata.normalize("NFD", text),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 in lines": lambda text: base64.encodebytes(text.encode()).decode(),
    "hexadecimal": lambda text: text.encode().hex(),
    "hexadecimal in pairs": lambda text: text.encode().hex(" "),
    "three times": lambda text: f"{text}\n\n{text}\n\n{text}",
    "each line twice": lambda text: "\n".join(f"{line}\n{line}" for line in _lines(text)),
    "latin-1": lambda text: text.encode().decode("latin-1"),
    "windows-1251": lambda text: text.encode().decode("cp1251", "replace"),
    "wrong encoding twice": lambda text: text.encode().decode("latin-1").encode().decode("latin-1"),
    "json indented": lambda text: _json(text, 4),
    "json compact": lambda text: _json(text, None),
    "letters apart": " ".join,
    "letters apart by hyphens": "-".join,
    "signs apart": _spaced_signs,
    "upper case": str.upper,
    "system prompt": lambda text: _PROMPT + text,
    "system prompt on one line": lambda text: "Translate the letter below into English: " + text,
    "footer": lambda text: f"{text}\n\n{_PROMPT}",
    "trailing blanks": lambda text: text.replace("\n", "   \t \t\n").replace(". ", ".    "),
    "tabs for spaces": lambda text: text.replace(" ", "\t"),
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "windows line ends": lambda text: text.replace("\n", "\r\n\r\n"),
    "a word a line": lambda text: "\n".join(text.split()),
    "full width": _full_width,
    "bold letters": lambda text: "".join(
        chr(0x1D41A + ord(c) - 97) if "a" <= c <= "z" else c for c in text
    ),
    "zero-width joiners": "\u200d".join,
    "zero-width spaces": lambda text: text.replace(" ", "\u200b "),
    "soft hyphens": lambda text: "".join(c + "\u00ad" if c.isalpha() else c for c in text),
    "xml": _xml,
    "html": lambda text: "".join(
        f"<p class='line' style='margin:0'>{html.escape(line)}</p>" for line in _lines(text)
    ),
    "chat template twice": lambda text: _chat(_chat(text)),
    "line numbers": lambda text: "\n".join(
        f"{i:4d}: {line}" for i, line in enumerate(_lines(text), 1)
    ),
    "time stamps": lambda text: "\n".join(
        f"2026-11-27T12:30:{i % 60:02d}Z INFO {line}" for i, line in enumerate(_lines(text))
    ),
    "logger": _logged,
    "syslog": _syslog,
    "markdown table": _markdown_table,
    "bold words": lambda text: re.sub(r"(\w+)", r"**\1**", text),
    "markdown quotes": lambda text: "\n".join(f"> - **{line}**" for line in _lines(text)),
    "links": lambda text: re.sub(
        r"\b([^\W\d_]{5,})\b", r"[\1](https://www.example.org/words?of=\1&from=desk)", text
    ),
    "citations": lambda text: re.sub(r"([.!?])\s", r"\1[1][2][3] ", text),
    "yaml": _yaml,
    "spans": _spans,
    "list of python": lambda text: repr(text.split(" ")),
    "list of bytes": lambda text: str(list(text.encode())),
    "koi8-r": lambda text: text.encode().decode("koi8_r"),
    "gb18030": lambda text: text.encode().decode("gb18030", "replace"),
    "colours of a terminal": lambda text: re.sub(r"(\S+)", "\x1b[1;32m\\1\x1b[0m", text),
    "letters two blanks apart": "  ".join,
    "words twice": lambda text: re.sub(r"(\S+)", r"\1 \1", text),
    "sentences three times": lambda text: re.sub(r"([^.!?\n]+[.!?])\s?", r"\1 \1 \1 ", text),
    "padding": lambda text: text + "<pad>" * 300,
    "struck out": lambda text: "".join(c + "\u0336" if c.isalpha() else c for c in text),
    "letters of another alphabet": lambda text: text.translate(_CYRILLIC_TWINS),
    "exclamation marks": lambda text: re.sub(r"[.!?]", "!?!?!?!?" + "!" * 40, text),
    "rules": lambda text: text.replace("\n\n", "\n" + "-" * 80 + "\n") + "\n" + "=" * 100,
}
"""Every break by the name that the cases call it."""
