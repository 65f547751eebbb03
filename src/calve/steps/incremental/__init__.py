"""Incremental processing as steps: capture what changed, commit what was processed."""
