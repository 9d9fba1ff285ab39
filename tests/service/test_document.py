"""The OpenAPI document, and a fuzzer that believes it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    response_schema_conformance,
    status_code_conformance,
)

from jeton.service import ServiceSettings
from jeton.service.arrow import ARROW_TYPE
from jeton.service.compat import COMPAT
from jeton.service.routes import OWN_ROUTES
from tests.formats import small
from tests.service.live import Live, live

N_EXAMPLES = 5


@pytest.fixture(scope="session")
def document(served: Live) -> dict[str, Any]:
    found = httpx.get(f"{served.url}/openapi.json")
    assert found.status_code == 200
    return dict(found.json())


POSTS = [route.path for route in OWN_ROUTES] + [
    "/v1/tokenizers", "/tokenize", "/detokenize", "/sg/tokenize", "/sg/v1/detokenize",
    "/llama/tokenize",
    "/llama/apply-template", "/tei/tokenize", "/tei/decode", "/v1/messages/count_tokens",
    "/v1/responses/input_tokens", "/v1/tokenize", "/v1/detokenize",
]  # fmt: skip


GETS = ["/healthz", "/readyz", "/metrics", "/v1/info"]
POSITIVE, NEGATIVE = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE
OPERATIONS = [
    *(("POST", path, POSITIVE) for path in POSTS),
    # Bytes of a file, and a request without anything, cannot be wrong by the document.
    *(("POST", path, NEGATIVE) for path in POSTS if path != "/v1/tokenizers"),
    *(("GET", path, POSITIVE) for path in GETS),
]


@pytest.fixture(scope="session")
def schema(served: Live, document: dict[str, Any]) -> Any:
    found = schemathesis.openapi.from_dict(document)
    found.config.update(base_url=served.url)
    return found


@pytest.mark.parametrize(("method", "path", "mode"), OPERATIONS)
def test_the_document_is_kept(
    schema: Any, method: str, path: str, mode: schemathesis.GenerationMode
) -> None:
    operation = schema[path][method]

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=N_EXAMPLES, suppress_health_check=list(HealthCheck))
    def fuzz(case: Any) -> None:
        case.call_and_validate(
            checks=[not_a_server_error, status_code_conformance, response_schema_conformance]
        )

    fuzz()


def test_the_document_has_every_route(document: dict[str, Any]) -> None:
    paths = document["paths"]
    methods = {(method.upper(), path) for path, item in paths.items() for method in item}
    tested = {(method, path) for method, path, _ in OPERATIONS}
    assert tested <= methods
    # Other routes of shapes that are tested.
    others = {"/sg/detokenize", "/sg/v1/tokenize", "/llama/detokenize"}
    assert {path for _, path in methods - tested} <= others
    for route in OWN_ROUTES:
        assert "post" in paths[route.path]
    for name, routes in COMPAT.items():
        for route in routes:
            assert any(path.endswith(route.path) for path in paths), (name, route.path)
    ids = [operation["operationId"] for item in paths.values() for operation in item.values()]
    assert len(ids) == len(set(ids))


def test_every_field_of_the_document_is_described(document: dict[str, Any]) -> None:
    bare = [
        name for name, schema in document["components"]["schemas"].items() if "title" not in schema
    ]
    assert not bare


def test_the_document_names_streams_files_and_keys(document: dict[str, Any]) -> None:
    for path in ("/v1/count", "/v1/encode", "/v1/decode"):
        operation = document["paths"][path]["post"]
        assert ARROW_TYPE in operation["requestBody"]["content"]
        assert ARROW_TYPE in operation["responses"]["200"]["content"]
    body = document["paths"]["/v1/tokenizers"]["post"]["requestBody"]
    assert list(body["content"]) == ["application/octet-stream"]
    assert "security" not in document
    assert "/v1/shadow" not in document["paths"]


def test_the_document_names_keys() -> None:
    with live(
        ServiceSettings(tokenizers={"s": small.tokenizer()}, keys={"a": "a-key-of-length"})
    ) as server:
        document = server.get("/openapi.json").json()
    assert set(document["components"]["securitySchemes"]) == {"bearer", "key"}
    assert document["security"] == [{"bearer": []}, {"key": []}]
