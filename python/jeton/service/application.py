"""The application: routes, the framework that documents them, and the gate around both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from litestar import Litestar, MediaType, Request, Response, get, head, post
from litestar.exceptions import HTTPException
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Tag
from litestar.params import JSONBody
from litestar.response import File
from prometheus_client import CollectorRegistry

from jeton import report
from jeton._core import __version__
from jeton.errors import UsageError
from jeton.service.arrow import ARROW_TYPE
from jeton.service.compat import compat_routes
from jeton.service.failures import HttpFailure, ServiceFailure, failure_of, log_fault, own_shape
from jeton.service.gate import Gate, Shape, headers_of
from jeton.service.metrics import ServiceMetrics, open_drift
from jeton.service.routes import OWN_ROUTES
from jeton.service.state import PoolIsFull, ServiceState, WorkPool
from jeton.service.wire import ServiceRoute, json_bytes
from jeton.watch.metrics import MonitorCollector

if TYPE_CHECKING:
    from jeton.service.settings import ServiceSettings
    from jeton.service.tokenizers import ServedTokenizer

PAGE = Path(__file__).parent / "page"
SHARED_ASSETS = Path(report.__file__).parent / "assets"
"""Styles and scripts that the page has in common with the reports."""


class FailureDetail(msgspec.Struct):
    """Reason why a request failed.

    Attributes:
        type: Stable name.
        message: Words.
        fields: Values for programs.
        hint: Remedy.
    """

    type: str
    message: str
    fields: dict[str, Any]
    hint: str = ""


class FailureBody(msgspec.Struct):
    """Body of every answer that is no success, on the service's own routes.

    Attributes:
        error: The reason.
    """

    error: FailureDetail


class TokenizerInfo(msgspec.Struct):
    """A tokenizer that is served.

    Attributes:
        name: Name that requests use.
        fingerprint: SHA-256 of its canonical form.
        digest: SHA-256 of its files; empty: it has none.
        algorithm: ``bpe``, ``unigram`` ...
        reference: The library whose ids it equals.
        vocab_size: Rows that an embedding needs.
        has_count_model: True if ``/v1/estimate`` can be calibrated.
    """

    name: str
    fingerprint: str
    digest: str
    algorithm: str
    reference: str
    vocab_size: int
    has_count_model: bool


class ServiceInfo(msgspec.Struct):
    """The service: version, tokenizers, limits.

    Attributes:
        version: Version of Jeton.
        tokenizers: Tokenizers; the first one is the default.
        limits: Limits by name.
        routes: Paths that take a POST.
    """

    version: str
    tokenizers: list[TokenizerInfo]
    limits: dict[str, float | None]
    routes: list[str]


_FAILURES = {
    400: "The request is not understood, or contradicts itself.",
    401: "The key is missing or not known.",
    404: "There is no such tokenizer or route.",
    408: "The body did not come in time.",
    413: "The request is beyond a limit.",
    415: "The body is no JSON, or is compressed.",
    422: "A chat template was stopped.",
    429: "Too many requests; Retry-After says when to try again.",
    501: "An optional package is not installed.",
    503: "The service is busy; Retry-After says when to try again.",
}


def create_app(
    settings: ServiceSettings,
    *,
    registry: CollectorRegistry | None = None,
    is_express: bool = True,
) -> Gate:
    """Return the service as an ASGI application.

    Args:
        settings: The settings; tokenizers are loaded at once.
        registry: Metrics that ``/metrics`` shows beside the service's own.
        is_express: False answers every route by the framework: slower, the same answers.

    Raises:
        JetonError: A tokenizer, a model of counts or a template cannot be used.
        UsageError: Two shapes want one path.

    Example:
        >>> from jeton.service import ServiceSettings, create_app
        >>> app = create_app(ServiceSettings(tokenizers={"main": "jeton-general-32k"}))
        >>> sorted(app.routes)[:2]
        ['/v1/chunk', '/v1/compare']
    """
    state = ServiceState(settings)
    metrics = ServiceMetrics(registry or CollectorRegistry())
    routes = _table(settings)
    limits = settings.limits
    quick = WorkPool(n_threads=limits.n_workers, max_waiting=limits.max_waiting)
    heavy = WorkPool(n_threads=limits.n_workers, max_waiting=limits.max_waiting)
    gate = Gate(
        _unset,
        routes=routes,
        state=state,
        metrics=metrics,
        quick=quick,
        heavy=heavy,
        is_express=is_express,
    )
    metrics.running.set_function(lambda: gate.n_running)
    metrics.held_bytes.set_function(lambda: gate.held_bytes)
    metrics.waiting.set_function(lambda: quick.n_waiting + heavy.n_waiting)
    starts: list[Any] = [quick.start, heavy.start]
    stops: list[Any] = [quick.stop, heavy.stop]
    if settings.shadow is not None:
        from jeton.service.mirror import read_mirror_plan
        from jeton.service.mirror.forwarding import Mirror

        gate.mirror = Mirror(read_mirror_plan(settings.shadow), metrics.registry, quick)
        stops.insert(0, gate.mirror.stop)
    handlers: list[Any] = [
        *(_handler(route, gate, heavy if route.is_heavy else quick) for route in routes.values()),
        *_fixed(gate, heavy),
    ]
    drift = open_drift(settings, state)
    if drift is not None:
        starts.append(drift.start)
        stops.append(drift.stop)
        handlers.append(drift.handler())
        metrics.registry.register(MonitorCollector(drift.monitor))
    if (PAGE / "index.html").is_file():
        handlers.extend(_page_handlers())
    framework: Any = Litestar(
        handlers,
        openapi_config=OpenAPIConfig(
            title="Jeton",
            version=__version__,
            description="Counts, ids, chunks and comparisons by real tokenizers.",
            tags=[Tag("own", "Routes of this service."), Tag("service", "Health and metrics.")],
            path="/openapi",
            render_plugins=[],
        ),
        exception_handlers={Exception: _shown(routes)},
        on_startup=starts,
        on_shutdown=stops,
        request_max_body_size=None,
        logging_config=None,
    )
    gate.framework = framework
    return gate


def _document(framework: Litestar, gate: Gate) -> bytes:
    """Make the OpenAPI document, a second of processor time."""
    document = framework.openapi_schema.to_schema()
    stream: Any = {"schema": {"type": "string", "format": "binary"}}
    for path, route in gate.routes.items():
        if route.arrow is not None:
            operation = document["paths"][path]["post"]
            operation["requestBody"]["content"][ARROW_TYPE] = stream
            operation["responses"]["200"]["content"][ARROW_TYPE] = stream
    document["paths"]["/v1/tokenizers"]["post"]["requestBody"] = {
        "required": True,
        "content": {"application/octet-stream": stream},
    }
    if gate.state.settings.keys:
        bearer = {"type": "http", "scheme": "bearer"}
        header = {"type": "apiKey", "in": "header", "name": "x-api-key"}
        schemes = document.setdefault("components", {}).setdefault("securitySchemes", {})
        schemes |= {"bearer": bearer, "key": header}
        document["security"] = [{"bearer": []}, {"key": []}]
    return json_bytes(document)


async def _unset(*_: Any) -> None:
    raise RuntimeError("the framework is set when the application is made")


def _table(settings: ServiceSettings) -> dict[str, ServiceRoute]:
    routes: dict[str, ServiceRoute] = {route.path: route for route in OWN_ROUTES}
    for name in settings.compat:
        for route in compat_routes(name):
            if route.path in routes:
                raise UsageError(
                    f"{name} and {routes[route.path].tag} both want the path {route.path}\n"
                    f"hint: {name}=/PREFIX puts the routes of one elsewhere"
                )
            routes[route.path] = route
    return routes


def _handler(route: ServiceRoute, gate: Gate, pool: WorkPool) -> Any:
    """Return the framework's handler of a route: the slow twin of the express lane."""

    async def handle(data: Any) -> Response[Any]:
        worked = await pool.run(route.run, gate.state, data)
        gate.note(route, worked)
        headers = {name.decode(): value.decode() for name, value in headers_of(worked)}
        return Response(worked.answer, headers=headers)

    body: Any = JSONBody
    handle.__annotations__ = {"data": body[route.request], "return": route.answer}
    handle.__doc__ = (route.work.__doc__ or route.summary).strip()
    failure: Any = FailureBody if route.shape is own_shape else dict[str, Any]
    return post(
        route.path,
        status_code=200,
        summary=route.summary,
        tags=[route.tag],
        operation_id=route.path.strip("/").replace("/", "_").replace(".", "_"),
        responses=_failures(failure),
    )(handle)


