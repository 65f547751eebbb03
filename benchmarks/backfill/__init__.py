"""The benchmark of managed backfills."""
