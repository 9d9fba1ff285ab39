"""Output files of a command: what cannot be written is found before the work, not after it."""

from __future__ import annotations

import errno
import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from jeton.cli import streams
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton._core import Tokenizer
    from jeton.formats.writing import Loss, Target
    from jeton.training import TrainSettings

_F = TypeVar("_F", bound=Callable[..., Any])


def json_file_option(function: _F) -> _F:
    """``--json F``."""
    return click.option(
        "--json", "json_file", metavar="F", help="Write JSON; - is standard output."
    )(function)


def markdown_option(function: _F) -> _F:
    """``--markdown F``."""
    return click.option("--markdown", metavar="F", help="Write Markdown; - is standard output.")(
        function
    )


def write_output(name: str | None, make: Callable[[], str]) -> None:
    """Write a text where an option says: to standard output, to a file whole, or not at all."""
    if name == "-":
        streams.write_bytes(make().encode())
    elif name is not None:
        from jeton._files import write_whole

        write_whole(name, make())


def write_forms(
    *,
    html: str | None = None,
    json_file: str | None,
    markdown: str | None,
    quiet: bool,
    make_html: Callable[[], str] | None = None,
    make_json: Callable[[], str],
    make_markdown: Callable[[], str],
    show: Callable[[], None],
) -> None:
    """Write a report in every form that was asked for, and show it where nothing else is shown.

    Args:
        html: File of the page; None: none.
        json_file: File of the JSON, or ``-``.
        markdown: File of the Markdown, or ``-``.
        quiet: True if nothing is to be shown or said.
        make_html: Returns the page.
        make_json: Returns the JSON.
        make_markdown: Returns the Markdown.
        show: Prints tables to standard output, which carries one thing.
    """
    if make_html is not None:
        write_output(html, make_html)
    write_output(json_file, make_json)
    write_output(markdown, make_markdown)
    if quiet:
        return
    if "-" not in (json_file, markdown):
        show()
    say_written(html, json_file, markdown)


def say_written(*names: str | None) -> None:
    """Say which files there are now."""
    for name in names:
        if name not in (None, "-"):
            streams.say(f"wrote {name}")


def check_outputs(
    *, html: str | None = None, json_file: str | None = None, markdown: str | None = None
) -> None:
    """Refuse outputs that cannot be.

    Raises:
        UsageError: Two outputs want standard output, a page wants it, or a name is a folder.
        FileNotFoundError: The folder of an output does not exist.
        PermissionError: Nothing may be written to it.
    """
    if json_file == "-" and markdown == "-":
        raise UsageError("--json - and --markdown - both want standard output; give one a file")
    if html == "-":
        raise UsageError("--html wants a file; a page on standard output helps nobody")
    for option, name in (("--html", html), ("--json", json_file), ("--markdown", markdown)):
        if name in (None, "-"):
            continue
        path = Path(str(name))
        if path.is_dir():
            raise UsageError(f"{option} {name} is a folder; expected a file")
        check_folder(option, path)


