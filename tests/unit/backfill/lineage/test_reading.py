"""The tables of workflows, from their definitions."""

from __future__ import annotations

import pytest

from calve.backfill.lineage.model import Cause, Direction, How
from calve.spark.targets import WriteKind

from .conftest import CAPTURE, ReadYaml, edges, gaps, reads, writes

BOTH = set(Direction)


# Captures


def test_a_capture_reads_its_sources(read_yaml: ReadYaml) -> None:
    found = read_yaml(CAPTURE)
    (capture,) = found.captures
    assert (capture.step_id, capture.consumer, capture.mode) == ("capture", "w/capture", "ICDC")
    assert [(source.table, source.alias) for source in capture.sources] == [("lake.db.events", "events")]
    assert reads(found) == {"db.events": {How.CAPTURE}}
    assert found.reads[0].is_captured_only


def test_a_capture_of_several_tables_with_all_that_is_said_of_them(read_yaml: ReadYaml) -> None:
    found = read_yaml("""
    - job:
        id: capture
        type: IpCapture
        ip_capture:
          source_tables:
            - {table: db.a, alias: one, branch: audit, range_columns: [day]}
            - db.b
          consumer: mine
          range_columns: [hour]
          capture_mode: RANGE
          data_operations: [append, overwrite]
    """)
    (capture,) = found.captures
    assert (capture.consumer, capture.mode, capture.operations) == ("mine", "RANGE", ("append", "overwrite"))
    assert [(x.table, x.alias, x.branch, x.range_columns) for x in capture.sources] == [
        ("lake.db.a", "one", "audit", ("day",)),
        ("lake.db.b", "b", None, ("hour",)),
    ]


def test_a_consumer_that_only_a_run_knows(read_yaml: ReadYaml) -> None:
    found = read_yaml("""
    - job: {id: c, type: IpCapture, ip_capture: {source_tables: [db.events], consumer: 'x_${RUN_DATE}'}}
    """)
    assert [capture.consumer for capture in found.captures] == [None]
    assert reads(found) == {"db.events": {How.CAPTURE}}


@pytest.mark.parametrize("name", ["icdc_table", "removed_table", "icdc_location"])
def test_what_a_capture_shows_is_its_source(name: str, read_yaml: ReadYaml) -> None:
    found = read_yaml(f"""{CAPTURE}
    - job: {{id: load, type: Spark, script: 'INSERT INTO db.t (x) SELECT a FROM ${{capture__{name}}}'}}
    """)
    assert reads(found) == {"db.events": {How.CAPTURE}}
    assert found.read_of("lake.db.events") is not None
    assert edges(found) == {"lake.db.events.a > lake.db.t.x"}


def test_a_change_under_a_param_an_expression_and_a_location(read_yaml: ReadYaml) -> None:
    found = read_yaml(f"""{CAPTURE}
    - job:
        id: load
        type: Spark
        SOURCE: ${{capture__icdc_table}}
        '!OTHER': params.getFromStep('capture', 'icdc_table')
        spark:
          script: |
            INSERT INTO db.t SELECT * FROM ${{SOURCE}};
            INSERT INTO db.u SELECT * FROM ${{OTHER}};
            INSERT INTO db.v SELECT * FROM iceberg.`${{capture__icdc_location}}`
    """)
    assert reads(found) == {"db.events": {How.CAPTURE}}
    assert set(writes(found)) == {"db.t", "db.u", "db.v"}
    assert not found.unknown


def test_a_change_by_its_alias(read_yaml: ReadYaml) -> None:
    found = read_yaml("""
    - job: {id: c, type: IpCapture, ip_capture: {source_tables: [db.a, db.b]}}
    - job:
        id: load
        type: Spark
        '!ONE': params.getFromStep('c', 'icdc_table').get('b')
        spark: {script: 'INSERT INTO db.t (x) SELECT k FROM ${ONE}'}
    """)
    assert edges(found) == {"lake.db.b.k > lake.db.t.x"}


def test_a_change_under_a_name_of_its_own(read_yaml: ReadYaml) -> None:
    found = read_yaml("""
    - job: {id: c, type: ICDC, sourceTable: db.events, targetTable: db.change}
    - job: {id: load, type: Spark, script: INSERT INTO db.t SELECT * FROM db.change}
    """)
    assert reads(found) == {"db.events": {How.CAPTURE}}
    assert set(writes(found)) == {"db.t"}


