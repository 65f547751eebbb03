"""The whole way, on a lake of its own: late data, capture, process, commit.

Run it with `make demo`. It leaves the lake in `.demo`, to look around in with `calve`.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import calve
from calve.ledger.capture import Capture
from calve.settings import load_settings
from calve.spark.changes import changes
from calve.spark.session import session

HOME = Path(".demo")
TODAY = "DATE'2026-03-31'"
PLAYBACK, DAILY = "lake.demo.playback", "lake.demo.playback_daily"
console = Console(width=100, highlight=False)

#: The business logic, once: minutes watched by day and title, from whatever rows it is given.
DAILY_SQL = "SELECT CAST(event_time AS DATE) AS day, title, SUM(minutes) AS minutes FROM {rows} GROUP BY 1, 2"


@contextmanager
def chapter(title: str) -> Iterator[None]:
    console.print(f"\n[bold cyan]{title}")
    start = time.perf_counter()
    yield
    console.print(f"  [dim]{time.perf_counter() - start:.1f} s")


def create_tables(spark: SparkSession) -> None:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.demo")
    spark.sql(
        f"CREATE TABLE {PLAYBACK} (event_time TIMESTAMP, user BIGINT, title STRING, minutes INT)"
        " USING iceberg PARTITIONED BY (days(event_time))"
    )
    spark.sql(
        f"CREATE TABLE {DAILY} (day DATE, title STRING, minutes BIGINT) USING iceberg PARTITIONED BY (day)"
    )


def play(spark: SparkSession, days_ago: int, users: int) -> None:
    """One commit of playback events that happened some days ago, whenever they arrive."""
    spark.sql(
        f"INSERT INTO {PLAYBACK} SELECT CAST(date_sub({TODAY}, {days_ago}) AS TIMESTAMP)"
        " + make_interval(0, 0, 0, 0, 0, 0, id * 7 % 86400), id,"
        f" concat('title-', id % 5), CAST(1 + id % 90 AS INT) FROM range({users})"
    )


def process(spark: SparkSession, capture: Capture) -> None:
    """Recompute the days that changed, and only these: the captured rows say which."""
    changed = f"(SELECT DISTINCT CAST(event_time AS DATE) AS day FROM {capture.icdc_table})"
    rows = f"(SELECT p.* FROM {PLAYBACK} p JOIN {changed} c ON CAST(p.event_time AS DATE) = c.day)"
    spark.sql(
        f"MERGE INTO {DAILY} t USING ({DAILY_SQL.format(rows=rows)}) s ON t.day = s.day AND t.title = s.title"
        " WHEN MATCHED AND t.minutes <> s.minutes THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def show_capture(capture: Capture, seconds: float) -> None:
    table = Table(show_header=False, box=None, padding=(0, 2))
    table.add_row("captured in", f"{seconds * 1000:.0f} ms, from metadata alone")
    table.add_row("ICDC table", f"{capture.icdc_table}  [dim](no data was copied)")
    table.add_row("change", f"{capture.files} files, {capture.records:,} rows, {capture.bytes:,} bytes")
    bounds = capture.ranges["event_time"]
    table.add_row("event_time", f"{bounds.lower} … {bounds.upper}  [dim]({bounds.exactness})")
    table.add_row("partitions", ", ".join(str(p["event_time_day"]) for p in capture.partitions))
    console.print(table)


def capture_process_commit(spark: SparkSession, lake: calve.Ledger) -> Capture:
    start = time.perf_counter()
    capture = lake.capture(PLAYBACK, consumer="daily", range_columns=["event_time"])
    show_capture(capture, time.perf_counter() - start)
    process(spark, capture)
    capture.commit()
    return capture


def is_exact(spark: SparkSession) -> bool:
    """Whether the target equals a full recomputation."""
    full, target = spark.sql(DAILY_SQL.format(rows=PLAYBACK)), spark.table(DAILY)
    return full.exceptAll(target).isEmpty() and target.exceptAll(full).isEmpty()


def main() -> None:
    shutil.rmtree(HOME, ignore_errors=True)
    settings = load_settings(HOME)
    lake = calve.connect(HOME)
    console.print("[bold]Calve: the change, and only the change")
    with chapter("1. Spark joins an embedded lake: one SQLite file and a folder"):
        spark = session(settings)
        create_tables(spark)
    with chapter("2. Fourteen days of playback events arrive, a commit a day"):
        for days_ago in range(14, 0, -1):
            play(spark, days_ago, 2_000)
    with chapter("3. The first capture is everything; the job runs on it and commits"):
        first = capture_process_commit(spark, lake)
    with chapter("4. Today's events arrive, and with them late ones from 3 and 9 days ago"):
        for days_ago, users in ((0, 2_000), (3, 40), (9, 5)):
            play(spark, days_ago, users)
    with chapter("5. The next capture is what is new, however late it came"):
        second = capture_process_commit(spark, lake)
        share = second.records / (first.records + second.records)
        console.print(f"  a 14-day lookback reads every row; the change was [bold]{share:.1%}[/] of them")
    with chapter("6. Is the target what a full recomputation gives?"):
        console.print(f"  [bold green]{'yes' if is_exact(spark) else 'NO'}")
        waiting = sum(behind.lag.snapshots for behind in lake.lag() if behind.lag)
        console.print(f"  snapshots not yet processed: {waiting}")
    with chapter("7. Updates and deletes are changes too"):
        start = lake.capture(DAILY, consumer="report", start_from="latest")
        start.commit()
        spark.sql(f"UPDATE {DAILY} SET minutes = 0 WHERE day = {TODAY} AND title = 'title-1'")
        spark.sql(f"DELETE FROM {DAILY} WHERE day < date_sub({TODAY}, 13) AND title = 'title-2'")
        net = lake.capture(DAILY, consumer="report", mode="net")
        changes(spark, net, ["day", "title"]).show(truncate=False)
        net.commit()
    spark.stop()
    console.print(f"\nLook around: [bold]CALVE_HOME={os.path.relpath(HOME)} .venv/bin/calve lag")


if __name__ == "__main__":
    main()
