"""Runs: the list of all, and one."""
