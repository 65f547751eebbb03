"""Jobs of the YAML language: `job`, `subworkflow`, `foreach`, `while`, one in the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher

from calve.workflow.definition.dsl import words
from calve.workflow.definition.dsl.dag import Edges, read_dag, read_transition
from calve.workflow.definition.dsl.scalars import as_text, copy, copy_texts, expect_list, expect_map, one_of
from calve.workflow.definition.dsl.signals import read_dependencies, read_outputs
from calve.workflow.definition.dsl.values import put_param
from calve.workflow.definition.job_types import JobTypes
from calve.workflow.definition.params import LOOP_PARAMS, SUBWORKFLOW_ID, SUBWORKFLOW_VERSION
from calve.workflow.definition.problems import Problems
from calve.workflow.definition.tree import MapBuilder, Node, Position

_NEAR = 0.9


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading a file needs at hand: where errors go, and which types of jobs there are."""

    problems: Problems
    types: JobTypes


def read_jobs(jobs: Node, dag: Node | None, reading: Reading) -> Node:
    """A level of jobs with its `dag`, as steps in the model's form."""
    problems = reading.problems
    if not expect_list(jobs, "jobs", problems):
        return Node([], jobs.at)
    entries = [entry for item in jobs.items() if (entry := _entry(item, problems)) is not None]
    ids = [
        str(node.value)
        for _, _, body in entries
        if (node := as_text(body.get("id"))) is not None and node.is_scalar
    ]
    stated, own = Edges(problems), Edges(problems)
    if dag is not None:
        read_dag(dag, ids, stated, problems)
    for _, _, body in entries:
        _read_own(body, own, problems)
    check_sources(stated, ids, problems)
    return Node([_step(kind, at, body, own, stated, reading) for kind, at, body in entries], jobs.at)


def check_sources(edges: Edges, ids: list[str], problems: Problems) -> None:
    """Every job that an edge leaves from must be there."""
    for source, at in edges.sources().items():
        if source not in ids:
            problems.error(
                "JOB_UNKNOWN",
                f"the dag names '{source}', and there is no such job",
                at,
                found=source,
                expected="a job of this level: " + ", ".join(ids),
                among=ids,
            )


def transition_of(job_id: str | None, own: Edges, stated: Edges) -> Node | None:
    """The transition of a job: its own, else what the dag says."""
    successors = None if job_id is None else own.successors(job_id) or stated.successors(job_id)
    if successors is None:
        return None
    made = MapBuilder(successors.at)
    made.put("successors", successors)
    return made.build()


def _entry(item: Node, problems: Problems) -> tuple[str, Position, Node] | None:
    kinds = ", ".join(words.JOBS)
    if not item.is_map or len(item.value) != 1:
        keys = "" if not item.is_map else " with the keys " + ", ".join(item.value)
        problems.error(
            "JOB_KIND_UNKNOWN",
            f"a job is {item.describe()}{keys}",
            item.at,
            found=item.describe() + keys,
            expected=f"a map of one key: {kinds}",
            remedy=f"Write '- job:' and indent the rest below it; the kinds of jobs are {kinds}.",
        )
        return None
    kind, at, body = next(item.entries())
    if kind not in words.JOBS:
        problems.error(
            "JOB_KIND_UNKNOWN",
            f"'{kind}' is not a kind of job",
            at,
            found=kind,
            expected=kinds,
            among=words.JOBS,
        )
        return None
    return (kind, at, body) if expect_map(body, f"the {kind}", problems) else None


def _read_own(body: Node, own: Edges, problems: Problems) -> None:
    transition, job_id = body.get("transition"), as_text(body.get("id"))
    if transition is not None and job_id is not None and job_id.text:
        read_transition(job_id.text, job_id.at, transition, own, problems)


def _step(kind: str, at: Position, body: Node, own: Edges, stated: Edges, reading: Reading) -> Node:
    problems = reading.problems
    made = MapBuilder(body.at)
    copy_texts(body, made, "id", "name", "description")
    job_id = as_text(body.get("id"))
    made.put("transition", transition_of(None if job_id is None else job_id.text, own, stated))
    copy(body, made, "failure_mode", "tags", "timeout")
    if (dependencies := body.get("signal_dependencies")) is not None:
        made.put(
            "signal_dependencies", read_dependencies(dependencies, problems), body.keys["signal_dependencies"]
        )
    if (outputs := body.get("signal_outputs")) is not None:
        made.put("signal_outputs", read_outputs(outputs, problems), body.keys["signal_outputs"])
    params = _params(kind, body, problems)
    match kind:
        case "job":
            put_type(body, made, reading)
        case "subworkflow":
            _put_subworkflow(body, made, params, problems)
        case _:
            _put_loop(kind, body, made, params, reading)
    if params:
        made.put("params", params.build())
    step = MapBuilder(at)
    step.put(words.KINDS[kind], made.build(), at)
    return step.build()


