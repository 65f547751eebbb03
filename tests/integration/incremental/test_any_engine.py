"""The business step may be anything that reads Iceberg: it gets the name or the place of a small table."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from calve.ledger.ledger import Ledger
from support.engine_runs import NO_RETRY, EngineRuns, Job, flow
from support.ledgers import append, make_table

WITH_PYICEBERG = """
set -e
"$CALVE_PARAM_python" - <<'END'
import os
from pyiceberg.table import StaticTable
import calve
rows = StaticTable.from_metadata(os.environ["CALVE_PARAM_location"]).scan().to_arrow()
calve.connect(os.environ["CALVE_HOME"]).lake.catalog("lake").load_table("db.target").append(rows)
END
"""

WITH_POLARS = """
import os, polars, calve
rows = polars.scan_iceberg(params["location"]).collect().to_arrow()
table = calve.connect(os.environ["CALVE_HOME"]).lake.catalog("lake").load_table("db.target")
table.append(rows.cast(table.schema().as_arrow()))
"""

WITH_DUCKDB = """
import os, duckdb, calve
from importlib.resources import files
connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
for name in ("avro", "iceberg"):
    (package,) = files(f"duckdb_extension_{name}").joinpath("extensions").iterdir()
    connection.execute(f"LOAD '{package / (name + '.duckdb_extension')}'")
place = params["location"].removeprefix("file://")
rows = connection.execute(f"SELECT * FROM iceberg_scan('{place}')").to_arrow_table()
table = calve.connect(os.environ["CALVE_HOME"]).lake.catalog("lake").load_table("db.target")
table.append(rows.cast(table.schema().as_arrow()))
"""


def job(kind: str) -> Job:
    stated: dict[str, Any] = {"id": "work", "location": "${capture__icdc_location}", "retry_policy": NO_RETRY}
    code = {"polars": WITH_POLARS, "duckdb": WITH_DUCKDB}
    if kind == "shell":
        script = WITH_PYICEBERG.replace("$", "$$")
        return {"job": {**stated, "type": "Shell", "script": script, "python": sys.executable}}
    return {"job": {**stated, "type": "Python", "code": code[kind]}}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["shell", "polars", "duckdb"])
def test_only_the_change_reaches_the_target(on_both: EngineRuns, ledger: Ledger, kind: str) -> None:
    source, target = make_table(ledger), make_table(ledger, "db.target")
    ids = {"source_tables": "db.t", "on_empty": "skip"}
    capture = {"job": {"id": "capture", "type": "IpCapture", "ip_capture": ids}}
    commit = {"job": {"id": "commit", "type": "IpCommit", "ip_commit": {"tables": ["db.target"]}}}
    on_both.push(flow(capture, job(kind), commit, dag="sequential"))
    append(source, 1, 2)
    append(source, 3)
    first = on_both.run("w")
    assert first.status == "SUCCEEDED", first.steps["work"].error
    append(source, 4)
    assert on_both.run("w").status == "SUCCEEDED"
    assert sorted(target.refresh().scan().to_arrow()["id"].to_pylist()) == [1, 2, 3, 4]
    assert on_both.run("w").statuses["work"] == "SKIPPED"
