"""Dates and times as Joda-Time has them: instants in a zone, patterns, arithmetic across clock changes."""
