"""Options of ``jeton audit`` for request logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

from jeton.cli.option_groups import OptionDecorator, OptionGroup

if TYPE_CHECKING:
    from jeton.auditing import LogOptions


@dataclass(slots=True)
class LogSettings:
    """The options as they were given."""

    logs: bool = False
    bill: str | None = None
    model_map: str | None = None
    strict_prices: bool = False
    period: str = ""
    log_format: Literal["auto", "jsonl", "json", "csv", "parquet"] = "auto"
    chat_template: str | None = None
    chat_turns: Literal["last", "each"] = "last"
    prompt_field: str = ""
    response_field: str = ""
    model_field: str = ""
    time_field: str = ""
    time_unit: Literal["auto", "s", "ms", "us", "ns"] = "auto"

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `jeton.audit`.

        Raises:
            UsageError: An option is given without ``--logs``.
        """
        return {
            "logs": self._logs(),
            "bill": self.bill,
            "model_map": self.model_map,
            "strict_prices": self.strict_prices,
            "period": self.period,
        }

    def _logs(self) -> LogOptions | bool:
        log_only = {
            "--log-format": self.log_format != "auto",
            "--chat-template": self.chat_template is not None,
            "--chat-turns": self.chat_turns != "last",
            "--prompt-field": bool(self.prompt_field),
            "--response-field": bool(self.response_field),
            "--model-field": bool(self.model_field),
            "--time-field": bool(self.time_field),
            "--time-unit": self.time_unit != "auto",
            "--bill": self.bill is not None,
            "--model-map": self.model_map is not None,
            "--strict-prices": self.strict_prices,
            "--period": bool(self.period),
        }
        if not self.logs:
            given = [option for option, is_given in log_only.items() if is_given]
            if given:
                raise click.UsageError(f"{given[0]} is for request logs; say --logs too")
            return False
        from jeton.auditing import LogOptions

        return LogOptions(
            format=self.log_format,
            template=self.chat_template,
            turns=self.chat_turns,
            prompt_field=self.prompt_field,
            response_field=self.response_field,
            model_field=self.model_field,
            time_field=self.time_field,
            time_unit=self.time_unit,
        )


def _text(name: str, metavar: str, words: str) -> OptionDecorator:
    return click.option(name, metavar=metavar, default="", help=words)


LOGS = OptionGroup(
    title="Logs",
    name="logs",
    settings=LogSettings,
    options=(
        click.option(
            "--logs",
            is_flag=True,
            help="The inputs are request logs (OpenAI, Anthropic, OpenTelemetry and others). "
            "Traffic, output, models and prices come from them.",
        ),
        click.option(
            "--bill",
            metavar="F|USD",
            help="The provider's bill for these logs, as CSV or JSON, or its total in USD. It is "
            "compared with the logs to the cent.",
        ),
        click.option(
            "--model-map",
            metavar="F",
            type=click.Path(exists=True, dir_okay=False),
            help="Your own names of models and deployments: lines such as "
            'NAME = "PROVIDER:MODEL" (or JSON, CSV, TOML).',
        ),
        click.option(
            "--strict-prices",
            is_flag=True,
            help="Stop if a model in the logs has no price, instead of naming it as not priced.",
        ),
        click.option(
            "--period",
            metavar="P",
            default="",
            help="Time that the logs cover: day, week, month, 30d, 2026-10-01..2026-10-31. By "
            "default the calendar days of their requests.",
        ),
        click.option(
            "--log-format",
            type=click.Choice(["auto", "jsonl", "json", "csv", "parquet"]),
            default="auto",
            show_default=True,
            help="File format of the logs.",
        ),
        click.option(
            "--chat-template",
            metavar="PATH",
            type=click.Path(exists=True),
            help="Folder of a model, or a Jinja file. Chats are counted as this template writes "
            "them; by default by OpenAI's published formula.",
        ),
        click.option(
            "--chat-turns",
            type=click.Choice(["last", "each"]),
            default="last",
            show_default=True,
            help="Count a logged chat as one request, or as one request for each answer in it.",
        ),
        _text("--prompt-field", "NAME", "Field that holds the prompt; a.b is field b inside a."),
        _text("--response-field", "NAME", "Field that holds the answer."),
        _text("--model-field", "NAME", "Field that holds the model's name."),
        _text("--time-field", "NAME", "Field that holds the time."),
        click.option(
            "--time-unit",
            type=click.Choice(["auto", "s", "ms", "us", "ns"]),
            default="auto",
            show_default=True,
            help="Unit of times that are numbers.",
        ),
    ),
)
