"""A step type in a package of its own."""