def check_folder(option: str, path: Path) -> None:
    """Refuse an output whose folder is not there, or belongs to somebody else.

    Raises:
        FileNotFoundError: The folder is missing; NotADirectoryError: it is a file.
        PermissionError: Nothing may be written to it.
    """
    folder = Path(os.path.realpath(path)).parent
    if not (path.parent.is_dir() and folder.is_dir()):
        raise _missing_folder(option, path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        return  # a pipe, or a device
    if not os.access(path if path.is_dir() else folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def _missing_folder(option: str, path: Path) -> OSError:
    """The error for an output whose folder is not there, or is a file."""
    folder = path.parent
    if address := re.match(r"([A-Za-z][A-Za-z0-9+]+:)/+(.*)", str(path), re.DOTALL):
        # A path has one slash where the address had two.
        return FileNotFoundError(
            f"{option} {address[1]}//{address[2]} is an address; outputs are local\n"
            "hint: name a file, and copy it when the command has ended"
        )
    if folder.exists():
        return NotADirectoryError(
            f"{option} {path}: {folder} is a file, no folder\nhint: name another folder"
        )
    return FileNotFoundError(
        f"{option} {path}: the folder {folder} does not exist\nhint: mkdir -p {folder}"
    )


def command_line() -> str:
    """The command line, for a card."""
    words = click.get_current_context().find_root().obj
    return shlex.join(["jeton", *words]) if words else ""


def is_rank_file(path: Path) -> bool:
    """True if a name is that of a rank file, compressed or not."""
    return path.name.lower().removesuffix(".zst").endswith(".tiktoken")


@dataclass(frozen=True, slots=True)
class SavedTokenizer:
    """Trained tokenizer, saved.

    Attributes:
        tokenizer: As it will be loaded: a card's fingerprint is to match what is in the file. A
            rank file says less than the tokenizer has, so that this one is meant there.
        files: The files.
        loading: Keywords with which ``jeton.load`` reads a rank file as it is meant.
    """

    tokenizer: Tokenizer
    files: list[Path]
    loading: Mapping[str, Any]

    def say_loading(self) -> None:
        """Say how a rank file is to be loaded, in full."""
        if not is_rank_file(self.files[0]):
            return
        if not self.loading:
            streams.say("its ranks are those of a published vocabulary, which load as they are")
            return
        words = (
            ["--pattern", str(self.loading.get("pattern", ""))] if "pattern" in self.loading else []
        )
        for text, number in dict(self.loading.get("special_tokens") or {}).items():
            words += ["--special-token", f"{text}={number}"]
        streams.say(f"a .tiktoken file holds ranks only; load it with {shlex.join(words)}")


def save_trained(
    tokenizer: Tokenizer, target: str, *, algorithm: str = "", pattern: str = ""
) -> SavedTokenizer:
    """Save what was trained; ``pattern`` is the name by which its split pattern was given."""
    from jeton._core import published_patterns
    from jeton.formats import load_file
    from jeton.formats.saving import write_files

    place = trained_target(target, algorithm)
    saved = write_files(tokenizer, place, lossy=False)
    written = list(saved.files)
    if place.folder is not None and place.format == "sentencepiece":
        written += _put_beside_model(tokenizer, place.folder)
        has_json = place.folder / "tokenizer.json" in written
        read = load_file(place.folder if has_json else written[0], name=tokenizer.name)
        return SavedTokenizer(read, written, {})
    if is_rank_file(written[0]):
        loading = dict(saved.options)
        names = [pattern, *published_patterns()]
        for name in names:
            if loading.get("pattern") == published_patterns().get(name):
                loading["pattern"] = name
                break
        return SavedTokenizer(tokenizer, written, loading)
    return SavedTokenizer(load_file(written[0], name=tokenizer.name), written, {})


def _put_beside_model(tokenizer: Tokenizer, folder: Path) -> list[Path]:
    """The files with which `tokenizers` and `transformers` load a model of SentencePiece."""
    from jeton._files import write_whole
    from jeton.errors import FormatError
    from jeton.formats.saving import pretrained_files
    from jeton.formats.writing import render

    files: dict[str, bytes] = {}
    try:
        rendering = render(tokenizer, "tokenizer.json")
    except FormatError:
        # Words of SentencePiece: no other library has such a model.
        streams.say("tokenizer.model holds it; a tokenizer.json cannot hold this kind of model")
    else:
        files["tokenizer.json"] = rendering.files[""]
        files |= pretrained_files(rendering.read, settings=None)
        if rendering.losses:
            parts = "; ".join(str(loss) for loss in rendering.losses)
            streams.say(
                "tokenizer.model is exact; tokenizer.json, which the folder loads as, differs in "
                f"this: {parts}"
            )
    for name, data in files.items():
        write_whole(folder / name, data)
    return [folder / name for name in files]


def check_can_hold(settings: TrainSettings, target: Target, *, base: Tokenizer | None) -> None:
    """Refuse a format that cannot hold what will be trained, before any text is read.

    A tokenizer of the same settings is trained on a few words and written; one that is continued
    stands for itself.

    Raises:
        UsageError: The format cannot hold it, or not without a loss.
    """
    import warnings

    from jeton.errors import JetonError
    from jeton.formats.writing import FORMATS, render

    if target.folder is not None and target.format == "sentencepiece":
        return
    what = (
        f"what continues {base.name or 'this tokenizer'}"
        if base is not None
        else settings.algorithm
    )
    probe = base
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if probe is None:
            probe = _probe(settings)
        if probe is None:
            return
        reasons: dict[str, str] = {}
        for name in sorted(FORMATS, key=lambda name: name != target.format):
            try:
                found = render(probe, name)
                reason = "; ".join(map(_said, found.losses))
            except JetonError as error:
                reason = str(error).split("\n")[0].partition(f" as {name}: ")[2] or str(error)
            if name == "tiktoken" and base is None and settings.algorithm == "trimmed-bpe":
                reason = "ranks have no tokens that stand for whole words only"
            reasons[name] = reason
            if name == target.format and not reason:
                return
    why = reasons[target.format]
    is_sentencepiece = settings.algorithm == "unigram" or settings.algorithm.startswith("sentence")
    others = ["a folder"] if is_sentencepiece and base is None else []
    others += [suffix for name, suffix in _SUFFIXES.items() if not reasons.get(name, "no")]
    raise UsageError(
        f"{target.format} cannot hold {what}: {why}\nhint: save it as {' or '.join(others)}"
    )


def _said(loss: Loss) -> str:
    """A loss in words; a component that only has other options is not said to become itself."""
    before, becomes, after = loss.what.partition(" becomes ")
    if becomes and after == before:
        return f"{loss.component}: it cannot say these options of {before!r}"
    return str(loss)


_SUFFIXES = {
    "tokenizer.json": "a folder or .json",
    "tiktoken": ".tiktoken",
    "sentencepiece": ".model",
    "vocab.txt": "vocab.txt",
    "jeton": ".jeton.json",
}
"""Names that choose a format, for hints."""

_PROBE = "the low lower lowest newer newest wide wider widest of the town, 12 words.\n"


def _probe(settings: TrainSettings) -> Tokenizer | None:
    """A tokenizer of these settings, trained on a few words; None where that cannot be."""
    from dataclasses import replace

    from jeton import training
    from jeton.errors import JetonError

    is_by_language = settings.algorithm == "parity-bpe"
    small = replace(settings, segmenter=None, min_frequency=1)
    if is_by_language:
        small = replace(small, algorithm="bpe", options={})
    try:
        corpus = training.count_pretokens(iter([_PROBE] * 4), settings=small)
        return training.train_from_counts(corpus, settings=small)
    except JetonError:
        # Options that want other text: the trained tokenizer itself will tell.
        return None


def trained_target(name: str, algorithm: str) -> Target:
    """Where a trained tokenizer goes: SentencePiece's own are a folder with tokenizer.model.

    Raises:
        UsageError: The name tells no format.
    """
    from jeton.formats.names import is_folder_name
    from jeton.formats.writing import find_target

    is_folder = name.endswith(("/", "\\")) or is_folder_name(Path(name))
    is_sentencepiece = algorithm == "unigram" or algorithm.startswith("sentencepiece-")
    return find_target(name, wanted="sentencepiece" if is_folder and is_sentencepiece else None)
