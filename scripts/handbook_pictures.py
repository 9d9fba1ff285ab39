"""Draw the pictures of the handbook from what the package computes.

python -m scripts.handbook_pictures          # writes docs/handbook/pictures/
python -m scripts.handbook_pictures --check  # fails if a picture would change
"""

from __future__ import annotations

import html
import json
import sys
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

import jeton
from jeton.corpus.sample import sample_files
from jeton.tracing import trace_encode, trace_train

__all__ = ["PICTURES", "drawn", "main"]

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "handbook" / "pictures"
# A phone shows pictures at nearly this width, so that labels stay above 12 pixels.
WIDTH, ROW, LABEL = 400, 26, 165

_STYLE = (
    "<style>text{font:14px system-ui,sans-serif;fill:#1f2933}.v{fill:#52606d}"
    ".b{fill:#3b7dd8}.p{fill:#e3edf9;stroke:#3b7dd8}.q{fill:#f3f4f6;stroke:#9aa5b1}"
    "@media(prefers-color-scheme:dark){text{fill:#e4e7eb}.v{fill:#9aa5b1}.b{fill:#6ea8fe}"
    ".p{fill:#1f3350;stroke:#6ea8fe}.q{fill:#2a2f36;stroke:#7b8794}}</style>"
)

Bars = Sequence[tuple[str, float, str]]
Cuts = Sequence[tuple[str, Sequence[str]]]

PROSE = "The patient was given hydroxychloroquine."
TEXTS = ["low lower lowest", "new newer newest", "wide wider widest"] * 20
SENTENCES = {
    "English": "All human beings are born free and equal.",
    "German": "Alle Menschen sind frei und gleich geboren.",
    "Russian": "Все люди рождаются свободными и равными.",  # noqa: RUF001
    "Greek": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι.",  # noqa: RUF001
    "Chinese": "人人生而自由，在尊严和权利上一律平等。",  # noqa: RUF001
}
SOURCE = """def first_even(numbers):
    for number in numbers:
        if number % 2 == 0:
            return number
    return None
"""


def _svg(title: str, height: int, body: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img">'
        f"<title>{html.escape(title)}</title>{_STYLE}\n{body}</svg>\n"
    )


def bars(title: str, rows: Bars) -> str:
    """Bars with a label on the left and the figure behind each."""
    most = max(value for _, value, _ in rows) or 1
    room = WIDTH - LABEL - 80
    lines = []
    for place, (label, value, shown) in enumerate(rows):
        y = 8 + place * ROW
        wide = max(2.0, room * value / most)
        lines.append(
            f'<text x="8" y="{y + 15}">{html.escape(label)}</text>'
            f'<rect class="b" x="{LABEL}" y="{y}" width="{wide:.1f}" height="18" rx="3"/>'
            f'<text class="v" x="{LABEL + wide + 8:.1f}" y="{y + 15}">{html.escape(shown)}</text>\n'
        )
    return _svg(title, 12 + len(rows) * ROW, "".join(lines))


def cuts(title: str, rows: Cuts) -> str:
    """Rows of pieces in boxes below their label; a piece that begins with ~ is drawn grey."""
    lines = []
    y = 0
    for label, pieces in rows:
        if label:
            lines.append(f'<text x="4" y="{y + 17}">{html.escape(label)}</text>')
            y += 24
        x = 4.0
        for piece in pieces:
            kind, text = ("q", piece[1:]) if piece.startswith("~") else ("p", piece)
            wide = 14 + 8.4 * sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in text)
            if x + wide > WIDTH - 4:
                x, y = 4.0, y + 28
            shown = "·" + text[1:] if text[0] == " " else text
            lines.append(
                f'<rect class="{kind}" x="{x:.1f}" y="{y}" width="{wide:.1f}" height="24" rx="4"/>'
                f'<text x="{x + 7:.1f}" y="{y + 17}">{html.escape(shown)}</text>'
            )
            x += wide + 4
        y += 34
        lines.append("\n")
    return _svg(title, y + 2, "".join(lines))


def _pieces(tok: jeton.Tokenizer, text: str) -> list[str]:
    parts = trace_encode(tok, text).parts
    return [token.text for part in parts for token in part.tokens]


