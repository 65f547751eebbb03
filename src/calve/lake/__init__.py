"""Iceberg metadata: catalogs, snapshots, what changed between them, and tables that show it.

A library of its own: it knows nothing of consumers, checkpoints or workflows.
"""

from calve.lake.amounts import Amount
from calve.lake.catalogs import Lake, TableName
from calve.lake.lag import Lag, measure_lag
from calve.lake.lookback import Lookback, LookbackAsk, measure_lookback
from calve.lake.model import Changes, ColumnRange, Exactness, LogStep, Mode, OnOther, Operation, Segment
from calve.lake.orphans import collect_orphans
from calve.lake.plan import ChangePlan, ChangeRequest, plan_changes
from calve.lake.reach import verify_changes
from calve.lake.registry import drop_changes
from calve.lake.tables import SourceTable, open_table
from calve.lake.write import write_changes

__all__ = [
    "Amount",
    "ChangePlan",
    "ChangeRequest",
    "Changes",
    "ColumnRange",
    "Exactness",
    "Lag",
    "Lake",
    "LogStep",
    "Lookback",
    "LookbackAsk",
    "Mode",
    "OnOther",
    "Operation",
    "Segment",
    "SourceTable",
    "TableName",
    "collect_orphans",
    "drop_changes",
    "measure_lag",
    "measure_lookback",
    "open_table",
    "plan_changes",
    "verify_changes",
    "write_changes",
]
