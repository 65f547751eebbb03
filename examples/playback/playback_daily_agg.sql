-- Stage 2 with a lookback window: the aggregates of the past days, rebuilt.
INSERT OVERWRITE playback.playback_daily_agg_table
SELECT * FROM (
${agg_query}
)
WHERE event_day BETWEEN DATE '${from_day}' AND DATE '${to_day}'
