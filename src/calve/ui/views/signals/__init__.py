"""Signals: what was sent, who waits, and a form to send one."""
