"""Definitions by version, and what differs between two."""
