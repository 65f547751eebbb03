"""The home page: what needs attention, what runs, how fresh tables are, the last day."""
