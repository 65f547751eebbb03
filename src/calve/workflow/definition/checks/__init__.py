"""The rules that no single field can check."""
