"""Backfills: the list, one, and the form to plan one."""
