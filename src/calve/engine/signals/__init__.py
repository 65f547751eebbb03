"""Signals: said once, kept, and found again by what they say."""
