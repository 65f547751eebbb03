"""The lineage of what is pushed."""

from __future__ import annotations

from pathlib import Path

from calve.backfill.lineage import Cause, How, Lineage
from calve.backfill.lineage.loading import forget_lineage, load_lineage
from calve.engine.orchestrator import Orchestrator
from calve.settings import Settings, load_settings
from calve.state.orchestration import workflow_versions
from calve.workflow.definition import load_yaml

SPARK = """
Workflow:
  id: {id}
  jobs: [{{job: {{id: a, type: Spark, script: INSERT INTO {to} SELECT * FROM {source}}}}}]
"""


def push(orchestrator: Orchestrator, workflow_id: str, source: str = "db.a", to: str = "db.b") -> None:
    push_yaml(orchestrator, SPARK.format(id=workflow_id, source=source, to=to))


def push_yaml(orchestrator: Orchestrator, text: str) -> None:
    loaded = load_yaml(text, file="w.yaml", types=orchestrator.job_types())
    orchestrator.push(loaded.definition, "tester")


def load(orchestrator: Orchestrator, settings: Settings | None = None) -> Lineage:
    with orchestrator.database.read() as connection:
        return load_lineage(connection, settings or orchestrator.settings)


def test_the_active_version_counts_and_else_the_latest(orchestrator: Orchestrator) -> None:
    push(orchestrator, "w", to="db.one")
    push(orchestrator, "w", to="db.two")
    assert load(orchestrator).workflow("w").written_names == ("lake.db.two",)
    orchestrator.activate("w", 1, "tester")
    found = load(orchestrator).workflow("w")
    assert (found.version, found.written_names) == (1, ("lake.db.one",))
    orchestrator.deactivate("w", "tester")
    assert load(orchestrator).workflow("w").version == 2


def test_whatever_changes_is_seen_on_postgresql_too(home: Path, postgres_url: str) -> None:
    settings = load_settings(home).model_copy(update={"state_url": postgres_url})
    orchestrator = Orchestrator(settings)
    assert not load(orchestrator).workflows
    for target in ("db.one", "db.two"):
        push(orchestrator, "w", to=target)
        push(orchestrator, "v", to=target)
        assert load(orchestrator).workflow("w").written_names == (f"lake.{target}",)
    first = load(orchestrator)
    assert load(orchestrator) is first
    # Two that take each other's place are not taken for none.
    orchestrator.activate("w", 1, "tester")
    one = load(orchestrator)
    orchestrator.activate("w", 2, "tester")
    orchestrator.activate("v", 1, "tester")
    other = load(orchestrator)
    assert [found.workflow("w").version for found in (first, one, other)] == [2, 1, 2]
    orchestrator.delete("v", "tester")
    assert list(load(orchestrator).workflows) == ["w"]
    orchestrator.database.close()


def test_what_backfills_push_for_themselves_is_left_out(orchestrator: Orchestrator) -> None:
    for name in ("w", "backfill-7", "backfill-7.w", "backfill_daily"):
        push(orchestrator, name)
    assert list(load(orchestrator).workflows) == ["backfill_daily", "w"]


def test_only_new_versions_are_read(orchestrator: Orchestrator) -> None:
    push(orchestrator, "one")
    push(orchestrator, "two")
    first = load(orchestrator)
    assert load(orchestrator) is first
    push(orchestrator, "two", to="db.c")
    second = load(orchestrator)
    assert second.tables == ("lake.db.a", "lake.db.b", "lake.db.c")
    assert second.workflow("one") is first.workflow("one")
    forget_lineage()
    assert load(orchestrator).workflow("one") is not first.workflow("one")


def test_a_workflow_that_is_deleted_goes_and_one_pushed_anew_is_read_anew(orchestrator: Orchestrator) -> None:
    push(orchestrator, "w", to="db.one")
    assert load(orchestrator).workflow("w").written_names == ("lake.db.one",)
    orchestrator.delete("w", "tester")
    assert not load(orchestrator).workflows
    push(orchestrator, "w", to="db.two")
    assert load(orchestrator).workflow("w").written_names == ("lake.db.two",)


def test_a_version_that_is_not_understood_does_not_hide_the_others(orchestrator: Orchestrator) -> None:
    push(orchestrator, "old")
    push(orchestrator, "w")
    with orchestrator.database.write() as connection:
        broken = workflow_versions.update().where(workflow_versions.c.workflow_id == "old")
        connection.execute(broken.values(definition='{"workflow": {"id": "old", "steps": 5}}'))
    found = load(orchestrator)
    assert found.workflow("old").unknown[0].cause is Cause.SCRIPT
    assert found.workflow("w").written_names == ("lake.db.b",)


def test_names_follow_the_settings(orchestrator: Orchestrator, home: Path) -> None:
    push(orchestrator, "w", source="other.db.a")
    assert load(orchestrator).workflow("w").unknown
    catalogs = {**orchestrator.settings.catalogs, "other": orchestrator.settings.catalogs["lake"]}
    settings = orchestrator.settings.model_copy(update={"catalogs": catalogs, "default_catalog": "lake"})
    assert load(orchestrator, settings).tables == ("lake.db.b", "other.db.a")


def test_steps_from_job_templates_have_what_their_template_gives(orchestrator: Orchestrator) -> None:
    script = {"value": "INSERT INTO ${to} SELECT * FROM db.a", "type": "STRING"}
    template = {"job_type": "Copy", "step_type": "Spark", "params": {"script": script}}
    orchestrator.put_template(template, "tester")
    push_yaml(orchestrator, "Workflow: {id: w, jobs: [{job: {id: a, type: Copy, to: db.t}}]}")
    found = load(orchestrator).workflow("w")
    assert (found.read_names, found.written_names) == (("lake.db.a",), ("lake.db.t",))
    changed = {**template, "params": {"script": {**script, "value": "INSERT INTO ${to} SELECT * FROM db.z"}}}
    orchestrator.put_template(changed, "tester")
    assert load(orchestrator).workflow("w").read_names == ("lake.db.z",)


def test_declared_tables_do_not_reach_the_job(orchestrator: Orchestrator) -> None:
    push_yaml(
        orchestrator,
        "Workflow: {id: w, jobs: [{job: {id: a, type: Shell, script: x, reads: [db.a], writes: [db.b]}}]}",
    )
    (write,) = load(orchestrator).workflow("w").writes
    assert (write.table, write.how) == ("lake.db.b", frozenset({How.DECLARED}))