def _params(kind: str, body: Node, problems: Problems) -> MapBuilder:
    made = MapBuilder(body.at)
    for key, at, value in body.entries():
        if key not in words.JOBS[kind]:
            warn_of_near_miss(key, at, words.JOBS[kind], problems)
            put_param(made, key, at, value, problems)
    return made


def warn_of_near_miss(key: str, at: Position, known: Iterable[str], problems: Problems) -> None:
    """A key that is nearly a word is a param, and is probably a slip."""
    meant = max(known, key=lambda word: _likeness(key, word))
    if _likeness(key, meant) >= _NEAR:
        problems.warn("PARAM_OR_WORD", f"'{key}' is taken as a param; did you mean '{meant}'?", at)


def _likeness(key: str, word: str) -> float:
    return SequenceMatcher(None, _letters(key), _letters(word)).ratio()


def _letters(text: str) -> str:
    return text.replace("_", "").replace("-", "").lower()


def put_type(body: Node, made: MapBuilder, reading: Reading) -> None:
    """Add the type of a job: a step type, or a job template over one."""
    copy(body, made, "retry_policy")
    written, version = as_text(body.get("type")), as_text(body.get("type_version"))
    at = body.keys.get("type")
    made.put("sub_type_version", version, body.keys.get("type_version"))
    sub_type = as_text(body.get("sub_type"))
    if written is None or written.text is None:
        made.put("type", written, at)
        made.put("sub_type", sub_type, body.keys.get("sub_type"))
        return
    found = reading.types.find(written.text, None if version is None else version.text)
    if found is None or found.template_of is None:
        made.put("type", written, at)
        made.put("sub_type", sub_type, body.keys.get("sub_type"))
    else:
        made.put("type", Node(found.template_of, written.at), at)
        made.put("sub_type", Node(found.name, written.at), at)


def _put_subworkflow(body: Node, made: MapBuilder, params: MapBuilder, problems: Problems) -> None:
    copy(body, made, "sync", "explicit_params")
    target = as_text(one_of(body, problems, "workflow_id", "subworkflow_id"))
    version = as_text(one_of(body, problems, "version", "subworkflow_version"))
    if target is None and SUBWORKFLOW_ID not in params:
        target = as_text(body.get("id"))
    for name, value in ((SUBWORKFLOW_ID, target), (SUBWORKFLOW_VERSION, version)):
        if value is not None and value.value is not None:
            put_param(params, name, value.at, value, problems)


def _put_loop(kind: str, body: Node, made: MapBuilder, params: MapBuilder, reading: Reading) -> None:
    problems = reading.problems
    loop = MapBuilder(body.at)
    stated = one_of(body, problems, "params", "loop_params")
    if stated is not None and expect_map(stated, "the params of the loop", problems):
        for key, at, value in stated.entries():
            put_param(loop, key, at, value, problems)
    if kind == "foreach":
        made.put("concurrency", one_of(body, problems, "concurrency", "job_concurrency"))
        copy(body, made, "strict_ordering")
        _put_ranges(body.get("ranges"), loop, problems)
    else:
        copy_texts(body, made, "condition")
    if loop or kind == "foreach":
        made_loop = loop.build()
        params.put(LOOP_PARAMS, {"value": made_loop, "type": "MAP"}, made_loop.at)
    jobs = body.get("jobs")
    if jobs is not None:
        made.put("steps", read_jobs(jobs, body.get("dag"), reading), body.keys["jobs"])


def _put_ranges(ranges: Node | None, loop: MapBuilder, problems: Problems) -> None:
    if ranges is None or not expect_map(ranges, "ranges", problems):
        return
    for name, at, value in ranges.entries():
        found = {key: node.value for key, _, node in value.entries()}
        bounds = (found.get("from", 0), found.get("to"), found.get("increment", 1))
        if set(found) - {"from", "to", "increment"} or any(type(bound) is not int for bound in bounds):
            problems.error(
                "RANGE_INVALID",
                f"the range '{name}' is {value.describe()}",
                value.at,
                found=str(value.plain()),
                expected="{from: number, to: number, increment: number}, of which 'to' must be given",
            )
            continue
        expression = "Util.intsBetween({}, {}, {});".format(*bounds)
        loop.put(name, {"expression": expression, "type": "LONG_ARRAY"}, at)
