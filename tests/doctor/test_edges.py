"""Checks of the doctor right at their thresholds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jeton.doctor import Diagnosis, Settings, diagnose
from tests.doctor import ward
from tests.doctor.ward import model_dir


def _ids(found: Diagnosis) -> set[str]:
    return {finding.id for finding in found.findings}


@pytest.mark.parametrize(("n_more", "overflows"), [(0, False), (1, True)])
@pytest.mark.parametrize("bos", [False, True])
def test_a_text_that_just_fits_is_no_overflow(
    tmp_path: Path,
    n_more: int,
    overflows: bool,  # noqa: FBT001
    bos: bool,  # noqa: FBT001
) -> None:
    """The tokens before a text and those behind it are counted, and exactly full is not over."""
    tree = ward.tokenizer_json(bos=bos)
    tree["post_processor"]["single"].append({"SpecialToken": {"id": "</s>", "type_id": 0}})
    tree["post_processor"]["special_tokens"]["</s>"] = {
        "id": "</s>", "ids": [ward.EOS], "tokens": ["</s>"],
    }  # fmt: skip
    folder = model_dir(tmp_path / "model", tokenizer=tree)
    n_around = 1 + bos
    # Bytes without merges: one token each.
    text = "\x01" * (ward.CONTEXT - n_around + n_more)
    found = diagnose(folder, texts=[text])
    assert ("context-overflow" in _ids(found)) is overflows
