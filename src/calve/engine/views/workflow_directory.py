"""What is said of workflows, for searches: read from a definition once, and kept while it is current."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import URL, Connection, Row, Select, and_, func, select

from calve.engine.views.documents import Json, load_map, version_workflow
from calve.state.orchestration import workflow_versions, workflows

#: The version that a list speaks of.
SHOWN_VERSION = func.coalesce(workflows.c.active_version, workflows.c.latest_version)
#: What tells whether something else is said of a workflow. One that is deleted and pushed anew was made at
#: another time.
KEY_COLUMNS = (
    workflows.c.workflow_id,
    SHOWN_VERSION.label("shown_version"),
    workflows.c.properties_version,
    workflows.c.created_at,
)
#: Past so many of one state, those of deleted workflows among them, all are read anew.
_KEPT = 100_000

_Key = tuple[str, int, int, int]


@dataclass(frozen=True, slots=True)
class Said:
    """What a search looks at. All in small letters."""

    owner: str
    tags: frozenset[str]
    #: A line each, so that a search looks at one text for each workflow.
    texts: str

    def mentions(self, wanted: str) -> bool:
        """Whether a text, in small letters, occurs."""
        return wanted in self.texts


_NOTHING = Said("", frozenset(), "")

_lock = threading.Lock()
_kept: dict[URL, dict[_Key, Said]] = {}


def read_said(connection: Connection, rows: Sequence[Row[Any]]) -> list[Said]:
    """What is said of the workflows of some rows, which have the columns `KEY_COLUMNS`."""
    keys = [_key(row) for row in rows]
    with _lock:
        known = _kept.get(connection.engine.url, {})
        if len(known) > _KEPT:
            # Not emptied: others may be reading it.
            known = {}
        _kept[connection.engine.url] = known
    missing = [key[0] for key in keys if key not in known]
    read = _read(connection, missing) if missing else {}
    with _lock:
        known.update(read)
    # One that was changed, or deleted, since its row was read is left to the next search.
    return [known.get(key) or _NOTHING for key in keys]


def describe(definition: Json, properties: Json) -> Json:
    """Name, description, owner and tags, from the definition and the properties."""
    workflow = version_workflow(definition) if definition else {}
    return {
        "name": workflow.get("name"),
        "description": workflow.get("description") or properties.get("description"),
        "owner": properties.get("owner"),
        "tags": tag_names([*workflow.get("tags", []), *properties.get("tags", [])]),
    }


def tag_names(tags: Sequence[Any]) -> list[str]:
    """The names of tags, which are texts or have more to them."""
    return [tag if isinstance(tag, str) else tag["name"] for tag in tags]


def owner_name(owner: Any) -> str | None:
    """The name of an owner, who is a text or has more to them."""
    return owner.get("name") if isinstance(owner, dict) else owner


def _key(row: Row[Any]) -> _Key:
    # Not by their names: a search does it for every workflow there is.
    key: _Key = row[: len(KEY_COLUMNS)]
    return key


def _read(connection: Connection, workflow_ids: Sequence[str]) -> Mapping[_Key, Said]:
    version = and_(
        workflow_versions.c.workflow_id == workflows.c.workflow_id,
        workflow_versions.c.version == SHOWN_VERSION,
    )
    query: Select[Any] = (
        select(*KEY_COLUMNS, workflows.c.properties, workflow_versions.c.definition)
        .join(workflow_versions, version)
        .where(workflows.c.workflow_id.in_(workflow_ids))
    )
    return {
        _key(row): _said(row.workflow_id, describe(load_map(row.definition), load_map(row.properties)))
        for row in connection.execute(query)
    }


def _said(workflow_id: str, described: Json) -> Said:
    owner = (owner_name(described["owner"]) or "").lower()
    tags = [tag.lower() for tag in described["tags"]]
    texts = (workflow_id, described["name"] or "", described["description"] or "", owner, *tags)
    return Said(owner, frozenset(tags), "\n".join(texts).lower())
