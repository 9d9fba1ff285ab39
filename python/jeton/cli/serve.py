"""``jeton serve``: the HTTP service as a process."""

from __future__ import annotations

import sys
from typing import Any

import click

from jeton._plain import strict_json
from jeton.cli import options, streams
from jeton.cli.declaring import OptionSet, command, option
from jeton.cli.kinds import AMOUNT, COUNT, WHOLE, FiniteRange
from jeton.errors import MissingExtraError


class _Options(OptionSet):
    """Options of the command."""

    tokenizers: tuple[str, ...] = option(
        "Tokenizer by the name that requests use: a name, file or folder. The first one is the "
        "default. Repeatable.",
        "[NAME=]T",
        names="-t --tokenizer",
    )
    compat: tuple[str, ...] = option(
        "Routes in the shape of other servers: vllm, sglang, llama.cpp, tei, anthropic, openai, "
        "cohere; NAME=/PREFIX puts one elsewhere. Commas or repeatable.",
        "NAMES",
    )
    host: str | None = option("Address to listen at.  [default: 127.0.0.1]", "HOST")
    port: int | None = option(
        "Port; 0: a free one.  [default: 8777]", "N", type=click.IntRange(0, 65535)
    )
    config: str | None = option(
        "Settings (TOML); options of the command line win.",
        "F",
        type=click.Path(exists=True, dir_okay=False),
    )
    keys_file: str | None = option(
        "API keys: a file of lines NAME KEY. Without one everybody may ask.",
        "F",
        names="--keys",
        type=click.Path(exists=True, dir_okay=False),
    )
    requests_per_minute: int | None = option(
        "Requests of one key, or one address, a minute.", "N", type=COUNT
    )
    max_body_bytes: int | None = option(
        "Bytes of a request's body.  [default: 16777216]", "N", type=COUNT
    )
    threads: int | None = option("Threads that encode; all cores by default.", "N", type=COUNT)
    uploads: int | None = option(
        "Tokenizer files that clients may have loaded at once.  [default: 4]", "N", type=WHOLE
    )
    endpoints: str | None = option(
        "Endpoints for /v1/route (TOML), as for `jeton route`.",
        "F",
        type=click.Path(exists=True, dir_okay=False),
    )
    count_models: tuple[str, ...] = option(
        "Model of `jeton predict calibrate` for a tokenizer. Repeatable.",
        "NAME=F",
        names="--count-model",
    )
    templates: tuple[str, ...] = option(
        "Chat template for a tokenizer whose folder has none. Repeatable.",
        "NAME=F",
        names="--template",
    )
    models: tuple[str, ...] = option(
        "Tokenizer of the models of a pattern (claude-*=main), for other servers' routes. "
        "Repeatable.",
        "PATTERN=NAME",
        names="--model",
    )
    shadow: str | None = option(
        "Plan of a mirror (TOML): requests of OpenAI's shape go to endpoint A, a share of them "
        "also to B; /v1/shadow has the verdicts.",
        "F",
        type=click.Path(exists=True, dir_okay=False),
    )
    drain_seconds: float | None = option(
        "Time between failing readiness and the end of listening.  [default: 2]", "S", type=AMOUNT
    )
    reload_seconds: float | None = option(
        "Look at the tokenizers' files this often; SIGHUP looks at once.",
        "S",
        type=FiniteRange(min=1),
    )
    watch: str | None = option(
        "Watch the drift of the counted texts: a history of `jeton watch --save-baseline`, or - "
        "to learn from the first texts. The texts of late are held in memory.",
        "F|-",
    )
    as_json: bool = options.JSON


@command(
    sections={"Most used": "tokenizers", "Limits": "keys_file", "More": "endpoints"},
)
def serve(*, given: _Options) -> None:
    """Serve counts, ids, chunks and comparisons over HTTP.

    The document of all routes is at /openapi.json, metrics at /metrics, health at /healthz and
    readiness at /readyz. SIGTERM fails readiness, answers what still comes, then stops. --json
    writes the address and the tokenizers as one line of JSON when requests are answered.

    \b
    Examples:
      jeton serve --tokenizer o200k_base
      jeton serve -t main=./model -t old=cl100k_base --compat vllm,anthropic --port 9000
      jeton serve --config service.toml --keys keys.txt
    """
    try:
        import litestar  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError("jeton serve", extra="service") from None
    from jeton.service.application import create_app
    from jeton.service.running import bound_socket
    from jeton.service.running import serve as run
    from jeton.service.settings import settings_from

    fields = _fields(given)
    host, port = fields.get("host", "127.0.0.1"), fields.get("port", 8777)
    gate = create_app(settings_from(fields))
    listening = bound_socket(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}"
    tokenizers = {item.name: item.fingerprint for item in gate.state.tokenizers.all()}

    def started() -> None:
        if given.as_json:
            found = {"schema_version": "jeton.serve/1", "url": address, "tokenizers": tokenizers}
            click.echo(strict_json(found))
            sys.stdout.flush()
        else:
            streams.say(f"jeton: serving {', '.join(tokenizers)} at {address}")

    run(gate, listening, on_start=started)


def _fields(given: _Options) -> dict[str, Any]:
    """Return the fields of the settings; an option replaces the field of the file."""
    from dataclasses import replace

    from jeton.service.settings import ServiceLimits, read_keys, read_service_fields

    fields = read_service_fields(given.config) if given.config else {}
    if given.tokenizers:
        fields["tokenizers"] = pairs(given.tokenizers, "--tokenizer", names_itself=True)
    fields.setdefault("tokenizers", {})
    if given.compat:
        fields["compat"] = tuple(name for names in given.compat for name in names.split(","))
    if given.keys_file:
        fields["keys"] = read_keys(given.keys_file)
    for name, written in (
        ("count_models", "--count-model"),
        ("templates", "--template"),
        ("models", "--model"),
    ):
        if getattr(given, name):
            fields[name] = pairs(getattr(given, name), written, names_itself=False)
    for name in ("host", "port", "endpoints", "shadow", "drain_seconds", "reload_seconds", "watch"):
        if getattr(given, name) is not None:
            fields[name] = getattr(given, name)
    limits = {
        "requests_per_minute": given.requests_per_minute,
        "max_body_bytes": given.max_body_bytes,
        "n_workers": given.threads,
        "max_uploads": given.uploads,
    }
    changes = {name: value for name, value in limits.items() if value is not None}
    fields["limits"] = replace(fields.get("limits", ServiceLimits()), **changes)
    return fields


def pairs(items: tuple[str, ...], option: str, *, names_itself: bool) -> dict[str, str]:
    """Read ``NAME=VALUE``; ``names_itself``: a value alone is its own name."""
    found: dict[str, str] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals:
            if not names_itself:
                raise click.BadParameter(f"{item!r} is not NAME=F", param_hint=option)
            value = name
        if not name or not value or name in found:
            raise click.BadParameter(f"{item!r}: expected a new NAME=VALUE", param_hint=option)
        found[name] = value
    return found
