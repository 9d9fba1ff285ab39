"""Run the tokenizer tests of ``transformers`` on small tokenizers, and on published ones.

    python -m scripts.peer_mixins UNPACKED_SDIST [--itself] [--shared FOLDER] [--markdown]
        [-- PYTEST_OPTIONS]

The source distribution of ``transformers`` holds the mixins that the tests of each tokenizer class
are made of, and two classes of tests. They are run from a temporary copy, in which every ``from
transformers import`` reads ``from jeton.compat.transformers import``; nothing of them is part of
this project. The tokenizers that they ask a hub for are folders here: small ones that are made in
the run (``tests/compat/hf_families.py``), and published ones where there is a folder of them.
With ``--itself`` the imports stay as they are, and the same runs on the same folders.

The package ``parameterized``, which the tests import, has to be installed.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from scripts.peer_tests import ROOT, Outcome, markdown, run_folder, table
from tests.compat.hf_families import family_json

__all__ = ["main", "run"]

SHARED = ROOT.parent / "shared"
# What the tests read out of a file that the distribution leaves out; any text will do.
SAMPLE = "One line of text for the tests.\n\nAnd another line, not the last one.\n\nThe last.\n"
# Nothing is fetched, and what the library calls slow takes seconds.
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "RUN_SLOW": "1"}
_BERT = {
    "unk_token": "[UNK]",
    "sep_token": "[SEP]",
    "cls_token": "[CLS]",
    "pad_token": "[PAD]",
    "mask_token": "[MASK]",
}
_ROBERTA = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "cls_token": "<s>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
    "mask_token": "<mask>",
}
_GPT2 = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}
_CLIP = {
    "bos_token": "<|startoftext|>",
    "eos_token": "<|endoftext|>",
    "unk_token": "<|endoftext|>",
    "pad_token": "<|endoftext|>",
}
_XLNET = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "cls_token": "<cls>",
    "sep_token": "<sep>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
    "mask_token": "<mask>",
}
_T5 = {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
_LLAMA = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "</s>"}
_LLAMA3 = {
    "bos_token": "<|begin_of_text|>",
    "eos_token": "<|eot_id|>",
    "pad_token": "<|eot_id|>",
}
# Name of the tests, family, class of the library, special tokens.
SMALL: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("Bert", "bert", "BertTokenizer", _BERT),
    ("Roberta", "roberta", "RobertaTokenizer", _ROBERTA),
    ("Gpt2", "gpt2", "GPT2Tokenizer", _GPT2),
    ("T5", "t5", "T5Tokenizer", _T5),
    ("Llama", "llama2", "LlamaTokenizer", _LLAMA),
    ("GenericBert", "bert_template", "PreTrainedTokenizerFast", _BERT),
    ("GenericLlama3", "llama3", "PreTrainedTokenizerFast", _LLAMA3),
    ("GenericT5", "t5", "PreTrainedTokenizerFast", _T5),
)
# The same of published tokenizers; the second is the name of a file.
PUBLISHED: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    ("BertPublished", "bert_base_uncased", "BertTokenizer", _BERT),
    ("RobertaPublished", "roberta-base", "RobertaTokenizer", _ROBERTA),
    ("Gpt2Published", "gpt2", "GPT2Tokenizer", _GPT2),
    ("T5Published", "t5-small", "T5Tokenizer", _T5),
    ("LlamaPublished", "llama2", "LlamaTokenizer", _LLAMA),
    ("ClipPublished", "clip_base", "CLIPTokenizer", _CLIP),
    ("GptNeoXPublished", "gpt_neox_20b", "GPTNeoXTokenizer", _GPT2),
    ("PegasusPublished", "pegasus_hf", "PegasusTokenizer", _T5),
    ("XlnetPublished", "xlnet_base_cased", "XLNetTokenizer", _XLNET),
    ("GenericMistralPublished", "mistral01", "PreTrainedTokenizerFast", _LLAMA),
)
# Names that the library's own two classes of tests load, and the tests whose folder they get.
ALIASES = {"google-bert/bert-base-uncased": "Bert", "google-t5/t5-base": "T5"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print a table, and return 0 if nothing failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sdist", type=Path, help="the unpacked source distribution")
    parser.add_argument("--itself", action="store_true", help="run the installed library itself")
    parser.add_argument("--shared", type=Path, default=SHARED, help="folder with data/vocab in it")
    parser.add_argument("--markdown", action="store_true", help="a table for the documentation")
    arguments = list(sys.argv[1:] if argv is None else argv)
    split = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:split])
    outcomes = run(
        options.sdist,
        itself=options.itself,
        shared=options.shared,
        pytest_options=arguments[split + 1 :],
    )
    print(markdown(outcomes) if options.markdown else table(outcomes))
    return int(any(outcome.result == "failed" for outcome in outcomes))


def run(
    sdist: Path,
    *,
    itself: bool = False,
    shared: Path | None = None,
    pytest_options: Iterable[str] = (),
) -> list[Outcome]:
    """Run the tests and return what became of each.

    Args:
        sdist: The unpacked source distribution of ``transformers``.
        itself: Run the installed library instead of what stands in for it.
        shared: Folder with published tokenizers in ``data/vocab``; without, or where one is
            missing, its tests are left out.
        pytest_options: Options of pytest, such as ``-k``.

    Raises:
        FileNotFoundError: The distribution holds no such tests.
        RuntimeError: pytest did not get as far as to write its report.
    """
    tests = sdist / "tests"
    names = ["test_tokenization_common.py"]
    names += [f"test_{backend}_backend_mixin.py" for backend in ("tokenizers", "sentencepiece")]
    missing = [name for name in names if not (tests / name).is_file()]
    if missing:
        raise FileNotFoundError(f"no {' and no '.join(missing)} in {tests}")
    library = "transformers" if itself else "jeton.compat.transformers"
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        # The tests look for their folder by its name's end.
        copy = work / "run" / "transformers_tests"
        (copy / "fixtures").mkdir(parents=True)
        (copy / "fixtures" / "sample_text.txt").write_text(SAMPLE, encoding="utf-8")
        (copy / "__init__.py").touch()
        for name in names:
            source = (tests / name).read_text(encoding="utf-8")
            (copy / name).write_text(with_imports(source, library), encoding="utf-8")
        folders = tokenizer_folders(work / "run", shared)
        cases = [{"name": n, "class": kind, "folder": str(f)} for n, (kind, f) in folders.items()]
        told = json.dumps({"library": library, "cases": cases})
        (copy / "cases.json").write_text(told, encoding="utf-8")
        shutil.copy(ROOT / "scripts" / "peer_mixin_cases.py", copy / "families_test.py")
        site = work / "site"
        site.mkdir()
        # Copied by name, so that a name that a hub has is a folder.
        for alias, name in ALIASES.items():
            shutil.copytree(folders[name][1], work / "run" / alias)
        # The library's round trips on 18 models by a hub's name are not among these.
        options = [f"--ignore={copy / names[1]}", *pytest_options]
        return run_folder(copy, site=site, environment=ENVIRONMENT, pytest_options=options)


def with_imports(source: str, library: str) -> str:
    """A module that imports from ``library`` what it imported from ``transformers``."""
    return re.sub(
        r"^(\s*)from transformers import\b", rf"\1from {library} import", source, flags=re.MULTILINE
    )


def tokenizer_folders(work: Path, shared: Path | None) -> dict[str, tuple[str, Path]]:
    """Folders as ``save_pretrained`` writes them, with the class that loads each, by name."""
    from jeton import _core

    folders: dict[str, tuple[str, Path]] = {}
    for name, family, kind, special in SMALL:
        folders[name] = (kind, work / "tokenizers" / name)
        _save(folders[name][1], family_json(family), kind, special)
    for name, file, kind, special in PUBLISHED:
        path = (shared or Path()) / "data" / "vocab" / f"{file}.json.zst"
        if shared is not None and path.is_file():
            folders[name] = (kind, work / "tokenizers" / name)
            content = _core.decompress(path.read_bytes()).decode("utf-8")
            _save(folders[name][1], content, kind, special)
    return folders


def _save(folder: Path, content: str, kind: str, special: dict[str, str]) -> None:
    folder.mkdir(parents=True)
    (folder / "tokenizer.json").write_text(content, encoding="utf-8")
    config = {"tokenizer_class": kind, "model_max_length": 512, **special}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
