"""Options that several commands share, so that they read and behave alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import click

from jeton.cli import outputs
from jeton.cli.declaring import OptionSet, option
from jeton.cli.json_option import ANY_NAME, JSON_NAME
from jeton.cli.kinds import AMOUNT, COUNT, POSITIVE, VOCAB_SIZES, FiniteRange

if TYPE_CHECKING:
    from jeton import Tokenizer


ABOVE_ZERO = FiniteRange(min=0, min_open=True, max=1e9)
"""An amount of anything."""

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

TOKENIZER = option(
    "Name, file or folder of the tokenizer. `jeton vocab list` shows the names.",
    "T",
    names="-t --tokenizer",
    required=True,
)
PATTERN = option(
    "Split pattern of a .tiktoken file that is not a published one: the name of a published "
    "pattern or a regular expression.",
    "P",
)
TRAINING_PATTERN = option(
    "Split pattern: the name of a published one, code, or a regular expression.",
    "P",
    default="llama3",
)
NORMALIZER = option(
    "Change of the text before splitting, in training and in use: "
    f"{', '.join(NORMALIZERS)}. Repeatable.",
    "NAME",
    names="--normalizer",
    type=click.Choice(NORMALIZERS),
)
RULE = option(
    "Cut this out before the split pattern cuts: one pretoken each, or (comments, strings) a part "
    "that no pretoken leaves. Repeatable; see docs/guides/code.md.",
    names="--rule",
    type=click.Choice(RULES),
)
SPECIAL_ID = option(
    "Special token of a .tiktoken file. Repeatable.", "TEXT=ID", names="--special-token"
)
_JSON_HELP = "Write JSON to this file; without a name, to standard output instead of text."
JSON = option(_JSON_HELP, JSON_NAME, names="--json", type=click.STRING, is_flag=False)
JSON_PLACE = option(_JSON_HELP, JSON_NAME, names="--json")
JSON_FILE = option(_JSON_HELP, ANY_NAME, names="--json")
MARKDOWN = option("Write Markdown; - is standard output.", "F")
QUIET = option("No table and no progress, only the files.", names="-q --quiet")
FIELD = option(
    "Field that holds the text in JSON, CSV and Parquet; dots descend (message.content), [] joins "
    "a list (messages[].content).",
    "NAME",
    default="text",
)
DOCUMENTS = option("Document of a text file: the whole file, or each line of it.", default="file")
FORMAT = option(
    "How to read the input; auto goes by the suffix (standard input is text).",
    names="--format",
    default="auto",
)
STRICT = option("Stop at bytes that are not UTF-8 instead of replacing and counting them.")
ON_BAD_RECORD = option(
    "At a record that does not parse or has no text: stop, or leave it out and count it.",
    default="stop",
)
THREADS = option(
    "Threads to use; all cores by default. The result is the same with any number.",
    "N",
    names="--threads",
    type=COUNT,
)
TEXT = option("This text instead of a file.", "TEXT")
ALLOW_SPECIAL = option(
    "Special token that the text may contain (all: every one). Others stay ordinary text, unless "
    "the model's own vocabulary has them as words, as in the reference. Repeatable.",
    "TOKEN",
)


PLANNED_MODEL = option(
    "Model that would have the vocabulary; `jeton catalog models`.",
    "M",
    names="--model",
    required=True,
)
PLANNED_GPU = option("GPU that it runs on.", "G", names="--gpu", default="h100-sxm")
SERVED_MODEL = option(
    "Model that is served: a name of `jeton catalog models`, a published name, or a folder with a "
    "config.json.",
    "M",
    names="--model",
    required=True,
)
SERVED_GPU = option("GPU that it runs on; `jeton catalog gpus`.", "G", names="--gpu", required=True)
STEP_OVERHEAD = option(
    "Extra time of each step: scheduling, launches, sampling.",
    "MS",
    type=FiniteRange(min=0, max=59_999),
    default=0.0,
)
TRACE_RATE = option(
    "Requests per second, where the trace has no times.",
    "N",
    names="--rate --trace-rate",
    type=ABOVE_ZERO,
)
STRICT_ROWS = option(
    "A row that cannot be meant is an error instead of being left out and counted."
)
TTFT = option("Longest time to the first token, seconds.", "S", type=ABOVE_ZERO, default=2.0)
TPOT = option(
    "Longest mean time between the tokens of an answer, seconds.", "S", type=ABOVE_ZERO, default=0.1
)


HISTORY_KIND = option(
    "Kind of the input; auto: told by the fields of the first record.", default="auto"
)
HISTORY_TIME_FIELD = option("Field of a log that has the time.", "NAME", default="")
HISTORY_RATE = option("Requests per second of a trace that has no times.", "N", type=POSITIVE)


def planned_models(purpose: str) -> Any:
    """``--model M``, repeatable; ``purpose`` says what it is needed for."""
    return option(
        f"Model that would have the vocabulary; `jeton catalog models`. Repeatable. {purpose}",
        "M",
        names="--model",
    )


def vocab_sizes(explained: str, *, default: str) -> Any:
    """``--vocab-sizes SIZES``; ``explained`` says what becomes of them."""
    return option(explained, "SIZES", type=VOCAB_SIZES, multiple=False, default=default)


def output_tokens(counted: str = "") -> Any:
    """``--output-tokens N``; ``counted`` says with which vocabulary, where that is not plain."""
    return option(f"Tokens generated after each document{counted}.", "N", type=AMOUNT, default=0.0)


class DocumentOptions(OptionSet):
    """Options for reading documents."""

    field: str = FIELD
    documents: Literal["file", "line"] = DOCUMENTS
    strict: bool = STRICT
    on_bad_record: Literal["stop", "skip"] = ON_BAD_RECORD


class InputOptions(DocumentOptions):
    """Options for reading documents, standard input and unusual suffixes included."""

    file_format: Literal["auto", "text", "jsonl"] = FORMAT

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `jeton.corpus.open_documents`."""
        arguments = self.values()
        file_format = arguments.pop("file_format")
        return {**arguments, "format": None if file_format == "auto" else file_format}


