"""The words of the engine: statuses, transitions, requests. Pure."""
