"""``jeton info``: facts about one tokenizer, and about the file or folder that it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jeton._plain import picked
from jeton.cli import options, streams, tables
from jeton.cli.declaring import command, option

if TYPE_CHECKING:
    from jeton import Tokenizer
    from jeton.formats import PretrainedFolder


@command()
@click.argument("tokenizer_name", metavar="T")
def info(
    *,
    tokenizer_name: str,
    canonical: bool = option(
        "Write the canonical form, whose SHA-256 is the fingerprint, and nothing else."
    ),
    output: str | None = option(
        "Write the canonical form into this file instead of to standard output.",
        "FILE",
        names="-o --output",
    ),
    formats: bool = option(
        "Try every format that can be written, and say what stands in the way. Takes seconds "
        "for large vocabularies."
    ),
    pattern: str | None = options.PATTERN,
    special_tokens: tuple[str, ...] = options.SPECIAL_ID,
    as_json: bool = options.JSON,
) -> None:
    """Describe a tokenizer.

    T is a name, a file or a folder. The fingerprint is the SHA-256 of the canonical form: equal
    ones mean the same tokenizer. The probe digest is one of the ids of a fixed text: files that
    write one tokenizer down differently share it. For a file it says the format and what happens to
    a text, step by step. With --formats it lists the formats to which the file can be converted.
    For a folder it adds the roles of the special tokens, the chat template, and contradictions
    between its files.

    \b
    Examples:
      jeton info cl100k_base
      jeton info ./my-tokenizer/tokenizer.json --json
      jeton info ./my-model/
      jeton info cl100k_base --formats
      jeton info jeton-general-32k --canonical | sha256sum
      jeton info cl100k_base --canonical -o cl100k_base.jeton.json
    """
    from jeton.registry import place_of

    if output is not None and not canonical:
        raise click.UsageError("-o writes the canonical form: --canonical is missing")
    if canonical and as_json:
        raise click.UsageError("give --canonical or --json, not both; the canonical form is JSON")
    tokenizer = options.load_tokenizer(
        tokenizer_name, pattern=pattern, special_tokens=special_tokens
    )
    if canonical:
        _write_canonical(tokenizer, output)
        return
    path = place_of(tokenizer_name)
    facts = {**_facts(tokenizer), "format": _format(path), "steps": _steps(tokenizer)}
    folder = _folder(path)
    writable = _writable(tokenizer) if formats else None
    card = _card(tokenizer_name)
    if as_json:
        about = None if folder is None else _folder_json(folder)
        streams.write_json(
            {
                "schema_version": "jeton.info/1",
                **facts,
                "writable": writable,
                "folder": about,
                "training_card": card,
            }
        )
        return
    special = facts["special_tokens"]
    rows = [
        ("name", str(facts["name"])),
        *([("format", facts["format"])] if facts["format"] else []),
        ("algorithm", facts["algorithm"]),
        ("reference of ids", facts["reference"]),
        ("vocab size", f"{facts['vocab_size']:,}"),
        ("tokens", f"{facts['n_tokens']:,}"),
        ("longest token", f"{facts['longest_token_bytes']:,} bytes"),
        ("special tokens", f"{len(special):,}"),
        *_around_rows(facts["around"]),
        ("split pattern", facts["split_pattern"] or "none"),
        *_step_rows(facts["steps"]),
        ("fingerprint", facts["fingerprint"]),
        ("probe digest", facts["probe_digest"]),
    ]
    tables.print_facts(rows)
    if special:
        shown = list(special.items())[:_SHOWN_SPECIAL_TOKENS]
        more = len(special) - len(shown)
        streams.write_line("")
        tables.print_facts((str(number), text) for text, number in shown)
        if more:
            streams.write_line(f"and {more:,} more; --json lists all")
    if writable is not None:
        streams.write_line("")
        tables.print_facts(_writable_rows(writable))
    if folder is not None:
        streams.write_line("")
        tables.print_facts(_folder_rows(folder))
    if card:
        streams.write_line("")
        tables.print_facts((f"card: {key}", _short(value)) for key, value in card.items())


_SHOWN_SPECIAL_TOKENS = 12


def _around_rows(around: dict[str, list[str]]) -> list[tuple[str, str]]:
    if not around["before"] and not around["behind"]:
        return []
    told = [*around["before"], "text", *around["behind"]]
    return [("with add_special_tokens", " ".join(told))]


def _write_canonical(tokenizer: Tokenizer, output: str | None) -> None:
    from jeton._files import write_whole

    data = tokenizer.to_canonical()
    if output is None or output == "-":
        streams.write_bytes(data)
        return
    write_whole(output, data)
    streams.say(f"wrote {output}")


def _facts(tokenizer: Tokenizer) -> dict[str, Any]:
    from jeton.probe import probe_digest

    special = dict(sorted(tokenizer.special_tokens.items(), key=lambda item: item[1]))
    return {
        **picked(tokenizer, "name algorithm reference vocab_size n_tokens"),
        "longest_token_bytes": int(tokenizer.token_lengths().max(initial=0)),
        "split_pattern": tokenizer.split_pattern,
        "fingerprint": tokenizer.fingerprint,
        "probe_digest": probe_digest(tokenizer),
        "special_tokens": special,
        "around": _around(tokenizer),
    }


def _around(tokenizer: Tokenizer) -> dict[str, list[str]]:
    """The tokens that ``add_special_tokens`` puts before and behind a text."""
    from jeton.errors import EncodeError

    texts = {token.id: token.content for token in tokenizer.fixed_tokens()}
    try:
        bare, full = tokenizer.encode("a"), tokenizer.encode("a", add_special_tokens=True)
    except EncodeError:
        return {"before": [], "behind": []}
    for start in range(len(full) - len(bare) + 1):
        if full[start : start + len(bare)] == bare:
            ends = {"before": full[:start], "behind": full[start + len(bare) :]}
            return {k: [texts.get(i, str(i)) for i in ids] for k, ids in ends.items()}
    return {"before": [], "behind": []}


def _format(path: Path | None) -> str | None:
    from jeton.formats.describing import format_of

    found = None if path is None else format_of(path)
    return None if found is None else found.value


def _steps(tokenizer: Tokenizer) -> dict[str, Any]:
    from dataclasses import asdict

    from jeton.formats.describing import describe_steps

    return asdict(describe_steps(tokenizer))


def _writable(tokenizer: Tokenizer) -> dict[str, Any]:
    """By format, whether and how far it can hold the tokenizer, and what stands in the way."""
    from jeton.formats import expressible

    found = expressible(tokenizer)
    return {name: {"as": how, "reasons": list(reasons)} for name, (how, reasons) in found.items()}


def _writable_rows(writable: dict[str, Any]) -> list[tuple[str, str]]:
    rows = []
    for name, entry in writable.items():
        reasons = entry["reasons"]
        told = {"exact": "exactly", "lossy": "with losses: ", "no": "no: "}[entry["as"]]
        more = f" (and {len(reasons) - 1} more; --json lists all)" if len(reasons) > 1 else ""
        rows.append((f"as {name}", told + (reasons[0] if reasons else "") + more))
    return rows


def _step_rows(steps: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [
        (label, ", then ".join(steps[key]) or "none")
        for label, key in (
            ("normalizer", "normalizer"),
            ("pre-tokenizer", "pretokenizer"),
            ("decoder", "decoder"),
        )
    ]
    for key in ("truncation", "padding"):
        if steps[key] is not None:
            settings = ", ".join(f"{k} {v}" for k, v in steps[key].items() if v is not None)
            rows.append((f"{key} (not applied by encode)", settings))
    if steps["dropout"] is not None:
        rows.append(("dropout", str(steps["dropout"])))
    return rows


def _folder(path: Path | None) -> PretrainedFolder | None:
    from jeton.formats import read_folder

    return read_folder(path) if path is not None and path.is_dir() else None


def _folder_rows(folder: PretrainedFolder) -> list[tuple[str, str]]:
    rows = []
    if folder.tokenizer_file is not None:
        rows.append(("tokenizer file", folder.tokenizer_file.name))
    rows.append(("class in transformers", folder.tokenizer_class or "not told"))
    rows += [(f"{role} token", text) for role, text in folder.roles.items()]
    if folder.additional_special_tokens:
        rows.append(("other special tokens", f"{len(folder.additional_special_tokens):,}"))
    if folder.chat_template is None or folder.chat_template_file is None:
        rows.append(("chat template", "none"))
    else:
        size = len(folder.chat_template)
        rows.append(("chat template", f"{size:,} characters in {folder.chat_template_file.name}"))
    if folder.other_chat_templates:
        rows.append(("other chat templates", ", ".join(sorted(folder.other_chat_templates))))
    if folder.model_max_length is not None:
        rows.append(("model max length", f"{folder.model_max_length:,} tokens"))
    rows += [("note", warning) for warning in folder.warnings]
    return rows


def _folder_json(folder: PretrainedFolder) -> dict[str, Any]:
    template_file = folder.chat_template_file
    return {
        "tokenizer_file": None if folder.tokenizer_file is None else folder.tokenizer_file.name,
        "files": [path.name for path in folder.files],
        "tokenizer_class": folder.tokenizer_class,
        "roles": dict(folder.roles),
        "additional_special_tokens": list(folder.additional_special_tokens),
        "chat_template": folder.chat_template,
        "chat_template_file": None if template_file is None else template_file.name,
        "other_chat_templates": dict(folder.other_chat_templates),
        **picked(folder, "model_max_length add_bos add_eos clean_up_tokenization_spaces legacy"),
        "warnings": list(folder.warnings),
    }


def _card(name: str) -> dict[str, Any] | None:
    from jeton.registry import training_card

    return training_card(name)


def _short(value: Any) -> str:
    if isinstance(value, list | dict):
        return f"{len(value)} entries; --json shows them"
    return str(value)
