"""The words of the YAML language. Under a workflow or a job, every other key is a param."""

from __future__ import annotations

WORKFLOW_WORDS = ("Workflow", "workflow")
DESCRIPTION_WORDS = ("Description", "description")
TRIGGER_WORDS = ("Trigger", "trigger", "Triggers", "triggers")
PROPERTIES_WORDS = ("Properties", "properties")
METADATA_WORD = "metadata"
DOCUMENT = frozenset(
    {
        *WORKFLOW_WORDS,
        *DESCRIPTION_WORDS,
        *TRIGGER_WORDS,
        *PROPERTIES_WORDS,
        METADATA_WORD,
        "is_active",
        "git_info",
    }
)
#: Properties that have a word of their own under `Workflow:`.
WORKFLOW_PROPERTIES = ("owner", "run_strategy", "step_concurrency")

WORKFLOW = frozenset(
    {
        *("id", "name", "description", "owner", "run_strategy", "workflow_concurrency", "tags", "timeout"),
        *("criticality", "step_concurrency", "instance_step_concurrency", "jobs", "dag"),
    }
)
COMMON = frozenset(
    {
        *("id", "name", "description", "failure_mode", "tags", "timeout", "transition"),
        *("signal_dependencies", "signal_outputs"),
    }
)
JOBS = {
    "job": COMMON | {"type", "type_version", "sub_type", "retry_policy"},
    "subworkflow": COMMON
    | {"workflow_id", "subworkflow_id", "version", "subworkflow_version", "sync", "explicit_params"},
    "foreach": COMMON
    | {"concurrency", "job_concurrency", "params", "loop_params", "ranges", "jobs", "dag", "strict_ordering"},
    "while": COMMON | {"params", "loop_params", "condition", "jobs", "dag"},
}
#: The kind of a job in YAML, and in the model.
KINDS = {"job": "step", "subworkflow": "subworkflow", "foreach": "foreach", "while": "while"}

ARRAY_TYPES = {
    "STRING_ARRAY": "array<string>",
    "LONG_ARRAY": "array<long>",
    "DOUBLE_ARRAY": "array<double>",
    "BOOLEAN_ARRAY": "array<boolean>",
}
MAP_TYPES = {"STRING_MAP": "map", "MAP": "pmap"}
