"""A comparison of a branch with main, made ready to be read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from calve.backfill.plan import Validation
from calve.server.dependencies import Json

_GROUPS = 60
_LONGEST = 120


def validation_model(table: str, report: Mapping[str, Any], asked: Validation) -> Json:
    """What is said of one table: the verdict first, then what it rests on."""
    groups = [_counts(group) for group in report["groups"][:_GROUPS]]
    hidden = report["groups_not_shown"] + len(report["groups"]) - len(groups)
    return {
        "table": table,
        "branch": report["branch"],
        "main_snapshot_id": report["main_snapshot_id"],
        "branch_snapshot_id": report["branch_snapshot_id"],
        "passed": report["passed"],
        "failures": list(report["failures"]),
        "group_by": report["group_by"],
        "key_columns": list(report["keys"]),
        "total": _counts(report["total"]),
        "groups": groups,
        "groups_hidden": hidden,
        "columns": _columns(report["total"]),
        "samples": _samples(report["samples"]),
        "schema_changes": list(report["schema_changes"]),
        "audits": [
            {"name": x["name"], "passed": x["passed"], "result": x["problem"] or value_text(x["value"])}
            for x in report["audits"]
        ],
        "thresholds": {name: value_text(value) for name, value in asked.thresholds.items()},
    }


def value_text(value: Any) -> str:
    """A value of a row as a short text."""
    if value is None:
        return "NULL"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _counts(group: Mapping[str, Any]) -> Json:
    named = ", ".join(f"{name}={value_text(value)}" for name, value in group["values"].items())
    return {
        "name": named or "all",
        "main": group["main"]["rows"],
        "branch": group["branch"]["rows"],
        **group["moves"],
    }


def _columns(total: Mapping[str, Any]) -> list[Json]:
    """Sums and nulls, only of columns in which the sides differ: a table may have hundreds."""
    main, branch = total["main"], total["branch"]
    rows = [
        {
            "column": name,
            "sums": [main["sums"].get(name), branch["sums"].get(name)],
            "nulls": [main["nulls"].get(name, 0), branch["nulls"].get(name, 0)],
        }
        for name in sorted({*main["nulls"], *branch["nulls"], *main["sums"], *branch["sums"]})
    ]
    differing = [
        row for row in rows if row["sums"][0] != row["sums"][1] or row["nulls"][0] != row["nulls"][1]
    ]
    return [{**row, "sums": [_sum_text(value) for value in row["sums"]]} for row in differing]


def _sum_text(value: Any) -> str:
    return "–" if value is None else value_text(value)


def _samples(samples: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Json]:
    """Rows that differ, as tables with a title each."""
    made = [_rows(kind, samples[kind]) for kind in ("added", "removed") if samples[kind]]
    changed = [
        [_key(row["key"]), name, value_text(pair[0]), value_text(pair[1])]
        for row in samples["changed"]
        for name, pair in row["columns"].items()
    ]
    if changed:
        head = ["key", "column", "on main", "on the branch"]
        made.append({"kind": "changed", "count": len(samples["changed"]), "head": head, "rows": changed})
    return made


def _rows(kind: str, rows: Sequence[Mapping[str, Any]]) -> Json:
    head = list(rows[0])
    texts = [[value_text(row.get(name)) for name in head] for row in rows]
    return {"kind": kind, "count": len(rows), "head": head, "rows": texts}


def _key(key: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value_text(value)}" for name, value in key.items())
