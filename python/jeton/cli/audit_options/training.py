"""Options of ``jeton audit`` for a training run that it prices."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

import click

from jeton.cli.finite import FiniteRange
from jeton.cli.option_groups import OptionGroup

if TYPE_CHECKING:
    from jeton.auditing import TrainingOptions

_BYTES_PER_GB = 10**9


@dataclass(slots=True)
class TrainingSettings:
    """The options as they were given."""

    training_gb: float | None = None
    training_mode: Literal["pretraining", "continued", "embeddings"] = "continued"
    training_epochs: float = 1.0
    training_gpus: int | None = None

    def arguments(self) -> dict[str, TrainingOptions]:
        """Keyword arguments of `jeton.audit`.

        Raises:
            UsageError: An option is given without the amount of text.
        """
        if self.training_gb is None:
            given = [
                f"--{item.name.replace('_', '-')}"
                for item in fields(self)
                if getattr(self, item.name) != item.default
            ]
            if given:
                raise click.UsageError(f"{given[0]} is for a training run; say --training-gb too")
            return {}
        from jeton.auditing import TrainingOptions

        return {
            "training": TrainingOptions(
                n_bytes=self.training_gb * _BYTES_PER_GB,
                mode=self.training_mode,
                epochs=self.training_epochs,
                n_gpus=self.training_gpus,
            )
        }


TRAINING = OptionGroup(
    title="Training",
    name="training",
    settings=TrainingSettings,
    options=(
        click.option(
            "--training-gb",
            type=FiniteRange(min=0, min_open=True, max=1e12),
            metavar="GB",
            help="Price the training of --model on --gpu with this much text (10^9 bytes) under "
            "each tokenizer, and say when a change pays for itself.",
        ),
        click.option(
            "--training-mode",
            type=click.Choice(["pretraining", "continued", "embeddings"]),
            default="continued",
            show_default=True,
            help="A new model, the whole model trained further, or its tables alone.",
        ),
        click.option(
            "--training-epochs",
            type=FiniteRange(min=0, min_open=True, max=1e6),
            default=1.0,
            show_default=True,
            metavar="N",
            help="How often the text is read.",
        ),
        click.option(
            "--training-gpus",
            type=click.IntRange(min=1),
            metavar="N",
            help="GPUs that train; by default the fewest on which it fits.",
        ),
    ),
)
