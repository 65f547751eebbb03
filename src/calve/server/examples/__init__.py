"""Examples of requests and answers, by operation: a small story of orders, processed as they arrive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calve.server.examples import backfills, definitions, library, running, tables, views

#: The body of a request; a text is YAML.
REQUESTS: Mapping[str, Any] = {
    **definitions.REQUESTS,
    **running.REQUESTS,
    **library.REQUESTS,
    **tables.REQUESTS,
    **backfills.REQUESTS,
}
#: The body of an answer; a text is a stream of events.
ANSWERS: Mapping[str, Any] = {
    **definitions.ANSWERS,
    **running.ANSWERS,
    **library.ANSWERS,
    **tables.ANSWERS,
    **backfills.ANSWERS,
    **views.ANSWERS,
}
ERROR: Mapping[str, Any] = {
    "status": 404,
    "code": "WORKFLOW_NOT_FOUND",
    "message": "there is no workflow 'oders'",
    "remedy": "did you mean 'orders'?",
}
