"""``save_pretrained`` folders: what they hold, and the tokenizer that they make.

Where ids are written out, transformers 5.23.0 gave them for the same files (2026-11-21).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jeton import FormatError, UsageError, _core
from jeton._core import from_hf_json, from_sentencepiece, from_vocab_txt
from jeton.formats import load_file, read_folder
from jeton.formats.describing import describe_steps, format_of
from tests.formats import small


def put(folder: Path, **files: Any) -> Path:
    """Write files; ``__`` in a name is a dot, what is no bytes is written as JSON."""
    for name, value in files.items():
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        (folder / name.replace("__", ".")).write_bytes(data)
    return folder


def token(content: str, *, special: bool = False, **flags: bool) -> dict[str, Any]:
    return {
        "content": content,
        "lstrip": False,
        "rstrip": False,
        "single_word": False,
        "normalized": not special,
        "special": special,
        **flags,
    }


def plain() -> bytes:
    return small.tokenizer().to_hf_json()


class TestWhatAFolderSays:
    def test_everything(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            tokenizer__json=plain(),
            tokenizer_config__json={
                "tokenizer_class": "LlamaTokenizerFast",
                "added_tokens_decoder": {"265": token("<|end|>", special=True)},
                "bos_token": "<|end|>",
                "eos_token": token("<|end|>", special=True),
                "image_token": "<img>",
                "additional_special_tokens": ["<a>", token("<b>", special=True)],
                "model_max_length": 4096,
                "add_bos_token": True,
                "add_eos_token": False,
                "clean_up_tokenization_spaces": False,
                "legacy": False,
            },
            chat_template__jinja=b"{{ messages }}",
        )
        facts = read_folder(tmp_path)
        assert facts.tokenizer_file == tmp_path / "tokenizer.json"
        assert facts.tokenizer_class == "LlamaTokenizer"
        assert facts.roles == {"bos": "<|end|>", "eos": "<|end|>", "image": "<img>"}
        assert facts.additional_special_tokens == ("<a>", "<b>")
        assert facts.model_max_length == 4096
        assert (facts.add_bos, facts.add_eos, facts.legacy) == (True, False, False)
        assert facts.clean_up_tokenization_spaces is False
        assert facts.chat_template == "{{ messages }}"
        assert [p.name for p in facts.files] == ["tokenizer_config.json", "chat_template.jinja"]

    @pytest.mark.parametrize(
        ("value", "expected"),
        [(int(1e30), None), (512, 512), (None, None), (True, None), (-1, None)],
    )
    def test_a_limit_that_is_none(self, tmp_path: Path, value: object, expected: object) -> None:
        put(tmp_path, tokenizer__json=plain(), tokenizer_config__json={"model_max_length": value})
        assert read_folder(tmp_path).model_max_length == expected

    def test_an_empty_folder(self, tmp_path: Path) -> None:
        facts = read_folder(tmp_path)
        assert facts.tokenizer_file is None
        assert facts.roles == {}

    @pytest.mark.parametrize("listed", [True, False])
    def test_who_counts_where_two_files_disagree(self, tmp_path: Path, *, listed: bool) -> None:
        config: dict[str, Any] = {"eos_token": "<a>", "pad_token": "<p>"}
        if listed:
            config["added_tokens_decoder"] = {}
        put(
            tmp_path,
            tokenizer__json=plain(),
            tokenizer_config__json=config,
            special_tokens_map__json={"eos_token": "<b>", "unk_token": "<u>"},
        )
        facts = read_folder(tmp_path)
        assert facts.roles == {"eos": "<a>" if listed else "<b>", "pad": "<p>", "unk": "<u>"}
        assert len(facts.warnings) == 1
        assert "eos_token is '<a>' in tokenizer_config.json and '<b>'" in facts.warnings[0]

    def test_contradictions_with_the_tokenizer(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            tokenizer__json=plain(),
            tokenizer_config__json={
                "added_tokens_decoder": {
                    "265": token("<other>", special=True),
                    "270": token("<|end|>", special=True, lstrip=True),
                },
                "bos_token": "<|end|>",
                "add_bos_token": True,
                "fix_mistral_regex": True,
                "clean_up_tokenization_spaces": True,
            },
        )
        text = "\n".join(read_folder(tmp_path).warnings)
        for part in (
            "fix_mistral_regex is set; the split pattern of the tokenizer.json is used as it is",
            "clean_up_tokenization_spaces is set",
            "add_bos_token is true, but tokenizer.json does not put '<|end|>' before a text",
            "id 265 is '<other>' in tokenizer_config.json and '<|end|>' in tokenizer.json",
            "'<|end|>' has the id 270 in tokenizer_config.json and 265 in tokenizer.json",
            "'<|end|>' differs in lstrip",
        ):
            assert part in text


class TestChatTemplates:
    def test_a_file_of_its_own_comes_first(self, tmp_path: Path) -> None:
        put(tmp_path, tokenizer_config__json={"chat_template": "old"})
        facts = read_folder(tmp_path)
        assert facts.chat_template == "old"
        assert facts.chat_template_file == tmp_path / "tokenizer_config.json"
        # AutoTokenizer of transformers does not read this one.
        put(tmp_path, chat_template__json={"chat_template": "of a processor"})
        assert read_folder(tmp_path).chat_template == "old"
        put(tmp_path, chat_template__jinja=b"newest")
        facts = read_folder(tmp_path)
        assert facts.chat_template == "newest"
        assert facts.chat_template_file == tmp_path / "chat_template.jinja"
        assert len(facts.warnings) == 2

    def test_named_templates(self, tmp_path: Path) -> None:
        templates = [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}]
        put(tmp_path, tokenizer_config__json={"chat_template": templates})
        inside = tmp_path / "additional_chat_templates"
        inside.mkdir()
        put(inside, rag__jinja=b"r", notes__txt=b"no template")
        facts = read_folder(tmp_path)
        assert facts.chat_template == "d"
        assert facts.other_chat_templates == {"tool_use": "t", "rag": "r"}


class TestTokenizerJson:
    def test_alone_it_is_as_it_is(self, tmp_path: Path) -> None:
        put(tmp_path, tokenizer__json=plain())
        assert load_file(tmp_path).fingerprint == load_file(tmp_path / "tokenizer.json").fingerprint
        assert load_file(tmp_path).name == tmp_path.name
        assert load_file(tmp_path, name="mine").name == "mine"

    def test_tokens_that_it_lacks_are_added(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            tokenizer__json=plain(),
            tokenizer_config__json={
                "added_tokens_decoder": {
                    "266": token("<tool>", lstrip=True),
                    "267": token("<|im|>", special=True),
                    # In the vocabulary already: it keeps its id.
                    "259": token("hello", single_word=True),
                },
                "pad_token": "<pad>",
            },
        )
        tokenizer = load_file(tmp_path)
        assert tokenizer.special_tokens == {"<|end|>": 265, "<|im|>": 267, "<pad>": 268}
        assert tokenizer.encode("world  <tool>x") == [*tokenizer.encode("world"), 266, 120]
        assert tokenizer.encode("<|im|>", allow_special="all") == [267]
        assert tokenizer.encode("<|im|>") != [267]
        assert {t.content: t.special for t in tokenizer.added_tokens}["hello"] is False

    def test_flags_of_the_settings_count(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            tokenizer__json=plain(),
            tokenizer_config__json={
                "added_tokens_decoder": {"265": token("<|end|>", special=True, lstrip=True)}
            },
        )
        ids = load_file(tmp_path).encode("hello  <|end|>", allow_special="all")
        assert ids == [259, 265]
        ids = load_file(tmp_path / "tokenizer.json").encode("hello  <|end|>", allow_special="all")
        assert len(ids) == 4

    def test_an_old_list_of_added_tokens(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            tokenizer__json=plain(),
            added_tokens__json={"<tool>": 266, "<|end|>": 265},
            special_tokens_map__json={"eos_token": "<|end|>"},
        )
        tokenizer = load_file(tmp_path)
        assert {t.content: (t.id, t.special) for t in tokenizer.added_tokens} == {
            "<|end|>": (265, True),
            "<tool>": (266, False),
        }

    def test_what_it_puts_around_a_text_counts(self, tmp_path: Path) -> None:
        settings = {"bos_token": "<|end|>", "add_bos_token": True}
        put(tmp_path, tokenizer__json=plain(), tokenizer_config__json=settings)
        assert load_file(tmp_path).encode("hello", add_special_tokens=True) == [259]

    def test_it_comes_before_other_files(self, tmp_path: Path) -> None:
        put(tmp_path, tokenizer__json=plain(), tekken__json=small.tekken(), vocab__txt=b"[UNK]\n")
        assert load_file(tmp_path).encode("hello") == [259]
        assert format_of(tmp_path) is not None

    def test_options_go_to_the_file_inside(self, tmp_path: Path) -> None:
        put(tmp_path, tokenizer__json=plain())
        with pytest.raises(UsageError, match="lowercase cannot apply"):
            load_file(tmp_path, lowercase=True)


class TestTwoFiles:
    def files(self, folder: Path, **more: Any) -> Path:
        vocab = small.vocab_json("<s>", "</s>", "<mask>", "<|endoftext|>")
        return put(folder, vocab__json=vocab, merges__txt=small.merges_txt(), **more)

    def test_gpt2(self, tmp_path: Path) -> None:
        self.files(tmp_path, tokenizer_config__json={"tokenizer_class": "GPT2Tokenizer"})
        tokenizer = load_file(tmp_path)
        assert tokenizer.special_tokens == {"<|endoftext|>": 268}
        assert tokenizer.encode("hello", add_special_tokens=True) == [259]
        self.files(tmp_path, tokenizer_config__json={
            "tokenizer_class": "GPT2Tokenizer", "add_bos_token": True, "add_prefix_space": True,
        })  # fmt: skip
        assert load_file(tmp_path).encode("world", add_special_tokens=True) == [268, 264]
        assert load_file(tmp_path, add_prefix_space=False).encode("world") != [264]

    def test_roberta(self, tmp_path: Path) -> None:
        self.files(tmp_path, config__json={"model_type": "roberta"})
        tokenizer = load_file(tmp_path)
        assert tokenizer.encode("hello", add_special_tokens=True) == [265, 259, 266]
        # Its mask takes the white space before it along.
        assert tokenizer.encode("hello  <mask>", allow_special="all") == [259, 267]

    def test_a_class_with_rules_of_its_own_is_refused(self, tmp_path: Path) -> None:
        self.files(tmp_path, tokenizer_config__json={"tokenizer_class": "Qwen2TokenizerFast"})
        with pytest.raises(FormatError, match=r"GPT-2 vocab\.json of Qwen2Tokenizer.*\nhint:"):
            load_file(tmp_path)

    def test_a_vocabulary_without_merges_says_so(self, tmp_path: Path) -> None:
        put(tmp_path, vocab__json=small.vocab_json())
        with pytest.raises(FormatError, match=r"needs its GPT-2 merges\.txt beside it"):
            load_file(tmp_path)


class TestWordLists:
    def test_bert(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            vocab__txt=small.vocab_txt("Hello"),
            tokenizer_config__json={
                "tokenizer_class": "BertTokenizer",
                "do_lower_case": False,
                "cls_token": "[CLS]",
                "sep_token": "[SEP]",
            },
            added_tokens__json={"<tool>": 11},
        )
        tokenizer = load_file(tmp_path)
        assert tokenizer.encode("Hello <tool>", add_special_tokens=True) == [2, 10, 11, 3]
        assert load_file(tmp_path, lowercase=True).encode("Hello") == [6]

    def test_other_names_of_the_special_tokens(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            vocab__txt=b"<unk>\n<cls>\n<sep>\nhello\n##s\n[UNK]\n",
            tokenizer_config__json={
                "unk_token": "<unk>", "cls_token": "<cls>", "sep_token": "<sep>",
            },
        )  # fmt: skip
        tokenizer = load_file(tmp_path)
        assert tokenizer.encode("hellos what", add_special_tokens=True) == [1, 3, 4, 0, 2]

    def test_a_class_with_rules_of_its_own_is_refused(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            vocab__txt=small.vocab_txt(),
            tokenizer_config__json={"tokenizer_class": "BertJapaneseTokenizer"},
        )
        with pytest.raises(FormatError, match="BertJapaneseTokenizer"):
            load_file(tmp_path)


class TestSentencePiece:
    @pytest.fixture
    def model(self, shared: Path) -> bytes:
        return (shared / "data" / "vocab" / "llama2.model").read_bytes()

    def test_llama(self, tmp_path: Path, model: bytes) -> None:
        put(
            tmp_path,
            tokenizer__model=model,
            tokenizer_config__json={
                "tokenizer_class": "LlamaTokenizer",
                "added_tokens_decoder": {
                    "0": token("<unk>", special=True),
                    "1": token("<s>", special=True),
                    "2": token("</s>", special=True),
                    "32000": token("<pad>", special=True),
                },
                "bos_token": "<s>",
            },
        )
        tokenizer = load_file(tmp_path)
        assert tokenizer.encode("Hello world", add_special_tokens=True) == [1, 15043, 3186]
        assert tokenizer.encode("<pad>", allow_special="all") == [32000]
        alone = from_sentencepiece(model)
        for text in ("<pad> <unk>", "  a  b", "日本"):
            assert tokenizer.encode(text) == alone.encode(text)

    def test_ordinary_added_tokens_and_gaps(self, tmp_path: Path, model: bytes) -> None:
        put(tmp_path, tokenizer__model=model, added_tokens__json={"<tool>": 32000, "<far>": 32004})
        tokenizer = load_file(tmp_path)
        assert tokenizer.vocab_size == 32005
        ids = tokenizer.encode("a<tool>b<far>")
        assert [i for i in ids if i >= 32000] == [32000, 32004]
        alone = from_sentencepiece(model)
        assert tokenizer.encode("tool far [PAD32001]") == alone.encode("tool far [PAD32001]")

    def test_a_token_far_behind_the_model(self, tmp_path: Path, model: bytes) -> None:
        put(tmp_path, tokenizer__model=model, added_tokens__json={"<tool>": 2_000_000})
        with pytest.raises(FormatError, match=r"'<tool>' has the id 2,000,000.*\n"):
            load_file(tmp_path)

    @pytest.mark.parametrize(
        ("file", "config", "reason"),
        [
            ("sentencepiece.bpe.model", {}, "other ids"),
            ("sentencepiece.bpe.model", {"tokenizer_class": "XLMRobertaTokenizer"}, "other ids"),
            ("spiece.model", {"tokenizer_class": "PegasusTokenizerFast"}, "other ids"),
            ("spiece.model", {"tokenizer_class": "AlbertTokenizer"}, "changes the text"),
        ],
    )
    def test_classes_whose_ids_are_not_the_models(
        self, tmp_path: Path, model: bytes, file: str, config: dict[str, str], reason: str
    ) -> None:
        put(tmp_path, tokenizer_config__json=config)
        (tmp_path / file).write_bytes(model)
        with pytest.raises(FormatError, match=rf"{reason}.*\nhint: a tokenizer\.json says it all"):
            load_file(tmp_path)
        assert load_file(tmp_path / file).reference == "sentencepiece"


class TestOtherFiles:
    @pytest.mark.parametrize(
        ("name", "data", "ids"),
        [
            ("tekken.json", small.tekken(), [261]),
            ("model-Q4_K_M.gguf", small.gguf(), [259]),
            ("tokenizer.json.zst", _core.compress_zstd(plain()), [259]),
            ("tokenizer.jeton.json", small.tokenizer().to_canonical(), [259]),
        ],
    )
    def test_each_is_found(self, tmp_path: Path, name: str, data: bytes, ids: list[int]) -> None:
        (tmp_path / name).write_bytes(data)
        assert load_file(tmp_path).encode("hello") == ids

    def test_mistrals_numbered_models(self, tmp_path: Path, shared: Path) -> None:
        vocab = shared / "data" / "vocab"
        (tmp_path / "tokenizer.model.v1").write_bytes((vocab / "mistral_v1.model").read_bytes())
        (tmp_path / "tokenizer.model.v3").write_bytes((vocab / "mistral_v3.model").read_bytes())
        put(tmp_path, params__json={"dim": 4096})
        assert load_file(tmp_path).vocab_size == 32768
        assert [p.name for p in read_folder(tmp_path).files] == ["params.json"]

    def test_several_models_are_named(self, tmp_path: Path) -> None:
        for name in ("a.gguf", "b.gguf"):
            (tmp_path / name).write_bytes(small.gguf())
        with pytest.raises(FormatError, match=r"several GGUF models: a\.gguf, b\.gguf"):
            load_file(tmp_path)

    def test_a_small_file_points_to_its_folder(self, tmp_path: Path) -> None:
        put(tmp_path, tokenizer_config__json={"bos_token": "<s>"})
        with pytest.raises(FormatError, match="hint: give the path of the folder"):
            load_file(tmp_path / "tokenizer_config.json")


class TestSteps:
    def test_names_and_what_is_not_applied(self) -> None:
        tree = json.loads(plain())
        tree["truncation"] = {
            "direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 0,
        }  # fmt: skip
        steps = describe_steps(from_hf_json(json.dumps(tree).encode()))
        assert steps.normalizer == ()
        assert steps.pretokenizer == ("split (isolated)",)
        assert steps.decoder == ("bytes",)
        assert steps.truncation is not None
        assert steps.truncation["max_length"] == 5
        assert steps.padding is None
        bert = describe_steps(from_vocab_txt(small.vocab_txt()))
        assert bert.normalizer == (
            "bert (clean_text, handle_chinese_chars, strip_accents, lowercase)",
        )
