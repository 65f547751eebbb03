"""A step of a run."""
