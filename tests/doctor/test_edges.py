"""Checks of the doctor right at their thresholds."""

from __future__ import annotations

import json
from pathlib import Path

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
    overflows: bool,
    bos: bool,
) -> None:
    """The tokens before a text and those behind it are counted, and exactly full is not over."""
    tree = ward.tokenizer_json(bos=bos)
    tree["post_processor"]["single"].append({"SpecialToken": {"id": "</s>", "type_id": 0}})
    tree["post_processor"]["special_tokens"]["</s>"] = {
        "id": "</s>", "ids": [ward.EOS], "tokens": ["</s>"],
    }  # fmt: skip
    files = {"tokenizer.json": json.dumps(tree).encode()}
    folder = model_dir(tmp_path / "model", files=files)
    n_around = 1 + bos
    # Bytes without merges: one token each.
    text = "\x01" * (ward.CONTEXT - n_around + n_more)
    found = diagnose(folder, texts=[text])
    assert ("context-overflow" in _ids(found)) is overflows


@pytest.mark.parametrize(("bias", "is_a_ban"), [(-100, True), (-50, True), (-49, False)])
def test_only_a_strong_bias_is_a_ban(tmp_path: Path, bias: int, is_a_ban: bool) -> None:
    folder = model_dir(tmp_path / "model")
    values = {f"logit_bias.{number}": bias for number in (ward.EOS, ward.TURN_END)}
    found = diagnose(folder, settings=Settings("request.json", values))
    ids = {finding.id for finding in found.findings}
    assert ("eos-forbidden" in ids) is is_a_ban, ids


@pytest.mark.parametrize(("first", "counts_padding"), [(0, False), (3, True), (9, False)])
def test_positions_that_go_on_from_a_cache_do_not_count_padding(
    tmp_path: Path,
    first: int,
    counts_padding: bool,
) -> None:
    """Only a first position that is its column counts the padding; a later one is a cache's."""
    batch = ward.padded([[65, 66, 67], [65, 66, 67, 68, 69, 70]])
    row = [0, 0, 0, first, first + 1, first + 2]
    batch["position_ids"] = np.array([row, range(6)])
    found = diagnose(model_dir(tmp_path / "model"), batches=[batch])
    assert ("positions-count-padding" in _ids(found)) is counts_padding
