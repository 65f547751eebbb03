"""From a request to a plan: which workflows, which ranges, how much to read, what to watch out for."""
