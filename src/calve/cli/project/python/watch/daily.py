"""The step between capture and commit: adds what the query makes of the change to the totals by day.

It is plain Python with PyIceberg, and runs the SQL in SQLite, so that a first try needs no JVM. Large tables
are for Spark: `calve init FOLDER --spark` writes the same project with a step type that does all of this.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from datetime import date

import pyarrow as pa
from pyiceberg.table import Table

from calve.lake import Lake
from calve.settings import load_settings

#: In the summary of the snapshot that has a capture's rows in it.
MARK = "capture"
SUMS = """
SELECT day, title, sum(plays) AS plays, sum(minutes) AS minutes
FROM (SELECT * FROM before UNION ALL SELECT * FROM ({query}))
GROUP BY day, title
"""


def add(change: str, capture_id: str, target: str, query: str) -> None:
    """Add a change to the totals, once: a capture that the target has already is passed over."""
    daily = load(target)
    if has_landed(daily, capture_id):
        print(f"{capture_id} has landed: nothing to do")
        return
    rows = load(change).scan().to_arrow()
    days = Counter(rows["day"].to_pylist())
    listed = ", ".join(f"'{day}'" for day in days)
    of_these_days = f"day IN ({listed})"
    totals = run_sql(
        SUMS.format(query=query.replace(":source", "change")),
        change=rows,
        before=daily.scan(of_these_days).to_arrow(),
    )
    daily.overwrite(totals, of_these_days, snapshot_properties={MARK: capture_id})
    print(f"{len(rows)} changed rows, and no others, were read")
    for day, count in sorted(days.items()):
        print(f"{day} +{count}")


def load(name: str) -> Table:
    """A table of the lake."""
    lake = Lake(load_settings())
    found = lake.resolve(name)
    return lake.catalog(found.catalog).load_table(found.identifier)


def has_landed(table: Table, capture_id: str) -> bool:
    """Whether a step that was cut off has written the capture all the same."""
    summaries = [snapshot.summary for snapshot in table.snapshots()]
    return any(summary is not None and summary[MARK] == capture_id for summary in summaries)


def run_sql(sql: str, **tables: pa.Table) -> pa.Table:
    """What a query makes of Arrow tables; the result has the columns of `before`."""
    with closing(sqlite3.connect(":memory:")) as database:
        for name, table in tables.items():
            database.execute(f"CREATE TABLE {name} ({', '.join(table.column_names)})")
            places = ", ".join("?" * table.num_columns)
            rows = (tuple(map(to_sqlite, row.values())) for row in table.to_pylist())
            database.executemany(f"INSERT INTO {name} VALUES ({places})", rows)
        cursor = database.execute(sql)
        names = [column[0] for column in cursor.description]
        found = [dict(zip(names, row, strict=True)) for row in cursor]
    for row in found:
        row["day"] = date.fromisoformat(row["day"])
    return pa.Table.from_pylist(found, schema=tables["before"].schema)


def to_sqlite(value: object) -> object:
    """SQLite has no dates: they are texts there."""
    return value.isoformat() if isinstance(value, date) else value
