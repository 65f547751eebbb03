INSERT INTO ${TARGET_TABLE}
SELECT account_id, plan, CAST(changed_at AS DATE) AS changed_day, count(*) AS changes
FROM ${SOURCE_TABLE}
GROUP BY account_id, plan, CAST(changed_at AS DATE)
