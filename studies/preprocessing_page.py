"""Write docs/studies/preprocessing.md: savings and losses of the steps by kind of text.

``python -m studies.preprocessing_page CORPORA`` (the folder of the corpora that the page names)
needs trafilatura, markdownify and html2text. HTML pages and some JSON are made here.
"""

from __future__ import annotations

import io
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jeton
from jeton._core import Tokenizer, decompress
from jeton.preprocess import PreprocessReport, TokenSaving
from jeton.preprocess.json_step import json_forms

__all__ = ["main"]

PAGE = Path(__file__).resolve().parent.parent / "docs" / "studies" / "preprocessing.md"
TOKENIZER = "o200k_base"
MAX_BYTES = 400_000
"""Text of each kind: the first documents of it up to this size."""

SEED = 0
SAFE = "whitespace,unicode"
ALL = "html,json,whitespace,unicode,quotes,boilerplate,repetition,numbers"

KINDS = (
    ("English news", "english.jsonl.zst", "english-news"),
    ("medical abstracts", "medical.jsonl.zst", "medical-abstract"),
    ("contracts", "legal.jsonl.zst", "legal-contract"),
    ("web chatter", "noisy.jsonl.zst", "webtext"),
    ("OCR", "noisy.jsonl.zst", "ocr"),
    ("prompts", "chat.jsonl.zst", "prompt"),
    ("server logs", "logs_json.jsonl.zst", "log-apache"),
    ("JSON settings", "logs_json.jsonl.zst", "json-config"),
    ("JSON records", "logs_json.jsonl.zst", "json-record"),
    ("Python", "code.jsonl.zst", "code-python"),
    ("HTML templates", "code.jsonl.zst", "code-html"),
)

_WORDS = (
    "harbour",
    "ferry",
    "winter",
    "ticket",
    "bridge",
    "market",
    "engine",
    "signal",
    "garden",
    "archive",
    "letter",
    "copper",
    "museum",
    "window",
    "border",
    "cattle",
    "salmon",
    "timber",
    "lantern",
    "harvest",
)
_NAMES = ("Ada Berg", "Olav Dahl", "Ines Moreau", "Tomas Novak", "Lucia Ferri", "Jan Kowal")


def texts_of(folder: Path, name: str, domain: str) -> list[str]:
    """The first documents of a domain."""
    data = decompress((folder / name).read_bytes(), max_bytes=1 << 30)
    found: list[str] = []
    n_bytes = 0
    for line in io.BytesIO(data):
        record = json.loads(line)
        if record["domain"] == domain:
            found.append(record["text"])
            n_bytes += len(record["text"].encode())
            if n_bytes >= MAX_BYTES:
                break
    return found


def sentence(random_: random.Random) -> str:
    """A sentence with a name, a number or neither."""
    words = random_.choices(_WORDS, k=random_.randint(6, 14))
    if random_.random() < 0.4:
        words.insert(3, random_.choice(_NAMES))
    if random_.random() < 0.4:
        words.insert(2, f"{random_.randint(2, 99_999):,}")
    return words[0].capitalize() + " " + " ".join(words[1:]) + "."


