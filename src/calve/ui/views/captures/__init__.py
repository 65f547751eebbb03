"""Captures: what each took, shows, and became of it."""
