"""The SQL of the examples, read from their files: both pairs run the same business logic."""

from __future__ import annotations

from pathlib import Path

from calve.spark.statements import split_statements

FOLDER = Path(__file__).parents[2] / "examples" / "playback"

DAILY = "playback.playback_daily_table"
DAILY_AGG = "playback.playback_daily_agg_table"
IPS_DAILY = "playback.ips_playback_daily_table"
IPS_DAILY_AGG = "playback.ips_playback_daily_agg_table"
SOURCE = "playback.playback_table"

DAILY_COLUMNS = [
    "event_day",
    "event_id",
    "event_ts",
    "ingest_ts",
    "account_id",
    "profile_id",
    "title_id",
    "country",
    "device_type",
    "watch_s",
    "bitrate_kbps",
    "rebuffers",
    "startup_ms",
    "completed",
    "network",
]
GROUP = ["event_day", "title_id", "country", "device_type"]
AGG_COLUMNS = [
    *GROUP,
    "plays",
    "completed_plays",
    "watch_s",
    "rebuffers",
    "max_bitrate_kbps",
    "first_play_at",
    "last_play_at",
]


def text(name: str, **params: str) -> str:
    """A file with its params filled in."""
    content = (FOLDER / name).read_text(encoding="utf-8").strip()
    for param, value in params.items():
        content = content.replace(f"${{{param}}}", value)
    return content


def create_tables() -> list[str]:
    """The statements that make all target tables."""
    return [statement.text for statement in split_statements(text("tables.sql"))]


def daily(source: str) -> str:
    """Stage 1's business logic over rows of the raw table."""
    return text("playback_daily_query.sql", playback_table=source)


def daily_agg(source: str) -> str:
    """Stage 2's business logic over rows of the daily table."""
    return text("playback_daily_agg_query.sql", daily_table=source)


def lookback_daily(first: str, last: str) -> str:
    """Stage 1 of the lookback pair."""
    return text("playback_daily.sql", daily_query=daily(SOURCE), from_day=first, to_day=last)


def lookback_daily_in_place(from_day: str, to_day: str) -> str:
    """Stage 1 of the lookback pair, with the ids that come again brought to the events."""
    return f"""INSERT OVERWRITE {DAILY}
WITH events AS (
  SELECT * FROM ({daily(SOURCE)}) WHERE event_day BETWEEN DATE '{from_day}' AND DATE '{to_day}'
),
again AS (SELECT event_id, min(ingest_ts) AS first_ts FROM events GROUP BY event_id HAVING count(*) > 1)
SELECT /*+ BROADCAST(again) */ {", ".join(f"events.{name}" for name in DAILY_COLUMNS)}
FROM events LEFT ANTI JOIN again
ON events.event_id = again.event_id AND events.ingest_ts > again.first_ts"""


def lookback_agg(first: str, last: str) -> str:
    """Stage 2 of the lookback pair."""
    return text("playback_daily_agg.sql", agg_query=daily_agg(DAILY), from_day=first, to_day=last)
