"""What this Calve is made of."""
