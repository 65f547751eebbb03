"""Turns definitions into runs: the step state machine, triggers, signals, actions."""
