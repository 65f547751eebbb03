"""Benchmarks: apart from the tests, never failing on a slow machine, with results kept as JSON."""
