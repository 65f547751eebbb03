"""Patterns as steps, without Spark: what they start, what they do not, and what they start again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, LongType, NestedField

from calve.ledger.options import CaptureOptions
from calve.ledger.writes import note_landed, writes_of
from calve.settings import Settings, SparkSettings, load_settings
from calve.spark.step.failures import Failure
from calve.spark.step.spec import SPEC_FILE, StepSpec
from calve.state.clock import now_ms
from calve.steps.contract import Ending, Finished, StepContext
from calve.steps.incremental.backfilling import BackfillScope, SourceRange
from calve.steps.incremental.capture import IpCapture
from calve.steps.incremental.naming import run_ref_of
from calve.steps.incremental.shared import close_ledgers, ledger_of
from calve.steps.patterns.merge import IncrementalMerge
from calve.steps.patterns.publish import WriteAuditPublish
from calve.steps.patterns.step import RENDERED_FILE, Pattern
from calve.steps.process.outputs import JobOutput
from support.engine_rows import add_step, push_jobs, set_run, start

pytestmark = pytest.mark.slow

ROWS = pa.schema([("id", pa.int64()), ("day", pa.date32())])
MERGE = {"target": "lake.db.target", "keys": ["id", "day"], "query": "SELECT id, day FROM source"}
PUBLISH = {
    **MERGE,
    "pattern": "IncrementalMerge",
    "audits": {"ids": "SELECT id FROM lake.db.target WHERE id IS NULL"},
}


class Place:
    """A workflow with a capture of `db.source`, whose rows are of two days."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.ledger = ledger_of(settings)
        self.source, self.target = self.table("source"), self.table("target")
        push_jobs(self.ledger.database, "w", "capture", "write")
        self.run = start(self.ledger.database, "w").run
        set_run(self.ledger.database, self.run, status="IN_PROGRESS", created_at=now_ms())

    def table(self, name: str) -> Table:
        catalog = self.ledger.lake.catalog("lake")
        catalog.create_namespace_if_not_exists("db")
        schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "day", DateType()))
        spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "day"))
        return catalog.create_table(f"db.{name}", schema, partition_spec=spec)

    def add(self, table: Table, *days: int, **summary: str) -> None:
        rows = [{"id": day, "day": date(2024, 1, day)} for day in days]
        table.append(pa.Table.from_pylist(rows, ROWS), snapshot_properties=summary)

    def capture(self) -> str:
        taken = self.ledger.take(
            ["lake.db.source"],
            consumer="c",
            options=CaptureOptions(),
            run_ref=run_ref_of("w", 1, "capture"),
        )
        told = json.dumps({"capture": taken.to_json()})
        add_step(self.ledger.database, self.run, "capture", "SUCCEEDED", artifacts=told)
        return taken.id

    def chunk(self, branch: str, upper: str) -> None:
        """Make the run a chunk of a backfill that writes a branch of the target, and capture for it."""
        head = self.source.refresh().metadata.current_snapshot_id
        sources = {"lake.db.source": SourceRange("day", None, upper, head)}
        scope = BackfillScope(7, 0, 1, 1, branch, ("lake.db.target",), sources)
        set_run(self.ledger.database, self.run, initiator=json.dumps(scope.initiator()))
        found = asyncio.run(
            IpCapture().start(replace(self.context({"source_tables": ["db.source"]}), step_id="capture"))
        )
        assert isinstance(found, Finished)
        told = json.dumps(dict(found.artifacts))
        add_step(self.ledger.database, self.run, "capture", "SUCCEEDED", artifacts=told)

    def context(self, options: dict[str, Any], attempt: int = 1) -> StepContext:
        return StepContext(
            workflow_id="w",
            instance_id=1,
            run_id=1,
            step_id="write",
            attempt_id=attempt,
            run=self.run,
            attempt_uuid=f"a{attempt}",
            params=options,
            workflow_params={},
            own_params=options,
            settings=self.settings,
            place=self.settings.home / "attempts" / str(attempt),
        )

    def prepare(self, type_: Pattern, options: dict[str, Any], attempt: int = 1) -> str:
        """What an attempt would run."""
        context = self.context(options, attempt)
        type_._prepare(context)
        return (context.place / RENDERED_FILE).read_text()


