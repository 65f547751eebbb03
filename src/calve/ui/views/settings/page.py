"""What Calve knows about its surroundings, and who is there."""

from __future__ import annotations

from datetime import timedelta

from fastapi import Request

from calve import __version__
from calve.engine.views.counting import COUNT_LIMIT
from calve.server.dependencies import Json, Orchestrating
from calve.settings import Settings, SparkSettings
from calve.state.clock import now_ms
from calve.ui.pages import Pages
from calve.ui.views.settings.engines import engines, permit_use, queues
from calve.ui.views.settings.masking import mask_url, mask_value

pages = Pages()

_SHOWN = ("type", "uri", "warehouse")


@pages.page("/settings", "settings.html")
def settings(request: Request, orchestrator: Orchestrating) -> Json:
    """Catalogs, Spark, engines with their heartbeat, queues, permits. Secrets are not shown."""
    known = orchestrator.settings
    lease_ms = known.engine.lease // timedelta(milliseconds=1)
    with orchestrator.database.read() as connection:
        live = {
            "engines": engines(connection, lease_ms, now_ms()),
            "queues": queues(connection),
            "permits": permit_use(connection),
        }
    return {
        "calve_version": __version__,
        "home": str(known.home),
        "api": str(request.base_url).rstrip("/"),
        "has_token": bool(known.api.token or known.api.token_file),
        "state": {
            "kind": orchestrator.database.url.split(":")[0].split("+")[0],
            "url": mask_url(orchestrator.database.url),
        },
        "catalogs": _catalogs(known),
        "spark": _spark(known.spark),
        "icdc": {"namespace": known.icdc.namespace, "ttl_ms": known.icdc.ttl // timedelta(milliseconds=1)},
        "engine": {
            "lease_ms": lease_ms,
            "table_poll_ms": known.engine.table_poll // timedelta(milliseconds=1),
        },
        **live,
        "count_limit": COUNT_LIMIT,
        "command": "calve spark-conf",
    }


def _catalogs(known: Settings) -> list[Json]:
    """The catalogs as the settings name them: what they only refer to stays a reference."""
    return [
        {
            "name": name,
            "is_default": name == known.default_catalog or len(known.catalogs) == 1,
            **{key: mask_value(key, properties.get(key, "")) for key in _SHOWN},
            "more": {key: mask_value(key, text) for key, text in properties.items() if key not in _SHOWN},
        }
        for name, properties in known.catalogs.items()
    ]


def _spark(spark: SparkSettings) -> Json:
    return {
        "session": spark.session,
        "master": mask_url(spark.master),
        "url": None if spark.url is None else mask_url(spark.url),
        "packages": list(spark.packages),
        "idle_timeout_ms": spark.idle_timeout // timedelta(milliseconds=1),
        "conf": {key: mask_value(key, text) for key, text in spark.conf.items()},
    }