def _page_handlers() -> list[Any]:
    """Return a handler for each file of the page; no other path reaches the file system."""
    files = {"/": PAGE / "index.html"}
    for folder in (SHARED_ASSETS, PAGE):
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                files[f"/{file.relative_to(folder).as_posix()}"] = file
    return [handler for path, file in files.items() for handler in _file_handlers(path, file)]


def _file_handlers(path: str, file: Path) -> list[Any]:
    def show() -> File:
        return File(file, filename=file.name, content_disposition_type="inline")

    def show_head() -> File:
        return show()

    return [
        get(path, include_in_schema=False, sync_to_thread=False)(show),
        head(path, include_in_schema=False, sync_to_thread=False)(show_head),
    ]


def _failures(body: Any) -> dict[int, ResponseSpec]:
    """Document the answers of a route that are no success."""
    return {
        status: ResponseSpec(body, description=words, generate_examples=False)
        for status, words in _FAILURES.items()
    }


def _fixed(gate: Gate, heavy: WorkPool) -> list[Any]:
    """Routes that every service has beside the table."""
    state, metrics = gate.state, gate.metrics

    @get("/healthz", summary="Say that the process lives.", tags=["service"], sync_to_thread=False)
    def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @get(
        "/readyz",
        summary="Say if requests are welcome; 503 while the service stops.",
        tags=["service"],
        responses={
            503: ResponseSpec(
                dict[str, str], description="The service stops.", generate_examples=False
            )
        },
        sync_to_thread=False,
    )
    def readyz() -> dict[str, str]:
        return {"status": "ok"}

    @get(
        "/metrics",
        summary="Show metrics in Prometheus' text format.",
        tags=["service"],
        media_type=MediaType.TEXT,
        sync_to_thread=False,
    )
    def show_metrics() -> bytes:
        return metrics.text(state)

    @get("/openapi.json", include_in_schema=False, media_type=MediaType.JSON)
    async def openapi() -> bytes:
        gate.document = gate.document or await heavy.run(_document, gate.framework, gate)
        return gate.document

    @get(
        "/v1/info",
        summary="List tokenizers, limits and routes.",
        tags=["own"],
        operation_id="v1_info",
        sync_to_thread=False,
    )
    def info() -> ServiceInfo:
        limits = {name: getattr(state.limits, name) for name in state.limits.__dataclass_fields__}
        tokenizers = [_info(state, served) for served in state.tokenizers.all()]
        return ServiceInfo(__version__, tokenizers, limits, list(gate.routes))

    @post(
        "/v1/tokenizers",
        summary="Load a tokenizer's file for a while: its bytes are the body.",
        tags=["own"],
        operation_id="v1_tokenizers",
        status_code=200,
        responses=_failures(FailureBody),
    )
    async def upload(request: Request[Any, Any, Any]) -> TokenizerInfo:
        if not state.limits.max_uploads:
            raise ServiceFailure(HttpFailure(404, "no_uploads", "this service takes no tokenizers"))
        served = await heavy.run(state.tokenizers.upload, await request.body())
        return _info(state, served)

    @get(
        "/v1/shadow",
        summary="Show the mirror's stages and verdicts.",
        tags=["own"],
        operation_id="v1_shadow",
        sync_to_thread=False,
        include_in_schema=gate.mirror is not None,
        responses=_failures(FailureBody),
    )
    def shadow() -> dict[str, Any]:
        if gate.mirror is None:
            raise ServiceFailure(HttpFailure(404, "no_mirror", "this service has no mirror"))
        return gate.mirror.report()

    return [healthz, readyz, show_metrics, openapi, info, upload, shadow]


