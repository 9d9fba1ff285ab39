"""The root command: lazily imported subcommands, and one place where errors end."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TextIO

import click

from jeton._os_errors import os_message
from jeton.cli.completing import complete_names, is_completing
from jeton.cli.hints import in_options, jeton_message
from jeton.cli.lazy_group import LazyGroup
from jeton.cli.process import told_of_pipes
from jeton.cli.streams import VERDICT, shown
from jeton.errors import JetonError, JetonWarning, UnknownModelError

EXIT_FINE, EXIT_ERROR, EXIT_INTERRUPTED = 0, 2, 130

COMMANDS = {
    "demo": "Audit the log that comes with the package, and write a report.",
    "audit": "Say what tokenization costs a workload, and what to change.",
    "count": "Count the tokens of files.",
    "encode": "Turn text into token ids, one document a line.",
    "decode": "Turn token ids back into text.",
    "chat": "Render a chat with its template and encode it safely.",
    "compare": "Compare tokenizers side by side on your own text.",
    "bench": "Time the tokenization libraries that are installed, on your own text.",
    "chunk": "Divide documents into chunks that fit a token budget, or measure what that tears.",
    "show": "Show how a text is cut into tokens.",
    "trace": "Show each step of encoding or training.",
    "count-pretokens": "Count the pretokens of files, to train from once or often.",
    "tokenize": "Tokenize documents into files that training programs read.",
    "train": "Train a tokenizer on your own text.",
    "adapt": "Adapt a vocabulary, and the model that has it, to a domain.",
    "sweep": "Say which vocabulary size pays, from one training.",
    "cost-aware": "Learn the vocabulary with the least bill, size and members, for a workload "
    "and a model.",
    "recommend": "Say what to train for a corpus: split pattern, normalization, algorithm, "
    "sharing, size.",
    "preprocess": "Write files again with fewer tokens, and say what was saved and lost.",
    "explain": "Find a smallest text on which two tokenizers differ, and the component that "
    "causes it.",
    "convert": "Convert a tokenizer to another file format, exactly or not at all.",
    "predict": "Predict tokens of texts, lengths of answers and the memory of the next minutes.",
    "pack": "Pack documents into bins of one capacity, by their lengths.",
    "watch": "Watch a service: drift of its tokens with the cause, minutes of memory left.",
    "route": "Replay logs on endpoints: what a router costs, and where each request goes.",
    "guard": "Guard a model's input: text that lies, and vocabularies that lie.",
    "doctor": "Diagnose known failures of a tokenizer, a model directory, a batch or two settings.",
    "lock": "Lock what a tokenizer does; show later changes and their price.",
    "info": "Describe a tokenizer.",
    "vocab": "List, add, fetch and compile vocabularies.",
    "memory": "Show the room that a model leaves for requests on a GPU, and the longest context.",
    "plan": "Plan serving: who is admitted, in which steps, on how many GPUs.",
    "serve": "Serve counts, ids, chunks and comparisons over HTTP.",
    "mcp": "Give counts, prices and audits to coding agents (Model Context Protocol).",
    "catalog": "List the models, GPUs and prices that audits know.",
}
"""First line of the help of each command."""


_GATE = "jeton audit LOG --against OTHER, or --baseline FILE --fail-on BUDGET"
_LEDGER = "jeton audit LOG --logs prices requests; in Python: jeton.ledger(LOG)"
_ELSEWHERE = {
    "gate": _GATE, "diff": _GATE, "baseline": _GATE,
    "ledger": _LEDGER, "cost": _LEDGER, "price": _LEDGER, "bill": _LEDGER,
}  # fmt: skip
"""Words that name a part of a command, with the command."""


class _Root(LazyGroup):
    """A group that imports a command when it is asked for, and turns errors into one line."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        if command is not None and is_completing():
            complete_names(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] == "help":
            # `jeton help`, `jeton help count`, `jeton help adapt extend`: as --help says it.
            command: click.Command = self
            for word in args[1:]:
                if not isinstance(command, click.Group):
                    raise click.UsageError(f"{ctx.info_name} has no commands", ctx)
                found = command.resolve_command(ctx, [word])[1]
                assert found is not None
                ctx = click.Context(found, parent=ctx, info_name=word)
                command = found
            click.echo(command.get_help(ctx))
            ctx.exit()
        if args and (place := _ELSEWHERE.get(args[0])):
            raise click.UsageError(f"unknown command {args[0]!r}\nhint: {place}", ctx)
        return super().resolve_command(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002 - click's signature
        windows_expand_args: bool = True,  # noqa: FBT001, FBT002 - click's signature
        **extra: Any,
    ) -> Any:
        """Run a command line; every way out ends here with an exit code of 0, 1 or 2."""
        program = prog_name or "jeton"
        self._main_shell_completion(extra, program, complete_var)
        words = list(sys.argv[1:] if args is None else args)
        if os.environ.get("JETON_DEBUG") == "1":
            code = self._run(program, words, extra)
        else:
            code = self._run_quietly(program, words, extra)
        if standalone_mode:
            sys.exit(code)
        return code

    def _run(self, program: str, words: list[str], extra: dict[str, Any]) -> int:
        code = EXIT_FINE
        try:
            with (
                warnings.catch_warnings(),
                told_of_pipes(words, _say),
                self.make_context(program, list(words), obj=tuple(words), **extra) as ctx,
            ):
                warnings.showwarning = _show_warning
                # Ours are meant for the user, whatever is asked of others.
                warnings.filterwarnings("default", category=JetonWarning)
                try:
                    result = self.invoke(ctx)
                except BrokenPipeError:
                    # The reader of our output has seen enough; a verdict is none the less.
                    _discard(sys.stdout)
                    result = ctx.meta.get(VERDICT, EXIT_FINE)
            code = result if isinstance(result, int) else EXIT_FINE
        except click.exceptions.Exit as leave:
            code = leave.exit_code
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            _discard(sys.stdout)
        return code

    def _options(self, words: Sequence[str]) -> frozenset[str]:
        """The options of the command that words name."""
        command: click.Command = self
        for word in words:
            if not isinstance(command, click.Group):
                break
            command = command.get_command(click.Context(command), word) or command
        return frozenset(name for param in command.params for name in param.opts)

    def _run_quietly(self, program: str, words: list[str], extra: dict[str, Any]) -> int:
        try:
            return self._run(program, words, extra)
        except (KeyboardInterrupt, click.Abort) as error:
            # Work that can be taken up again says so.
            _say(f"jeton: interrupted: {shown(str(error))}" if str(error) else "jeton: interrupted")
            _discard(sys.stdout)
            return EXIT_INTERRUPTED
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            return EXIT_FINE
        except click.ClickException as error:
            _say_error(_usage_message(error))
        except JetonError as error:
            options = self._options(words)
            message = in_options(jeton_message(error), options)
            if isinstance(error, UnknownModelError) and "--price-model" in options:
                message += "; an API's model goes with --price-model, and -t takes its name, too"
            _say_error(message)
            _discard(sys.stdout)
            return error.exit_code
        except OSError as error:
            _say_error(in_options(os_message(error), self._options(words)))
        except UnicodeEncodeError as error:
            # The argument is no text. Such file names are legal, but the core has no way to open
            # them.
            quoted = ascii(error.object[:80])
            _say_error(f"{quoted} holds bytes that are not UTF-8\nhint: rename the file")
        except MemoryError:
            _say_error("not enough memory\nhint: use fewer inputs at once, or smaller ones")
        except Exception as error:
            _say_error(
                f"internal error: {type(error).__name__}: {error}\n"
                "hint: this is a fault of jeton; JETON_DEBUG=1 shows where"
            )
        _discard(sys.stdout)
        return EXIT_ERROR


