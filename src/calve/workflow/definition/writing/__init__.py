"""The way out: definitions to YAML."""