def test_a_source_that_is_read_whole_beside_its_change(read_yaml: ReadYaml) -> None:
    found = read_yaml(f"""{CAPTURE}
    - job:
        id: load
        type: Spark
        script: |
          INSERT INTO db.t
          SELECT * FROM db.events WHERE day IN (SELECT day FROM ${{capture__icdc_table}})
    """)
    assert reads(found) == {"db.events": {How.CAPTURE, How.SQL}}
    assert not found.reads[0].is_captured_only


# Params


def test_params_that_are_constant_are_put_in(read_yaml: ReadYaml) -> None:
    found = read_yaml("""
Workflow:
  id: w
  target: db.${suffix}
  suffix: daily
  '!source': "'db.' + kind"
  kind: events
  query: SELECT * FROM ${source}
  jobs:
    - job: {id: load, type: Spark, day: 1, script: 'INSERT INTO ${target} ${query}'}
    """)
    assert (set(reads(found)), set(writes(found))) == ({"db.events"}, {"db.daily"})


@pytest.mark.parametrize(
    "param",
    [
        "RUN_DATE",
        "!x: new DateTime().toString('yyyyMMdd')",
        "!x: System.currentTimeMillis().toString()",
        "!x: RUN_TS + 1",
    ],
)
def test_a_name_that_only_a_run_knows_is_unknown(param: str, read_yaml: ReadYaml) -> None:
    name, _, expression = param.partition(": ")
    given = f"""'{name}': "{expression}" """ if expression else "y: 1"
    found = read_yaml(f"""
Workflow:
  id: w
  {given}
  jobs:
    - job: {{id: load, type: Spark, script: 'INSERT INTO db.t_${{{name.strip("!")}}} SELECT * FROM db.a'}}
    """)
    assert set(reads(found)) == {"db.a"}
    assert not found.writes
    assert gaps(found) == [("load", Cause.PARAM, {Direction.WRITES})]
    assert f"db.t_${{{name.strip('!')}}}" in found.unknown[0].why


@pytest.mark.parametrize(
    "place",
    [
        "WHERE day = '${RUN_DATE}'",
        "WHERE day > ${n} AND x BETWEEN $n AND ${capture__range_upper}",
        "LIMIT ${n}",
        "WHERE ts > now() - INTERVAL ${n} DAYS",
        "VERSION AS OF ${n}",
        "TABLESAMPLE (${n} PERCENT)",
        "WHERE ${capture__row_filter}",
    ],
)
def test_values_that_only_a_run_knows_do_not_matter(place: str, read_yaml: ReadYaml) -> None:
    found = read_yaml(f"""{CAPTURE}
    - job: {{id: load, type: Spark, script: "INSERT INTO db.t (x) SELECT a FROM db.a {place}"}}
    """)
    assert (set(reads(found)), set(writes(found))) == ({"db.events", "db.a"}, {"db.t"})
    assert edges(found) == {"lake.db.a.a > lake.db.t.x"}
    assert not found.unknown


def test_sql_that_only_a_run_knows_is_unknown(read_yaml: ReadYaml) -> None:
    found = read_yaml("""
    - job: {id: whole, type: Spark, script: '${query}'}
    - job: {id: part, type: Spark, script: 'INSERT INTO db.t SELECT * FROM (${query}) q'}
    - job: {id: end, type: Spark, script: 'INSERT INTO db.u SELECT * FROM db.a ${more}'}
    """)
    assert gaps(found) == [
        ("whole", Cause.PARAM, BOTH),
        ("part", Cause.PARAM, {Direction.READS}),
        ("end", Cause.PARAM, {Direction.READS}),
    ]
    assert set(writes(found)) == {"db.t", "db.u"}


# Types of steps


def test_sql_steps_are_spark_steps(read_yaml: ReadYaml) -> None:
    found = read_yaml("    - job: {id: a, type: Sql, query: INSERT INTO db.t SELECT * FROM db.a}\n")
    assert writes(found) == {"db.t": {WriteKind.INSERT}}
    assert found.writes[0].by_spark


