"""Patterns, loops and calls in definitions."""

from __future__ import annotations

import json

import pytest

from calve.backfill.lineage.model import Cause, Direction, How
from calve.spark.targets import WriteKind

from .conftest import CAPTURE, ReadYaml, edges, gaps, reads, writes

BOTH = set(Direction)

# Patterns

PATTERNS = {
    "IncrementalAppend": ("", {WriteKind.INSERT}, {How.CAPTURE}),
    "IncrementalMerge": ("keys: [k]", {WriteKind.INSERT, WriteKind.MERGE}, {How.CAPTURE}),
    "IncrementalAggregate": ("keys: [k]", {WriteKind.INSERT, WriteKind.MERGE}, {How.CAPTURE, How.PATTERN}),
    "IncrementalRange": ("range_column: k", {WriteKind.OVERWRITE}, {How.CAPTURE, How.PATTERN}),
}


@pytest.mark.parametrize("kind", PATTERNS)
@pytest.mark.parametrize("source", ["db.events", ":source"])
def test_a_pattern_reads_the_change_and_writes_its_target(
    kind: str, source: str, read_yaml: ReadYaml
) -> None:
    more, kinds, how = PATTERNS[kind]
    found = read_yaml(f"""{CAPTURE}
    - job:
        id: load
        type: {kind}
        target: db.t
        query: SELECT e.k, max(d.x) AS x FROM {source} e JOIN db.dim d ON d.k = e.k GROUP BY e.k
        {more}
    """)
    assert reads(found) == {"db.events": how, "db.dim": {How.SQL}}
    assert writes(found) == {"db.t": kinds}
    assert (found.writes[0].by_spark, set(found.writes[0].how)) == (True, {How.PATTERN})
    assert edges(found) == {"lake.db.events.k > lake.db.t.k", "lake.db.dim.x > lake.db.t.x"}
    assert not found.unknown


def test_an_aggregate_that_is_added_to_reads_the_change_alone(read_yaml: ReadYaml) -> None:
    found = read_yaml(f"""{CAPTURE}
    - job:
        id: load
        type: IncrementalAggregate
        incremental_aggregate:
          target: db.t
          query: SELECT k, count(*) AS n FROM db.events GROUP BY k
          keys: [k]
          additive: [n]
    """)
    assert reads(found) == {"db.events": {How.CAPTURE}}


def test_a_source_that_stands_beside_the_marker_is_read_whole(read_yaml: ReadYaml) -> None:
    found = read_yaml(f"""{CAPTURE}
    - job:
        id: load
        type: IncrementalAppend
        target: db.t
        query: 'SELECT * FROM :source JOIN db.events USING (k)'
    """)
    assert reads(found) == {"db.events": {How.CAPTURE, How.SQL}}


def test_write_audit_publish_around_a_pattern_and_around_own_sql(read_yaml: ReadYaml) -> None:
    found = read_yaml(f"""{CAPTURE}
    - job:
        id: one
        type: WriteAuditPublish
        write_audit_publish:
          pattern: IncrementalAppend
          target: db.t
          query: SELECT k FROM db.events
          audits: {{known: SELECT count(*) = 0 FROM db.t LEFT ANTI JOIN db.dim USING (k)}}
    - job:
        id: two
        type: WriteAuditPublish
        write_audit_publish:
          target: db.u
          script: INSERT INTO db.u (k) SELECT k FROM ${{capture__icdc_table}}
          audits: {{some: SELECT count(*) > 0 FROM db.u}}
    """)
    assert reads(found) == {"db.events": {How.CAPTURE}, "db.dim": {How.SQL}}
    assert writes(found) == {"db.t": {WriteKind.INSERT}, "db.u": {WriteKind.INSERT}}
    assert edges(found) == {"lake.db.events.k > lake.db.t.k", "lake.db.events.k > lake.db.u.k"}


def test_a_pattern_whose_target_only_a_run_knows(read_yaml: ReadYaml) -> None:
    found = read_yaml(f"""{CAPTURE}
    - job: {{id: load, type: IncrementalAppend, target: 'db.${{x}}', query: SELECT * FROM db.events}}
    """)
    assert gaps(found) == [("load", Cause.PARAM, {Direction.WRITES})]


# Loops and other workflows

FOREACH = """
    - foreach:
        id: each
        params: {{t: {values}}}
        jobs:
          - job: {{id: load, type: Spark, script: 'INSERT INTO db.$t SELECT * FROM db.a_$t'}}
"""


def test_a_loop_over_known_tables_is_read_for_each(read_yaml: ReadYaml) -> None:
    found = read_yaml(FOREACH.format(values="[x, y]"))
    assert (set(reads(found)), set(writes(found))) == ({"db.a_x", "db.a_y"}, {"db.x", "db.y"})


def test_a_loop_over_what_only_a_run_knows_is_unknown(read_yaml: ReadYaml) -> None:
    for values in ("[a, '${RUN_DATE}']", str([f"t{n}" for n in range(100)])):
        found = read_yaml(FOREACH.format(values=values))
        assert {(cause, *directions) for _, cause, directions in gaps(found)} >= {
            (Cause.PARAM, Direction.READS),
            (Cause.PARAM, Direction.WRITES),
        }


def test_captures_and_loops_inside_loops(read_yaml: ReadYaml) -> None:
    found = read_yaml("""
    - job: {id: outer, type: IpCapture, ip_capture: {source_tables: [db.a]}}
    - foreach:
        id: days
        params: {n: [1, 2]}
        jobs:
          - job: {id: inner, type: IpCapture, ip_capture: {source_tables: [db.b]}}
          - while:
              id: again
              condition: m < 3
              params: {m: 0}
              jobs:
                - job:
                    id: load
                    type: Spark
                    script: INSERT INTO db.t SELECT * FROM ${outer__icdc_table} JOIN ${inner__icdc_table}
    """)
    assert [(capture.step_id, capture.loops) for capture in found.captures] == [
        ("outer", ()),
        ("inner", ("days",)),
    ]
    assert reads(found) == {"db.a": {How.CAPTURE}, "db.b": {How.CAPTURE}}
    assert set(writes(found)) == {"db.t"}


def test_a_workflow_that_is_called_keeps_its_tables(read_yaml: ReadYaml) -> None:
    found = read_yaml("""
    - subworkflow: {id: one, workflow_id: other.wf, SOURCE: db.a}
    - subworkflow: {id: two, workflow_id: 'wf_${RUN_DATE}'}
    """)
    assert [(call.step_id, call.workflow_id) for call in found.calls] == [("one", "other.wf")]
    assert gaps(found) == [("two", Cause.PARAM, BOTH)]
    assert (*found.reads, *found.writes) == ()


def test_all_of_it_is_json(read_yaml: ReadYaml) -> None:
    found = read_yaml(f"""{CAPTURE}
    - job: {{id: load, type: Spark, script: 'INSERT INTO db.t.branch_b (x) SELECT a FROM db.a'}}
    - subworkflow: {{id: one, workflow_id: other.wf}}
    - job: {{id: shell, type: Shell, script: x}}
    """)
    document = json.loads(json.dumps(found.to_json()))
    (write,) = document["writes"]
    assert (write["table"], write["kinds"], write["branches"]) == ("lake.db.t", ["insert"], ["b"])
    assert (document["version"], document["unknown"][0]["cause"]) == (1, "undeclared")
