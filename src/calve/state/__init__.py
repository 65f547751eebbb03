"""The database: its tables, its migrations and its two dialects."""
