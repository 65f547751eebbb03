"""The tables that the API's examples talk about."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
from pyiceberg.transforms import IdentityTransform

from support.ledgers import make_ledger


def make_example_lake(home: Path) -> str:
    """Two tables; a consumer has processed one of them. The id of its capture."""
    with make_ledger(home) as ledger:
        catalog = ledger.lake.catalog("lake")
        catalog.create_namespace("db")
        schema = pa.schema([("id", pa.int64()), ("day", pa.date32())])
        for name in ("db.orders", "db.report"):
            table = catalog.create_table(name, schema=schema)
            with table.update_spec() as spec:
                spec.add_field("day", IdentityTransform(), "day")
            table.append(pa.table({"id": [1], "day": [dt.date(2026, 1, 1)]}, schema=schema))
        capture = ledger.capture("db.orders", consumer="orders/capture", run_ref="orders/1/capture")
        capture.commit()
    return capture.id
