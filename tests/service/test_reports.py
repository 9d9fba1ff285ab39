"""Public bug reports of other count services, tried here over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx
import pytest

import jeton
from jeton.service import ServiceSettings
from tests.formats import small
from tests.service.live import Live, live

JSON = {"content-type": "application/json"}
COUNT = "/v1/messages/count_tokens"
TOOL = {
    "name": "read_file",
    "description": "Reads a file of the project and returns its text. " * 10,
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
}


def claude(served: Live, **fields: Any) -> int:
    body = {"model": "claude-opus-4", "messages": [], **fields}
    found = served.post(COUNT, body)
    assert found.status_code == 200, found.text
    return int(found.json()["input_tokens"])


def test_system_and_tools_are_counted(served: Live, med: jeton.Tokenizer) -> None:
    # router-for-me/CLIProxyAPI#679: 48 tokens for a request of 728
    messages = [{"role": "user", "content": "hi"}]
    bare = claude(served, messages=messages)
    system = "You are a highly skilled software engineer. " * 20
    with_system = claude(served, messages=messages, system=[{"type": "text", "text": system}])
    assert with_system - bare >= med.count(system)
    with_tools = claude(served, messages=messages, tools=[TOOL])
    assert with_tools - bare >= med.count(json.dumps(TOOL)) * 0.9


def test_thinking_and_results_of_tools_are_counted(served: Live, med: jeton.Tokenizer) -> None:
    # anthropics/claude-code#25949 and others: blocks besides text count as nothing
    thought, result = "Let me look at the file first. " * 20, "def main(): pass\n" * 30
    messages = [
        {"role": "user", "content": "hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": thought, "signature": "x"},
                {"type": "tool_use", "id": "t", "name": "read_file", "input": {"path": "a.py"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t",
                    "content": [{"type": "text", "text": result}],
                }
            ],
        },
    ]
    assert claude(served, messages=messages) >= med.count(thought) + med.count(result)


def test_images_are_refused_and_crash_nothing(served: Live) -> None:
    # BerriAI/litellm#38657: image and document blocks answer 500
    for block in (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
        {"type": "image", "source": {"type": "file", "file_id": "f"}},
        {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image", "source": {}}]},
    ):
        body = {"model": "claude-x", "messages": [{"role": "user", "content": [block]}]}
        found = served.post(COUNT, body)
        assert found.status_code == 400, (block, found.text)
        assert found.json()["error"]["type"] == "invalid_request_error"


def test_the_beta_client(served: Live) -> None:
    # icebear0828/codex-proxy#612: Claude Code calls the route with ?beta=true
    with anthropic.Anthropic(base_url=served.url, api_key="k", max_retries=0) as client:
        found = client.beta.messages.count_tokens(
            model="claude-opus-4", messages=[{"role": "user", "content": "hello"}]
        )
    assert found.input_tokens > 0


def test_a_chat_whose_content_is_null_or_parts(served: Live) -> None:
    # vllm-project/vllm#13951 and kin: /tokenize fails on chats that completions take
    text = "beşi beş kuruştan beş yumurta kaç kuruş eder?"
    plain = served.post("/tokenize", {"messages": [{"role": "user", "content": text}]}).json()
    parts = [{"type": "text", "text": text}]
    as_parts = served.post("/tokenize", {"messages": [{"role": "user", "content": parts}]}).json()
    # The parts are text, not the list as Python prints it.
    assert as_parts["tokens"] == plain["tokens"]
    image = [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]
    refused = served.post("/tokenize", {"messages": [{"role": "user", "content": image}]})
    assert refused.status_code == 400
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    null = {"role": "assistant", "content": None, "tool_calls": [call]}
    assert served.post("/tokenize", {"messages": [null]}).status_code in (200, 400)


@pytest.mark.parametrize("ids", [[-1], [2**31], [2**63 - 1], [[1], [-1]]])
def test_ids_that_are_no_tokens(served: Live, ids: list[Any]) -> None:
    # sgl-project/sglang#29820, vllm-project/vllm#56100: 500 for an id that is none
    for path in ("/detokenize", "/sg/v1/detokenize", "/llama/detokenize", "/v1/detokenize"):
        assert served.post(path, {"tokens": ids}).status_code == 400, path
    assert served.post("/tei/decode", {"ids": ids}).status_code in (400, 422)


def test_a_body_in_another_encoding(served: Live) -> None:
    # ggml-org/llama.cpp#6396: JSON in GBK ends the server
    data = '{"content": "你好"}'.encode("gbk")
    found = httpx.post(f"{served.url}/llama/tokenize", content=data, headers=JSON)
    assert found.status_code == 400
    assert found.json()["error"]["type"] == "invalid_request_error"
    assert served.post("/llama/tokenize", {"content": "你好"}).status_code == 200


def test_pieces_that_are_no_text(served: Live, main: jeton.Tokenizer) -> None:
    # ggml-org/llama.cpp#9195, #8691: bytes of a half character end the server
    text = "歪🦜"
    tokens = served.post("/llama/tokenize", {"content": text, "with_pieces": True}).json()["tokens"]
    data = b"".join(
        piece.encode() if isinstance(piece := token["piece"], str) else bytes(piece)
        for token in tokens
    )
    assert data == text.encode()
    half = main.encode(text)[:1]
    assert served.post("/llama/detokenize", {"tokens": half}).json()["content"]


@pytest.mark.parametrize("text", ["1 and 2/3", "and 100/", "a and 7/ b" * 50, "\x00", "\u2028"])
def test_texts_that_close_the_connection(served: Live, text: str, main: jeton.Tokenizer) -> None:
    # zai-org/GLM-5#149: "and <number>/" ends without an answer
    found = served.post("/tokenize", {"prompt": text})
    assert found.json()["tokens"] == main.encode(text, add_special_tokens=True)


@pytest.fixture(scope="module")
def chinese(shared: Path) -> Iterator[Live]:
    file = shared / "data" / "vocab" / "bert_chinese.vocab.txt"
    if not file.is_file():
        pytest.skip("needs the shared data folder beside the project (developers and CI have it)")
    settings = ServiceSettings(tokenizers={"zh": str(file)}, compat=("tei",))
    with live(settings) as server:
        yield server


def test_places_of_chinese_text(chinese: Live) -> None:
    # huggingface/text-embeddings-inference#494: texts and places of other tokens
    (tokens,) = chinese.post("/tokenize", {"inputs": "北京天安门"}).json()
    shown = [(t["text"], t["start"], t["stop"]) for t in tokens if not t["special"]]
    assert shown == [(c, i, i + 1) for i, c in enumerate("北京天安门")]
    framed = [token["text"] for token in tokens if token["special"]]
    assert framed in ([], ["[CLS]", "[SEP]"])


def test_a_million_tokens_are_counted_whole(served: Live, main: jeton.Tokenizer) -> None:
    # BerriAI/litellm#37102: 675K reported for 1.19M, with a plain 200
    text = "The committee will review 27 proposals. " * 130_000
    found = served.post("/v1/count", {"text": text}).json()["count"]
    assert found == main.count(text) > 1_000_000


def test_an_empty_text_is_an_answer(served: Live) -> None:
    for path, body in (
        ("/v1/count", {"text": ""}),
        ("/v1/encode", {"text": "", "offsets": True, "pieces": True}),
        ("/v1/decode", {"ids": []}),
        ("/v1/chunk", {"text": "", "max_tokens": 5}),
        ("/v1/estimate", {"text": ""}),
        ("/tokenize", {"prompt": ""}),
    ):
        found = served.post(path, body)
        assert found.status_code == 200, (path, found.text)


def test_text_is_counted_as_it_came(served: Live) -> None:
    # Many: a client's trimming or normalization changes the count.
    tokenizer = small.tokenizer()
    with live(ServiceSettings(tokenizers={"s": tokenizer})) as server:
        for text in ("  hello", "hello\r\n", "e\u0301", "\ufeffhello", "hello "):
            assert server.post("/v1/count", {"text": text}).json()["count"] == tokenizer.count(text)
