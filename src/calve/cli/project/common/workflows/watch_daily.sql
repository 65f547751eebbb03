-- What was watched, by day and title, of the rows that are given to it.
SELECT day, title, count(*) AS plays, sum(minutes) AS minutes
FROM :source
GROUP BY day, title
