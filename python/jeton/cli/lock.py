"""``jeton lock``: what a tokenizer is and does, in a file; and what has changed since."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from jeton.cli import options, streams
from jeton.cli.declaring import command, option
from jeton.cli.kinds import POSITIVE
from jeton.cli.token_rows import visible
from jeton.errors import UsageError

if TYPE_CHECKING:
    from jeton.locking import ChangedText, Lock, LockDifference, TokenizerDifference

EXIT_SAME, EXIT_CHANGED = 0, 1

_DEFAULT_FILE = "jeton.lock"

_MAX_TEXTS = 5
"""Changed texts that are shown of a tokenizer; --json has all."""

_MAX_SHOWN_CHARS = 120
"""Characters shown of a changed text, from shortly before the place where the cuts part."""

_MAX_CANARY_BYTES = 8 << 20
"""A file of canaries is read into memory, and stands in the lock."""


@command()
@click.argument("tokenizers", nargs=-1, metavar="[TOKENIZER]...")
def lock(
    *,
    tokenizers: tuple[str, ...],
    file: str = option("The lock file.", "F", names="-o --lock-file", default=_DEFAULT_FILE),
    check: bool = option("Compare with the lock; exit with 1 if anything differs."),
    update: bool = option("Say what differs, then lock today's state of the same things."),
    other: str | None = option("Compare the lock with another lock file.", "F2", names="--diff"),
    canary: str | None = option(
        "Texts of your own, one a line, whose ids must not change unnoticed; they stand in the "
        "lock file.",
        "F",
    ),
    inputs: tuple[str, ...] = option(
        "Files whose tokens are counted, so that a change has a price. Repeatable.",
        "INPUT",
        names="--corpus",
    ),
    price_model: str | None = option(
        "API price: MODEL, PROVIDER:MODEL, or usd:INPUT per million tokens.", "P"
    ),
    requests_per_day: float | None = option(
        "Requests a day like the documents of the corpus.", "N", type=POSITIVE
    ),
    prompts: tuple[str, ...] = option(
        "Requests of one run of an agent: lock their blocks, or --check another run. Repeatable.",
        "LOG",
        names="--prompt",
    ),
    field: str = options.FIELD,
    documents: Literal["file", "line"] = options.DOCUMENTS,
    num_threads: int | None = options.THREADS,
    as_json: bool = options.JSON,
) -> int:
    """Lock what a tokenizer does; show later changes and their price.

    A lock records for each TOKENIZER (a name, file or folder) its files, its configuration, and its
    cuts of 500 probe texts and your canaries. With --corpus, --price-model and --requests-per-day a
    later change has a price. Put the file under version control, and run --check where tokens are
    made.

    With --prompt the blocks of an agent's requests are locked (hashes only), with their models,
    cache marks, and parameters that end a prefix. --check names the first that another run changed.

    Exit code 0: nothing differs. 1: something does.

    \b
    Examples:
      jeton lock o200k_base model/ --canary strings.txt
      jeton lock model/ --corpus logs.jsonl --price-model gpt-4o --requests-per-day 50000
      jeton lock --check
      jeton lock --update
      jeton lock --diff main.lock
      jeton lock --prompt run1.jsonl -o agent.lock
      jeton lock --prompt run2.jsonl -o agent.lock --check
    """
    if prompts:
        if tokenizers or update or other or canary or inputs or price_model or requests_per_day:
            raise UsageError(
                "--prompt locks requests alone\nhint: lock tokenizers in a file of their own"
            )
        return _lock_prompts(prompts, file, check=check, as_json=as_json)
    _check_usage(
        tokenizers,
        modes=[name for name, on in _modes(check=check, update=update, other=other) if on],
        making=[
            name for name, value in _making(canary, inputs, price_model, requests_per_day) if value
        ],
    )
    from jeton.locking import Lock, compare_locks, make_lock, remake

    if other is not None:
        return _say(compare_locks(Lock.read(file), Lock.read(other)), as_json=as_json)
    if check or update:
        locked = Lock.read(file)
        today = remake(locked, num_threads=num_threads)
        code = _say(compare_locks(locked, today), as_json=as_json)
        if not update:
            return code
        if today.workload is None and locked.workload is not None:
            streams.say(
                "jeton: the files of the corpus are gone; the lock has no workload any more"
            )
        _write(today, file)
        return EXIT_SAME
    traffic = None
    if price_model is not None and requests_per_day is not None:
        from jeton.locking.workload import Traffic

        traffic = Traffic.find(price_model, requests_per_day=requests_per_day)
    made = make_lock(
        inputs,
        tokenizers=tokenizers,
        canaries=[] if canary is None else _canaries(canary),
        field=field,
        documents=documents,
        traffic=traffic,
        num_threads=num_threads,
    )
    _write(made, file)
    return EXIT_SAME


def _modes(*, check: bool, update: bool, other: str | None) -> list[tuple[str, bool]]:
    return [("--check", check), ("--update", update), ("--diff", other is not None)]


def _making(
    canary: str | None,
    inputs: tuple[str, ...],
    price_model: str | None,
    requests_per_day: float | None,
) -> list[tuple[str, bool]]:
    return [
        ("--canary", canary is not None),
        ("--corpus", bool(inputs)),
        ("--price-model", price_model is not None),
        ("--requests-per-day", requests_per_day is not None),
    ]


def _lock_prompts(prompts: tuple[str, ...], file: str, *, check: bool, as_json: bool) -> int:
    """Lock the requests of a run, or compare a run with the lock."""
    from dataclasses import asdict

    from jeton.locking.prompts import PromptLock, compare_prompts, lock_prompts
    from jeton.report.json_report import safe_json

    today = lock_prompts(prompts)
    if not check:
        today.write(file)
        streams.say(f"jeton: locked {len(today.requests):,} requests in {file}")
        return EXIT_SAME
    changes = compare_prompts(PromptLock.read(file), today)
    if as_json:
        plain = {"is_same": not changes, "changes": [asdict(change) for change in changes]}
        streams.write_line(safe_json(plain).rstrip())
    for change in changes[:_MAX_TEXTS]:
        streams.say(str(change))
    if len(changes) > _MAX_TEXTS:
        streams.say(f"and {len(changes) - _MAX_TEXTS:,} more; --json lists all")
    if not changes:
        streams.say(f"jeton: {len(today.requests):,} requests are the same")
    return EXIT_CHANGED if changes else EXIT_SAME


def _check_usage(tokenizers: tuple[str, ...], *, modes: list[str], making: list[str]) -> None:
    if len(modes) > 1:
        raise UsageError(f"{' and '.join(modes)} exclude one another; give one")
    if modes and (tokenizers or making):
        what = making[0] if making else f"tokenizer {tokenizers[0]!r}"
        raise UsageError(
            f"{modes[0]} goes by what the lock file says; {what} cannot be given with it\n"
            "hint: lock anew without it to lock something else"
        )
    if not modes and not tokenizers:
        raise click.UsageError("no tokenizer is given to lock; or give --check, --update or --diff")
    if ("--price-model" in making) is not ("--requests-per-day" in making):
        raise UsageError("--price-model and --requests-per-day go together; give both or neither")
    if "--price-model" in making and "--corpus" not in making:
        raise UsageError("a price without --corpus prices nothing\nhint: --corpus names the files")


def _canaries(path: str) -> list[str]:
    """Lines of a file, each once; a line is taken as it is, but for its end."""
    if Path(path).stat().st_size > _MAX_CANARY_BYTES:
        raise UsageError(
            f"{path} is larger than {_MAX_CANARY_BYTES:,} bytes\n"
            "hint: a corpus is counted with --corpus; canaries are a few strings"
        )
    try:
        text = Path(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 at byte {error.start}") from None
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    found = list(dict.fromkeys(line for line in lines if line))
    if not found:
        raise UsageError(f"{path} holds no text; expected one canary a line")
    return found


def _write(made: Lock, file: str) -> None:
    made.write(file)
    for tokenizer in made.tokenizers:
        streams.say(
            f"locked {tokenizer.asked}: fingerprint {tokenizer.fingerprint[:12]}, "
            f"{tokenizer.probe_digest[:19]}"
        )
    streams.say(f"wrote {file}")


def _say(difference: LockDifference, *, as_json: bool) -> int:
    if as_json:
        streams.write_json(difference.to_dict())
    else:
        for line in _lines(difference):
            streams.write_line(line)
    return EXIT_SAME if difference.is_same else EXIT_CHANGED


def _lines(difference: LockDifference) -> list[str]:
    lines: list[str] = []
    for tokenizer in difference.tokenizers:
        lines += _tokenizer_lines(tokenizer)
    for name, before, after in difference.libraries:
        lines.append(f"note: {name} {before or 'not installed'} -> {after or 'not installed'}")
    return lines


def _tokenizer_lines(tokenizer: TokenizerDifference) -> list[str]:
    asked = _printable(tokenizer.asked)
    if tokenizer.status == "same":
        return [f"same     {asked}"]
    lines = [f"{tokenizer.status:<8} {asked}"]
    if tokenizer.status != "changed":
        return lines
    for name in tokenizer.files:
        lines.append(f"  file {_printable(name)} is another one")
    for name, before, after in tokenizer.settings:
        lines += [f"  {name}", f"    was  {_printable(before)}", f"    is   {_printable(after)}"]
    n = len(tokenizer.changed_texts)
    if not n:
        lines.append(f"  no ids changed on {tokenizer.n_compared_texts:,} texts")
    else:
        lines.append(f"  ids changed on {n:,} of {tokenizer.n_compared_texts:,} texts:")
    for changed in tokenizer.changed_texts[:_MAX_TEXTS]:
        lines += _text_lines(changed)
    if n > _MAX_TEXTS:
        lines.append(f"    and {n - _MAX_TEXTS:,} more; --json lists all")
    if tokenizer.tokens_per_request is not None:
        was, now = tokenizer.tokens_per_request
        change = float(now.value) / float(was.value) - 1 if was.value else 0.0
        lines.append(
            f"  tokens per request {float(was.value):,.2f} -> {float(now.value):,.2f} "
            f"({change:+.2%}, {now.basis})"
        )
    if tokenizer.usd_per_year is not None:
        usd = tokenizer.usd_per_year
        lines += [f"  {usd.value:+,} USD a year ({usd.basis})", f"    = {usd.formula}"]
    return lines


def _text_lines(changed: ChangedText) -> list[str]:
    kind = "canary" if changed.is_canary else "probe"
    counts = " -> ".join(
        "cannot be encoded" if n is None else f"{n:,}"
        for n in (changed.n_tokens_before, changed.n_tokens_after)
    )
    if changed.pieces_before == changed.pieces_after:
        pieces = _joined(changed.pieces_after)
        return [f"    {kind}, {counts} tokens, only their ids changed: {pieces}"]
    same = 0
    for a, b in zip(changed.pieces_before, changed.pieces_after, strict=False):
        if a != b:
            break
        same += 1
    # One token before the place says where it is.
    first = max(0, same - 1)
    return [
        f"    {kind}, {counts} tokens:",
        f"      was  {_joined(changed.pieces_before[first:], cut=first > 0)}",
        f"      is   {_joined(changed.pieces_after[first:], cut=first > 0)}",
    ]


def _joined(pieces: tuple[str, ...], *, cut: bool = False) -> str:
    shown = "|".join(visible(piece.encode("utf-8", "surrogatepass")) for piece in pieces)
    if len(shown) > _MAX_SHOWN_CHARS:
        shown = f"{shown[:_MAX_SHOWN_CHARS]}..."
    return f"...{shown}" if cut else shown


def _printable(text: str) -> str:
    """Words with what a terminal might obey written as escapes; spaces stay spaces."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
