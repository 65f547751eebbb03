"""What starts workflows by itself: the time, signals, changes of tables."""
