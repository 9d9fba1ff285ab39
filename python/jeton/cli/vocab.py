"""``jeton vocab``: list, add, fetch and compile vocabularies."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from jeton.cli import options, streams, tables
from jeton.cli.declaring import command, option


@click.group()
def vocab() -> None:
    """List, add, fetch and compile vocabularies.

    A name is looked for in the package, in $JETON_VOCAB_DIR, and in the user's cache
    ($JETON_CACHE_DIR, or the platform's cache folder), in this order.

    \b
    Examples:
      jeton vocab list
      jeton vocab fetch cl100k_base
      jeton vocab add ./tokenizer.json --name house-tokenizer
    """


@command("list", group=vocab)
def list_command(
    *,
    at_hand: bool = option("Only those that load without the network."),
    as_json: bool = options.JSON,
) -> None:
    """List the vocabularies that have a name, and how to get those that are not at hand.

    \b
    Examples:
      jeton vocab list
      jeton vocab list --at-hand --json
    """
    from jeton.registry import list_vocabularies

    entries = [e for e in list_vocabularies() if e.available or not at_hand]
    if as_json:
        rows = [{**asdict(e), "path": None if e.path is None else str(e.path)} for e in entries]
        streams.write_json({"schema_version": "jeton.vocab/1", "vocabularies": rows})
        return
    tables.print_rows(
        entries,
        {
            "NAME": lambda e: e.name,
            "WHERE": lambda e: e.where,
            ">BYTES": lambda e: "" if e.size_bytes is None else f"{e.size_bytes:,}",
            "FILE, OR HOW TO GET IT": lambda e: e.how if e.path is None else str(e.path),
        },
    )


@command(group=vocab)
@click.argument("file")
def add(
    *,
    file: str,
    name: str | None = option("The name to give it; the file's name without suffixes by default."),
    pattern: str | None = options.PATTERN,
    special_tokens: tuple[str, ...] = options.SPECIAL_ID,
    as_json: bool = options.JSON,
) -> None:
    """Copy a vocabulary into the cache, so that its name works everywhere.

    FILE is a file or folder in any supported format. It is loaded first: what does not load is
    not added.

    \b
    Examples:
      jeton vocab add llama3.tiktoken
      jeton vocab add ./model-folder --name house-tokenizer
      jeton vocab add ranks.tiktoken --pattern cl100k_base --special-token "<|end|>=100257"
    """
    from jeton import registry

    entry = registry.add(
        file,
        name=name,
        pattern=pattern,
        special_tokens=options.parse_special_tokens(special_tokens) or None,
    )
    if as_json:
        streams.write_json({**asdict(entry), "path": str(entry.path)})
        return
    streams.write_line(str(entry.path))
    streams.say(f"added {entry.name}; use it with --tokenizer {entry.name}")


@command(group=vocab)
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def fetch(*, names: tuple[str, ...], as_json: bool = options.JSON) -> None:
    """Download published vocabularies into the cache, checked against their SHA-256.

    \b
    Examples:
      jeton vocab fetch o200k_base
      jeton vocab fetch r50k_base cl100k_base
    """
    from jeton import registry

    fetched = []
    for name in names:
        path = registry.fetch(name)
        fetched.append({"name": name, "path": str(path)})
        if not as_json:
            streams.write_line(str(path))
    if as_json:
        streams.write_json(fetched)


@command("compile", group=vocab)
@click.argument("tokenizer")
@click.argument("output")
def compile_command(*, tokenizer: str, output: str, as_json: bool = options.JSON) -> None:
    """Write a tokenizer as it lies in memory: the quickest to load, for this release alone.

    TOKENIZER is a name, a file or a folder; OUTPUT is usually called NAME.jetonc. Loading by name
    or from a file compiles into the user's cache anyway (docs/guides/loading.md).

    \b
    Examples:
      jeton vocab compile cl100k_base cl100k_base.jetonc
      jeton vocab compile ./model-folder house.jetonc --json
    """
    import jeton

    jeton.load(tokenizer).save_compiled(output)
    n_bytes = Path(output).stat().st_size
    if as_json:
        streams.write_json({"path": output, "bytes": n_bytes})
        return
    streams.write_line(output)
    streams.say(f"{n_bytes:,} bytes")


@command("compiled", group=vocab)
def compiled_command(
    *,
    clear: bool = option("Remove them all; they are made again when needed."),
    as_json: bool = options.JSON,
) -> None:
    """Show the compiled tokenizers in the user's cache, or remove them.

    \b
    Examples:
      jeton vocab compiled
      jeton vocab compiled --clear
    """
    from jeton.registry import compiled, index

    folder = index.compiled_dir(choice=True)
    count = compiled.clear if clear else compiled.contents
    n_entries, n_bytes = (0, 0) if folder is None else count(folder)
    where = None if folder is None else str(folder)
    if as_json:
        value = {"folder": where, "entries": n_entries, "bytes": n_bytes, "removed": clear}
        streams.write_json(value)
        return
    if where is None:
        streams.say("the cache is switched off")
        return
    what = "removed " if clear else ""
    streams.write_line(f"{where}: {what}{n_entries:,} compiled tokenizers, {n_bytes:,} bytes")