@pytest.mark.parametrize(
    "job",
    [
        "type: Spark, file: job.py",
        "type: Spark, main: 'jobs.daily:run'",
        "type: Spark, script: job.py",
        "type: Python, code: 'print(1)'",
        "type: Shell, script: 'echo 1'",
    ],
)
def test_code_that_is_no_sql_is_unknown_unless_it_declares_its_tables(job: str, read_yaml: ReadYaml) -> None:
    assert gaps(read_yaml(f"    - job: {{id: a, {job}}}\n")) == [("a", Cause.UNDECLARED, BOTH)]
    half = read_yaml(f"    - job: {{id: a, {job}, reads: [db.a]}}\n")
    assert gaps(half) == [("a", Cause.UNDECLARED, {Direction.WRITES})]
    found = read_yaml(f"    - job: {{id: a, {job}, reads: [db.a, db.b], writes: db.t}}\n")
    assert reads(found) == {"db.a": {How.DECLARED}, "db.b": {How.DECLARED}}
    assert [(x.table, x.kinds, x.by_spark) for x in found.writes] == [
        ("lake.db.t", frozenset(), "Spark" in job)
    ]
    assert not found.unknown


def test_nothing_can_be_declared_too(read_yaml: ReadYaml) -> None:
    found = read_yaml("    - job: {id: a, type: Shell, script: 'echo 1', reads: [], writes: []}\n")
    assert (*found.reads, *found.writes, *found.unknown) == ()


def test_a_param_that_happens_to_be_called_so_declares_nothing(read_yaml: ReadYaml) -> None:
    found = read_yaml("    - job: {id: a, type: Shell, script: 'echo 1', reads: 5, writes: true}\n")
    assert gaps(found) == [("a", Cause.UNDECLARED, BOTH)]


def test_what_is_declared_wins_over_what_is_parsed_for_its_direction(read_yaml: ReadYaml) -> None:
    found = read_yaml("""
    - job: {id: a, type: Spark, spark: {script: INSERT INTO db.t SELECT * FROM db.view, reads: [db.a]}}
    - job: {id: b, type: Spark, script: 'INSERT INTO ${t} SELECT * FROM db.b', writes: [db.u]}
    """)
    assert reads(found) == {"db.a": {How.DECLARED}, "db.b": {How.SQL}}
    assert set(writes(found)) == {"db.t", "db.u"}
    assert not found.unknown


def test_declared_names_may_be_changes_and_may_be_wrong(read_yaml: ReadYaml) -> None:
    found = read_yaml(f"""{CAPTURE}
    - job:
        id: a
        type: Shell
        script: x
        reads: ['${{capture__icdc_table}}']
        writes: [t, 'db.${{x}}', other.db.t]
    """)
    assert reads(found) == {"db.events": {How.CAPTURE}}
    assert [gap.cause for gap in found.unknown] == [Cause.NAME, Cause.PARAM, Cause.OUTSIDE]


def test_a_table_that_several_kinds_of_steps_write_cannot_be_put_on_a_branch(read_yaml: ReadYaml) -> None:
    found = read_yaml("""
    - job: {id: a, type: Spark, script: INSERT INTO db.t SELECT 1}
    - job: {id: b, type: Shell, script: x, reads: [], writes: [db.t]}
    """)
    (write,) = found.writes
    assert (write.steps, write.by_spark) == (("a", "b"), False)


def test_targets_that_a_commit_names_count_where_nothing_else_tells_them(read_yaml: ReadYaml) -> None:
    found = read_yaml(f"""{CAPTURE}
    - job: {{id: load, type: Spark, script: 'INSERT INTO db.t SELECT 1'}}
    - job: {{id: commit, type: IpCommit, ip_commit: {{capture_step: capture, tables: [db.t, db.u]}}}}
    """)
    assert [(x.table, x.steps, x.by_spark) for x in found.writes] == [
        ("lake.db.t", ("load",), True),
        ("lake.db.u", ("commit",), False),
    ]


def test_steps_without_tables_leave_nothing_open(read_yaml: ReadYaml) -> None:
    found = read_yaml("""
    - job: {id: a, type: NoOp}
    - job: {id: b, type: Sleep, sleep_seconds: 1}
    - job: {id: c, type: Http, http: {url: 'http://x'}}
    """)
    assert (*found.reads, *found.writes, *found.unknown) == ()
