"""`calve backfill`."""
