"""What people and triggers can do: start, restart, stop, skip and the like."""
