"""Writes that land once: marked in the target's snapshots, and looked for there before they run again."""
