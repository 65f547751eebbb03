-- Stage 1 with a lookback window: all events of the past days, whether anything came or not.
-- An event that was delivered several times counts once, as it came first.
INSERT OVERWRITE playback.playback_daily_table
SELECT event_day, event_id, event_ts, ingest_ts, account_id, profile_id, title_id, country, device_type,
  watch_s, bitrate_kbps, rebuffers, startup_ms, completed, network
FROM (
  SELECT *, row_number() OVER (PARTITION BY event_id ORDER BY ingest_ts) AS delivery
  FROM (
${daily_query}
  )
  WHERE event_day BETWEEN DATE '${from_day}' AND DATE '${to_day}'
)
WHERE delivery = 1
