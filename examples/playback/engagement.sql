-- From the earliest day that any of the three touches; the days before it are as they were.
INSERT OVERWRITE playback.engagement_table
SELECT p.event_day, t.genre, m.plan, count(*) AS plays, sum(p.watch_s) AS watch_s
FROM playback.ips_playback_daily_table p
JOIN playback.title_table t ON t.title_id = p.title_id
JOIN playback.membership_table m ON m.account_id = p.account_id
WHERE p.event_day >= DATE '${first_day}'
GROUP BY p.event_day, t.genre, m.plan
