"""Patterns of incremental processing as step types: the user's query, over what changed, into a target."""
