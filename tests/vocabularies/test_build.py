"""How the bundled tokenizers are made: decisions, split, and what the cards say about it."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import jeton
from jeton.training import read_card
from scripts.vocabularies import building, commands, sources, tables
from scripts.vocabularies.reading import read_documents
from scripts.vocabularies.sources import SourceText, catalogue

ROOT = Path(__file__).resolve().parents[2]


def write_novels(data: Path, n: int) -> None:
    (data / "corpora").mkdir(parents=True)
    lines = []
    for i in range(n):
        author = ("Dickens_Expectations_1861", "Forster_View_1908", "Unknown_Book_1900")[i % 3]
        lines.append(
            f'{{"text": "text {i // 2} of {author}", "id": "corpus/{author}.txt#{i}", '
            '"domain": "english-novel"}'
        )
    (data / "corpora" / "english.jsonl.zst").write_bytes("\n".join(lines).encode())


def test_every_source_has_a_decision_with_a_reason() -> None:
    assert len(catalogue().sources) > 40
    for source in catalogue().sources.values():
        assert source.origin, source.name
        assert source.licence, source.name
        assert source.why, source.name


def test_every_domain_beside_the_project_is_decided(shared: Path) -> None:
    manifest = (shared / "data" / "MANIFEST.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (corpora/\S+\.jsonl\.zst) \|(.*)\|$", manifest, flags=re.MULTILINE)
    assert len(rows) == 11
    decided = [s for s in catalogue().sources.values() if s.file.startswith("corpora/")]
    assert {file for file, _ in rows} == {source.file for source in decided}
    n_domains = 0
    for file, row in rows:
        for domain in re.findall(r"([a-z0-9_A-Z-]+) [0-9]+/[0-9]+", row.split("|")[3]):
            n_domains += 1
            assert any(
                source.takes(domain, "", "") or (domain in source.domains and source.ids)
                for source in decided
                if source.file == file
            ), f"{file}#{domain}"
    assert n_domains > 60


def test_a_mix_must_not_use_what_is_not_usable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = (ROOT / "scripts" / "vocabularies" / "sources.toml").read_text(encoding="utf-8")
    broken = tmp_path / "sources.toml"
    broken.write_text(
        table + '\n[mix.jeton-bad-32k-v1]\n"corpora/legal.jsonl.zst#legal-contract" = 100\n',
        encoding="utf-8",
    )
    monkeypatch.setattr(sources, "_TABLE", broken)
    with pytest.raises(ValueError, match="must not be used: share-alike"):
        sources.catalogue.__wrapped__()


def test_the_first_source_that_fits_takes_a_record(tmp_path: Path) -> None:
    write_novels(tmp_path, 300)
    names = {
        "corpora/english.jsonl.zst#english-novel",
        "corpora/english.jsonl.zst#english-novel-later",
    }
    found = {name: 0 for name in names}
    for document in read_documents(tmp_path, names):
        assert "Unknown" not in document.text  # an author who is not known is in neither
        assert ("Forster" in document.text) == document.source.name.endswith("later")
        found[document.source.name] += 1
    assert min(found.values()) > 40


def test_split_depends_on_the_text_alone_and_copies_count_once(tmp_path: Path) -> None:
    write_novels(tmp_path / "a", 3000)
    write_novels(tmp_path / "b", 1500)
    names = {"corpora/english.jsonl.zst#english-novel"}
    first = {d.text: (d.heldout, d.draw) for d in read_documents(tmp_path / "a", names)}
    texts = [d.text for d in read_documents(tmp_path / "a", names)]
    assert len(texts) == len(set(texts)) == len(first)
    for document in read_documents(tmp_path / "b", names):
        assert first[document.text] == (document.heldout, document.draw)
    heldout = sum(held for held, _ in first.values()) / len(first)
    assert 0.03 < heldout < 0.07
    below_half = sum(draw < 50 for _, draw in first.values()) / len(first)
    assert 0.44 < below_half < 0.56


@pytest.mark.parametrize(
    ("source", "domain", "record_id", "text", "taken"),
    [
        ("corpora/chat.jsonl.zst#prompt", "prompt", "prompts.csv#1", "Act as a poet", True),
        ("corpora/chat.jsonl.zst#prompt", "prompt", "prompts.csv#2", "CC BY-NC 4.0", False),
        ("corpora/code.jsonl.zst#code-rust", "code-rust", "redis/redis/x.rs", "", False),
        ("corpora/code.jsonl.zst#code-rust", "code-rust", "tokio-rs/tokio/x.rs", "", True),
        (
            "corpora/english.jsonl.zst#english-novel",
            "english-novel",
            "corpus/Lawrence_Serpent_1929.txt#1",
            "",
            False,
        ),
        (
            "corpora/multilingual.jsonl.zst#docs-react-en",
            "docs-react",
            "reactjs/de.react.dev/x.md",
            "",
            False,
        ),
    ],
)
def test_records_are_told_apart(
    *, source: str, domain: str, record_id: str, text: str, taken: bool
) -> None:
    assert catalogue().sources[source].takes(domain, record_id, text) is taken


def test_domain_prefix() -> None:
    logs: SourceText = catalogue().sources["corpora/logs_json.jsonl.zst#log"]
    assert logs.takes("log-hdfs", "", "")
    assert not replace(logs, domains=("log",)).takes("log-hdfs", "", "")


def test_without_the_shared_folder_it_says_what_is_missing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "scripts/build_vocabularies.py", "--shared", str(tmp_path / "none")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: no corpora at ")
    assert "hint: " in done.stderr


def test_documents_tell_the_decisions() -> None:
    text = commands.DOCUMENT.read_text(encoding="utf-8")
    used = text.partition("<!-- used: begin")[2].partition("<!-- used: end")[0]
    refused = text.partition("<!-- not used: begin")[2].partition("<!-- not used: end")[0]
    for source in catalogue().sources.values():
        here, there = (used, refused) if source.usable else (refused, used)
        start = tables.row(f"`{source.name}`", source.origin, source.licence, source.why)[:-2]
        assert start in here, f"{source.name}: run scripts/build_vocabularies.py --document"
        assert f"| `{source.name}` |" not in there


@pytest.mark.parametrize("name", ["jeton-medical-32k-v1", "jeton-medical-32k-v2"])
def test_medical_card_is_reproduced(name: str, shared: Path) -> None:
    """Trained again: same tokenizer, same sources, same held-out bytes per token."""
    corpus = building.read_corpus(shared / "data", [name], patterns={name: [building.PATTERN]})
    built = building.build(corpus, name)
    card = read_card(commands.ARTEFACTS / f"{name}.card.json")
    assert built.tokenizer.fingerprint == card.fingerprint
    assert built.card.sources == card.sources
    assert built.card.settings.to_dict() == card.settings.to_dict()
    # Measured with the tokenizer as it is bundled, not with the one just trained.
    bundled = jeton.load(name)
    assert building.held_out(bundled, corpus, list(catalogue().mixes[name])) == card.heldout


def test_a_version_without_a_recipe_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = (ROOT / "scripts" / "vocabularies" / "sources.toml").read_text(encoding="utf-8")
    broken = tmp_path / "sources.toml"
    broken.write_text(f"{table}\n[mix.jeton-new-32k-v9]\n", encoding="utf-8")
    monkeypatch.setattr(sources, "_TABLE", broken)
    with pytest.raises(ValueError, match="no recipe for v9"):
        sources.catalogue.__wrapped__()


def test_recipes_say_how_a_version_is_trained() -> None:
    for name, recipe in catalogue().recipes.items():
        settings = building.settings_of(name)
        settings.check()
        assert (settings.algorithm == "superbpe") == name.endswith("v2")
        card = read_card(commands.ARTEFACTS / f"{name}.card.json")
        assert card.date == recipe.date
        assert card.settings.to_dict() == settings.to_dict()