@pytest.fixture
def place(home: Path) -> Iterator[Place]:
    settings = load_settings(home).model_copy(
        update={"spark": SparkSettings(session="connect", url="sc://x")}
    )
    yield Place(settings)
    close_ledgers()


def outcome(type_: Pattern, context: StepContext) -> Finished:
    found = asyncio.run(type_.start(context))
    assert isinstance(found, Finished)
    return found


def test_an_empty_change_is_done_at_once_and_nothing_is_started(place: Place) -> None:
    place.capture()
    context = place.context(MERGE)
    assert outcome(IncrementalMerge(), context).ending is Ending.DONE
    assert not (context.place / SPEC_FILE).exists()


def test_a_step_without_a_capture_is_refused(place: Place) -> None:
    finished = outcome(IncrementalMerge(), place.context(MERGE))
    assert finished.ending is Ending.FATAL_ERROR
    assert finished.error is not None
    assert finished.error.code == "CAPTURE_MISSING"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({**MERGE, "target": "lake.db.source"}, "TARGET_IS_SOURCE"),
        ({**MERGE, "target": "lake.db.nothing"}, "TABLE_NOT_FOUND"),
        ({**MERGE, "keys": ["i d"]}, "STEP_OPTION_INVALID"),
        ({**MERGE, "capture_step": "other"}, "CAPTURE_MISSING"),
        ({**MERGE, "source": "other"}, "SOURCE_UNCLEAR"),
        ({**MERGE, "query": "SELECT id, day FROM other"}, "SOURCE_NOT_READ"),
        ({**MERGE, "partition_column": "nothing"}, "COLUMN_NOT_FOUND"),
    ],
)
def test_what_cannot_be_rendered_is_refused_before_spark(place: Place, options: Any, code: str) -> None:
    place.add(place.source, 1)
    place.capture()
    finished = outcome(IncrementalMerge(), place.context(options))
    assert finished.ending is Ending.FATAL_ERROR
    assert finished.error is not None
    assert finished.error.code == code


def test_the_script_is_that_of_a_spark_step_whose_writes_land_once(place: Place) -> None:
    place.add(place.source, 1, 2)
    place.add(place.target, 1)
    capture = place.capture()
    options = {**MERGE, "spark_conf": {"spark.x": "1"}}
    script = place.prepare(IncrementalMerge(), options)
    IncrementalMerge().make_command(place.context(options))
    spec = StepSpec.read(place.context(options).place / SPEC_FILE)
    assert spec.script == script
    assert spec.spark_conf == {"spark.x": "1"}
    assert spec.once is not None
    assert spec.once["scope"] == [[capture, "write"]]
    assert [kind for _, kind, _ in spec.once["script"]] == ["insert", "merge", "insert"]


def test_what_is_rendered_again_after_a_part_has_landed_is_what_was_rendered_first(place: Place) -> None:
    place.add(place.source, 1, 2)
    place.add(place.target, 1)
    capture = place.capture()
    first = place.prepare(IncrementalMerge(), MERGE)
    assert "WHERE `day` IN (DATE '2024-01-02')" in first
    place.add(place.target, 2, **{"calve.statement": f"{capture}/write/1"})
    assert place.prepare(IncrementalMerge(), MERGE, attempt=2) == first
    place.add(place.target, 2, **{"calve.statement": f"{capture}/other/1"})
    assert place.prepare(IncrementalMerge(), MERGE, attempt=3) == first


def test_partitions_that_another_step_has_made_are_merged_with(place: Place) -> None:
    place.add(place.source, 1, 2)
    place.add(place.target, 1)
    capture = place.capture()
    place.add(place.target, 2, **{"calve.statement": f"{capture}/other/1"})
    assert "that the target does not have yet" not in place.prepare(IncrementalMerge(), MERGE)


