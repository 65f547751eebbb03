"""The playback pipeline of the examples: its data, its costs, and whether two results are the same."""
