"""The workflow files that the seeds print are accepted as they stand there."""

from __future__ import annotations

import pytest

from calve.workflow.definition import Loaded, SubworkflowStep, TypedStep, load_yaml, to_yaml
from calve.workflow.params.model import ParamType
from unit.workflow.definition.helpers import SEEDS, Texts, successors

STATUS = "params.getFromStep('normal_workflow', 'MAESTRO_STEP_STATUS') == 'COMPLETED_WITH_ERROR'"


def load(name: str) -> Loaded:
    files = Texts({"my_script.sql": (SEEDS / "my_script.sql").read_text()})
    return load_yaml((SEEDS / name).read_text(), file=name, files=files)


def test_demo_pipeline_has_its_trigger_description_and_query() -> None:
    loaded = load("demo.yaml")
    workflow = loaded.definition.workflow
    assert workflow.id == "demo.pipeline"
    assert workflow.description == (
        "This is a sample description to [a Maestro workflow](https://github.com/Netflix/maestro)"
    )
    assert [trigger.to_json() for trigger in workflow.time_triggers] == [
        {"type": "PREDEFINED", "expression": "@daily"}
    ]
    assert workflow.params["my_query"].value.startswith("INSERT OVERWRITE TABLE ${TARGET_TABLE} SELECT")
    (step,) = workflow.steps
    assert isinstance(step, TypedStep)
    assert (step.id, step.type) == ("job.1", "Spark")
    assert step.params["spark"].value == {"script": "${my_query}"}
    assert loaded.definition.properties.owner is None


def test_names_that_only_a_start_can_supply_are_warnings() -> None:
    warnings = load("demo.yaml").warnings
    assert [warning.code for warning in warnings] == ["PARAM_UNDEFINED", "PARAM_UNDEFINED"]
    assert "${SOURCE_TABLE}" in warnings[0].message
    assert "${TARGET_TABLE}" in warnings[1].message


def test_auto_remediation_pipeline_branches_on_the_status() -> None:
    definition = load("auto_remediation.yaml").definition
    assert successors(definition) == {
        "normal_workflow": {"check_status": "true"},
        "check_status": {"recovery": STATUS, "end": f"!(({STATUS}))"},
        "recovery": {"re_run": "true"},
        "re_run": {"end": "true"},
        "end": {},
    }
    normal = definition.workflow.steps[0]
    assert isinstance(normal, SubworkflowStep)
    assert normal.workflow_id.value == "demo.pipeline"
    assert normal.failure_mode == "IGNORE_FAILURE"


def test_incremental_pipeline_includes_its_script() -> None:
    definition = load("incremental.yaml").definition
    capture, sub, commit = definition.workflow.steps
    assert isinstance(capture, TypedStep)
    assert capture.type == "IpCapture"
    options = capture.params["ip_capture"]
    assert options.type is ParamType.MAP
    assert options.members["source_tables"].value == ["membership_table"]
    assert options.members["data_operations"].value == ["append"]
    assert sub.params["my_query"].value == "INSERT INTO target SELECT * FROM ${SOURCE_TABLE}\n"
    assert commit.params["ip_commit"].value == {"capture_step": "capture_change"}
    assert successors(definition) == {
        "capture_change": {"auto.remediation.pipeline": "true"},
        "auto.remediation.pipeline": {"commit_checkpoint": "true"},
        "commit_checkpoint": {},
    }


def test_the_note_s_flat_steps_are_jobs() -> None:
    definition = load("playback_daily.yaml").definition
    assert definition.workflow.id == "playback_daily_workflow"
    capture, transform, commit = definition.workflow.steps
    assert isinstance(capture, TypedStep)
    assert isinstance(transform, TypedStep)
    assert isinstance(commit, TypedStep)
    assert (capture.type, transform.type) == ("ICDC", "Spark")
    assert capture.params["sourceTable"].value == "db.playback_table"
    assert transform.params["script"].value == "merge_incremental_spark_job.py"
    assert successors(definition) == {
        "capture_icdc": {"transform_new_data": "true"},
        "transform_new_data": {"commit_capture_icdc": "true"},
        "commit_capture_icdc": {},
    }
    assert commit.type == "IpCommit"
    assert commit.params["capture_step"].value == "capture_icdc"


@pytest.mark.parametrize(
    "name", ["demo.yaml", "auto_remediation.yaml", "incremental.yaml", "playback_daily.yaml"]
)
def test_what_is_written_reads_back_as_the_same(name: str) -> None:
    definition = load(name).definition
    assert load_yaml(to_yaml(definition)).definition == definition
