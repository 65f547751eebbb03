"""Alembic's environment: one file in `versions` for each change of the tables."""