def html_page(number: int) -> str:
    """A page of an article, with menus, a table, links, code, scripts and a footer."""
    random_ = random.Random(SEED + number)
    menu = "".join(f'<li class="nav-item"><a href="/{w}">{w.title()}</a></li>' for w in _WORDS[:12])
    parts = []
    for _ in range(random_.randint(3, 7)):
        parts.append(f"<h2>{sentence(random_)[:-1]}</h2>")
        for _ in range(random_.randint(1, 3)):
            text = " ".join(sentence(random_) for _ in range(random_.randint(2, 5)))
            link = f'<a href="https://example.org/{random_.randint(1, 999)}">more</a>'
            parts.append(
                f'<p class="body-text">{text} See {link} and <code>run({number})</code>.</p>'
            )
    rows = "".join(
        f"<tr><td>{random_.choice(_NAMES)}</td><td>{random_.uniform(1, 900):.2f}</td></tr>"
        for _ in range(8)
    )
    body = "\n      ".join(parts)
    return f"""<!DOCTYPE html>
<html lang="en">
  <head>
    <title>Page {number}</title>
    <style>.nav-item {{ margin: 0 4px; }} .body-text {{ color: #223344; }}</style>
    <script>window.config = {{"page": {number}, "flags": [1, 2, 3]}};</script>
  </head>
  <body>
    <nav><ul class="nav">{menu}</ul></nav>
    <article>
      <h1>{sentence(random_)[:-1]}</h1>
      {body}
      <table><tr><th>Name</th><th>Amount</th></tr>{rows}</table>
    </article>
    <footer><p>Copyright Harbour Trust 2026. All rights reserved.</p></footer>
  </body>
</html>
"""


def json_samples() -> Iterator[tuple[str, list[str]]]:
    """Kinds of JSON that are made here, each with its documents."""
    random_ = random.Random(SEED)

    def person() -> dict[str, Any]:
        return {"customer_id": random_.randint(1, 10**6), "name": random_.choice(_NAMES)} | {
            "balance": round(random_.uniform(0, 999), 2),
            "is_active": random_.random() < 0.5,
        }

    def order() -> dict[str, Any]:
        lines = [{"sku": random_.choice(_WORDS), "n": i, "tags": ["a", "b"]} for i in range(3)]
        return {"buyer": {"name": random_.choice(_NAMES), "at": {"no": 3}}, "lines": lines}

    def event() -> dict[str, Any]:
        entry: dict[str, Any] = {"level": "info", "message": sentence(random_)}
        if random_.random() < 0.4:
            entry["error"] = {"code": 500, "retry": True}
        return entry

    yield "alike flat objects", [json.dumps([person() for _ in range(25)]) for _ in range(30)]
    yield "nested orders", [json.dumps({"orders": [order() for _ in range(10)]}) for _ in range(30)]
    yield (
        "log events, some with more fields",
        [json.dumps([event() for _ in range(20)]) for _ in range(30)],
    )


def share(saving: TokenSaving) -> str:
    """A saving with its interval."""
    text = f"{saving.saved_share:.1%}"
    found = saving.interval
    return text if found is None else f"{text} ({found.low:.1%} to {found.high:.1%})"


def kept(report: PreprocessReport, kind: str) -> str:
    """Share of a kind of things that is still there."""
    count = next(loss for loss in report.losses if loss.kind == kind)
    return "-" if count.kept_share is None else f"{count.kept_share:.1%}"


def run(texts: list[str], steps: str, tokenizer: Tokenizer, **options: Any) -> PreprocessReport:
    """The report on some texts."""
    settings = jeton.PreprocessOptions(**options)
    return jeton.preprocess_texts(texts, steps=steps, tokenizer=tokenizer, options=settings).report


