"""``jeton chat``: a chat to text and ids."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from jeton._plain import picked
from jeton.cli import options, streams
from jeton.cli.declaring import command, option
from jeton.errors import JetonError, UsageError

if TYPE_CHECKING:
    from jeton import Tokenizer
    from jeton.chat import ChatEncoding, ChatTemplate
    from jeton.chat.data import Chat

_MAX_FILE_BYTES = 256 << 20
"""Keeps a wrong file from filling memory."""
_OWN, _LOOK_ALIKE, _END = "\x1b[36m", "\x1b[41;97m", "\x1b[0m"


@command()
@click.argument("file", required=False)
def chat(
    *,
    file: str | None,
    tokenizer_name: str = options.TOKENIZER,
    template_file: str | None = option(
        "The chat template, instead of the one in the tokenizer's folder.",
        "FILE",
        names="--template",
    ),
    template_name: str | None = option(
        "Which template of a folder that has several; by default tool_use if there are tools "
        "and it has one, else default.",
        "NAME",
    ),
    token_names: tuple[str, ...] = option(
        "A special token under the name that the template uses (bos_token=<s>); may be repeated.",
        "NAME=TEXT",
        names="--token-name",
    ),
    add_generation_prompt: bool = option("Write the beginning of an answer at the end."),
    continue_final_message: bool = option("End inside the last message, to be continued."),
    only_ids: bool = option("Write the ids alone, as encode does.", names="--ids"),
    as_json: bool = options.JSON,
) -> None:
    """Render a chat with its template and encode it safely.

    FILE is JSON: a list of messages, or an object with messages, tools, documents and other names
    that the template reads. It may hold many of them, as a list or one a line. - or nothing is
    standard input. Control tokens come from the template alone: what looks like one in a message
    stays text and is listed. Templates run in a process of their own with limits. `jeton count
    --chat` counts files of chats.

    \b
    Examples:
      jeton chat --tokenizer my-model/ chat.json --add-generation-prompt
      jeton chat -t my-model/ chat.json --json
      jeton chat -t tokenizer.json --template t.jinja --token-name bos_token="<s>" < chat.json
    """
    from jeton.chat import encode_chat

    tokenizer = options.load_tokenizer(tokenizer_name, pattern=None)
    names = dict(_named(given) for given in token_names)
    template = _template(tokenizer, template_file, names)
    chats = read_chats(file or "-")
    for one in chats:
        try:
            encoded = encode_chat(
                one.messages,
                tokenizer=tokenizer,
                template=template,
                add_generation_prompt=add_generation_prompt,
                continue_final_message=continue_final_message,
                template_name=template_name,
                **one.variables,
            )
        except JetonError as error:
            if len(chats) > 1:
                error.args = (f"{one.where}: {error}",)
            raise
        _write(encoded, tokenizer, as_json=as_json, only_ids=only_ids)


def _write(encoded: ChatEncoding, tokenizer: Tokenizer, *, as_json: bool, only_ids: bool) -> None:
    if as_json:
        streams.write_json(
            {
                "schema_version": "jeton.chat/1",
                "tokenizer": tokenizer.name,
                "fingerprint": tokenizer.fingerprint,
                **picked(
                    encoded.rendered, "text trusted_spans generation_spans has_generation_block"
                ),
                "n_tokens": len(encoded.ids),
                "ids": encoded.ids.tolist(),
                "template_mask": encoded.template_mask.astype(int).tolist(),
                "assistant_mask": encoded.assistant_mask.astype(int).tolist(),
                "look_alikes": [
                    {**picked(look, "token id start end")} for look in encoded.look_alikes
                ],
            },
            indent=None,
        )
        return
    if only_ids:
        streams.write_line(" ".join(map(str, encoded.ids.tolist())))
    elif streams.colour_wanted():
        streams.write_line(_coloured(encoded), styled=True)
    else:
        text = encoded.rendered.text
        if sys.stdout.isatty():
            streams.write_line(text)
        else:
            streams.write_bytes(text.encode("utf-8", "surrogatepass") + b"\n")
    sys.stdout.flush()
    streams.say(_words(encoded))


def _named(given: str) -> tuple[str, str]:
    name, sign, text = given.partition("=")
    if not (sign and name.isidentifier() and text):
        raise UsageError(
            f"--token-name is {given!r}; expected NAME=TEXT\nhint: --token-name 'bos_token=<s>'"
        )
    return name, text


def _template(tokenizer: Tokenizer, file: str | None, names: dict[str, str]) -> ChatTemplate:
    from jeton.chat import ChatTemplate
    from jeton.formats.model_settings import settings_of
    from jeton.formats.names import user_path
    from jeton.formats.reading import read_template

    if file is None:
        found = ChatTemplate.from_tokenizer(tokenizer)
        sources = {name: found.source(name) for name in found.names}
        return ChatTemplate(sources, special_tokens=found.special_tokens | names)
    source = read_template(user_path(file))
    settings = settings_of(tokenizer)
    if settings is not None:
        names = {f"{role}_token": text for role, text in settings.roles.items()} | names
    return ChatTemplate.from_source(source, special_tokens=names)


def read_chats(file: str) -> list[Chat]:
    """The chats of a file, or of standard input."""
    from jeton.chat.data import chats_of
    from jeton.formats.names import user_path

    if file == "-":
        data = sys.stdin.buffer.read(_MAX_FILE_BYTES + 1)
    else:
        with user_path(file).open("rb") as stream:
            data = stream.read(_MAX_FILE_BYTES + 1)
    where = "standard input" if file == "-" else file
    if len(data) > _MAX_FILE_BYTES:
        raise UsageError(
            f"{where} is larger than {_MAX_FILE_BYTES >> 20} MB\nhint: split it into several files"
        )
    return chats_of(data, name=where)


def _coloured(encoded: ChatEncoding) -> str:
    """The text, the template's part coloured; what would steer a terminal is spelled."""
    text = encoded.rendered.text
    style = [""] * len(text)
    for start, end in encoded.rendered.trusted_spans:
        style[start:end] = [_OWN] * (end - start)
    for look in encoded.look_alikes:
        style[look.start : look.end] = [_LOOK_ALIKE] * (look.end - look.start)
    pieces = []
    now = ""
    for character, wanted in zip(text, style, strict=True):
        if wanted != now:
            pieces.append(_END + wanted if now else wanted)
            now = wanted
        steers = character not in "\n\t" and (ord(character) < 32 or 127 <= ord(character) < 160)
        pieces.append(f"\\x{ord(character):02X}" if steers else character)
    return "".join(pieces) + (_END if now else "")


def _words(encoded: ChatEncoding) -> str:
    own = int(encoded.template_mask.sum())
    words = f"{len(encoded.ids):,} tokens, {own:,} of them the template's"
    if encoded.look_alikes:
        found = sorted({look.token for look in encoded.look_alikes})
        shown = ", ".join(map(repr, found[:5])) + (" ..." if len(found) > 5 else "")
        words += (
            f"; {len(encoded.look_alikes):,} look-alikes of control tokens stayed text: {shown}"
        )
    if not encoded.rendered.has_generation_block:
        return words
    marked = int(encoded.assistant_mask.sum())
    return f"{words}; {marked:,} in {{% generation %}} blocks"
