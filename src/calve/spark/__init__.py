"""Spark on the lake: the Java finder, the settings, the session."""
