"""What a backfill does in Spark: clear a range, compare a branch with main, put a branch on top of main."""
