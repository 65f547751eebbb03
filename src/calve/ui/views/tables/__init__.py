"""Tables: those that Calve knows, and each with its snapshots, consumers and late data."""
