"""docs/guides/audit.md: names, levels and limits are right."""

from __future__ import annotations

import re
from pathlib import Path

from jeton.auditing import Pipeline, maturity
from jeton.auditing.options.pipeline import read_pipeline
from jeton.auditing.options.preprocessing_steps import STEPS
from jeton.corpus import names
from jeton.workload import digests
from jeton.workload.counting import intervals
from jeton.workload.inputs import requests
from jeton.workload.sampling import deep_sample
from tests.docs.pages import text_of

TEXT = text_of("audit") + text_of("audit-figures")


def test_the_pipeline_of_the_page_names_every_setting(tmp_path: Path) -> None:
    block = re.search(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert block is not None
    file = tmp_path / "pipeline.toml"
    file.write_text(block.group(1), encoding="utf-8")
    pipeline = read_pipeline(file)
    for name in Pipeline.__dataclass_fields__:
        assert getattr(pipeline, name) not in (None, ()), name


def test_every_step_is_named() -> None:
    for name in STEPS:
        assert f"`{name}`" in TEXT


def test_limits_are_those_of_the_code() -> None:
    for figure in (
        f"{intervals.N_GROUPS:,} groups",
        f"below {intervals.MIN_GROUPS} groups",
        f"sample of {deep_sample.DEEP_SAMPLE_BYTES >> 20} MiB",
        f"{digests.MAX_TRACKED_DOCUMENTS:,} documents",
        f"{names.MAX_NAMES:,} domains",
        f"{requests.MAX_REQUEST_ROWS:,} requests",
        f"over {maturity.MAX_RESERVED_RATIO_DYNAMIC:g} times",
        f"within {maturity.MAX_RESERVED_RATIO_PREDICTIVE:g} times",
    ):
        assert figure in TEXT, figure


def test_every_option_on_the_page_exists() -> None:
    from jeton.cli.audit import audit

    known = {option for parameter in audit.params for option in parameter.opts}
    known |= {option for parameter in audit.params for option in parameter.secondary_opts}
    named = set(re.findall(r"`(--[a-z][a-z-]+)", TEXT)) | set(
        re.findall(r" (--[a-z][a-z-]+)", TEXT)
    )
    assert named <= known, named - known
