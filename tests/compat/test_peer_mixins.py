"""scripts/peer_mixins.py: test mixins of ``transformers`` run on folders of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import peer_mixins

pytestmark = pytest.mark.rivals

COMMON = """
import unittest

from transformers import AutoTokenizer, BertTokenizer, is_torch_available
from transformers.testing_utils import get_tests_dir

from .test_tokenizers_backend_mixin import LIBRARY


class TokenizerTesterMixin:
    integration_test_input_string = "The quick brown fox"

    def test_class(self):
        tokenizer = self.tokenizer_class.from_pretrained(self.from_pretrained_id)
        assert type(tokenizer).__module__.startswith(LIBRARY)
        assert tokenizer.tokenize("The quick brown fox") == self.integration_expected_tokens

    def test_files(self):
        assert open(f"{get_tests_dir()}/fixtures/sample_text.txt").read()


class OwnTest(unittest.TestCase):
    def test_a_name_of_the_hub(self):
        def by_name():
            from transformers import AutoTokenizer
            return AutoTokenizer.from_pretrained("google-bert/bert-base-uncased")
        assert isinstance(by_name(), BertTokenizer)
        assert AutoTokenizer.__module__.startswith(LIBRARY)

    def test_fails(self):
        assert is_torch_available() is None, "a reason"
"""
BACKEND = """
from transformers import AutoTokenizer

LIBRARY = AutoTokenizer.__module__.removesuffix(".auto").split(".models")[0]


class TokenizersBackendTesterMixin:
    def test_class(self):
        self.skipTest("not today")


class TestFetchesByName:
    def test_it(self):
        raise AssertionError("not to be run")
"""


def sdist(folder: Path) -> Path:
    tests = folder / "tests"
    tests.mkdir()
    (tests / "test_tokenization_common.py").write_text(COMMON)
    (tests / "test_tokenizers_backend_mixin.py").write_text(BACKEND)
    (tests / "test_sentencepiece_backend_mixin.py").write_text("")
    return folder


@pytest.mark.parametrize("options", [[], pytest.param(["--itself"], marks=pytest.mark.conformance)])
def test_outcomes(
    options: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = [row for row in peer_mixins.SMALL if row[0] in peer_mixins.ALIASES.values()]
    monkeypatch.setattr(peer_mixins, "SMALL", small)
    told = [str(sdist(tmp_path)), "--shared", str(tmp_path), *options]
    assert peer_mixins.main(told) == 1
    shown = capsys.readouterr().out
    n = len(small)
    assert shown.endswith(f"{2 * n + 1} passed, 1 failed, {n} skipped\n"), shown
    assert "OwnTest::test_fails: AssertionError: a reason" in shown
    assert "BertBackendTest::test_class: not today" in shown


def test_what_is_rewritten() -> None:
    source = (
        "from transformers import (\n    A,\n)\n    from transformers import B\n"
        "from transformers.utils import C\nimport transformers\n"
    )
    assert peer_mixins.with_imports(source, "transformers") == source
    expected = (
        "from ours import (\n    A,\n)\n    from ours import B\n"
        "from transformers.utils import C\nimport transformers\n"
    )
    assert peer_mixins.with_imports(source, "ours") == expected


def test_a_folder_without_tests(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no test_tokenization_common\.py and no test_tok"):
        peer_mixins.run(tmp_path)
