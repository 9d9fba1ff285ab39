"""The adapter for Ray Data: rows stay rows, ids are those of the tokenizer."""

from __future__ import annotations

import pyarrow as pa
import pytest

import jeton
from jeton.cluster import ArrowTokenizer
from jeton.errors import CorpusError, UsageError

TOKENIZER = "jeton-general-32k"


@pytest.fixture(scope="module")
def tok() -> jeton.Tokenizer:
    return jeton.load(TOKENIZER)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_ids_stand_beside_the_texts(tok: jeton.Tokenizer, kind: pa.DataType) -> None:
    texts = ["one boat", None, "", "東京 12", None]
    table = pa.table({"n": [1, 2, 3, 4, 5], "text": pa.chunked_array([texts[:2], texts[2:]], kind)})
    made = ArrowTokenizer(TOKENIZER, append_eos=True)(table)
    end = tok.end_token_ids[0]
    assert made["input_ids"].to_pylist() == [
        None if text is None else [*tok.encode(text), end] for text in texts
    ]
    assert made.column_names == ["n", "text", "input_ids"]
    assert made.schema.field("input_ids").type == pa.list_(pa.int32())
    again = ArrowTokenizer(tok)(made)
    assert again.column_names == made.column_names
    assert again["input_ids"].to_pylist()[0] == tok.encode("one boat")


@pytest.mark.parametrize("texts", [[], [None, None]])
def test_tables_without_text(texts: list[None]) -> None:
    made = ArrowTokenizer(TOKENIZER)(pa.table({"text": pa.array(texts)}))
    assert made["input_ids"].to_pylist() == texts


def test_a_slice_of_a_table(tok: jeton.Tokenizer) -> None:
    table = pa.table({"t": ["aa", "bb", "one boat", "lake"]}).slice(2, 1)
    made = ArrowTokenizer(TOKENIZER, column="t", output="ids")(table)
    assert made["ids"].to_pylist() == [tok.encode("one boat")]


def test_refusals() -> None:
    with pytest.raises(CorpusError, match=r"no column 'text'; it has a, b"):
        ArrowTokenizer(TOKENIZER)(pa.table({"a": [1], "b": ["x"]}))
    with pytest.raises(CorpusError, match="holds int64, not strings"):
        ArrowTokenizer(TOKENIZER, column="a")(pa.table({"a": [1]}))
    with pytest.raises(UsageError, match="num_threads"):
        ArrowTokenizer(TOKENIZER, num_threads=0)


@pytest.mark.cluster
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("cluster")
def test_a_dataset_of_ray(tok: jeton.Tokenizer) -> None:
    data = pytest.importorskip("ray.data")
    texts = [f"note {i} of the boat" for i in range(40)]
    made = data.from_arrow([pa.table({"text": texts[:20]}), pa.table({"text": texts[20:]})])
    made = made.map_batches(
        ArrowTokenizer,
        fn_constructor_args=[TOKENIZER],
        batch_format="pyarrow",
        compute=data.ActorPoolStrategy(size=1),
    )
    found = {row["text"]: list(row["input_ids"]) for row in made.take_all()}
    assert found == {text: tok.encode(text) for text in texts}
