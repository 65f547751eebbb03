"""The playback pipeline, as a lookback pair and as an incremental pair, measured in one run."""
