"""Lineage: tables and workflows across the whole lake, and how fresh each is."""
