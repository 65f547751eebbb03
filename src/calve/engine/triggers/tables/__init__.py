"""Triggers on tables: a workflow is started when its sources have changed."""