def test_a_branch_is_the_same_in_every_attempt_and_takes_all_writes_and_audits(place: Place) -> None:
    place.add(place.source, 1)
    place.capture()
    type_ = WriteAuditPublish()
    script = place.prepare(type_, PUBLISH)
    type_.make_command(place.context(PUBLISH))
    spec = StepSpec.read(place.context(PUBLISH).place / SPEC_FILE)
    assert spec.publish is not None
    branch = spec.publish["branch"]
    assert f"INSERT INTO lake.db.target.`branch_{branch}`" in script
    assert spec.publish["table"] == "lake.db.target"
    (audit,) = spec.publish["audits"]
    assert audit["sql"] == f"SELECT id FROM lake.db.target.`branch_{branch}` AS `target` WHERE id IS NULL"
    assert place.prepare(type_, PUBLISH, attempt=2) == script


def test_sql_of_ones_own_goes_to_the_branch_too(place: Place) -> None:
    place.add(place.source, 1)
    place.capture()
    options = {
        "target": "lake.db.target",
        "script": "DELETE FROM lake.db.target WHERE id = 1; INSERT INTO db.target SELECT 1, 2",
        "audits": PUBLISH["audits"],
    }
    script = place.prepare(WriteAuditPublish(), options)
    assert script.count(".`branch_calve_") == 2


def test_what_was_written_to_a_dropped_branch_does_not_count_as_landed(place: Place) -> None:
    place.add(place.source, 1)
    capture = place.capture()
    type_, context = WriteAuditPublish(), place.context(PUBLISH)
    place.prepare(type_, PUBLISH)
    type_.make_command(context)
    with place.ledger.database.write() as connection:
        note_landed(connection, capture, "write/1", 7)
    Failure(2, "AUDIT_FAILED", "1 of 1 audits failed", "correct the data").write(context.place)
    finished = type_._failed(context, 2, JobOutput())
    assert finished.ending is Ending.FATAL_ERROR
    with place.ledger.database.read() as connection:
        (write,) = writes_of(connection, capture)
    assert write.statement == "write/1"
    assert (write.snapshot_id, write.landed_at) == (None, None)


@pytest.mark.parametrize("type_", [IncrementalMerge(), WriteAuditPublish()])
def test_in_a_chunk_the_target_is_what_stands_on_the_branch(place: Place, type_: Pattern) -> None:
    place.add(place.source, 1, 2)
    place.add(place.target, 1)
    head = place.target.metadata.current_snapshot_id
    assert head is not None
    place.target.manage_snapshots().create_branch(head, "backfill_7").commit()
    place.add(place.target.refresh(), 2)
    place.chunk("backfill_7", "2024-01-03")
    options = PUBLISH if isinstance(type_, WriteAuditPublish) else MERGE
    # Main has the second day by now; the branch does not.
    assert "WHERE `day` IN (DATE '2024-01-02')" in place.prepare(type_, options)
    type_.make_command(place.context(options))
    spec = StepSpec.read(place.context(options).place / SPEC_FILE)
    assert spec.spark_conf["spark.wap.branch"] == "backfill_7"
    assert (spec.publish or {"base": "backfill_7"})["base"] == "backfill_7"


def test_in_a_chunk_only_rows_of_its_range_are_read(place: Place) -> None:
    # Without partitions both days are in one file.
    catalog = place.ledger.lake.catalog("lake")
    catalog.drop_table("db.source")
    place.source = catalog.create_table("db.source", place.source.schema())
    place.add(place.source, 1, 2)
    place.chunk("backfill_7", "2024-01-02")
    script = place.prepare(IncrementalMerge(), MERGE)
    assert "`day` < DATE '2024-01-02'" in script or "day < DATE '2024-01-02'" in script
    IncrementalMerge().make_command(place.context(MERGE))
    spec = StepSpec.read(place.context(MERGE).place / SPEC_FILE)
    ((name, query),) = spec.views.items()
    assert name.startswith("calve_rows_")
    assert "DATE '2024-01-02'" in query
