-- The tables of both pairs. They differ in how they are written, not in what they hold; event_key is a hash
-- of event_id by which ips_playback_daily_table is asked for late events. Keys that are never null can be
-- compared with =, which is cheaper than <=>.
CREATE TABLE IF NOT EXISTS playback.playback_daily_table (
  event_day DATE, event_id STRING, event_ts TIMESTAMP, ingest_ts TIMESTAMP, account_id BIGINT, profile_id INT,
  title_id INT, country STRING, device_type STRING, watch_s INT, bitrate_kbps INT, rebuffers INT,
  startup_ms INT, completed BOOLEAN, network STRING
) USING iceberg PARTITIONED BY (event_day);

CREATE TABLE IF NOT EXISTS playback.playback_daily_agg_table (
  event_day DATE, title_id INT, country STRING, device_type STRING, plays BIGINT, completed_plays BIGINT,
  watch_s BIGINT, rebuffers BIGINT, max_bitrate_kbps INT, first_play_at TIMESTAMP, last_play_at TIMESTAMP,
  viewers BINARY
) USING iceberg PARTITIONED BY (event_day);

CREATE TABLE IF NOT EXISTS playback.ips_playback_daily_table (
  event_day DATE NOT NULL, event_id STRING NOT NULL, event_ts TIMESTAMP NOT NULL,
  ingest_ts TIMESTAMP, account_id BIGINT, profile_id INT, title_id INT, country STRING, device_type STRING,
  watch_s INT, bitrate_kbps INT, rebuffers INT, startup_ms INT, completed BOOLEAN, network STRING,
  event_key BIGINT NOT NULL
) USING iceberg PARTITIONED BY (event_day)
-- A statement that writes one day need not bring the rows of each day together first.
TBLPROPERTIES ('write.distribution-mode' = 'none', 'write.spark.fanout.enabled' = 'true');

CREATE TABLE IF NOT EXISTS playback.ips_playback_daily_agg_table (
  event_day DATE NOT NULL, title_id INT NOT NULL, country STRING NOT NULL, device_type STRING NOT NULL,
  plays BIGINT, completed_plays BIGINT, watch_s BIGINT, rebuffers BIGINT, max_bitrate_kbps INT,
  first_play_at TIMESTAMP, last_play_at TIMESTAMP, viewers BINARY
) USING iceberg PARTITIONED BY (event_day)
-- Few groups of many days change: they are marked and written again, the files around them stay.
TBLPROPERTIES ('format-version' = '3', 'write.merge.mode' = 'merge-on-read',
  'write.distribution-mode' = 'none', 'write.spark.fanout.enabled' = 'true');
