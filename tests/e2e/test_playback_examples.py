"""The workflows of examples/playback: all are valid, and the ones that `calve demo` does not run work too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calve.cli.definitions import load_file
from calve.settings import load_settings
from calve.spark import host
from calve.steps.registry import RegisteredTypes

FOLDER = Path(__file__).parents[2] / "examples" / "playback"
SETUP = """
Workflow:
  id: setup
  jobs:
    - job:
        id: tables
        type: Sql
        script: |
          CREATE NAMESPACE IF NOT EXISTS playback;
          CREATE TABLE playback.ips_playback_daily_table
            (event_day DATE, account_id BIGINT, title_id INT, watch_s INT)
            USING iceberg PARTITIONED BY (event_day);
          CREATE TABLE playback.title_table (title_id INT, genre STRING, valid_day DATE) USING iceberg;
          CREATE TABLE playback.membership_table
            (account_id BIGINT, plan STRING, changed_at TIMESTAMP, changed_day DATE) USING iceberg;
          CREATE TABLE playback.engagement_table
            (event_day DATE, genre STRING, plan STRING, plays BIGINT, watch_s BIGINT)
            USING iceberg PARTITIONED BY (event_day);
          INSERT INTO playback.title_table VALUES
            (1, 'drama', DATE '2026-01-01'), (2, 'news', DATE '2026-01-01');
          INSERT INTO playback.membership_table VALUES
            (7, 'basic', TIMESTAMP '2026-01-01 10:00:00', DATE '2026-01-01');
          INSERT INTO playback.ips_playback_daily_table VALUES
            (DATE '2026-01-02', 7, 1, 60), (DATE '2026-01-03', 7, 2, 30);
"""
LATER = """
Workflow:
  id: later
  jobs:
    - job:
        id: rows
        type: Sql
        script: |
          INSERT INTO playback.ips_playback_daily_table VALUES (DATE '2026-01-03', 7, 1, 5);
          INSERT INTO playback.title_table VALUES (3, 'kids', DATE '2026-01-03')
"""
RECOVERY = """
Workflow:
  id: example.recovery.wf
  jobs:
    - job:
        id: recover
        type: Sql
        script: |
          CREATE TABLE playback.membership_daily_table
            (account_id BIGINT, plan STRING, changed_day DATE, changes BIGINT) USING iceberg
"""
RESULT = """
Workflow:
  id: result
  jobs:
    - job:
        id: read
        type: Sql
        query: |
          SELECT
            (SELECT concat_ws(',', sort_array(collect_list(concat_ws(':', event_day, genre, plays, watch_s))))
             FROM playback.engagement_table) AS engagement,
            (SELECT sum(changes) FROM playback.membership_daily_table) AS changes
        engagement: ''
        changes: 0
"""


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_example_is_valid(file: Path) -> None:
    assert load_file(file, RegisteredTypes()).warnings == []


@pytest.fixture
def workflows(calve: Any, home: Path, tmp_path: Path) -> Iterator[Any]:
    for name, text in (("setup", SETUP), ("later", LATER), ("result", RESULT)):
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "recovery.yaml").write_text(RECOVERY)
    kept = ("multi_table", "demo_pipeline", "auto_remediation", "incremental_remediation")
    calve("push", str(tmp_path), *(str(FOLDER / f"{name}.yaml") for name in kept))
    yield calve
    host.stop(load_settings(home))


@pytest.mark.jvm
@pytest.mark.slow
def test_several_sources_and_a_pipeline_that_mends_itself(workflows: Any) -> None:
    def run(workflow_id: str) -> Any:
        return workflows("run", workflow_id, "--wait")

    run("setup")
    run("ips_engagement_workflow")
    # The target is not there: the first try fails, the recovery makes it, and the second try succeeds.
    mended = run("incremental.processing.pipeline")
    assert mended["steps"]["commit_checkpoint"]["status"] == "SUCCEEDED"
    run("later")
    again = run("ips_engagement_workflow")
    assert again["steps"]["capture"]["params"]["range_lower"] == "2026-01-03"
    idle = run("incremental.processing.pipeline")
    assert idle["steps"]["auto.remediation.pipeline"]["status"] == "SKIPPED"
    found = run("result")["steps"]["read"]["params"]
    assert found["changes"] == 1
    assert found["engagement"].split(",") == [
        "2026-01-02:drama:1:60",
        "2026-01-03:drama:1:5",
        "2026-01-03:news:1:30",
    ]
