"""Iceberg metadata: catalogs, snapshots, what changed between them, and tables that show it.

A library of its own: it knows nothing of consumers, checkpoints or workflows.
"""

from calve.lake.amounts import Amount
from calve.lake.branches import create_branch, drop_branch, fast_forward, set_property
from calve.lake.catalogs import Lake, TableName
from calve.lake.lag import Lag, measure_lag
from calve.lake.live import LiveRequest, write_live
from calve.lake.live_amounts import LiveAmount, column_bounds, measure_live, measure_ranges
from calve.lake.lookback import Lookback, LookbackAsk, measure_lookback
from calve.lake.model import Changes, ColumnRange, Exactness, LogStep, Mode, OnOther, Operation, Segment
from calve.lake.orphans import collect_orphans
from calve.lake.plan import ChangePlan, ChangeRequest, plan_changes
from calve.lake.reach import verify_changes
from calve.lake.registry import drop_changes
from calve.lake.tables import SourceTable, open_table
from calve.lake.time_columns import default_range_column
from calve.lake.touched import PartitionTouch, Touched, TouchedSnapshot, touched_by, touched_by_each
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
    "LiveAmount",
    "LiveRequest",
    "LogStep",
    "Lookback",
    "LookbackAsk",
    "Mode",
    "OnOther",
    "Operation",
    "PartitionTouch",
    "Segment",
    "SourceTable",
    "TableName",
    "Touched",
    "TouchedSnapshot",
    "collect_orphans",
    "column_bounds",
    "create_branch",
    "default_range_column",
    "drop_branch",
    "drop_changes",
    "fast_forward",
    "measure_lag",
    "measure_live",
    "measure_lookback",
    "measure_ranges",
    "open_table",
    "plan_changes",
    "set_property",
    "touched_by",
    "touched_by_each",
    "verify_changes",
    "write_changes",
    "write_live",
]
