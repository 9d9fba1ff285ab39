"""Options that several commands share, so that they read and behave alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from jeton import Tokenizer

_F = TypeVar("_F", bound=Callable[..., Any])


def tokenizer_option(function: _F) -> _F:
    """``--tokenizer T``, once and required."""
    return click.option(
        "-t",
        "--tokenizer",
        "tokenizer_name",
        metavar="T",
        required=True,
        help="Name, file or folder of the tokenizer. `jeton vocab list` shows the names.",
    )(function)


def pattern_option(function: _F) -> _F:
    """``--pattern P`` for rank files that are not published ones."""
    return click.option(
        "--pattern",
        metavar="P",
        help="Split pattern of a .tiktoken file that is not a published one: the name of a "
        "published pattern or a regular expression.",
    )(function)


# Named here too, so that --help needs no import of what they are; tests compare.
NORMALIZERS = (
    "nfc",
    "nfd",
    "nfkc",
    "nfkd",
    "lowercase",
    "arabic-diacritics",
    "arabic-tatweel",
    "arabic-alef",
    "hebrew-points",
)


def training_pattern_option(function: _F) -> _F:
    """``--pattern P`` to train by."""
    return click.option(
        "--pattern",
        metavar="P",
        default="llama3",
        show_default=True,
        help="Split pattern: the name of a published one, code, or a regular expression.",
    )(function)


def normalizer_option(function: _F) -> _F:
    """``--normalizer NAME``, repeatable, to train by."""
    return click.option(
        "--normalizer",
        "normalizers",
        type=click.Choice(NORMALIZERS),
        metavar="NAME",
        multiple=True,
        help="Change of the text before splitting, in training and in use: "
        f"{', '.join(NORMALIZERS)}. Repeatable.",
    )(function)


# See above.
RULES = (
    "urls",
    "emails",
    "hashtags",
    "mentions",
    "numbers-whole",
    "numbers-digits",
    "numbers-groups-left",
    "numbers-groups-right",
    "comments",
    "strings",
)


def rule_option(function: _F) -> _F:
    """``--rule NAME``, repeatable: what is cut out before the split pattern cuts."""
    return click.option(
        "--rule",
        "rules",
        type=click.Choice(RULES),
        multiple=True,
        help="Cut this out before the split pattern cuts: one pretoken each, or (comments, "
        "strings) a part that no pretoken leaves. Repeatable; see docs/guides/code.md.",
    )(function)


def special_id_option(function: _F) -> _F:
    """``--special-token TEXT=ID``, repeatable, for rank files."""
    return click.option(
        "--special-token",
        "special_tokens",
        metavar="TEXT=ID",
        multiple=True,
        help="Special token of a .tiktoken file. Repeatable.",
    )(function)


def json_option(function: _F) -> _F:
    """``--json``: machines read the output."""
    return click.option("--json", "as_json", is_flag=True, help="Write JSON instead of text.")(
        function
    )


def field_option(function: _F) -> _F:
    """``--field NAME`` of JSON Lines and Parquet."""
    return click.option(
        "--field",
        metavar="NAME",
        default="text",
        show_default=True,
        help="Field that holds the text in JSON, CSV and Parquet; dots descend (message.content), "
        "[] joins a list (messages[].content).",
    )(function)


def documents_option(function: _F) -> _F:
    """``--documents file|line`` of plain text."""
    return click.option(
        "--documents",
        type=click.Choice(["file", "line"]),
        default="file",
        show_default=True,
        help="Document of a text file: the whole file, or each line of it.",
    )(function)


def format_option(function: _F) -> _F:
    """``--format``, for standard input and unusual suffixes."""
    return click.option(
        "--format",
        "file_format",
        type=click.Choice(["auto", "text", "jsonl"]),
        default="auto",
        show_default=True,
        help="How to read the input; auto goes by the suffix (standard input is text).",
    )(function)


def strict_option(function: _F) -> _F:
    """``--strict``: bytes that are not UTF-8 are an error."""
    return click.option(
        "--strict",
        is_flag=True,
        help="Stop at bytes that are not UTF-8 instead of replacing and counting them.",
    )(function)


def on_bad_record_option(function: _F) -> _F:
    """``--on-bad-record stop|skip``."""
    return click.option(
        "--on-bad-record",
        type=click.Choice(["stop", "skip"]),
        default="stop",
        show_default=True,
        help="At a record that does not parse or has no text: stop, or leave it out and count it.",
    )(function)


def training_input_options(function: _F) -> _F:
    """How documents are read, and by how many threads, where a command trains on them."""
    for option in (
        threads_option,
        on_bad_record_option,
        strict_option,
        documents_option,
        field_option,
    ):
        function = option(function)
    return function


@contextmanager
def bad_records_explained(*, others: Collection[str] = ()) -> Iterator[None]:
    """Say of a record that stops a command how to go on without it.

    Args:
        others: Files of settings (terms, a bill), whose lines cannot be left out.
    """
    from jeton.errors import RecordError

    try:
        yield
    except RecordError as error:
        # A file as a whole cannot be skipped that way.
        if error.line is None or error.path in others:
            raise
        way = "leave such records out (--on-bad-record skip)"
        joint = ", or " if "\nhint: " in str(error) else "\nhint: "
        raise RecordError(f"{error}{joint}{way}", path=error.path, line=error.line) from None


def threads_option(function: _F) -> _F:
    """``--threads N``."""
    return click.option(
        "--threads",
        "num_threads",
        type=click.IntRange(min=1),
        metavar="N",
        help="Threads to use; all cores by default. The result is the same with any number.",
    )(function)


def text_option(function: _F) -> _F:
    """``--text TEXT`` instead of a file."""
    return click.option("--text", metavar="TEXT", help="This text instead of a file.")(function)


def allow_special_option(function: _F) -> _F:
    """``--allow-special TOKEN|all``, repeatable."""
    return click.option(
        "--allow-special",
        metavar="TOKEN",
        multiple=True,
        help="Special token that the text may contain (all: every one). Others stay ordinary "
        "text, unless the model's own vocabulary has them as words, as in the reference. "
        "Repeatable.",
    )(function)


def load_tokenizer(
    name: str, *, pattern: str | None = None, special_tokens: tuple[str, ...] = ()
) -> Tokenizer:
    """Load the tokenizer that the options name."""
    from jeton.registry import load

    return load(name, pattern=pattern, special_tokens=parse_special_tokens(special_tokens) or None)


def parse_special_tokens(items: tuple[str, ...]) -> dict[str, int]:
    """Read ``TEXT=ID``; the last ``=`` counts, since a token may contain one."""
    tokens: dict[str, int] = {}
    for item in items:
        text, equals, number = item.rpartition("=")
        if not equals or not text or not number.isdecimal():
            raise click.BadParameter(
                f"{item!r} is not TEXT=ID, as in '<|end|>=50256'", param_hint="--special-token"
            )
        tokens[text] = int(number)
    return tokens
