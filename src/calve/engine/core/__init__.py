"""The scheduler: owns runs, moves their steps, one transaction a batch."""
