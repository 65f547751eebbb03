"""A YAML file: `Workflow:`, and beside it `Description:`, `Trigger:` and what else is said of it."""

from __future__ import annotations

from calve.workflow.definition.dsl import words
from calve.workflow.definition.dsl.jobs import Reading, read_jobs, warn_of_near_miss
from calve.workflow.definition.dsl.note import is_flat, read_flat_steps
from calve.workflow.definition.dsl.scalars import as_text, copy, copy_texts, expect_map, one_of
from calve.workflow.definition.dsl.trigger import read_triggers
from calve.workflow.definition.dsl.values import put_param
from calve.workflow.definition.properties import STEP_CONCURRENCY_DEFAULT
from calve.workflow.definition.run_strategy import Rule
from calve.workflow.definition.tree import MapBuilder, Node


def is_document(node: Node) -> bool:
    """True if the tree is of the YAML language, and not of the model's own form."""
    workflow = node.get("workflow")
    own_form = workflow is not None and node.get("Workflow") is None and workflow.get("steps") is not None
    return not (own_form and workflow is not None and not is_flat(workflow.get("steps")))


def read_document(node: Node, reading: Reading) -> Node | None:
    """The file in the model's form; None, and errors, if there is no workflow in it."""
    problems = reading.problems
    if not expect_map(node, "the file", problems):
        return None
    for key, at, _ in node.entries():
        if key not in words.DOCUMENT:
            problems.error(
                "KEY_UNKNOWN",
                f"'{key}' is not a part of a workflow file",
                at,
                found=key,
                expected="Workflow, Description, Trigger or Properties",
                among=words.DOCUMENT,
            )
    workflow = one_of(node, problems, *words.WORKFLOW_WORDS)
    if workflow is None:
        problems.error("KEY_MISSING", "there is no workflow in it", node.at, expected="the key 'Workflow:'")
        return None
    if not expect_map(workflow, "the workflow", problems):
        return None
    made = MapBuilder(node.at)
    made.put("properties", _properties(node, workflow, reading))
    made.put("workflow", _workflow(node, workflow, reading))
    copy(node, made, "is_active", "git_info")
    metadata = node.get(words.METADATA_WORD)
    if metadata is not None and expect_map(metadata, "metadata", problems):
        copy(metadata, made, *metadata.value)
    return made.build()


def _workflow(node: Node, workflow: Node, reading: Reading) -> Node:
    problems = reading.problems
    made = MapBuilder(workflow.at)
    flat = workflow.get("steps") if workflow.get("jobs") is None and is_flat(workflow.get("steps")) else None
    copy_texts(workflow, made, "id", "name", "description")
    if flat is not None and "id" not in made:
        made = MapBuilder(workflow.at)
        made.put("id", as_text(workflow.get("name")), workflow.keys.get("name"))
        copy_texts(workflow, made, "description")
    _put_description(node, made, reading)
    copy(workflow, made, "tags", "timeout", "criticality", "instance_step_concurrency")
    triggers = one_of(node, problems, *words.TRIGGER_WORDS)
    if triggers is not None:
        read_triggers(triggers, made, problems)
    known = words.WORKFLOW | ({"steps"} if flat is not None else set())
    params = MapBuilder(workflow.at)
    for key, at, value in workflow.entries():
        if key not in known:
            warn_of_near_miss(key, at, known | set(words.TRIGGER_WORDS), problems)
            put_param(params, key, at, value, problems)
    if params:
        made.put("params", params.build())
    jobs = workflow.get("jobs")
    if flat is not None:
        made.put("steps", read_flat_steps(flat, reading), workflow.keys["steps"])
    elif jobs is not None:
        made.put("steps", read_jobs(jobs, workflow.get("dag"), reading), workflow.keys["jobs"])
    else:
        problems.error(
            "KEY_MISSING",
            "the workflow has no jobs",
            workflow.at,
            expected="the key 'jobs:' with at least one job",
        )
    return made.build()


def _put_description(node: Node, made: MapBuilder, reading: Reading) -> None:
    stated = as_text(one_of(node, reading.problems, *words.DESCRIPTION_WORDS))
    if stated is None:
        return
    if "description" in made:
        reading.problems.error(
            "KEY_DUPLICATE",
            "the workflow is described here and under 'Workflow:'",
            stated.at,
            found="Description",
            expected="one description",
            remedy="Remove one of the two.",
        )
    made.put("description", stated)


def _properties(node: Node, workflow: Node, reading: Reading) -> Node:
    problems = reading.problems
    made = MapBuilder(workflow.at)
    stated = one_of(node, problems, *words.PROPERTIES_WORDS)
    if stated is not None and expect_map(stated, "the properties", problems):
        copy(stated, made, *stated.value)
    for key in words.WORKFLOW_PROPERTIES:
        if key in made and workflow.get(key) is not None:
            problems.error(
                "KEY_DUPLICATE",
                f"'{key}' stands under 'Properties:' and under 'Workflow:'",
                workflow.keys[key],
                found=key,
                expected="one of the two",
                remedy="Remove one of the two.",
            )
    copy(workflow, made, "owner")
    strategy = _strategy(workflow, reading)
    if strategy is not None:
        made.put("run_strategy", strategy, workflow.keys.get("run_strategy"))
    elif "run_strategy" not in made:
        made.put("run_strategy", {"rule": Rule.SEQUENTIAL.value, "workflow_concurrency": 1})
    copy(workflow, made, "step_concurrency")
    if "step_concurrency" not in made:
        made.put("step_concurrency", STEP_CONCURRENCY_DEFAULT)
    return made.build()


def _strategy(workflow: Node, reading: Reading) -> Node | None:
    stated, concurrency = workflow.get("run_strategy"), workflow.get("workflow_concurrency")
    if stated is None and concurrency is not None:
        reading.problems.warn(
            "WORD_WITHOUT_EFFECT",
            "'workflow_concurrency' has no effect without 'run_strategy: parallel'",
            workflow.keys["workflow_concurrency"],
        )
    if stated is None or stated.text is None or concurrency is None:
        return stated
    made = MapBuilder(stated.at)
    made.put("rule", stated)
    made.put("workflow_concurrency", concurrency, workflow.keys["workflow_concurrency"])
    return made.build()
