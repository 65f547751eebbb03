"""Texts to trees: YAML and JSON, read with the place of everything."""
