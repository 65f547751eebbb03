"""The command `calve`."""