def _info(state: ServiceState, served: ServedTokenizer) -> TokenizerInfo:
    tokenizer = served.tokenizer
    return TokenizerInfo(
        served.name,
        served.fingerprint,
        served.digest,
        tokenizer.algorithm,
        tokenizer.reference,
        tokenizer.vocab_size,
        served.name in state.count_models,
    )


def _shown(
    routes: dict[str, ServiceRoute],
) -> Callable[[Request[Any, Any, Any], Exception], Response[Any]]:
    def show(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
        path = request.url.path
        route = routes.get(path)
        failure = _failure(error, path, route)
        headers = {}
        if failure.status == 405:
            allowed = request.app.route_handler_method_map.get(path, {})
            headers["allow"] = ", ".join(sorted(allowed))
        if failure.retry_seconds is not None:
            headers["retry-after"] = str(failure.retry_seconds)
        shape = route.shape if route else _shape_of(request, routes)
        return Response(
            json_bytes(shape(failure)),
            status_code=failure.status,
            media_type=MediaType.JSON,
            headers=headers,
        )

    return show


def _shape_of(request: Request[Any, Any, Any], routes: dict[str, ServiceRoute]) -> Shape:
    """Return the shape of failures on paths that are none, by the client that asks."""
    for header, tag in (("anthropic-version", "anthropic"), ("x-stainless-lang", "openai")):
        if header in request.headers:
            return next((r.shape for r in routes.values() if r.tag == tag), own_shape)
    return own_shape


def _failure(error: Exception, path: str, route: ServiceRoute | None) -> HttpFailure:
    if isinstance(error, PoolIsFull):
        return HttpFailure(503, "busy", "the service is busy", "try again", {}, 1)
    found = failure_of(error)
    if found is not None:
        return found
    if isinstance(error, HTTPException):
        status = error.status_code
        if status == 400 and route is not None:
            extra = getattr(error, "extra", None) or [{}]
            first = extra[0] if isinstance(extra, list) and isinstance(extra[0], dict) else {}
            words = str(first.get("message") or error.detail)
            return HttpFailure(route.invalid_status, "invalid_request", words, "see /openapi.json")
        names = {404: "not_found", 405: "method_not_allowed"}
        return HttpFailure(status, names.get(status, "http"), error.detail)
    log_fault(error, path)
    return HttpFailure(500, "internal", "the service failed; its log has the place")
