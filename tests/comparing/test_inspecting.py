"""The inspection: exact cuts, bounds that hold, ranks that are the file's."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator

import numpy as np
import pytest

import jeton
from jeton import Tokenizer
from jeton._core import from_hf_json
from jeton.comparing import Inspection, inspect_texts
from jeton.comparing.inspecting import MAX_CHARS, MAX_DOCUMENTS
from jeton.comparing.ranks import ranks_of, worst_terms
from jeton.errors import EmptyCorpusError
from jeton.report.inspector import MAX_EMBEDDED_BYTES, inspector_context, inspector_html
from jeton.workload.choice import Chosen, choose_tokenizers
from tests.formats import small

MAX_PAGE_BYTES = 3_000_000


def chosen(*tokenizers: str | Tokenizer) -> list[Chosen]:
    return choose_tokenizers(tokenizers, current=None)[0]


def inspect(texts: list[str], *tokenizers: str | Tokenizer) -> Inspection:
    return inspect_texts(iter(texts), tokenizers=tokenizers or ("jeton-general-32k",))


def test_cuts_are_those_of_the_tokenizers() -> None:
    texts = ["Hydroxychloroquine 200 mg 🎉, naïve café", "日本語 русский x = [1, 2]\n\tend"]
    inspection = inspect(texts, "jeton-general-32k", "jeton-code-32k")
    assert sorted(document.text for document in inspection.documents) == sorted(texts)
    for document in inspection.documents:
        for name, cut, n_tokens in zip(
            ("jeton-general-32k", "jeton-code-32k"), document.cuts, document.n_tokens, strict=True
        ):
            encoding = jeton.load(name).encode_with_offsets(document.text)
            assert cut.ids == tuple(encoding.ids.tolist())
            assert cut.starts == tuple(encoding.starts.tolist())
            assert cut.ends == tuple(encoding.ends.tolist())
            assert n_tokens == len(encoding)


def test_the_compact_form_of_a_cut_can_be_read_back() -> None:
    inspection = inspect(["a 🎉🎉 naïve\u200d 日本"])
    (document,) = inspection.documents
    (cut,) = inspector_context(inspection).data["documents"][0]["cuts"]
    position, places = 0, []
    for index, length in enumerate(cut["lengths"]):
        start = position + cut["gaps"].get(str(index), 0)
        position = start + length
        places.append((start, position))
    assert places == list(zip(document.cuts[0].starts, document.cuts[0].ends, strict=True))
    assert cut["gaps"]  # characters that several tokens share


def test_the_worst_come_first() -> None:
    texts = [f"the committee said that it will help {n}" * 3 for n in range(10)]
    texts.insert(4, "ꠥꠘꠣ ꠍꠤꠟ " * 10)
    inspection = inspect(texts)
    assert inspection.documents[0].text == texts[4]
    sizes = [d.n_bytes / d.n_tokens[0] for d in inspection.documents]
    assert sizes == sorted(sizes)


def test_a_long_document_is_shown_by_its_worst_stretch() -> None:
    plain = "the committee said that it will help " * 400
    inspection = inspect([plain + "ꠥꠘꠣꠍꠤꠟ" * 300 + plain])
    (document,) = inspection.documents
    assert len(document.text) == MAX_CHARS
    whole = plain + "ꠥꠘꠣꠍꠤꠟ" * 300 + plain
    assert document.text == whole[document.first_char :][:MAX_CHARS]
    assert document.first_byte == len(whole[: document.first_char].encode())
    assert document.text.count("ꠥ") > MAX_CHARS // 10
    assert document.n_chars == len(whole)


def noise(n: int, *, seed: int) -> Iterator[str]:
    """Texts that no vocabulary holds: each token of the page costs most."""
    random = np.random.default_rng(seed)
    for _ in range(n):
        yield "".join(map(chr, random.integers(0x4E00, 0x9FA5, 3_000).tolist()))


def test_a_large_input_makes_no_large_page() -> None:
    inspection = inspect(list(noise(80, seed=1)), "jeton-general-32k", "jeton-code-32k")
    assert 0 < len(inspection.documents) <= MAX_DOCUMENTS
    assert inspection.n_documents == 80
    context = inspector_context(inspection)
    assert len(context.embedded.encode()) <= MAX_EMBEDDED_BYTES
    page = inspector_html(inspection)
    assert 500_000 < len(page.encode()) < MAX_PAGE_BYTES


def test_many_documents_are_a_choice_with_every_script() -> None:
    texts = [f"the committee said that it will help {n}" for n in range(1_000)]
    texts[500] = "это было давно и не здесь, но об этом помнят"
    texts[600] = "αυτό είναι ένα κείμενο στα ελληνικά"
    inspection = inspect(texts)
    assert len(inspection.documents) == MAX_DOCUMENTS
    assert {"Latin", "Cyrillic", "Greek"} <= {d.script for d in inspection.documents}
    scripts = {script.script: script for script in inspection.scripts}
    assert scripts["Cyrillic"].n_chars == sum("а" <= c <= "я" for c in texts[500])


def test_there_must_be_text() -> None:
    with pytest.raises(EmptyCorpusError):
        inspect(["", ""])


def test_terms_are_ranked_by_their_tokens_above_one() -> None:
    general = jeton.load("jeton-general-32k")
    texts = [("hydroxychloroquine the town " * 5, 2), ("Hydroxychloroquine immunoglobulin", 1)]
    terms = worst_terms(texts, [general])
    assert terms[0].term == "hydroxychloroquine"
    assert terms[0].n_occurrences == 11
    assert terms[0].n_extra == 11 * (terms[0].cuts[0].n_tokens - 1)
    assert [t.n_extra for t in terms] == sorted((t.n_extra for t in terms), reverse=True)
    assert "town" not in {term.term for term in terms}  # one token


class TestRanks:
    def test_of_a_rank_file_are_the_ids(self) -> None:
        ranks = ranks_of(small.tokenizer())
        assert ranks.kind == "merge"
        assert ranks.get(0) == 0
        assert ranks.get(264) == 264
        assert ranks.get(small.SPECIAL["<|end|>"]) is None

    def test_of_listed_merges_are_their_places(self) -> None:
        tokenizer = jeton.load("jeton-general-32k")
        ranks = ranks_of(tokenizer)
        assert ranks.kind == "merge"
        the = tokenizer.bytes_to_id(b" the")
        rare = tokenizer.encode(" hydro")[0]
        assert the is not None
        first, later = ranks.get(the), ranks.get(rare)
        assert first is not None
        assert later is not None
        assert first < later
        byte = tokenizer.bytes_to_id(b"a")
        assert byte is not None
        assert ranks.get(byte) is None  # not made by a merge

    def test_of_pieces_are_by_falling_score(self) -> None:
        pieces = [["<unk>", 0.0], ["a", -3.0], ["b", -1.0], ["ab", -2.5]]
        data = {
            "version": "1.0",
            "added_tokens": [
                {
                    "id": 0, "content": "<unk>", "special": True, "single_word": False,
                    "lstrip": False, "rstrip": False, "normalized": False,
                }
            ],
            "normalizer": None,
            "pre_tokenizer": None,
            "post_processor": None,
            "decoder": None,
            "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces},
        }  # fmt: skip
        ranks = ranks_of(from_hf_json(json.dumps(data).encode(), name="pieces"))
        assert ranks.kind == "score"
        assert [ranks.get(id_) for id_ in range(4)] == [None, 2, 0, 1]
        assert struct.calcsize("<d") == 8


def test_hostile_text_stays_text_on_the_page() -> None:
    hostile = "</script><script>alert(1)</script><!-- \u202e\x00 ]]>"
    page = inspector_html(inspect([hostile]))
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "\x00" not in page
