"""The examples that Calve comes with, read as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from calve.backfill.lineage import How, Lineage
from calve.backfill.lineage.reading import read_tables
from calve.cli.definitions import load_file
from calve.lake.catalogs import Lake
from calve.steps.registry import RegisteredTypes

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[4] / "examples"


@pytest.fixture
def lineage(own_lake: Lake) -> Lineage:
    files = [*(EXAMPLES / "playback").glob("*.yaml"), *(EXAMPLES / "workflows").glob("*.yaml")]
    loaded = [load_file(file, RegisteredTypes()).definition.workflow for file in files]
    return Lineage([read_tables(workflow, own_lake) for workflow in loaded])


def test_the_incremental_pair_is_a_chain(lineage: Lineage) -> None:
    source = "lake.playback.playback_table"
    chain = ("ips_playback_daily_workflow", "ips_playback_daily_agg_workflow")
    assert lineage.order(reversed(chain)) == chain
    down = lineage.downstream(source)
    assert set(chain) | {"ips_engagement_workflow"} <= set(down.workflows)
    assert "lake.playback.ips_playback_daily_agg_table" in down.tables
    first, second = (lineage.workflow(name) for name in chain)
    assert (first.captures[0].consumer, first.unknown) == ("ips_playback_daily_workflow/capture", ())
    assert all(read.is_captured_only for read in (*first.reads, *second.reads))
    assert all(write.by_spark and write.how == {How.PATTERN} for write in (*first.writes, *second.writes))


def test_the_lookback_pair_is_a_chain(lineage: Lineage) -> None:
    chain = ("playback_daily_workflow", "playback_daily_agg_workflow")
    assert lineage.order(reversed(chain)) == chain
    assert all(not lineage.workflow(name).unknown for name in chain)


def test_columns_of_the_daily_table_lead_back_to_the_raw_events(lineage: Lineage) -> None:
    edges = lineage.columns_into("lake.playback.ips_playback_daily_table")
    made = {edge.target_column: edge.source_column for edge in edges}
    assert (made["watch_s"], made["event_key"], made["title_id"]) == ("payload", "event_id", "title_id")
    onward = lineage.columns_out_of("lake.playback.ips_playback_daily_table")
    assert ("account_id", "viewers") in {(edge.source_column, edge.target_column) for edge in onward}


def test_several_sources_of_one_target(lineage: Lineage) -> None:
    found = lineage.workflow("ips_engagement_workflow")
    assert [source.alias for source in found.captures[0].sources] == ["plays", "titles", "members"]
    assert found.written_names == ("lake.playback.engagement_table",)


def test_a_pipeline_that_wraps_another_leads_to_its_tables(lineage: Lineage) -> None:
    called = [found.workflow_id for found in lineage.called("incremental.processing.pipeline")]
    assert {"auto.remediation.pipeline", "demo.pipeline", "example.recovery.wf"} == set(called)
    assert (
        "lake.playback.membership_daily_table" in lineage.downstream("incremental.processing.pipeline").tables
    )


def test_no_example_is_made_from_itself(lineage: Lineage) -> None:
    assert lineage.cycles() == ()
    assert len(lineage.order(lineage.workflows)) == len(lineage.workflows)
