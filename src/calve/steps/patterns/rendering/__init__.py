"""The SQL of the patterns, from plain values: no file, no catalog, no Spark is touched here."""