def _general() -> jeton.Tokenizer:
    return jeton.load("jeton-general-32k")


def why_tokens() -> str:
    """One sentence in four units."""
    n_tokens, n_bytes = _general().count(PROSE), len(PROSE.encode())
    counts = {"words": len(PROSE.split()), "tokens": n_tokens, "characters": len(PROSE)}
    rows = [(name, n, f"{n}") for name, n in {**counts, "bytes": n_bytes}.items()]
    return bars("One sentence counted in words, tokens, characters and bytes", rows)


def methods() -> str:
    """One word under four methods."""
    sizes = {"bpe": 268, "wordpiece": 40, "unigram": 24, "char": 20}
    made = {a: jeton.train(iter(TEXTS), algorithm=a, vocab_size=n) for a, n in sizes.items()}
    rows = [(name, _pieces(tok, "newest")) for name, tok in made.items()]
    return cuts("The word newest as cut by BPE, WordPiece, Unigram and characters", rows)


def training() -> str:
    """Tokens of the text after each merge."""
    trace = trace_train(iter(TEXTS), vocab_size=266)
    rows = [("bytes", trace.n_tokens_before, f"{trace.n_tokens_before:,}")]
    rows += [(f"+ {m.made.replace(' ', '·')}", m.n_tokens, f"{m.n_tokens:,}") for m in trace.merges]
    return bars("Tokens of the text after each merge", rows)


def special_tokens() -> str:
    """Padding on both sides."""
    short, long = ["low"], ["the", "·lowest", "·of", "·all"]
    pad = ["~[PAD]"] * 3
    rows = [
        ("padded right", [*short, *pad]),
        ("", long),
        ("mask", ["1", "~0", "~0", "~0"]),
        ("padded left", [*pad, *short]),
        ("", long),
        ("mask", ["~0", "~0", "~0", "1"]),
    ]
    return cuts("A batch of two texts padded on the right and on the left", rows)


def languages() -> str:
    """Tokens of one sentence."""
    tok = _general()
    rows = [(name, tok.count(t), f"{tok.count(t)} tokens") for name, t in SENTENCES.items()]
    return bars("Tokens of one sentence in five languages", rows)


def code() -> str:
    """Tokens of a function, spaces alone and in runs."""
    tok = _general()
    n_spaces = sum(len(line) - len(line.lstrip()) for line in SOURCE.splitlines())
    n_text = sum(tok.count(line.lstrip() + "\n") for line in SOURCE.splitlines())
    counts = {
        "a token for each space": n_spaces + n_text,
        "general, runs of spaces": tok.count(SOURCE),
        "code, runs of spaces": jeton.load("jeton-code-32k").count(SOURCE),
    }
    rows = [(name, n, f"{n} tokens") for name, n in counts.items()]
    return bars("Tokens of an indented function", rows)


def impact() -> str:
    """Weights and caches of Llama-2-7B."""
    from jeton.catalog import model
    from jeton.economics import kv_bytes

    facts = model("llama-2-7b")
    sizes = {"weights": 2 * facts.n_parameters}
    sizes |= {f"cache, {n:,} tokens": int(kv_bytes(facts, n)) for n in (2048, 6144)}
    rows = [(name, n, f"{n / 1e9:.2f} GB") for name, n in sizes.items()]
    return bars("Memory of a request of Llama-2-7B in bf16", rows)


def vocabulary_size() -> str:
    """Share of tables in parameters."""
    from jeton.catalog import model

    rows = []
    for name in ("smollm2-135m", "qwen2.5-0.5b", "llama-3.2-1b", "llama-3-8b", "llama-3.1-70b"):
        facts = model(name)
        n_tables = 1 if facts.tied_embeddings else 2
        share = facts.vocab_size * facts.hidden_size * n_tables / facts.n_parameters
        rows.append((name, share, f"{share:.1%}"))
    return bars("Share of the parameters in embedding tables", rows)


def domains() -> str:
    """Notes under bundled vocabularies."""
    rows = []
    for note in ("clinic", "contracts"):
        text = sample_files()[f"notes/{note}.jsonl"].decode()
        for domain in ("general", "medical", "legal", "code"):
            n = jeton.load(f"jeton-{domain}-32k").count(text)
            rows.append((f"{note}: {domain}", n, f"{n:,}"))
    return bars("Tokens of clinic notes and contracts under four vocabularies", rows)


