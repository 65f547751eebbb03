-- Stage 1, the business logic: one raw event is one row of playback_daily.
SELECT event_day, event_id, event_ts, ingest_ts, account_id, profile_id, title_id, country, device_type,
  play.watch_s, play.bitrate_kbps, play.rebuffers, play.startup_ms, play.completed, play.network,
  xxhash64(event_id) AS event_key
FROM (
  SELECT *, from_json(payload, 'watch_s INT, bitrate_kbps INT, rebuffers INT, startup_ms INT,
    completed BOOLEAN, network STRING') AS play
  FROM ${playback_table}
)
