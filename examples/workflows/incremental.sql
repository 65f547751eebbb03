INSERT INTO ${target}
SELECT user_id, event_date, count(*) AS events
FROM ${capture__icdc_table}
GROUP BY user_id, event_date
