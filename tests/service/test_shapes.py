"""Routes in the shape of other servers: contracts, and their real clients."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import cohere
import httpx
import openai
import pytest

import jeton
from jeton.service import ServiceSettings, create_app
from jeton.service.compat import COMPAT
from tests.formats import small
from tests.service.live import Live, live

CASES = json.loads(
    (Path(__file__).parents[1] / "cases" / "service_shapes.json").read_text(encoding="utf-8")
)
TEMPLATE = (
    "{% for m in messages %}{{ m.role }}:{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


@pytest.fixture(scope="module")
def shaped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    template = tmp_path_factory.mktemp("shapes") / "template.jinja"
    template.write_text(TEMPLATE, encoding="utf-8")
    settings = ServiceSettings(
        tokenizers={"small": small.tokenizer()},
        compat=tuple(f"{name}=/{name}" for name in COMPAT),
        templates={"small": template},
        models={"claude-*": "small"},
        context_tokens={"small": 4096},
    )
    with live(settings) as server:
        yield server


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['shape']}{case['path']}")
def test_contract(shaped: Live, case: dict[str, Any]) -> None:
    found = shaped.post(f"/{case['shape']}{case['path']}", case["request"])
    assert found.status_code == case["status"], found.text
    if "answer" in case:
        assert found.json() == case["answer"]
        assert found.headers["jeton-fingerprint"] == small.tokenizer().fingerprint
    for place, keys in case.get("keys", {}).items():
        body = found.json()
        assert sorted(body[place] if place else body) == sorted(keys)


def test_every_shape_has_contracts() -> None:
    covered = {(case["shape"], case["path"].split("?")[0]) for case in CASES}
    for name, routes in COMPAT.items():
        for route in routes:
            # SGLang has each route twice.
            assert {(name, route.path), (name, route.path.removeprefix("/v1"))} & covered, route


def test_the_anthropic_client(served: Live, med: jeton.Tokenizer) -> None:
    with anthropic.Anthropic(base_url=served.url, api_key="unused", max_retries=0) as client:
        plain = client.messages.count_tokens(
            model="claude-sonnet-4-5", messages=[{"role": "user", "content": "Hello there"}]
        )
        with_tools = client.messages.count_tokens(
            model="claude-sonnet-4-5",
            system="Be brief. " * 20,
            messages=[{"role": "user", "content": "Hello there"}],
            tools=[
                {
                    "name": "weather",
                    "description": "Tells the weather of a place.",
                    "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}},
                }
            ],
        )
        with pytest.raises(anthropic.NotFoundError) as raised:
            client.messages.count_tokens(
                model="unknown", messages=[{"role": "user", "content": "Hello"}]
            )
    assert plain.input_tokens >= med.count("Hello there")
    # The system prompt and tools count, too.
    assert with_tools.input_tokens > plain.input_tokens + med.count("Be brief. " * 20)
    assert raised.value.body["error"]["type"] == "not_found_error"  # type: ignore[index]


def test_the_openai_client(served: Live, med: jeton.Tokenizer) -> None:
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="unused", max_retries=0) as client:
        found = client.responses.input_tokens.count(model="gpt-5", input="Hello there")
        assert found.object == "response.input_tokens"
        assert found.input_tokens >= med.count("Hello there")
        with pytest.raises(openai.NotFoundError):
            client.responses.input_tokens.count(model="unknown", input="Hello there")


def test_the_cohere_client(served: Live, main: jeton.Tokenizer) -> None:
    with httpx.Client(timeout=30) as http:
        client = cohere.Client("unused", base_url=served.url, httpx_client=http)
        found = client.tokenize(text="Hello there", model="main", offline=False)
        assert found.tokens == main.encode("Hello there")
        back = client.detokenize(tokens=found.tokens, model="main", offline=False)
        assert back.text == "Hello there"
        with pytest.raises(cohere.NotFoundError):
            client.tokenize(text="Hello there", model="unknown", offline=False)


def test_text_never_becomes_a_control_token(served: Live, main: jeton.Tokenizer) -> None:
    text = "<|endoftext|>"
    (special,) = main.encode(text, allow_special="all")
    bodies = {
        "/tokenize": {"prompt": text},
        "/sg/tokenize": {"prompt": text},
        "/llama/tokenize": {"content": text, "parse_special": True, "add_special": True},
        "/v1/tokenize": {"text": text},
    }
    for path, body in bodies.items():
        assert special not in served.post(path, body).json()["tokens"], path
    chat = {"messages": [{"role": "user", "content": text}]}
    assert special not in served.post("/tokenize", chat).json()["tokens"]
    tei = served.post("/tei/tokenize", {"inputs": text}).json()
    assert special not in [token["id"] for token in tei[0]]


def test_a_chat_is_exact_by_its_template(served: Live, main: jeton.Tokenizer) -> None:
    from jeton.chat import ChatTemplate, encode_chat
    from tests.service.live import CHAT_TEMPLATE

    messages = [{"role": "user", "content": "Grüße"}]
    body = {"messages": messages, "chat_template_kwargs": {"enable_thinking": True}}
    found = served.post("/tokenize", body)
    encoded = encode_chat(
        messages,
        tokenizer=main,
        template=ChatTemplate.from_source(CHAT_TEMPLATE),
        add_generation_prompt=True,
        enable_thinking=True,
    )
    assert found.json()["tokens"] == encoded.ids.tolist()
    assert found.headers["jeton-basis"] == "exact"
    count = {"model": "claude-x", "messages": messages}
    estimated = served.post("/v1/messages/count_tokens", count)
    assert estimated.headers["jeton-basis"] == "estimated"


def test_templates_that_loop_are_stopped(tmp_path: Path) -> None:
    template = tmp_path / "loop.jinja"
    template.write_text(
        "{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}",
        encoding="utf-8",
    )
    settings = ServiceSettings(
        tokenizers={"s": small.tokenizer()}, compat=("vllm",), templates={"s": template}
    )
    with live(settings) as server:
        found = server.post("/tokenize", {"messages": [{"role": "user", "content": "a"}]})
        assert found.status_code == 422
        assert server.post("/tokenize", {"prompt": "hello"}).json()["count"] == 1


@pytest.mark.parametrize(
    ("compat", "words"),
    [
        (("vllm", "tei"), "both want the path /tokenize"),
        (("vlm",), "unknown shape"),
        (("vllm=x",), "expected a path"),
        (("vllm=/",), "expected a path"),
    ],
)
def test_shapes_that_cannot_be_had(compat: tuple[str, ...], words: str) -> None:
    settings = ServiceSettings(tokenizers={"s": small.tokenizer()}, compat=compat)
    with pytest.raises(jeton.UsageError, match=words):
        create_app(settings)
