"""Which workflows read and write which tables, from the definitions that are pushed."""

from calve.backfill.lineage.graph import Lineage, Reach
from calve.backfill.lineage.model import (
    Call,
    CapturedSource,
    CaptureUse,
    Cause,
    ColumnEdge,
    Direction,
    How,
    TableRead,
    TableWrite,
    Unknown,
    WorkflowTables,
)

__all__ = [
    "Call",
    "CaptureUse",
    "CapturedSource",
    "Cause",
    "ColumnEdge",
    "Direction",
    "How",
    "Lineage",
    "Reach",
    "TableRead",
    "TableWrite",
    "Unknown",
    "WorkflowTables",
]
