"""The form of a plan: what it offers, and what it says as a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select

from calve.backfill.lineage.loading import BACKFILL_PREFIX
from calve.errors import CalveError, UsageError
from calve.server.dependencies import Json
from calve.state.orchestration import workflows

#: What the fields hold before anything is typed; a box that is not ticked is empty.
DEFAULTS: Mapping[str, str] = {
    "workflow_id": "",
    "from": "",
    "to": "",
    "column": "",
    "chunk": "day",
    "downstream": "all",
    "reason": "",
    "params": "",
    "order": "newest",
    "concurrency": "2",
    "keys": "",
    "audits": "",
    "thresholds": "",
    "auto_publish": "",
    "keep_rows": "",
    "no_wap": "",
}
#: So many names are offered; others can be typed.
_OFFERED = 200


def form_model(connection: Connection, values: Mapping[str, str], error: CalveError | None = None) -> Json:
    """The form with these values, and what was wrong with them."""
    own = workflows.c.workflow_id.startswith(BACKFILL_PREFIX, autoescape=True)
    query = select(workflows.c.workflow_id).where(~own).order_by(workflows.c.workflow_id).limit(_OFFERED)
    return {
        "values": {name: values.get(name, "") for name in DEFAULTS},
        "workflows": list(connection.execute(query).scalars()),
        "error": None if error is None else error.to_json(),
        "command": "calve backfill plan WORKFLOW --from VALUE --to VALUE",
    }


def read_form(fields: Mapping[str, str]) -> Json:
    """The request that a form says. Raises BACKFILL_REQUEST_INVALID for what cannot be read."""
    given = {**dict.fromkeys(DEFAULTS, ""), **{name: text.strip() for name, text in fields.items()}}
    body: dict[str, Any] = {name: given[name] for name in ("workflow_id", "from", "to")}
    if missing := [name for name, text in body.items() if not text]:
        raise _invalid(f"{', '.join(missing)}: nothing was given", "fill in the workflow and both bounds")
    optional = ("column", "chunk", "reason", "order")
    body |= {name: given[name] for name in optional if given[name]}
    names = [name.strip() for name in given["downstream"].split(",") if name.strip()]
    keys = read_assignments("keys", given["keys"])
    return body | {
        "downstream": names or ["all"],
        "params": read_assignments("params", given["params"]),
        "keys": {table: [x.strip() for x in text.split(",")] for table, text in keys.items()},
        "audits": read_assignments("audits", given["audits"]),
        "thresholds": read_assignments("thresholds", given["thresholds"]),
        "concurrency": _number(given["concurrency"] or DEFAULTS["concurrency"]),
        "auto_publish": bool(given["auto_publish"]),
        "clear": not given["keep_rows"],
        "on_branch": not given["no_wap"],
    }


def read_assignments(field: str, text: str) -> dict[str, str]:
    """Lines of NAME=VALUE. Raises BACKFILL_REQUEST_INVALID."""
    found = {}
    for line in filter(str.strip, text.splitlines()):
        name, sign, value = line.partition("=")
        if not (name.strip() and sign):
            raise _invalid(f"{field}: found '{line.strip()}'", "write one NAME=VALUE a line")
        found[name.strip()] = value.strip()
    return found


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise _invalid(f"concurrency: found '{text}'", "give a number")
    return int(text)


def _invalid(found: str, remedy: str) -> UsageError:
    return UsageError("BACKFILL_REQUEST_INVALID", found, remedy)
