"""What a stage does in each of its phases. Every step of it may be repeated after a crash."""