def _usage_message(error: click.ClickException) -> str:
    message = error.format_message().rstrip(".")
    message = message[:1].lower() + message[1:]
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    if ctx is not None and isinstance(error, click.NoSuchOption):
        # `memory MODEL`, where other commands have --model.
        name = error.option_name.lstrip("-").replace("-", "_")
        if any(isinstance(p, click.Argument) and p.name == name for p in ctx.command.params):
            given, path = error.option_name, ctx.command_path
            said = f"{name.upper()} is an argument of {path}: write it without {given}"
            return f"no such option {given!r}\nhint: {said}"
    if ctx is not None and "\nhint:" not in message:
        message += f"\nhint: {ctx.command_path} --help"
    return message


def _say_error(message: str) -> None:
    first, *rest = shown(message).split("\n")
    _say("\n".join([f"{click.style('jeton: error:', fg='red', bold=True)} {first}", *rest]))


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    _say(f"{click.style('jeton: warning:', fg='yellow')} {shown(str(message))}")


def _say(text: str) -> None:
    """Write words to standard error; where that is closed there is nobody to tell."""
    colour = False if os.environ.get("NO_COLOR") else None
    # A file name may hold bytes that are not UTF-8.
    printable = text.encode("utf-8", "backslashreplace").decode()
    with suppress(OSError):
        click.echo(printable, err=True, color=colour)


def _discard(stream: TextIO) -> None:
    """Throw away what is still buffered, or the interpreter would complain while it ends."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError):
        # Buffered output that can be written still goes out; the rest goes nowhere.
        try:
            stream.flush()
        finally:
            os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: FBT001
    if value and not ctx.resilient_parsing:
        from jeton import __version__

        click.echo(f"jeton {__version__}")
        ctx.exit()


@click.group(
    name="jeton",
    cls=_Root,
    package="jeton.cli",
    lines=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit code 0: fine. 1: a finding. 2: an error. 130: interrupted. Data goes to "
    "standard output, words to standard error. Vocabularies are looked for in the package, in "
    "$JETON_VOCAB_DIR and in the user's cache. Tab completes after "
    'eval "$(_JETON_COMPLETE=bash_source jeton)".',
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version and exit.",
)
def app() -> None:
    """Tokenization engineering: what tokenization costs a workload, and what to change.

    \b
    Examples:
      jeton demo
      jeton audit jeton-demo/requests.jsonl --logs --html report.html
      jeton count -t jeton-general-32k jeton-demo/notes
      jeton show -t jeton-general-32k --text "hydroxychloroquine 200 mg"
    """
