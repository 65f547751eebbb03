-- Stage 2, the business logic: what was watched by day, title, country and kind of device.
SELECT event_day, title_id, country, device_type,
  count(*) AS plays,
  count_if(completed) AS completed_plays,
  sum(watch_s) AS watch_s,
  sum(rebuffers) AS rebuffers,
  max(bitrate_kbps) AS max_bitrate_kbps,
  min(event_ts) AS first_play_at,
  max(event_ts) AS last_play_at,
  theta_sketch_agg(account_id) AS viewers
FROM ${daily_table}
GROUP BY event_day, title_id, country, device_type
