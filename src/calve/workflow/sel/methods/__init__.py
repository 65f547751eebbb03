"""The methods of each kind of value. What is not in these tables does not exist."""
