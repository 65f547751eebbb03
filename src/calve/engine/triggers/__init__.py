"""What starts workflows by itself: the time, and signals."""
