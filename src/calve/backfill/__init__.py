"""Managed backfill: plan, run, validate, publish, cascade; and the lineage it follows."""
