"""Routes for an orchestrator and Prometheus: liveness, readiness, metrics."""

from fastapi import APIRouter, FastAPI
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import JSONResponse, Response

from docmill.service.observe.health import VAULT_HEADER, HealthReport
from docmill.service.probes import Probes
from docmill.web.api.shapes import Health
from docmill.web.security import OnlyFromHere

_NOT_NOW = 503


class ProbeRoutes:
    """`/healthz`, `/readyz` and `/metrics` of a process."""

    def __init__(self, probes: Probes) -> None:
        self._probes = probes

    def router(self) -> APIRouter:
        """The routes, for an application."""
        failing = {_NOT_NOW: {"model": Health}}
        router = APIRouter(tags=["health"])
        router.add_api_route("/healthz", self.healthz, response_model=Health, responses={**failing})
        router.add_api_route("/readyz", self.readyz, response_model=Health, responses={**failing})
        router.add_api_route("/metrics", self.metrics, response_class=Response)
        return router

    async def healthz(self) -> JSONResponse:
        """Liveness: this process can work at all, since its database answers. A header names the vault."""
        answer = _answer(await self._probes.health.alive())
        if self._probes.vault_id is not None:
            answer.headers[VAULT_HEADER] = str(self._probes.vault_id)
        return answer

    async def readyz(self) -> JSONResponse:
        """Readiness: database, queue and file store answer, and this process is not stopping."""
        return _answer(await self._probes.health.ready())

    async def metrics(self) -> Response:
        """Metrics of this process in Prometheus' text format."""
        return Response(await self._probes.scrape(), headers={"content-type": CONTENT_TYPE_LATEST})


def create_probe_app(probes: Probes) -> FastAPI:
    """The three routes alone, for a process that has no others."""
    app = FastAPI(title="docmill", openapi_url=None, docs_url=None, redoc_url=None)
    app.include_router(ProbeRoutes(probes).router())
    app.add_middleware(OnlyFromHere)
    return app


def _answer(report: HealthReport) -> JSONResponse:
    content = Health(status=report.status, checks=dict(report.checks))
    return JSONResponse(
        content.model_dump(), 200 if report.ok else _NOT_NOW, headers={"cache-control": "no-store"}
    )
