"""What is told about patterns when a definition is pushed."""

from __future__ import annotations

import pytest

from calve.steps.registry import RegisteredTypes
from calve.workflow.definition import InvalidDefinitionError, load_yaml

HEAD = """
Workflow:
  id: daily
  day: 20240101
  jobs:
    - job: {id: capture, type: IpCapture, ip_capture: {source_tables: [lake.db.events]}}
"""
TAIL = """
    - job: {id: commit, type: IpCommit, ip_commit: {capture_step: capture}}
  dag: sequential
"""
MERGE = (
    "type: IncrementalMerge, incremental_merge: {target: lake.db.t, keys: [id], query: SELECT id FROM events"
)


def problems(*jobs: str, head: str = HEAD, tail: str = TAIL) -> str:
    listed = "".join(f"    - job: {{id: write{at}, {job}}}\n" for at, job in enumerate(jobs, 1))
    try:
        load_yaml(head + listed + tail, types=RegisteredTypes())
    except InvalidDefinitionError as error:
        return "\n".join(problem.message for problem in error.problems)
    return ""


AGGREGATE = "type: IncrementalAggregate, incremental_aggregate: {target: lake.db.t"
PUBLISH = "type: WriteAuditPublish, write_audit_publish: {target: lake.db.t"
AUDITS = "audits: {ids: SELECT id FROM lake.db.t WHERE id IS NULL}"
INSIDE = "pattern: IncrementalMerge, keys: [id], query: SELECT id FROM events"
BY_DATE = "'SELECT date(at) AS d, count(*) AS n FROM events GROUP BY 1'"


@pytest.mark.parametrize(
    "job",
    [
        MERGE + ", order_by: at DESC}",
        MERGE + ", capture_step: capture, source: events, partition_column: day}",
        "type: IncrementalAppend, target: lake.db.t, query: 'SELECT * FROM :source WHERE d = $day'",
        f"{AGGREGATE}, keys: {{d: date(at)}}, query: {BY_DATE}, additive: {{n: sum}}}}",
        "type: IncrementalRange, range_column: d, target: a.t, query: SELECT d FROM events",
        f"{PUBLISH}, {INSIDE}, {AUDITS}}}",
        f"{PUBLISH}, script: INSERT INTO lake.db.t SELECT 1, {AUDITS}}}",
    ],
)
def test_a_pattern_that_is_fine_is_accepted(job: str) -> None:
    assert problems(job) == ""


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (MERGE.replace("keys: [id], ", "") + "}", "needs the param 'keys'"),
        (MERGE + ", ordr_by: at}", "did you mean 'order_by'"),
        (MERGE.replace("[id]", "['i d']") + "}", "expected the name of a column"),
        (MERGE.replace("[id]", "['id`; DROP']") + "}", "expected the name of a column"),
        (MERGE.replace("SELECT id FROM events", "SELEC id FRM events") + "}", "is not SQL"),
        (MERGE.replace("FROM events", "FROM other") + "}", "the query reads other, and not the source"),
        (MERGE.replace("lake.db.t,", "lake.db.events,") + "}", "is the source lake.db.events"),
        (MERGE + ", capture_step: captur}", "did you mean 'capture'"),
        (MERGE + ", capture_step: commit}", "which is not a step of type IpCapture"),
        (MERGE + ", source: other}", "which is not captured; there is events"),
        (MERGE + ", update_when: '1) OR (1 = 1'}", "expected one expression"),
        (MERGE + ", when_matched: delete}", "Input should be 'update' or 'ignore'"),
        (
            f"{AGGREGATE}, keys: [d], current: d > 3, query: SELECT d FROM events}}",
            "expected 'column = literal'",
        ),
        (
            f"{AGGREGATE}, keys: [d], additive: n, exactly_once: false, query: SELECT d FROM events}}",
            "would add again what a retry repeats",
        ),
        (f"{PUBLISH}, {INSIDE}}}", "needs the param 'audits'"),
        (f"{PUBLISH}, {INSIDE}, ordr_by: at, {AUDITS}}}", "did you mean 'order_by'"),
        (f"{PUBLISH}, pattern: Incremental, {AUDITS}}}", "pattern"),
    ],
)
def test_what_is_wrong_with_a_pattern_is_told_by_name(job: str, said: str) -> None:
    assert said in problems(job)


def test_a_pattern_needs_a_capture_before_it() -> None:
    alone = "\nWorkflow:\n  id: daily\n  jobs:\n"
    assert "no step of type IpCapture" in problems(MERGE + "}", head=alone, tail="  dag: sequential\n")
    early = alone + f"    - job: {{id: early, {MERGE}}}}}\n" + HEAD.split("jobs:\n", 1)[1]
    assert "'early' does not come after the capture step 'capture'" in problems(head=early)


def test_with_several_captures_or_sources_one_has_to_be_named() -> None:
    second = (
        "    - job: {id: second, type: IpCapture, ip_capture: {source_tables: [lake.db.x], consumer: c}}\n"
    )
    assert "give capture_step, one of capture, second" in problems(MERGE + "}", head=HEAD + second)
    several = HEAD.replace("[lake.db.events]", "[lake.db.events, lake.db.more]")
    assert "give source, one of events, more" in problems(MERGE + "}", head=several)
