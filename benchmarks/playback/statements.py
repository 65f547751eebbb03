"""The incremental pair's statements, from the plain way to the one that is tuned, trick by trick."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.playback.queries import (
    AGG_COLUMNS,
    DAILY_COLUMNS,
    GROUP,
    IPS_DAILY,
    IPS_DAILY_AGG,
    daily,
    daily_agg,
)

_WRITTEN = [*DAILY_COLUMNS, "event_key"]
_SUMS = {
    **dict.fromkeys(("plays", "completed_plays", "watch_s", "rebuffers"), "t.{0} + s.{0}"),
    **dict.fromkeys(("max_bitrate_kbps", "last_play_at"), "greatest(t.{0}, s.{0})"),
    "first_play_at": "least(t.{0}, s.{0})",
    "viewers": "theta_union(t.{0}, s.{0})",
}


def among(days: Sequence[str]) -> str:
    """A condition that holds on some days, in literals that prune."""
    listed = ", ".join(f"DATE '{day}'" for day in days)
    return f"event_day IN ({listed})"


def _rows(change: str, days: Sequence[str]) -> str:
    return f"(SELECT * FROM {change} WHERE {among(days)})" if days else change


def _equal(names: Sequence[str], left: str, right: str) -> str:
    return " AND ".join(f"{left}.{name} = {right}.{name}" for name in names)


# Stage 1


def first_deliveries(change: str, days: Sequence[str] = ()) -> str:
    """The events of a change, each as it came first."""
    return (
        f"SELECT {', '.join(_WRITTEN)} FROM (SELECT *, row_number() OVER "
        f"(PARTITION BY event_id ORDER BY ingest_ts) AS delivery FROM ({daily(_rows(change, days))})) "
        "WHERE delivery = 1"
    )


def insert_new_days(change: str, days: Sequence[str]) -> str:
    """Days that the target does not have yet: nothing there to compare with."""
    return f"INSERT INTO {IPS_DAILY} {first_deliveries(change, days)}"


def insert_new_days_in_place(change: str, days: Sequence[str]) -> str:
    """The same without moving the events: only ids are, and the few that come again are brought to them."""
    return f"""INSERT INTO {IPS_DAILY}
WITH events AS ({daily(_rows(change, days))}),
again AS (SELECT event_id, min(ingest_ts) AS first_ts FROM events GROUP BY event_id HAVING count(*) > 1)
SELECT /*+ BROADCAST(again) */ {", ".join(f"events.{name}" for name in _WRITTEN)}
FROM events LEFT ANTI JOIN again
ON events.event_id = again.event_id AND events.ingest_ts > again.first_ts"""


def merge_events(change: str, days: Sequence[str] = ()) -> str:
    """MERGE by the event's id; with `days`, over these partitions only."""
    pruned = f" AND t.{among(days)}" if days else ""
    return (
        f"MERGE INTO {IPS_DAILY} t USING ({first_deliveries(change, days)}) s "
        f"ON t.event_day = s.event_day AND t.event_id = s.event_id{pruned} WHEN NOT MATCHED THEN INSERT *"
    )


def insert_unknown_events(change: str, days: Sequence[str], keys: Sequence[str]) -> str:
    """Late events that the target does not have: it is asked for their keys, which are few."""
    return f"""INSERT INTO {IPS_DAILY}
WITH late AS ({first_deliveries(change, days)}),
known AS (
  SELECT /*+ BROADCAST(k) */ DISTINCT {", ".join(f"t.{key}" for key in keys)}
  FROM {IPS_DAILY} t JOIN (SELECT {", ".join(keys)} FROM late) k ON {_equal(keys, "t", "k")}
  WHERE t.{among(days)}
)
SELECT /*+ REBALANCE(event_day), BROADCAST(known) */ late.*
FROM late LEFT ANTI JOIN known ON {_equal(keys, "late", "known")}"""


# Stage 2


def insert_new_groups(change: str, days: Sequence[str]) -> str:
    """The aggregates of days that the target does not have yet."""
    return f"INSERT INTO {IPS_DAILY_AGG} {daily_agg(_rows(change, days))}"


def merge_changed_groups(change: str, days: Sequence[str] = ()) -> str:
    """The groups that changed, made anew from all their rows and merged."""
    where = f" WHERE d.{among(days)}" if days else ""
    keys = f"SELECT DISTINCT {', '.join(GROUP)} FROM {_rows(change, days)}"
    rows = (
        f"(SELECT /*+ BROADCAST(k) */ d.* FROM {IPS_DAILY} d LEFT SEMI JOIN ({keys}) k "
        f"ON {_equal(GROUP, 'd', 'k')}{where})"
    )
    pruned = f" AND t.{among(days)}" if days else ""
    return (
        f"MERGE INTO {IPS_DAILY_AGG} t USING ({daily_agg(rows)}) s ON {_equal(GROUP, 't', 's')}{pruned} "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def _added() -> str:
    return ", ".join(f"t.{name} = {way.format(name)}" for name, way in _SUMS.items())


def merge_additions(change: str, days: Sequence[str]) -> str:
    """What the late rows add to each group: no row of the source is read again."""
    return (
        f"MERGE INTO {IPS_DAILY_AGG} t USING ({daily_agg(_rows(change, days))}) s "
        f"ON {_equal(GROUP, 't', 's')} AND t.{among(days)} "
        f"WHEN MATCHED THEN UPDATE SET {_added()} WHEN NOT MATCHED THEN INSERT *"
    )


def add_to_known_groups(change: str, days: Sequence[str]) -> str:
    """The additions to groups that are there. Without inserts, the few additions can be broadcast."""
    return (
        f"MERGE INTO {IPS_DAILY_AGG} t USING (SELECT /*+ BROADCAST */ * FROM "
        f"({daily_agg(_rows(change, days))})) s ON {_equal(GROUP, 't', 's')} AND t.{among(days)} "
        f"WHEN MATCHED THEN UPDATE SET {_added()}"
    )


def insert_unknown_groups(change: str, days: Sequence[str]) -> str:
    """The groups that are not there."""
    keys = f"SELECT DISTINCT {', '.join(GROUP)} FROM {_rows(change, days)}"
    return f"""INSERT INTO {IPS_DAILY_AGG}
WITH added AS ({daily_agg(_rows(change, days))}),
known AS (
  SELECT /*+ BROADCAST(k) */ {", ".join(f"t.{key}" for key in GROUP)}
  FROM {IPS_DAILY_AGG} t JOIN ({keys}) k ON {_equal(GROUP, "t", "k")} WHERE t.{among(days)}
)
SELECT /*+ REBALANCE(event_day), BROADCAST(known) */ {", ".join([*AGG_COLUMNS, "viewers"])}
FROM added LEFT ANTI JOIN known ON {_equal(GROUP, "added", "known")}"""
