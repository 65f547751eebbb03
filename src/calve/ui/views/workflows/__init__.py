"""Workflows: the list, and one."""
