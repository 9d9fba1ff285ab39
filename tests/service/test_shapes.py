"""Routes in the shape of other servers: contracts, and their real clients."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import anthropic
import cohere
import httpx
import openai
import pytest

import jeton
from jeton._core import from_tiktoken
from jeton.service import ServiceSettings, create_app
from jeton.service.compat import COMPAT
from jeton.service.failures import HttpFailure
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


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("vllm", 401, "AuthenticationError"),
        ("vllm", 429, "RateLimitError"),
        ("sglang", 429, "RateLimitError"),
        ("sglang", 400, "BadRequestError"),
        ("llama.cpp", 429, "unavailable_error"),
        ("tei", 401, "Unauthorized"),
        ("tei", 422, "Validation"),
        ("anthropic", 429, "rate_limit_error"),
        ("openai", 401, "authentication_error"),
    ],
)
def test_failures_have_the_type_of_their_status(name: str, status: int, kind: str) -> None:
    shown = COMPAT[name][0].shape(HttpFailure(status, "x", "words"))
    flat = {**shown, **shown.get("error", {})} if isinstance(shown.get("error"), dict) else shown
    assert kind in (flat.get("type"), flat.get("error_type"))


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


def _members(union: Any) -> Iterator[tuple[str, set[str]]]:
    """Type and fields of each object of a client's union."""
    for member in get_args(union):
        if not isinstance(member, type):
            continue  # blocks of answers, which have the same types
        hints = get_type_hints(member)
        for kind in get_args(hints["type"]):
            # Optional literals are one level deeper.
            for name in get_args(kind) or (kind,):
                if isinstance(name, str):
                    yield name, set(hints) - {"type"}


def test_no_field_of_a_known_block_is_new_to_us() -> None:
    from anthropic.types.beta import BetaContentBlockParam
    from openai.types.responses.response_input_item_param import ResponseInputItemParam

    from jeton.service.compat.chats import ANTHROPIC_BLOCKS, OPENAI_ITEMS, QUIET_FIELDS

    refused = {"encrypted_content"}
    for union, kinds in (
        (BetaContentBlockParam, ANTHROPIC_BLOCKS),
        (ResponseInputItemParam, OPENAI_ITEMS),
    ):
        known = [(kind, fields) for kind, fields in _members(union) if kind in kinds]
        assert len(known) > 8
        for kind, fields in known:
            assert fields <= {*kinds[kind], *QUIET_FIELDS, *refused}, kind


def test_tokens_that_a_file_of_ranks_cannot_know() -> None:
    bare = from_tiktoken(
        small.ranks(), pattern=small.PATTERN, special_tokens={"<|begin_of_text|>": 265}, name="bare"
    )
    settings = ServiceSettings(tokenizers={"bare": bare}, compat=("vllm", "llama.cpp=/l"))
    with live(settings) as server:
        found = server.post("/tokenize", {"prompt": "hello"})
        without = server.post("/tokenize", {"prompt": "hello", "add_special_tokens": False})
        llama = server.post("/l/tokenize", {"content": "hello"})
    assert found.headers["jeton-basis"] == "estimated"
    assert without.headers["jeton-basis"] == llama.headers["jeton-basis"] == "exact"


def test_llama_cpp_reads_json_as_curl_sends_it(served: Live) -> None:
    content = b'{"content":"<|channel>","parse_special":false,"add_special":false}'
    form = {"content-type": "application/x-www-form-urlencoded"}
    found = httpx.post(f"{served.url}/llama/tokenize", content=content, headers=form)
    assert found.status_code == 200
    assert httpx.post(f"{served.url}/tokenize", content=content, headers=form).status_code == 415


def test_calls_of_tools_are_no_exact_count(shaped: Live) -> None:
    path = "/openai/v1/responses/input_tokens"
    plain = {"model": "small", "input": [{"role": "user", "content": "hello"}]}
    call = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
    assert shaped.post(path, plain).headers["jeton-basis"] == "exact"
    body = {**plain, "input": [*plain["input"], call]}
    assert shaped.post(path, body).headers["jeton-basis"] == "estimated"


def test_a_schema_of_the_answer_is_counted(served: Live, med: jeton.Tokenizer) -> None:
    schema = {"type": "object", "description": "word " * 100}
    claude = {"model": "claude-x", "messages": [{"role": "user", "content": "x"}]}
    form = {"type": "json_schema", "schema": schema}
    path = "/v1/messages/count_tokens"
    before = served.post(path, claude).json()["input_tokens"]
    after = served.post(path, {**claude, "output_config": {"format": form}}).json()["input_tokens"]
    assert after - before >= med.count(schema["description"])
    path, gpt = "/v1/responses/input_tokens", {"model": "gpt-5", "input": "x"}
    before = served.post(path, gpt).json()["input_tokens"]
    after = served.post(path, {**gpt, "text": {"format": form}}).json()["input_tokens"]
    assert after - before >= med.count(schema["description"])


def test_clients_know_errors_of_paths_that_are_none(served: Live) -> None:
    with (
        anthropic.Anthropic(base_url=served.url, api_key="unused", max_retries=0) as claude,
        pytest.raises(anthropic.NotFoundError) as raised,
    ):
        claude.messages.create(
            model="claude-x", max_tokens=1, messages=[{"role": "user", "content": "a"}]
        )
    assert raised.value.body["error"]["type"] == "not_found_error"  # type: ignore[index]
    with (
        openai.OpenAI(base_url=f"{served.url}/v1", api_key="unused", max_retries=0) as gpt,
        pytest.raises(openai.NotFoundError) as missing,
    ):
        gpt.models.list()
    assert missing.value.type == "invalid_request_error"
