"""Fixtures shared by all tests."""

from __future__ import annotations

import collections
import gc
import itertools
import os
import signal
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from xdist.scheduler import LoadFileScheduling

import jeton
from jeton.registry import loading

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts background jobs with Ctrl-C ignored, and children would inherit that: the
    # tests of Ctrl-C need it to work in the processes that they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
N_KEPT_VOCABULARIES = 64
"""All published ones: together they take 0.4 GB in each process that runs tests."""

# Property tests: few examples by default; JETON_HYPOTHESIS=thorough tries more.
IN_CI = os.environ.get("CI", "").lower() == "true"

hypothesis.settings.register_profile(
    "fast", max_examples=25, deadline=None, derandomize=IN_CI, print_blob=True
)
hypothesis.settings.register_profile(
    "thorough", max_examples=3000, deadline=None, derandomize=IN_CI, print_blob=True
)
hypothesis.settings.load_profile(os.environ.get("JETON_HYPOTHESIS", "fast"))


SWEEPS = {
    "auditing/checks/test_rewrites.py": 2,
    "auditing/gate/test_real_corpora.py": 2,
    "browser/test_html_report.py": 2,
    "browser/test_inspector.py": 2,
    "browser/test_plan_pages.py": 2,
    "browser/test_service_page.py": 2,
    "cases/test_adapt_families.py": 4,
    "cases/test_audit.py": 2,
    "cases/test_gate.py": 2,
    "cli/test_outputs_of_others.py": 2,
    "compat/test_sentencepiece.py": 3,
    "compat/test_tokenizers_components.py": 3,
    "core/test_long_inputs.py": 2,
    "core/test_long_inputs_of_components.py": 4,
    "core/test_stream.py": 2,
    "core/test_written_forms.py": 2,
    "datasets/test_runs.py": 2,
    "differential/test_families.py": 2,
    "differential/test_planted_faults.py": 2,
    "economics/serving/test_agreement.py": 2,
    "golden/test_corpora.py": 2,
    "golden/test_sentencepiece.py": 2,
    "golden/test_sets.py": 3,
    "golden/test_token_bytes.py": 3,
    "guard/test_vocabulary.py": 2,
    "registry/test_tokenizer_arguments.py": 2,
    "service/test_document.py": 2,
    "training/test_resume.py": 2,
    "vocabularies/test_build.py": 2,
}
"""Long sweeps: `make test` runs one parametrized case in this many, `make conformance` the rest."""


FIRST = ("cluster", "browser")
"""Folders whose files take longest: begun late, one would keep a single process busy at the end."""


class BySharedResources(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Give a process all tests of a file, and one process all tests of Ray."""

    def _split_scope(self, nodeid: str) -> str:
        # A second cluster would wait until the first one is gone.
        is_ray = nodeid.startswith("tests/cluster/")
        return "tests/cluster" if is_ray else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> BySharedResources:
    config.option.loadscopereorder = False  # the order of `pytest_collection_modifyitems`
    return BySharedResources(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most cases of the long sweeps to `make conformance`; a case is always in the same."""
    items.sort(key=lambda item: item.path.parent.name not in FIRST)
    for item in items:
        one_in = SWEEPS.get(item.path.relative_to(ROOT / "tests").as_posix(), 1)
        if hasattr(item, "callspec") and zlib.crc32(item.nodeid.encode()) % one_in:
            item.add_marker(pytest.mark.conformance)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real vocabularies, golden cases and corpora beside a developer's project."""
    if not SHARED.is_dir():
        pytest.skip("needs the shared data folder beside the project (developers and CI have it)")
    return SHARED


def pytest_sessionstart() -> None:
    # What is collected stays: looking for garbage meanwhile would find none.
    gc.disable()


def pytest_collection_finish() -> None:
    gc.enable()
    # Thousands of collected tests live to the end: no collection of garbage need look at them.
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _kept_vocabularies() -> Iterator[None]:
    """Hold the published vocabularies that were loaded last: loading a held file takes no time."""
    kept: collections.deque[jeton.Tokenizer] = collections.deque(maxlen=N_KEPT_VOCABULARIES)
    places = (str(SHARED), str(Path(jeton.__file__).parent))
    hold = loading._hold

    def keep(key: tuple[object, ...] | None, tokenizer: jeton.Tokenizer) -> jeton.Tokenizer:
        held = hold(key, tokenizer)
        if key is not None and str(key[0]).startswith(places):
            kept.append(held)
        return held

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "_hold", keep)
        yield


@pytest.fixture(scope="session")
def _cache_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """New folders. Not by ``mktemp``, which for every new folder reads the names of all others."""
    caches = tmp_path_factory.mktemp("caches")
    return (caches / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _private_folders(_cache_folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every test away from the user's own vocabularies and caches."""
    folder = next(_cache_folders)
    folder.mkdir()
    monkeypatch.setenv("JETON_CACHE_DIR", str(folder))
    # Every test loads what it loads; those of the cache switch it on.
    monkeypatch.setenv("JETON_COMPILED_CACHE", "0")
    if "JETON_VOCAB_DIR" in os.environ:
        monkeypatch.delenv("JETON_VOCAB_DIR")