class TokenizerOptions(OptionSet):
    """One tokenizer."""

    tokenizer_name: str = TOKENIZER
    pattern: str | None = PATTERN
    special_tokens: tuple[str, ...] = SPECIAL_ID

    def load(self) -> Tokenizer:
        """Load the tokenizer that the options name."""
        return load_tokenizer(
            self.tokenizer_name, pattern=self.pattern, special_tokens=self.special_tokens
        )


class ReportOptions(OptionSet):
    """Files of a report beside its tables."""

    json_file: str | None = JSON_FILE
    markdown: str | None = MARKDOWN
    quiet: bool = QUIET

    def check(self, *, html: str | None = None) -> None:
        """Refuse files that cannot be written, as `outputs.check_outputs` does."""
        outputs.check_outputs(html=html, json_file=self.json_file, markdown=self.markdown)

    def write(
        self,
        *,
        html: str | None = None,
        make_html: Callable[[], str] | None = None,
        make_json: Callable[[], str],
        make_markdown: Callable[[], str],
        show: Callable[[], None],
    ) -> None:
        """Write the report in every form that was asked for, as `outputs.write_forms` does."""
        outputs.write_forms(
            html=html,
            json_file=self.json_file,
            markdown=self.markdown,
            quiet=self.quiet,
            make_html=make_html,
            make_json=make_json,
            make_markdown=make_markdown,
            show=show,
        )


KEEP = option(
    "Fields of records to write beside, by commas: id,url,meta.title. Dots descend.",
    "NAMES",
    default="",
)
KEEP_ALL = option("Write all fields but the text, as the column 'fields'.")
LEFT_OUT = option(
    "File to list records left out, with place and reason (OUTPUT.left-out.jsonl).", "F"
)


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
