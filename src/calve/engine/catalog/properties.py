"""Properties: what changes without a new version. Every change is kept."""

from __future__ import annotations

from sqlalchemy import Connection, insert

from calve.engine.catalog.rows import WorkflowRow, change_workflow, count_unfinished, lock_workflow
from calve.engine.catalog.versions import load_definition
from calve.engine.outbox import dump, record_event, wake_queue
from calve.engine.triggers.subscriptions import sync_triggers
from calve.errors import ConflictError, NotFoundError, UsageError
from calve.state.orchestration import property_changes
from calve.workflow.definition.properties import Properties
from calve.workflow.definition.run_strategy import Rule
from calve.workflow.definition.tags import Tag

_ONE_AT_A_TIME = (Rule.FIRST_ONLY, Rule.LAST_ONLY)


def set_properties(
    connection: Connection, workflow_id: str, properties: Properties, author: str, now_ms: int
) -> Properties:
    """Change the properties that are stated, and leave the others; gives all of them."""
    refuse_tags(properties)
    workflow = lock_workflow(connection, workflow_id)
    return _change(connection, workflow, properties.merged_over(workflow.properties), author, now_ms)


def add_tag(connection: Connection, workflow_id: str, tag: Tag, author: str, now_ms: int) -> Properties:
    """Put a tag on a workflow; one of the same name is replaced."""
    workflow = lock_workflow(connection, workflow_id)
    others = [found for found in workflow.properties.tags if found.name != tag.name]
    return _change(connection, workflow, _tagged(workflow, (*others, tag)), author, now_ms)


def remove_tag(connection: Connection, workflow_id: str, name: str, author: str, now_ms: int) -> Properties:
    """Take a tag off a workflow; TAG_NOT_FOUND if it has none of that name."""
    workflow = lock_workflow(connection, workflow_id)
    others = tuple(found for found in workflow.properties.tags if found.name != name)
    if len(others) == len(workflow.properties.tags):
        there = ", ".join(tag.name for tag in workflow.properties.tags)
        raise NotFoundError(
            "TAG_NOT_FOUND",
            f"the workflow '{workflow_id}' has no tag '{name}' among its properties",
            f"it has {there}" if there else "it has none",
        )
    return _change(connection, workflow, _tagged(workflow, others), author, now_ms)


def refuse_tags(properties: Properties) -> None:
    """Refuse tags among properties that are set as a whole."""
    if properties.tags:
        raise UsageError(
            "PROPERTY_TAGS",
            f"the properties have the tags {', '.join(tag.name for tag in properties.tags)}",
            "write them under `tags` of the workflow, or add them one by one",
        )


def store_properties(
    connection: Connection, workflow: WorkflowRow, changed: Properties, author: str, now_ms: int
) -> int:
    """Keep properties that changed, under the next number; gives the number that they have."""
    version = workflow.properties_version
    if changed != workflow.properties:
        _check_strategy(connection, workflow, changed)
        version += 1
        columns = {"properties": changed, "properties_version": version}
        change_workflow(connection, workflow.workflow_id, now_ms, **columns)
        log_change(connection, workflow.workflow_id, version, changed, author, now_ms)
    return version


def sync_active(
    connection: Connection, workflow_id: str, active: int | None, properties: Properties, now_ms: int
) -> None:
    """Bring the triggers to what the active version, if there is one, and the properties say."""
    workflow = None if active is None else load_definition(connection, workflow_id, active).workflow
    sync_triggers(connection, workflow_id, workflow, properties, now_ms)


def _check_strategy(connection: Connection, workflow: WorkflowRow, changed: Properties) -> None:
    """Refuse a run strategy that allows one instance while there are more."""
    former, strategy = workflow.properties.run_strategy, changed.run_strategy
    if strategy is None or strategy.rule not in _ONE_AT_A_TIME:
        return
    if former is not None and former.rule is strategy.rule:
        return
    if count_unfinished(connection, workflow.workflow_id, at_most=2) > 1:
        raise ConflictError(
            "RUN_STRATEGY_CONFLICT",
            f"the workflow '{workflow.workflow_id}' has more than one instance that has not ended, "
            f"and {strategy.rule.lower()} allows one",
            "wait until they end, or stop them",
        )


def log_change(
    connection: Connection, workflow_id: str, version: int, properties: Properties, author: str, now_ms: int
) -> None:
    """Keep what the properties were changed to, and by whom."""
    connection.execute(
        insert(property_changes).values(
            workflow_id=workflow_id,
            properties_version=version,
            properties=dump(properties.to_json()),
            author=author,
            created_at=now_ms,
        )
    )


def _change(
    connection: Connection, workflow: WorkflowRow, changed: Properties, author: str, now_ms: int
) -> Properties:
    version = store_properties(connection, workflow, changed, author, now_ms)
    if version != workflow.properties_version:
        workflow_id = workflow.workflow_id
        sync_active(connection, workflow_id, workflow.active_version, changed, now_ms)
        data = {"action": "properties_changed", "properties_version": version, "author": author}
        record_event(connection, now_ms, "workflow", workflow_id, data)
        wake_queue(connection, workflow_id)
    return changed


def _tagged(workflow: WorkflowRow, tags: tuple[Tag, ...]) -> Properties:
    return workflow.properties.model_copy(update={"tags": tags})
