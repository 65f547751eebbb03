"""How long the server takes for each list, over a state in which there is much."""