def main(folder: Path) -> str:
    """Return the page."""
    tokenizer = jeton.load(TOKENIZER)
    pages = [html_page(number) for number in range(30)]
    kinds = [(title, texts_of(folder, name, domain)) for title, name, domain in KINDS]
    kinds.append(("HTML pages (made here)", pages))
    rows: list[str] = []
    savings: dict[str, float] = {}
    for title, texts in kinds:
        safe, everything = run(texts, SAFE, tokenizer), run(texts, ALL, tokenizer)
        savings[title] = everything.total.saved_share
        rows.append(
            f"| {title} | {len(texts):,} | {share(safe.total)} | {share(everything.total)} | "
            f"{kept(everything, 'numbers')} | {kept(everything, 'names')} | "
            f"{kept(everything, 'links')} | {kept(everything, 'n_grams')} |"
        )
    html_rows: list[str] = []
    for title, texts in (("pages made here", pages), ("templates", dict(kinds)["HTML templates"])):
        for library in ("markdownify", "html2text", "trafilatura"):
            report = run(texts, "html", tokenizer, html=library)
            outcomes = report.steps[0].outcomes
            recall = " | ".join(
                kept(report, kind) for kind in ("numbers", "names", "links", "n_grams")
            )
            html_rows.append(
                f"| {title} | {library} | {outcomes.get('converted', 0)} of {len(texts)} | "
                f"{1 - report.total.saved_share:.1%} | {recall} |"
            )
    json_rows: list[str] = []
    for title, texts in [*json_samples(), *((t, x) for t, x in kinds if t.startswith("JSON"))]:
        sums: dict[str, int] = {}
        n_all = dict.fromkeys(("minified", "keys", "csv", "toon"), 0)
        n_texts = 0
        for text in texts:
            forms = json_forms(text.strip())
            if not forms:
                continue
            n_texts += 1
            for name, form in forms.items():
                n_all[name] += 1
                sums[name] = sums.get(name, 0) + tokenizer.count(form)
        chosen = run(texts, "json", tokenizer)
        base = sums["minified"]
        cells = [
            f"{sums[name] / base - 1:+.1%}" if n_all[name] == n_texts else "not all"
            for name in ("keys", "csv", "toon")
        ]
        ways = ", ".join(f"{n} {name}" for name, n in chosen.steps[0].outcomes.items())
        json_rows.append(
            f"| {title} | {n_texts} | {base:,} | {' | '.join(cells)} | "
            f"{chosen.total.tokens_after / base - 1:+.1%} | {ways} |"
        )
    above = [title for title, saved in savings.items() if saved >= 0.4]
    below = [title for title, saved in savings.items() if saved < 0.1]
    verdict = (
        "**holds where** the text is " + " or ".join(above)
        if above
        else "**refuted** on these texts"
    )
    return "\n".join(
        [
            "# What preprocessing saves, and what it loses",
            "",
            "The claim: preprocessing gives 40% fewer tokens. "
            "[Claims](claims.md#preprocessing) tests "
            "the usual steps of a pipeline; this page tests `jeton preprocess`, which leaves code "
            "alone and says what is gone.",
            "",
            f"Verdict: {verdict}; below 10% on {', '.join(below)}.",
            "",
            "One command makes the page: `python -m studies.preprocessing_page CORPORA`.",
            "",
            f"- Tokens are counted with `{TOKENIZER}`. Intervals, in brackets, are 95%, by drawing "
            "documents.",
            f"- Of each kind, the first documents up to {MAX_BYTES:,} "
            f"bytes. Their sources lie beside "
            "the project and are not part of it.",
            "- HTML pages, and three kinds of JSON, are generated by the "
            "command: they are regular, "
            "and pages of the wild have more menus and scripts.",
            "",
            "## By kind of text",
            "",
            f"Safe is `{SAFE}`: white space only. All is `{ALL}`. Kept is "
            f"the share of the different "
            "things of a document that still stand in it, behind all steps.",
            "",
            "| text | documents | saved by the safe steps | by all | "
            "numbers kept | names | links | "
            "runs of 5 words |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
            *rows,
            "",
            "Forms of JSON lose runs of words because keys are said once; their values come back.",
            "",
            "## HTML libraries",
            "",
            "Tokens left, and the share of what a page shows that still stands there. Menus and "
            "footers count as shown.",
            "",
            "| text | library | converted | tokens left | numbers | "
            "names | links | runs of 5 words |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
            *html_rows,
            "",
            "## Forms of JSON",
            "",
            "Tokens against minified JSON, and the forms that the step chose by count.",
            "",
            "| data | documents | minified | short keys | CSV | TOON | chosen | forms |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
            *json_rows,
            "",
        ]
    )


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python -m studies.preprocessing_page CORPORA")
    PAGE.write_text(main(Path(sys.argv[1])), encoding="utf-8")
    print(f"wrote {PAGE}")
