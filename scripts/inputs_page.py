"""Write the tables of inputs.md that say what is read of a log, from the code that reads it.

``python -m scripts.inputs_page`` rewrites the parts between markers; ``--check`` only says whether
they are up to date (exit code 1 when they are not).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from jeton.corpus.requests.agents import SHAPES_OF_AGENTS
from jeton.corpus.requests.fields import NAMES
from jeton.corpus.requests.issues import ISSUE_KINDS
from jeton.corpus.requests.joining import JOINED_KINDS
from jeton.corpus.requests.pieces import PIECE_KINDS
from jeton.corpus.requests.shapes import SHAPES
from jeton.corpus.requests.spans import USAGE_PREFIXES
from jeton.corpus.requests.tariffs import TARIFF_WORDS
from jeton.corpus.requests.usage_names import (
    CONVENTIONS,
    FRESH,
    LISTS,
    PATHS,
    READ_BESIDE,
    READ_EITHER,
    READ_INSIDE,
    REASONING,
    REASONING_BESIDE,
    REQUESTS,
    SCHEMES,
    TOOL_PROMPT,
    TOTAL,
    WRITE_1H,
    WRITE_5M,
    WRITE_BESIDE,
    WRITE_INSIDE,
)
from jeton.providers import NAMES as PROVIDERS
from scripts.marked import Part

__all__ = ["PAGE", "PARTS", "main"]

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "inputs.md"
COMMAND = "python -m scripts.inputs_page"

_CONVENTIONS = {
    READ_INSIDE: "read from a cache, in the input",
    READ_BESIDE: "read from a cache, beside the input (in it where the input is `prompt_tokens`)",
    READ_EITHER: "read from a cache, in the input or beside it, as the total or the provider tells",
    WRITE_INSIDE: "written to a cache, in the input",
    WRITE_BESIDE: "written to a cache, beside the input (in it where the input is `prompt_tokens`)",
    WRITE_5M: "of the written ones, kept for five minutes",
    WRITE_1H: "of the written ones, kept for an hour",
    FRESH: "neither read nor written",
    REASONING: "reasoning, in the output unless the total says beside",
    REASONING_BESIDE: "reasoning, beside the output unless the total says inside",
    TOOL_PROMPT: "what built-in tools put into the prompt, beside it",
    TOTAL: "the sum, which decides between conventions",
    REQUESTS: "requests that a row adds up",
}


_FIELDS = {
    "what was sent": ("prompt",),
    "what came back": ("response",),
    "the request": ("request_places",),
    "the response": ("response_places", "streams"),
    "the usage": ("usage", "loose", "nested", "beside"),
    "the model": ("model",),
    "the provider": ("provider",),
    "the tariff": ("tier", "speed"),
    "an answer of the gateway's cache": ("gateway_cache",),
    "the stated cost": ("cost",),
    "the conversation": ("conversation",),
    "the time": ("time",),
    "the id": ("id",),
}


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def shapes() -> str:
    """Kinds of records, and kinds of streams."""
    told = _table(
        ("shape", "told by"), [(f"`{k}`", v) for k, v in {**SHAPES, **SHAPES_OF_AGENTS}.items()]
    )
    pieces = _table(("pieces of", "told by"), list(PIECE_KINDS.items()))
    return f"{told}\n\n{pieces}"


def fields() -> str:
    """Names of fields by what is looked for."""
    rows = [
        (fact, _code(name for key in keys for name in NAMES[key])) for fact, keys in _FIELDS.items()
    ]
    return _table(("fact", "names"), rows)


def amounts() -> str:
    """Names of amounts by what they mean."""
    schemes = _table(
        ("written by", "input", "output"),
        [(s.source, _code(s.input), _code(s.output)) for s in SCHEMES],
    )
    by_name: dict[str, list[str]] = {}
    for path, meaning in PATHS.items():
        if meaning.kind == "amount":
            by_name.setdefault(meaning.name, []).append(path)
    rows = [(text, _code(sorted(by_name[name]))) for name, text in _CONVENTIONS.items()]
    for path, side in LISTS.items():
        name = {"cache": "cache_{}_read_tokens"}.get(side, f"{side or 'input'}_{{}}_tokens")
        by_name.setdefault(name.format("audio"), []).append(f"{path}[AUDIO]")
    rows += [
        (f"`{'audio_seconds' if name == 'seconds' else name}`", _code(sorted(paths)))
        for name, paths in sorted(by_name.items())
        if name not in CONVENTIONS
    ]
    prefixes = _code((*USAGE_PREFIXES, "llm.token_count."))
    return (
        f"{schemes}\n\n{_table(('amount', 'names'), rows)}\n\n"
        f"Attributes of spans are the same names behind {prefixes}."
    )


def tariffs() -> str:
    """Words of tariffs, and names of providers."""
    by_tariff: dict[str, list[str]] = {}
    for word, tariff in TARIFF_WORDS.items():
        if word:
            by_tariff.setdefault(tariff or "not said", []).append(word)
    words = _table(("tariff", "words"), [(k, _code(v)) for k, v in by_tariff.items()])
    own = _table(
        ("provider", "other words"), [(f"`{k}`", _code(v)) for k, v in PROVIDERS.items() if v]
    )
    return f"{words}\n\n{own}"


def joining() -> str:
    """Kinds of joining."""
    return _table(("kind", "joined"), [(f"`{k}`", v) for k, v in JOINED_KINDS.items()])


def issues() -> str:
    """Kinds of issues."""
    return _table(
        ("kind", "meaning, and what becomes of it"), [(f"`{k}`", v) for k, v in ISSUE_KINDS.items()]
    )


PARTS: dict[str, tuple[Part, Callable[[], str]]] = {
    name: (Part(name, COMMAND), render)
    for name, render in (
        ("shapes", shapes),
        ("fields", fields),
        ("amounts", amounts),
        ("tariffs", tariffs),
        ("joining", joining),
        ("issues", issues),
    )
}


def main(arguments: list[str] | None = None) -> int:
    """Rewrite or check the page; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="change nothing, say if it is stale")
    options = parser.parse_args(arguments)
    return max(part.update(PAGE, render(), check=options.check) for part, render in PARTS.values())


if __name__ == "__main__":
    sys.exit(main())
