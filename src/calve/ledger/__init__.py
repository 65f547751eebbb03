"""Who processed what: consumers, captures, checkpoints. Knows the lake, knows nothing of workflows."""