def production() -> str:
    """Padding of the chapter's lengths."""
    lengths = [30, 40, 50, 60, 500, 510, 900, 1000]
    shares = {
        "fixed at 2,048": 1 - sum(lengths) / (len(lengths) * 2048),
        "longest of the batch": 1 - sum(lengths) / (len(lengths) * max(lengths)),
        "packed into 2,048": 1 - jeton.pack(lengths, capacity=2048).report.fill,
        "without padding": 0.0,
    }
    return bars("Share of padding", [(name, n, f"{n:.0%}") for name, n in shares.items()])


def retrieval() -> str:
    """Whole passages, from the study of claims."""
    path = ROOT / "docs" / "studies" / "figures" / "chunking.json"
    kept = json.loads(path.read_text(encoding="utf-8"))["figures"]
    names = {"semantic": "by meaning", "sentences": "ends of sentences", "tokens": "any token"}
    shares = {name: kept[f"whole.200.{key}"]["value"] for key, name in names.items()}
    rows = [(name, share, f"{share:.1%}") for name, share in shares.items()]
    return bars("Passages that lie whole in a chunk of 200 tokens", rows)


def interpretability() -> str:
    """Scores of tokens and words."""
    pieces = _pieces(_general(), "Unbelievable croissants")
    n_first = next(place for place, piece in enumerate(pieces) if piece.startswith(" "))
    sums = (sum(range(n_first)), sum(range(n_first, len(pieces))))
    rows = [
        ("tokens", pieces),
        ("scores", [f"~{place}" for place in range(len(pieces))]),
        ("words", ["Unbelievable", " croissants"]),
        ("sums", [f"~{value}" for value in sums]),
    ]
    return cuts("Scores of tokens folded onto two words", rows)


def security() -> str:
    """A control token as text and as itself."""
    tok = _general()
    text = "hi<|endoftext|>"
    allowed = trace_encode(tok, text, allow_special="all").parts
    rows = [
        ("written by a user", _pieces(tok, text)),
        ("put in by the program", ["~" + p.text if p.is_added else p.text for p in allowed]),
    ]
    return cuts("A control token in user text stays text", rows)


def debugging() -> str:
    """The order of questions."""
    rows = [
        ("1. files", ["fingerprint", "rows of the model", "special tokens"]),
        ("2. batch", ["ids in range", "mask", "side of padding"]),
        ("3. text", ["normal form", "spaces", "what it is cut into"]),
        ("4. output", ["the end", "cut characters", "repetition"]),
    ]
    return cuts("The order of questions: files, batch, text, output", rows)


def migration() -> str:
    """A term before and after it is added."""
    rows = [
        ("before: five rows", _pieces(_general(), " steatohepatitis")),
        ("after: one new row", [" steatohepatitis"]),
        ("begins as", ["~the mean of the five old rows"]),
    ]
    return cuts("Rows of a model before and after a term is added", rows)


PICTURES: dict[str, Callable[[], str]] = {
    "01-why-tokens": why_tokens,
    "02-methods": methods,
    "03-training": training,
    "04-special-tokens": special_tokens,
    "05-languages": languages,
    "06-code": code,
    "07-impact": impact,
    "08-vocabulary-size": vocabulary_size,
    "09-domains": domains,
    "10-production": production,
    "11-retrieval": retrieval,
    "12-interpretability": interpretability,
    "13-security": security,
    "14-debugging": debugging,
    "15-migration": migration,
}


def drawn() -> dict[Path, str]:
    """Every picture by its path."""
    return {FOLDER / f"{name}.svg": draw() for name, draw in PICTURES.items()}


def main(arguments: Sequence[str]) -> int:
    """Write the pictures, or with ``--check`` tell which would change."""
    pictures = drawn()
    if "--check" in arguments:
        stale = [p.name for p, text in pictures.items() if not p.is_file() or p.read_text() != text]
        print("\n".join(f"{name} is out of date" for name in stale), end="\n" * bool(stale))
        return 1 if stale else 0
    FOLDER.mkdir(exist_ok=True)
    for path, text in pictures.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
