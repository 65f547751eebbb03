"""Playback events as devices send them: skewed, wide, some late, some twice. The same on every machine.

Everything about an event follows from its number by hashing, so a row that comes twice is the same
event, and a day can be made without the days before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DAY_MICROS = 86_400_000_000
_COLUMNS = """
    event_day DATE, event_id STRING, event_ts TIMESTAMP, ingest_ts TIMESTAMP, account_id BIGINT,
    profile_id INT, title_id INT, country STRING, device_type STRING, device_id STRING,
    session_id STRING, app_version STRING, payload STRING
"""
# Streams write without sorting first: every writer has a file of each day that it met.
_PROPERTIES = "'write.distribution-mode' = 'none', 'write.spark.fanout.enabled' = 'true'"


def _share(hash_column: str, bit: int) -> str:
    """A number from 0 to below 1, from 16 bits of a hash."""
    return f"((shiftright({hash_column}, {bit}) & 65535) / 65536D)"


def _skewed(hash_column: str, bit: int, size: int, power: int = 2) -> str:
    """A whole number below `size`; the small ones are far more frequent."""
    factors = " * ".join([_share(hash_column, bit)] * power)
    return f"CAST({size} * {factors} AS INT)"


def _one_of(values: tuple[str, ...], index: str) -> str:
    listed = ", ".join(f"'{value}'" for value in values)
    return f"element_at(array({listed}), CAST(1 + {index} AS INT))"


@dataclass(frozen=True, slots=True)
class PlaybackSource:
    """A table of raw playback events, and the days on which they arrive, counted from 0.

    `late` of the rows are about an earlier day; half of those are at most two days late, and about
    one in a hundred is more than 14 days late. One row in a hundred is a second delivery of an event,
    mostly minutes after the first, sometimes days.
    """

    table: str
    rows_per_day: int
    first_day: date = date(2026, 1, 1)
    late: float = 0.025
    repeated_soon: float = 0.008
    repeated_later: float = 0.002
    files_per_day: int = 2

    def day(self, number: int) -> date:
        """The date of a day."""
        return self.first_day + timedelta(days=number)

    def create(self, spark: SparkSession) -> None:
        """Make the table, without rows."""
        spark.sql(
            f"CREATE TABLE {self.table} ({_COLUMNS}) USING iceberg "
            f"PARTITIONED BY (event_day) TBLPROPERTIES ({_PROPERTIES})"
        )

    def arrive(self, spark: SparkSession, number: int) -> None:
        """Append all that arrives on a day, in one commit."""
        spark.sql(f"INSERT INTO {self.table} {self.arrivals(number)}")

    def arrivals(self, number: int) -> str:
        """What arrives on a day, as a query."""
        rows = self.rows_per_day
        micros_per_row = _DAY_MICROS / rows
        start = int(datetime.combine(self.first_day, datetime.min.time(), UTC).timestamp()) * 1_000_000
        soon, later = self.repeated_soon, self.repeated_soon + self.repeated_later
        days_late = f"greatest(sent - 1 - CAST(-3D * ln(1D - {_share('h', 16)}) AS INT), 0)"
        return f"""
WITH arrived AS (
  SELECT id AS place, {number * rows}L + id AS row, xxhash64({number * rows}L + id, 1) AS a
  FROM range(0, {rows}, 1, {self.files_per_day})
), events AS (
  SELECT place, CASE
      WHEN {_share("a", 0)} < {soon}D THEN greatest(row - 1 - pmod(a, 1000), 0L)
      WHEN {_share("a", 0)} < {later}D
        THEN greatest(row - {rows}L * (1 + CAST(-2D * ln(1D - {_share("a", 16)}) AS BIGINT)), 0L)
      ELSE row END AS e
  FROM arrived
), hashed AS (
  SELECT place, e, CAST(e DIV {rows} AS INT) AS sent,
    xxhash64(e, 2) AS h, xxhash64(e, 3) AS i, xxhash64(e, 4) AS j
  FROM events
), dated AS (
  SELECT *, IF({_share("h", 0)} < {self.late}D, {days_late}, sent) AS day FROM hashed
)
SELECT date_add(DATE '{self.first_day}', day) AS event_day,
  sha2(CAST(e AS STRING), 256) AS event_id,
  timestamp_micros({start} + day * {_DAY_MICROS}
    + CAST((e % {rows}) * {micros_per_row!r}D AS BIGINT)) AS event_ts,
  timestamp_micros({start + number * _DAY_MICROS} + CAST(place * {micros_per_row!r}D AS BIGINT)) AS ingest_ts,
  {_skewed("h", 32, 2_000_000)} + (i & 15) AS account_id,
  CAST(1 + (i & 3) AS INT) AS profile_id,
  {_skewed("h", 48, 1_500, 3)} AS title_id,
  substr('USBRGBDEFRJPINMXCAESITKRAUNLPLSEARCOTRID', 1 + 2 * {_skewed("i", 0, 20)}, 2) AS country,
  {_one_of(("tv", "mobile", "web", "console"), _skewed("i", 16, 4))} AS device_type,
  hex(i) AS device_id,
  hex(h) AS session_id,
  concat('app/', 5 + (j & 3), '.', shiftright(j, 2) & 15) AS app_version,
  concat('{{"event":"stop","position_s":', shiftright(j, 16) & 8191,
    ',"watch_s":', {_skewed("i", 32, 5_400)},
    ',"bitrate_kbps":', 400 + (shiftright(i, 48) & 16383),
    ',"rebuffers":', IF({_share("j", 0)} < 0.1D, shiftright(j, 10) & 7, 0),
    ',"startup_ms":', 200 + (shiftright(j, 20) & 4095),
    ',"completed":', IF({_share("j", 32)} < 0.3D, 'true', 'false'),
    ',"audio":"', {_one_of(("en", "es", "pt", "de"), "(shiftright(j, 40) & 3)")},
    '","network":"', {_one_of(("wifi", "ethernet", "cellular", "wifi"), "(shiftright(j, 48) & 3)")},
    '","cdn":"edge-', shiftright(h, 40) & 255, '.example.net","ui":{{"row":', shiftright(h, 44) & 31,
    ',"rank":', shiftright(h, 50) & 63, '}}}}') AS payload
FROM dated"""
